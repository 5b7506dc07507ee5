"""What a question asks of the history: the kind of question, and what it is about.

Git is authoritative for history (specification 3, part I), but only when it is asked the right thing: `git status`
says nothing about the last commit, and a plain log nothing about when a name appeared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from knowbound.text.stop_words import STOP_WORDS


class HistoryKind(StrEnum):
    """What is asked of git."""

    TREE = "tree"  # is the working tree clean, which branch is it on
    LAST = "last"  # the last commit, the last n commits
    COMMIT = "commit"  # what one commit did
    ADDED = "added"  # when, by whom or by which commit something came
    REMOVED = "removed"  # … or went
    CHANGED = "changed"  # who changed it, when it was changed last
    SINCE = "since"  # what happened since a date or a revision
    HISTORY = "history"  # what happened at all, or to one thing


@dataclass(frozen=True, slots=True)
class HistoryQuestion:
    """A question to git: its kind, what it is about ("" for the whole tree), and how many commits it wants."""

    kind: HistoryKind
    subject: str = ""
    count: int = 10
    author: str = ""  # whose commits


_LAST_WORD = r"(?:last|latest|newest|most\s+recent|previous|tip|head)"
_LAST = re.compile(rf"\b{_LAST_WORD}\s+(?:(\d{{1,3}}|two|three|five|ten)\s+)?(commits?|change|changes)\b", re.I)
_NUMBERS = {"two": 2, "three": 3, "five": 5, "ten": 10}
_TREE = re.compile(
    r"\b(uncommitted|unstaged|untracked|staged|dirty|git\s+status|(?:working|work)\s+(?:tree|copy|directory)"
    r"|(?:is|tree|repo|repository|checkout)\b[^?]*\bclean|(?:which|what|current)\b[^?]*\bbranch"
    r"|local\s+changes|pending\s+changes|ahead\s+of|behind\s+(?:origin|upstream))\b",
    re.I,
)
_COMMIT = re.compile(r"\b(?:commit|revision|sha|hash|change\s?set)\s+`?([0-9a-f]{7,40})\b", re.I)
_ADD = r"(?:add(?:ed)?|introduc(?:ed?|ing)|creat(?:ed?|ing)|appear(?:ed)?|born|land(?:ed)?|first\s+(?:seen|committed))"
_REMOVE = r"(?:remov(?:ed?|ing)|delet(?:ed?|ing)|drop(?:ped)?|disappear(?:ed)?|vanish(?:ed)?)"
_CHANGE = r"(?:changed?|modif(?:y|ied)|touch(?:ed)?|edit(?:ed)?|wrote|written|written\s+by|updated?|broke|rewrote)"
_WHO = r"(?:who|whom|when|which\s+commits?|what\s+commits?|which\s+change|in\s+which)"
_ABOUT = r"(?P<it>[^?]+?)"
_END = r"\s*(?:\?|$|\bfrom\b.*|\bto\s+the\b.*|\bin\s+this\b.*)"
_FORMS: tuple[tuple[HistoryKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(form, re.I))
    for kind, form in (
        (HistoryKind.SINCE, rf"\b(?:since|after)\s+{_ABOUT}\s*(?:\?|$)"),
        (HistoryKind.ADDED, rf"\b{_WHO}\b.*?\b(?:was|were|is|did|has|have|been|got)\s+{_ABOUT}\s+{_ADD}\b"),
        (HistoryKind.ADDED, rf"\b{_WHO}\b\s+(?:first\s+)?{_ADD}\s+{_ABOUT}{_END}"),
        (HistoryKind.REMOVED, rf"\b{_WHO}\b.*?\b(?:was|were|is|did|has|have|been|got)\s+{_ABOUT}\s+{_REMOVE}\b"),
        (HistoryKind.REMOVED, rf"\b{_WHO}\b\s+{_REMOVE}\s+{_ABOUT}{_END}"),
        (HistoryKind.CHANGED, rf"\b{_WHO}\b.*?\b(?:was|were|did|has|have|been)\s+{_ABOUT}\s+(?:last\s+)?{_CHANGE}\b"),
        (HistoryKind.CHANGED, rf"\b{_WHO}\b\s+(?:last\s+)?{_CHANGE}\s+{_ABOUT}{_END}"),
        (HistoryKind.CHANGED, rf"\b(?:author|authors|owner|blame)\s+(?:of|for)\s+{_ABOUT}{_END}"),
        (
            HistoryKind.HISTORY,
            rf"\b(?:history|log|changes|commits|evolution|status)\s+(?:of|to|for|about|on|in)\s+{_ABOUT}{_END}",
        ),
        (
            HistoryKind.HISTORY,
            rf"\b(?:commits?|change)\s+(?:that\s+)?(?:mention\w*|about|touch\w*|fix\w*)\s+{_ABOUT}{_END}",
        ),
    )
)
_PLACE = re.compile(
    rf"\b{_LAST_WORD}\s+(?:\w+\s+)?(?:commits?|changes?)\s+(?:to|on|in|of|for|touching|affecting)\s+(?P<it>[^?]+?)\s*(?:\?|$)",
    re.I,
)
_AUTHOR = re.compile(
    r"\b(?:commits?|changes?)\s+(?:\w+\s+)?(?:by|from|of)\s+(?P<it>[A-Z][\w.-]*(?:\s+[A-Z][\w.-]*)?|\S+@\S+)"
)
_SPAN = re.compile(
    r"\b(?:last|past|this)\s+(?:(\d{1,3})\s+)?(hour|day|week|month|year)s?\b|\b(yesterday|today)\b", re.I
)
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|'([^']+)'")
_WORD = re.compile(r"[\w./:@-]+")
# Words about history, git or the project itself, and stop words: never a subject.
_EMPTY = STOP_WORDS | frozenset(
    "anything author branch change changed changes clean code codebase commit commits committed current file folder "
    "function class method git give go happened head history introduced late lately latest list log main master new "
    "newest project recent recently repo repository show status tell time tree work working".split()
)


def read_history_question(question: str, target: str = "") -> HistoryQuestion:
    """The question as one to git; `target` is what the planner knows it to be about, "" if nothing."""
    text = question.strip()
    commit = _COMMIT.search(text)
    if commit:
        return HistoryQuestion(HistoryKind.COMMIT, commit[1])
    last = _LAST.search(text)
    if last and not re.search(r"\bsince\b", text, re.I):
        return _last(text, last)
    for kind, form in _FORMS:
        match = form.search(text)
        if match:
            subject = subject_of(match["it"]) if kind is not HistoryKind.SINCE else _since(match["it"])
            if subject:
                return HistoryQuestion(kind, subject)
            if kind is HistoryKind.HISTORY:
                break
    if _TREE.search(text):
        return HistoryQuestion(HistoryKind.TREE)
    span = _SPAN.search(text)
    if span:
        return HistoryQuestion(HistoryKind.SINCE, span[3] or f"{span[1] or 1} {span[2]}s ago")
    return HistoryQuestion(HistoryKind.HISTORY, subject_of(target) or subject_of(text))


def subject_of(text: str) -> str:
    """What a part of a question is about: what it quotes, else its longest run of words with a meaning."""
    quoted = _QUOTED.search(text)
    if quoted:
        return next(group for group in quoted.groups() if group).strip()
    runs: list[list[str]] = [[]]
    for word in _WORD.findall(text):
        bare = word.strip(".:-")
        if bare.lower() in _EMPTY or not bare:
            runs.append([])
        else:
            runs[-1].append(bare)
    longest: list[str] = max(runs, key=len)
    return " ".join(longest)


def _last(text: str, match: re.Match[str]) -> HistoryQuestion:
    number, noun = match[1], match[2].lower()
    count = (_NUMBERS.get(number.lower()) or int(number)) if number else (10 if noun in ("commits", "changes") else 1)
    author, place = _AUTHOR.search(text), _PLACE.search(text)
    subject = subject_of(place["it"]) if place and not author else ""
    return HistoryQuestion(HistoryKind.LAST, subject, count, author["it"] if author else "")


def _since(text: str) -> str:
    """The date or revision after "since", without the words around it."""
    quoted = _QUOTED.search(text)
    if quoted:
        return next(group for group in quoted.groups() if group).strip()
    return re.sub(r"^(?:the\s+)?(?:commit|tag|release|version|revision)\s+", "", text.strip(), flags=re.I)


_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?|yesterday|today|noon|midnight"
    r"|(?:last\s+)?(?:week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"|(?:\d{1,4}|one|two|three|a|an)\s+(?:hour|day|week|month|year)s?(?:\s+ago)?",
    re.I,
)


def date_of(text: str) -> str:
    """The date for `git log --since`, or "" if it is none: git itself takes any text for a date, meaning now."""
    bare = re.sub(r"^(?:the\s+)", "", text.strip(), flags=re.I)
    if not _DATE.fullmatch(bare):
        return ""
    if bare.lower() == "today":
        return "midnight"  # git takes "today" for this very moment
    words = re.sub(r"^(?:last\s+)?(week|month|year)$", r"1 \1 ago", bare, flags=re.I)
    words = re.sub(r"^(?:a|an|one)\s+", "1 ", words, flags=re.I)
    return words if not re.fullmatch(r"\d+\s+\w+", words) else f"{words} ago"
