"""A question to git: what it asks of the history, and the words that tell one commit from another.

A short table of forms; the first that fits decides. A model that plans the question gives the words itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from knowbound.text.stop_words import STOP_WORDS


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
    words: tuple[str, ...] = ()  # of the subject, those that tell commits apart
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
# Words about history, git or the project itself: they tell no commit from another.
_UNTELLING = STOP_WORDS | frozenset(
    "anything author branch change changed changes clean code codebase commit commits committed current file folder "
    "function class method git give happened head history late lately latest list log main master new newest project "
    "recent recently repo repository show status tell time tree working support supported supporting ability handling "
    "added removed came come touched wrote edited updated modified release version person anyone someone message get "
    "got made make become start started stop stopped possible longer anymore used option flag helper whom when".split()
)


def is_name(word: str) -> bool:
    """Report whether a word is a name of code, a path or an option: these are looked for as they are written."""
    return _NAME.fullmatch(word) is not None


def telling_words(text: str) -> tuple[str, ...]:
    """Return the words of a text that can tell one commit from another."""
    found = []
    for word in _WORD.findall(re.sub(r"[`\"']|\(\)", " ", text)):
        bare = word.strip(".:/") if not word.startswith("-") else word.rstrip("-")
        plain = bare.strip("-").lower()
        if plain and (is_name(bare) or (plain not in _UNTELLING and len(plain) > 1)):
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
            HistoryKind.SINCE, _quoted(since["it"]) or since["it"], words=telling_words(text[: since.start()])
        )
    if span := _SPAN.search(text):
        return HistoryQuestion(HistoryKind.SINCE, span[3] or f"{span[1] or 1} {span[2]}s ago")
    for kind, form in _DONE:
        if done := form.search(text):
            cut = text.replace(done["verb"].split()[-1], " ", 1)
            words = telling_words(cut)
            verb = done["verb"] if kind is HistoryKind.FIXED else ""
            subject = _quoted(text) or " ".join(words)
            recent = kind in (HistoryKind.CHANGED, HistoryKind.FIXED) and _RECENT.search(text) is not None
            return HistoryQuestion(kind, subject, words=words, verb=verb, recent=recent, release=release)
    words = telling_words(target or text)
    subject = _quoted(target or text) or " ".join(words)
    return HistoryQuestion(HistoryKind.HISTORY, subject, words=words, recent=_RECENT.search(text) is not None)


def _quoted(text: str) -> str:
    quoted = _QUOTED.search(text)
    return next(group for group in quoted.groups() if group).strip() if quoted else ""


def _last(text: str, match: re.Match[str]) -> HistoryQuestion:
    number, noun = match[1], match[2].lower()
    count = (_NUMBERS.get(number.lower()) or int(number)) if number else (10 if noun in ("commits", "changes") else 1)
    author = _AUTHOR.search(text)
    words = telling_words(text[match.end() :]) if not author else ()
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
