"""A question to git, and the commits whose messages have its words (class GitLog).

A short table of forms says what is asked of the history; the first that fits decides. A word counts the more the fewer
commits have it: in "support for zstd compression" it is zstd. A commit answers when its message, its paths or its
changed lines have every specific word; one that has only the common words is no answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from knowbound.evidence.producers.repository import LogEntry, Repository
from knowbound.text.english import STOP_WORDS, stem
from knowbound.text.terms import split_words


class HistoryKind(StrEnum):
    """Kind of a question about git."""

    TREE = "tree"  # branch, staged and changed files
    LAST = "last"  # the last commit, or the last few
    COMMIT = "commit"  # one commit, by its hash
    SINCE = "since"  # what happened since a date or a revision
    ADDED = "added"  # who, when, which commit brought it
    REMOVED = "removed"
    ABOUT = "about"  # what happened at all, or to one thing


@dataclass(frozen=True, slots=True)
class HistoryQuestion:
    """A question to git: its kind, what it is about ("" for the whole tree), and how many commits it wants."""

    kind: HistoryKind
    subject: str = ""
    words: tuple[str, ...] = ()  # of the subject, those that distinguish commits
    count: int = 10
    until: str = ""  # "between A and B": the later one


_LAST_WORD = r"(?:last|latest|newest|most recent|previous)"
_LAST = re.compile(rf"\b{_LAST_WORD} (?:(\d{{1,3}}|two|three|five|ten) )?(commits?|changes?)\b", re.I)
_NUMBERS = {"two": 2, "three": 3, "five": 5, "ten": 10}
_TREE = re.compile(
    r"\b(?:uncommitted|unstaged|untracked|staged|dirty|git status|work(?:ing)?[ -]?(?:tree|copy|directory)|clean|"
    r"(?:which|what|current) branch|(?:local|pending) changes|(?:ahead of|behind) (?:origin|upstream))\b",
    re.I,
)
_COMMIT = re.compile(r"\b(?:commit|revision|sha|hash)\s+`?([0-9a-f]{7,40})\b", re.I)
_BETWEEN = re.compile(
    r"\b(?:between|from) (?P<start>v?\d[\w.-]*|[0-9a-f]{7,40}) (?:and|to|until) (?P<until>[\w./-]+)", re.I
)
_SINCE = re.compile(
    r"\b(?:since|after) (?!when\b)(?:the )?(?:commit |tag |release |version )?(?P<start>[^?]+?)\s*(?:\?|$)", re.I
)
_SPAN = re.compile(r"\b(?:last|past|this) (?:(\d{1,3}) )?(hour|day|week|month|year)s?\b|\b(yesterday|today)\b", re.I)
# What was done to the thing; the first that is there decides. The verb itself is no word to look for.
_VERBS: tuple[tuple[HistoryKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"\b(?P<verb>{form})\b", re.I))
    for kind, form in (
        (HistoryKind.REMOVED, r"remov\w+|delet\w+|dropp\w+|drop|deprecat\w+|got rid of|disappear\w*|gone"),
        (
            HistoryKind.ABOUT,
            r"fix\w*|renam\w+|replac\w+|rais\w+|lower\w*|increas\w+|decreas\w+|reduc\w+|switch\w*|migrat\w+|mov(?:ed?|ing)|"
            r"revert\w*|refactor\w*|bump\w*|upgrad\w+|rewr\w+|split|merged|disabled?|blame",
        ),
        (HistoryKind.ADDED, r"add(?:ed|s)?|introduc\w+|creat\w+|appear\w*|land(?:ed)?|implement\w*|gain\w*|since when"),
    )
)
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|'([^']+)'")
_WORD = re.compile(r"--?[A-Za-z][\w-]*|[\w./:@-]+")
_NAME = re.compile(
    r"--?[A-Za-z][\w-]*|\w*_\w+|\w*[a-z0-9][A-Z]\w*|[A-Za-z_]\w*(?:\.\w+)+|[\w.-]+/[\w./-]*|[A-Z]{2,}\w*\d\w*"
)
# Words about history, git or the project itself: they distinguish no commit.
_NOT_DISTINCTIVE = STOP_WORDS | frozenset(
    "anything author branch change changed changes clean code codebase commit commits committed current file folder "
    "function class method git give happened head history late lately latest list log main master new newest project "
    "recent recently repo repository show status tell time tree working support supported supporting ability handling "
    "added removed came come touched wrote edited updated modified release version person anyone someone message get "
    "got made make become start started stop stopped possible longer anymore used option flag helper whom when".split()
)


def is_name(word: str) -> bool:
    """Report whether a word is a name of code, a path or an option: these are looked for as they are written."""
    return _NAME.fullmatch(word) is not None


def distinctive_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that distinguish one commit from another."""
    found = []
    for word in _WORD.findall(re.sub(r"[`\"']|\(\)", " ", text)):
        bare = word.strip(".:/") if not word.startswith("-") else word.rstrip("-")  # an option keeps its hyphens
        plain = bare.strip("-").lower()
        if plain and (is_name(bare) or (plain not in _NOT_DISTINCTIVE and len(plain) > 1)):
            found.append(bare)
    return tuple(dict.fromkeys(found))


def read_history_question(question: str, target: str = "") -> HistoryQuestion:
    """Return the question as one to git; `target` is its subject where the planner knows it."""
    text = " ".join(question.split())
    if between := _BETWEEN.search(text):
        return HistoryQuestion(HistoryKind.SINCE, between["start"], until=between["until"])
    if commit := _COMMIT.search(text):
        return HistoryQuestion(HistoryKind.COMMIT, commit[1])
    if (last := _LAST.search(text)) and not re.search(r"\bsince\b", text, re.I):
        # "the last commit" is one commit, "the last commits" are ten
        count = _NUMBERS.get((last[1] or "").lower()) or int(last[1] or (1 if last[2].lower()[-1] == "t" else 10))
        words = distinctive_words(text[last.end() :])
        return HistoryQuestion(HistoryKind.LAST, " ".join(words), words, count)
    if _TREE.search(text):
        return HistoryQuestion(HistoryKind.TREE)
    if since := _SINCE.search(text):
        start = _first_quoted(since["start"]) or since["start"]
        return HistoryQuestion(HistoryKind.SINCE, start, distinctive_words(text[: since.start()]))
    if span := _SPAN.search(text):
        return HistoryQuestion(HistoryKind.SINCE, span[3] or f"{span[1] or 1} {span[2]}s ago")
    kind, about = HistoryKind.ABOUT, target or text
    asked_by = ((kind, match["verb"]) for kind, form in _VERBS if (match := form.search(text)))
    if found := next(asked_by, None):  # the verb says what is asked, and is no part of the subject
        kind, about = found[0], text.replace(found[1].split()[-1], " ", 1)
    words = distinctive_words(about)
    return HistoryQuestion(kind, _first_quoted(about) or " ".join(words), words)


def _first_quoted(text: str) -> str:
    match = _QUOTED.search(text)
    return next(group for group in match.groups() if group).strip() if match else ""


_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?|yesterday|today|noon|midnight"
    r"|(?:last\s+)?(?:week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"|(?:\d{1,4}|one|two|three|a|an)\s+(?:hour|day|week|month|year)s?(?:\s+ago)?",
    re.I,
)


def date_of(text: str) -> str:
    """Return the date for `git log --since`, or "" if it is none: git itself takes any text for a date, meaning now."""
    bare = re.sub(r"^(?:the\s+)", "", text.strip(), flags=re.I)
    if not _DATE.fullmatch(bare):
        return ""
    if bare.lower() == "today":
        return "midnight"  # git takes "today" for this very moment
    words = re.sub(r"^(?:last\s+)?(week|month|year)$", r"1 \1 ago", bare, flags=re.I)
    words = re.sub(r"^(?:a|an|one)\s+", "1 ", words, flags=re.I)
    return words if not re.fullmatch(r"\d+\s+\w+", words) else f"{words} ago"


_COMMON_SHARE = 0.05  # a word that this share of the commits has distinguishes none alone
_ALWAYS_SPECIFIC = 3  # commits of a word that is specific in a short history, too
# Commits whose changes are read for words that no message has; characters of each.
_READ_CHANGES, _CHANGE_CHARACTERS = 8, 400_000
_ADDS = re.compile(
    r"\b(?:add|adds|added|introduc\w+|implement\w*|feat|features?|support|new|allow\w*|initial|creat\w+|first)\b", re.I
)
_REMOVES = re.compile(r"\b(?:remov\w+|drop\w*|delet\w+|rm|get rid|deprecat\w+|kill\w*|clean\w*|strip\w*)\b", re.I)


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
        """Report whether the message has the word: a name as it is written, any other by its stem."""
        return _text_has(word, f"{self.commit.subject}\n{self.body}", self.stems)

    def subject_has(self, word: str) -> bool:
        """Report whether the first line has the word."""
        return _text_has(word, self.commit.subject, self.subject_stems)


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(part) for word in re.findall(r"[\w.]+", text) for part in (word, *split_words(word)) if part)


def _text_has(word: str, text: str, stems: frozenset[str]) -> bool:
    if is_name(word) or re.search(r"\W", word):  # go:build, zero-copy
        return _name_pattern(word).search(text) is not None
    return stem(word) in stems


def _name_pattern(word: str) -> re.Pattern[str]:
    """Return the pattern of a name as it is written; a compound of words also with spaces between them."""
    plain = re.escape(word) if is_name(word) else r"[-\s_]?".join(map(re.escape, word.split("-")))
    flags = 0 if is_name(word) and not word.startswith("-") else re.IGNORECASE  # code minds the case of its names
    return re.compile(rf"(?<![\w-]){plain}(?![\w-]|\.\d)", flags)


@dataclass(frozen=True)
class Matched:
    """Commits about the words, best first; if no commit is about all words, the nearest commit."""

    commits: tuple[LogEntry, ...]
    nearest: LogEntry | None = None
    missing: tuple[str, ...] = ()  # words that the nearest one lacks


def search_messages(question: HistoryQuestion, repository: Repository, span: Sequence[str] = ()) -> Matched:
    """Return the commits whose messages have the specific words of the question; of a span of the history if given."""
    messages = [CommitMessage(commit, body) for commit, body in repository.messages(*span)]
    messages_with = {word: [message for message in messages if message.has(word)] for word in question.words}
    most_of_specific = max(_ALWAYS_SPECIFIC, round(_COMMON_SHARE * len(messages)))
    # Common words decide only if the question has no other.
    specific = [
        word for word in messages_with if len(messages_with[word]) <= most_of_specific or is_name(word)
    ] or list(messages_with)
    weights = {word: math.log(1 + len(messages) / max(1, len(messages_with[word]))) for word in messages_with}
    rarest = max(filter(messages_with.__getitem__, specific), key=lambda word: weights[word], default="")
    if not rarest:
        return Matched(())
    newest_first = messages_with[rarest]
    in_order = newest_first[::-1] if question.kind is HistoryKind.ADDED else newest_first  # what came first added it
    ranked = sorted(in_order, key=lambda message: -_score(message, weights))
    complete = [
        message
        for message in ranked
        if all(map(message.has, specific)) and _says_what_is_asked(message, question, specific)
    ]
    if not complete and question.kind is not HistoryKind.REMOVED:  # only a message says that a thing went
        complete = [
            message for message in ranked[:_READ_CHANGES] if _changes_missing_words(message, specific, repository)
        ]
    if not complete:
        return Matched((), ranked[0].commit, tuple(word for word in specific if not ranked[0].has(word)))
    if question.kind is HistoryKind.SINCE:  # all of them are asked for: newest first
        complete.sort(key=messages.index)
    others = [message for message in ranked if message not in complete and message.subject_has(rarest)]
    return Matched(tuple(message.commit for message in (*complete, *others)))


def _score(message: CommitMessage, weights: dict[str, float]) -> float:
    """Return the sum of the weights of the words in a message; a word below the first line counts 0.4 times."""
    found = (
        weight * (1.0 if message.subject_has(word) else 0.4) for word, weight in weights.items() if message.has(word)
    )
    return round(sum(found), 6)  # equal sums keep their order


def _says_what_is_asked(message: CommitMessage, question: HistoryQuestion, specific: Sequence[str]) -> bool:
    """Report whether a message says what is asked: of a removal, one line names the thing and says that it went."""
    if question.kind is not HistoryKind.REMOVED:
        return True
    # What an addition takes away on its way is a part of the thing.
    body = () if _ADDS.search(message.commit.subject) else message.body.splitlines()
    lines = ((line, _stems(line)) for line in (message.commit.subject, *body) if _REMOVES.search(line))
    return any(all(_text_has(word, line, stems) for word in specific) for line, stems in lines)


def _changes_missing_words(message: CommitMessage, specific: Sequence[str], repository: Repository) -> bool:
    """Report whether the paths or changed lines of a commit have the words that its message lacks."""
    text = repository.change(message.commit.hash)[:_CHANGE_CHARACTERS]
    stems = _stems(text)
    return all(message.has(word) or _text_has(word, text, stems) for word in specific)
