"""A question to git, and the commits whose messages are about all of its specific words (class GitLog).

A short table of forms says what is asked of the history; the first that fits decides. A word counts the more the fewer
commits have it: in "support for zstd compression" it is zstd. A commit answers when its message, its paths or its
changed lines have every specific word; one that has only the common ones is no answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from knowbound.evidence.producers.repository import LogEntry, Repository
from knowbound.text.stems import stem
from knowbound.text.stop_words import STOP_WORDS
from knowbound.text.terms import split_words


class HistoryKind(StrEnum):
    """Kind of a question about git."""

    TREE = "tree"  # branch, staged and changed files
    LAST = "last"  # the last commit, or the last few
    COMMIT = "commit"  # one commit, by its hash
    ADDED = "added"  # who, when, which commit brought it
    REMOVED = "removed"
    FIXED = "fixed"  # a change that a message names: fixed, renamed, replaced
    CHANGED = "changed"  # who or what last changed it
    SINCE = "since"  # what happened since a date or a revision
    HISTORY = "history"  # what happened at all, or to one thing


@dataclass(frozen=True, slots=True)
class HistoryQuestion:
    """A question to git: its kind, what it is about ("" for the whole tree), and how many commits it wants."""

    kind: HistoryKind
    subject: str = ""
    count: int = 10
    author: str = ""  # whose commits
    words: tuple[str, ...] = ()  # of the subject, those that distinguish commits
    verb: str = ""  # what was done to it, where that is no everyday change
    recent: bool = False  # the newest first, whatever matches best
    release: bool = False  # asks for the release, not the commit
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
    r"\b(?:between|from) (?P<it>v?\d[\w.-]*|[0-9a-f]{7,40}) (?:and|to|until) (?P<until>[\w./-]+)", re.I
)
_SINCE = re.compile(
    r"\b(?:since|after) (?!when\b)(?:the )?(?:commit |tag |release |version )?(?P<it>[^?]+?)\s*(?:\?|$)", re.I
)
_SPAN = re.compile(r"\b(?:last|past|this) (?:(\d{1,3}) )?(hour|day|week|month|year)s?\b|\b(yesterday|today)\b", re.I)
_AUTHOR = re.compile(r"\b(?:commits?|changes?) (?:by|from) ([A-Z][\w.-]*(?: [A-Z][\w.-]*)?|\S+@\S+)")
# What was done to the thing; the first that is there decides.
_DONE: tuple[tuple[HistoryKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"\b(?P<verb>{form})\b", re.I))
    for kind, form in (
        (
            HistoryKind.CHANGED,
            r"(?:who|when)\b.*\b(?:last |person to )?(?:changed?|touched|modified|wrote|edited|updated)",
        ),
        (HistoryKind.CHANGED, r"blame|author of"),
        (HistoryKind.REMOVED, r"remov\w+|delet\w+|dropp\w+|drop|got rid of|disappear\w*|gone"),
        (
            HistoryKind.FIXED,
            r"fix\w*|renam\w+|replac\w+|rais\w+|lower\w*|increas\w+|decreas\w+|reduc\w+|switch\w*|migrat\w+|mov(?:ed?|ing)|"
            r"revert\w*|refactor\w*|bump\w*|upgrad\w+|deprecat\w+|rewr\w+|split|merged|disabled?",
        ),
        (HistoryKind.ADDED, r"add(?:ed|s)?|introduc\w+|creat\w+|appear\w*|land(?:ed)?|implement\w*|gain\w*|since when"),
    )
)
_RELEASE = re.compile(r"\b(?:which|what) (?:release|version|tag)\b", re.I)
_RECENT = re.compile(r"\b(?:recent|recently|lately|latest|newest|last)\b", re.I)
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
        bare = word.strip(".:/") if not word.startswith("-") else word.rstrip("-")
        plain = bare.strip("-").lower()
        if plain and (is_name(bare) or (plain not in _NOT_DISTINCTIVE and len(plain) > 1)):
            found.append(bare)
    return tuple(dict.fromkeys(found))


def read_history_question(question: str, target: str = "") -> HistoryQuestion:
    """Return the question as one to git; `target` is its subject where the planner knows it."""
    text = " ".join(question.split())
    release = _RELEASE.search(text) is not None
    if between := _BETWEEN.search(text):
        return HistoryQuestion(HistoryKind.SINCE, between["it"], until=between["until"])
    if commit := _COMMIT.search(text):
        return HistoryQuestion(HistoryKind.COMMIT, commit[1])
    if (last := _LAST.search(text)) and not re.search(r"\bsince\b", text, re.I):
        return _last(text, last)
    if _TREE.search(text):
        return HistoryQuestion(HistoryKind.TREE)
    if since := _SINCE.search(text):
        return HistoryQuestion(
            HistoryKind.SINCE, _quoted(since["it"]) or since["it"], words=distinctive_words(text[: since.start()])
        )
    if span := _SPAN.search(text):
        return HistoryQuestion(HistoryKind.SINCE, span[3] or f"{span[1] or 1} {span[2]}s ago")
    for kind, form in _DONE:
        if done := form.search(text):
            cut = text.replace(done["verb"].split()[-1], " ", 1)
            words = distinctive_words(cut)
            verb = done["verb"] if kind is HistoryKind.FIXED else ""
            subject = _quoted(text) or " ".join(words)
            recent = kind in (HistoryKind.CHANGED, HistoryKind.FIXED) and _RECENT.search(text) is not None
            return HistoryQuestion(kind, subject, words=words, verb=verb, recent=recent, release=release)
    words = distinctive_words(target or text)
    subject = _quoted(target or text) or " ".join(words)
    return HistoryQuestion(HistoryKind.HISTORY, subject, words=words, recent=_RECENT.search(text) is not None)


def _quoted(text: str) -> str:
    quoted = _QUOTED.search(text)
    return next(group for group in quoted.groups() if group).strip() if quoted else ""


def _last(text: str, match: re.Match[str]) -> HistoryQuestion:
    number, noun = match[1], match[2].lower()
    count = (_NUMBERS.get(number.lower()) or int(number)) if number else (10 if noun in ("commits", "changes") else 1)
    author = _AUTHOR.search(text)
    words = distinctive_words(text[match.end() :]) if not author else ()
    return HistoryQuestion(HistoryKind.LAST, " ".join(words), count, author[1] if author else "", words)


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


_COMMON = 0.05  # a word that this share of the commits has does not distinguish alone
_LOOKED_INTO = 8  # candidates whose changes are read for words that their messages do not have
_PHRASE = 3.0  # what the whole subject of a question in the first line is worth, beside the rarity of its words
_LINES = 400_000  # characters of a change that are read
_CHANGE_WORDS = {
    HistoryKind.ADDED: re.compile(
        r"\b(?:add|adds|added|introduc\w+|implement\w*|feat|features?|support|new|allow\w*|initial|creat\w+|first)\b",
        re.I,
    ),
    HistoryKind.REMOVED: re.compile(
        r"\b(?:remov\w+|drop\w*|delet\w+|rm|get rid|deprecat\w+|kill\w*|clean\w*|strip\w*)\b", re.I
    ),
}
# Verbs that say what became of a thing: a message that is about the thing and does not say so is no answer.
_VERB_WORDS = {
    "renam": re.compile(r"\brenam\w*", re.I),
    "revert": re.compile(r"\brevert\w*|\bback ?out|\bundo\b", re.I),
    "deprecat": re.compile(r"\bdeprecat\w*", re.I),
}


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
        return _has(word, f"{self.commit.subject}\n{self.body}", self.stems)

    def subject_has(self, word: str) -> bool:
        """Report whether the first line has the word."""
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
    """Return the commits about the words, best first; if no commit is about all words, the nearest commit."""

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
        if all(message.has(word) for word in specific) and _states_asked_change(message, specific, question)
    ]
    best = ranked.index(complete[0]) if complete else len(ranked)
    looked = [
        message
        for message in ranked[: min(best, _LOOKED_INTO)]
        if message not in complete and _has_all_words(message, specific, question, repository)
    ]
    complete = looked + complete
    if complete:
        if question.kind is HistoryKind.SINCE:
            complete = [message for message in messages if message in complete]
        rest = [message for message in ranked if message not in complete and message.subject_has(rarest)]
        return Matched(tuple(message.commit for message in (*complete, *rest)))
    nearest = ranked[0]
    return Matched((), nearest.commit, tuple(word for word in specific if not nearest.has(word)))


def _ranked(
    messages: Sequence[CommitMessage], question: HistoryQuestion, weights: dict[str, float]
) -> list[CommitMessage]:
    """Sort messages by their words, best first. Equals are newest first, or oldest first for additions and fixes."""

    def score(message: CommitMessage) -> float:
        total = sum(
            weight * (1.0 if message.subject_has(word) else 0.4)
            for word, weight in weights.items()
            if message.has(word)
        )
        phrase = " " in question.subject and question.subject.lower() in message.commit.subject.lower()
        says = question.kind is not HistoryKind.ADDED and states_change(message.commit, question)
        return round(total + _PHRASE * phrase + says, 6)  # a phrase: its words side by side, as the question has them

    # Several words describe one particular fix, and follow-ups came after it.
    first = question.kind is HistoryKind.ADDED or (question.kind is HistoryKind.FIXED and len(question.words) > 1)
    in_time = list(reversed(messages)) if first else list(messages)  # git gives the newest first
    if question.recent:
        in_subject = (sum(weight for word, weight in weights.items() if one.subject_has(word)) for one in in_time)
        return [one for _, one in sorted(zip(in_subject, in_time, strict=True), key=lambda pair: -round(pair[0], 6))]
    return sorted(in_time, key=lambda message: -score(message))


def states_change(commit: LogEntry, question: HistoryQuestion) -> bool:
    """Report whether the first line of a message says that the commit did what is asked."""
    says = _CHANGE_WORDS.get(question.kind)
    if says is not None:
        return says.search(commit.subject) is not None
    return bool(question.verb) and stem(question.verb) in _stems(commit.subject)


def _states_asked_change(message: CommitMessage, specific: Sequence[str], question: HistoryQuestion) -> bool:
    """Report whether one line of a message names the thing and says what is asked: that it went, its new name."""
    starts = _VERB_WORDS.items()
    says = next((form for start, form in starts if question.verb.lower().startswith(start)), None)
    if question.kind is HistoryKind.REMOVED:
        says = _CHANGE_WORDS[HistoryKind.REMOVED]
    said = [word for word in specific if message.has(word)]
    came = question.kind is HistoryKind.REMOVED and _CHANGE_WORDS[HistoryKind.ADDED].search(message.commit.subject)
    body = message.body.splitlines() if not came else ()  # what an addition takes away on its way is a part of it
    return says is None or any(
        says.search(line) and all(_has(word, line, _stems(line)) for word in said)
        for line in (message.commit.subject, *body)
    )


def _has_all_words(
    message: CommitMessage, specific: Sequence[str], question: HistoryQuestion, repository: Repository
) -> bool:
    """Report whether the paths or changed lines (added, removed) have the words that the message lacks."""
    lacking = [word for word in specific if not message.has(word)]
    lines = repository.change(message.commit.hash)[:_LINES].splitlines()
    signs = {HistoryKind.ADDED: "+", HistoryKind.REMOVED: "-"}.get(question.kind, "+-")
    text = "\n".join(line[1:] for line in lines if line[:1] and line[0] in signs)
    stems = _stems(text)
    if not all(_has(word, text, stems) for word in lacking):
        return False
    enough = all if question.kind is HistoryKind.REMOVED else any
    return _states_asked_change(message, specific, question) or enough(_removes_more(word, lines) for word in specific)


def _removes_more(word: str, lines: Sequence[str]) -> bool:
    """Report whether a change removes more lines with the word than it adds."""
    before, after = (
        sum(1 for line in lines if line.startswith(sign) and _has(word, line[1:], _stems(line[1:])))
        for sign in ("-", "+")
    )
    return before > after
