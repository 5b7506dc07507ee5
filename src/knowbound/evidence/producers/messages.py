"""Commits by what their messages say: the one that is about all of the specific words of a question (class GitLog).

A word tells the more the fewer commits have it: in "support for zstd compression" it is zstd. A commit answers when its
message, its paths or its changed lines have every specific word; one that has only the common ones is no answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from knowbound.evidence.producers.history import HistoryKind, HistoryQuestion, is_name
from knowbound.evidence.producers.repository import LogEntry, Repository
from knowbound.text.stems import stem
from knowbound.text.terms import split_words

_COMMON = 0.05  # a word that this share of the commits has tells nothing alone
_LOOKED_INTO = 8  # candidates whose changes are read for words that their messages do not have
_PHRASE = 3.0  # what the whole subject of a question in the first line is worth, beside the rarity of its words
_LINES = 400_000  # characters of a change that are read
_SAYS = {
    HistoryKind.ADDED: re.compile(
        r"\b(?:add|adds|added|introduc\w+|implement\w*|feat|features?|support|new|allow\w*|initial|creat\w+|first)\b",
        re.I,
    ),
    HistoryKind.REMOVED: re.compile(
        r"\b(?:remov\w+|drop\w*|delet\w+|rm|get rid|deprecat\w+|kill\w*|clean\w*|strip\w*)\b", re.I
    ),
}
# Verbs that say what became of a thing: a message that is about the thing and does not say so is no answer.
_SAME = {
    "renam": re.compile(r"\brenam\w*", re.I),
    "revert": re.compile(r"\brevert\w*|\bback ?out|\bundo\b", re.I),
    "deprecat": re.compile(r"\bdeprecat\w*", re.I),
}


# A message that says it works on something says that it was there before.
_IS_LATER = re.compile(
    r"^(?:\W*\w+\([^)]*\)!?:\s*)?\W*(?:fix\w*|updat\w+|improv\w+|refactor\w*|bump\w*|typos?|docs?\b|merge|renam\w+|"
    r"remov\w+|"
    r"revert|clean\w*|chang\w+|mov\w+|drop\w*|delet\w+|document\w*|test\w*|chore|ci\b|release)\b",
    re.I,
)


@dataclass(frozen=True)
class CommitMessage:
    """A commit with its message, as words."""

    commit: LogEntry
    body: str

    @cached_property
    def subject_stems(self) -> frozenset[str]:
        """The stems of its first line."""
        return _stems(self.commit.subject)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of all of it."""
        return self.subject_stems | _stems(self.body)

    def has(self, word: str) -> bool:
        """Whether the message has the word: a name as it is written, any other by its stem."""
        return _has(word, f"{self.commit.subject}\n{self.body}", self.stems)

    def subject_has(self, word: str) -> bool:
        """Whether the first line has it."""
        return _has(word, self.commit.subject, self.subject_stems)


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(part) for word in re.findall(r"[\w.]+", text) for part in (word, *split_words(word)) if part)


def _has(word: str, text: str, stems: frozenset[str]) -> bool:
    if is_name(word) or re.search(r"\W", word):  # go:build, zero-copy
        return _named(word).search(text) is not None
    return stem(word) in stems


def _named(word: str) -> re.Pattern[str]:
    """A name as it is written; a compound of words also with spaces between them."""
    plain = re.escape(word) if is_name(word) else r"[-\s_]?".join(map(re.escape, word.split("-")))
    flags = 0 if is_name(word) and not word.startswith("-") else re.IGNORECASE
    return re.compile(rf"(?<![\w-]){plain}(?![\w-]|\.\d)", flags)


@dataclass(frozen=True)
class Matched:
    """Commits that are about the words, best first, or the nearest one where none is about all of them."""

    commits: tuple[LogEntry, ...]
    nearest: LogEntry | None = None
    missing: tuple[str, ...] = ()  # words that the nearest one lacks


def search_messages(question: HistoryQuestion, repository: Repository, span: Sequence[str] = ()) -> Matched:
    """The commits whose messages are about the specific words of the question; of a span of the history if given."""
    words = question.words
    messages = [CommitMessage(commit, body) for commit, body in repository.messages(*span)]
    having = {word: [message for message in messages if message.has(word)] for word in words}
    many = max(3, round(_COMMON * len(messages)))
    specific = [word for word in words if len(having[word]) <= many or is_name(word)] or list(words)
    found = [word for word in specific if having[word]]
    if not found:
        return Matched(())
    rarest = min(found, key=lambda word: len(having[word]))
    weights = {word: math.log(1 + len(messages) / max(1, len(having[word]))) for word in having}
    ranked = _ranked(having[rarest], question, weights)
    complete = [
        message
        for message in ranked
        if all(message.has(word) for word in specific) and _did(message, specific, question)
    ]
    best = ranked.index(complete[0]) if complete else len(ranked)
    looked = [
        message
        for message in ranked[: min(best, _LOOKED_INTO)]
        if message not in complete and _covers(message, specific, question, repository)
    ]
    complete = looked + complete
    if complete:
        if question.kind is HistoryKind.SINCE:
            complete = [message for message in messages if message in complete]
        rest = [message for message in ranked if message not in complete and message.subject_has(rarest)]
        return Matched(tuple(message.commit for message in (*complete, *rest)))
    nearest = ranked[0]
    return Matched((), nearest.commit, tuple(word for word in specific if not nearest.has(word)))


def changed_with(commits: Sequence[LogEntry], question: HistoryQuestion, repository: Repository) -> list[LogEntry]:
    """Of commits that add or remove a name, those whose message or change has all the other words too."""
    bodies = {commit.hash: body for commit, body in repository.messages()}
    messages = [CommitMessage(commit, bodies.get(commit.hash, "")) for commit in commits[:_LOOKED_INTO]]
    return [message.commit for message in messages if _covers(message, question.words, question, repository)]


def _ranked(
    messages: Sequence[CommitMessage], question: HistoryQuestion, weights: dict[str, float]
) -> list[CommitMessage]:
    """Best first: the subject that has most of the words; of equals the first for what came, else the newest."""

    def in_subject(message: CommitMessage) -> float:
        return sum(weight for word, weight in weights.items() if message.subject_has(word))

    def score(message: CommitMessage) -> tuple[bool, float]:
        total = sum(
            weight * (1.0 if message.subject_has(word) else 0.4)
            for word, weight in weights.items()
            if message.has(word)
        )
        phrase = " " in question.subject and question.subject.lower() in message.commit.subject.lower()
        total += _PHRASE * phrase  # its words side by side, as the question has them
        if question.kind is HistoryKind.ADDED:
            return _IS_LATER.search(message.commit.subject) is None, round(total, 6)
        return True, round(total + (1.0 if says_so(message.commit, question) else 0.0), 6)

    # Several words describe one particular fix, and follow-ups came after it.
    first = question.kind is HistoryKind.ADDED or (question.kind is HistoryKind.FIXED and len(question.words) > 1)
    in_time = list(reversed(messages)) if first else list(messages)  # git gives the newest first
    if question.recent:
        return sorted(in_time, key=lambda message: -round(in_subject(message), 6))
    best = max((score(message)[1] for message in messages), default=0.0)
    return sorted(
        in_time, key=lambda message: (score(message)[1] < best * 0.8, not score(message)[0], -score(message)[1])
    )


def says_so(commit: LogEntry, question: HistoryQuestion) -> bool:
    """Whether the first line of a message says that it did what the question asks about."""
    says = _SAYS.get(question.kind)
    if says is not None:
        return says.search(commit.subject) is not None
    return bool(question.verb) and stem(question.verb) in _stems(commit.subject)


def _did(message: CommitMessage, specific: Sequence[str], question: HistoryQuestion) -> bool:
    """Whether a message about the thing also says what the question asks (that it went, its new name), in one line."""
    starts = _SAME.items()
    says = next((form for start, form in starts if question.verb.lower().startswith(start)), None)
    if question.kind is HistoryKind.REMOVED:
        says = _SAYS[HistoryKind.REMOVED]
    said = [word for word in specific if message.has(word)]
    came = question.kind is HistoryKind.REMOVED and _SAYS[HistoryKind.ADDED].search(message.commit.subject)
    body = message.body.splitlines() if not came else ()  # what an addition takes away on its way is a part of it
    return says is None or any(
        says.search(line) and all(_has(word, line, _stems(line)) for word in said)
        for line in (message.commit.subject, *body)
    )


def _covers(message: CommitMessage, specific: Sequence[str], question: HistoryQuestion, repository: Repository) -> bool:
    """Whether what the message lacks is in the paths or the changed lines, on the side that the question asks for."""
    lacking = [word for word in specific if not message.has(word)]
    lines = repository.change(message.commit.hash)[:_LINES].splitlines()
    signs = {HistoryKind.ADDED: "+", HistoryKind.REMOVED: "-"}.get(question.kind, "+-")
    text = "\n".join(line[1:] for line in lines if line[:1] and line[0] in signs)
    stems = _stems(text)
    if not all(_has(word, text, stems) for word in lacking):
        return False
    enough = all if question.kind is HistoryKind.REMOVED else any
    return _did(message, specific, question) or enough(_went(word, lines) for word in specific)


def _went(word: str, lines: Sequence[str]) -> bool:
    """Whether a change takes away more lines with the word than it adds."""
    before, after = (
        sum(1 for line in lines if line.startswith(sign) and _has(word, line[1:], _stems(line[1:])))
        for sign in ("-", "+")
    )
    return before > after
