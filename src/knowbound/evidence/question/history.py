"""What a question asks of the history: the kind of question, and what it is about.

Git is authoritative for history (specification 3, part I), but only when it is asked the right thing: `git status`
says nothing about the last commit, and a plain log nothing about when a name appeared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from knowbound.text.questions.words import GENERIC
from knowbound.text.stop_words import STOP_WORDS


class HistoryKind(StrEnum):
    """What is asked of git."""

    TREE = "tree"  # is the working tree clean, which branch is it on
    LAST = "last"  # the last commit, the last n commits
    COMMIT = "commit"  # what one commit did
    ADDED = "added"  # when, by whom or by which commit something came
    REMOVED = "removed"  # … or went
    CHANGED = "changed"  # who changed it, when it was changed last
    FIXED = "fixed"  # which commit fixed, renamed, replaced or raised something
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
    sorts: tuple[str, ...] = ()  # words for sorts of things ("helper", "interface"): they help where words are common
    verb: str = ""  # what was done to it, where that is no everyday change
    recent: bool = False  # the newest first, whatever matches best
    release: bool = False  # asks for the release, not the commit
    until: str = ""  # "between A and B": the later one


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
_ADD = (
    r"(?:add(?:ed)?|introduc(?:ed?|ing)|creat(?:ed?|ing)|appear(?:ed)?|born|land(?:ed)?|first\s+(?:seen|committed)|"
    r"implement(?:ed)?|com(?:e|ing)\s+in(?:to)?|c[oa]me\s+in(?:to)?|supported|gain(?:ed)?|brought\s+in|enabled?)"
)
_REMOVE = r"(?:remov(?:ed?|ing)|delet(?:ed?|ing)|drop(?:ped)?|disappear(?:ed)?|vanish(?:ed)?)"
_CHANGE = r"(?:changed?|modif(?:y|ied)|touch(?:ed)?|edit(?:ed)?|wrote|written|written\s+by|updated?|broke|rewrote)"
# Changes that a message names; their verb is worth as much as a word of the subject.
_FIX = (
    r"(?P<verb>fix(?:ed|es)?|renam(?:ed?|ing)|replac(?:ed?|ing)|rais(?:ed?)|lower(?:ed)?|increas(?:ed?)|decreas(?:ed?)|"
    r"reduc(?:ed?)|switch(?:ed)?|"
    r"migrat(?:ed?)|mov(?:ed?)|revert(?:ed)?|refactor(?:ed)?|bump(?:ed)?|upgrad(?:ed?)|deprecat(?:ed?)|merg(?:ed?)|"
    r"split|"
    r"port(?:ed)?|rework(?:ed)?|broke|break|disabled?|rewr(?:ote|itten|ite)|optimi[sz](?:ed?)|sped\s+up|speed\s+up)"
)
_WHO = (
    r"(?:who|whom|when|which\s+commits?|what\s+commits?|which\s+change|in\s+which(?:\s+\w+)?|in\s+what(?:\s+\w+)?|"
    r"which\s+(?:release|version|pr)|what\s+(?:release|version)|since\s+when|why|how\s+come)"
)
_ABOUT = r"(?P<it>[^?]+?)"
_END = r"\s*(?:\?|$|\bfrom\b.*|\bto\s+the\b.*|\bin\s+this\b.*)"
# "When did X gain Y": what follows the verb is the thing, unless it says where, why or by whom.
_OBJECT = r"(?P<rest>\s+(?!(?:to|from|in|into|by|and|for|of|at|on|with|as|or|again|back|here|there)\b)[^?,;.]+)?"
_FORMS: tuple[tuple[HistoryKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(form, re.I))
    for kind, form in (
        (HistoryKind.SINCE, rf"\b(?<!ever )(?:since|after)\s+(?!when\b){_ABOUT}\s*(?:\?|$)"),
        (
            HistoryKind.ADDED,
            rf"\b{_WHO}\b.*?\b(?:was|were|is|did|has|have|been|got)\s+{_ABOUT}\s+{_ADD}\b{_OBJECT}",
        ),
        (HistoryKind.ADDED, rf"\b{_WHO}\b\s+(?:first\s+)?{_ADD}\s+{_ABOUT}{_END}"),
        (
            HistoryKind.REMOVED,
            rf"\b{_WHO}\b.*?\b(?:was|were|is|did|has|have|been|got)\s+{_ABOUT}\s+{_REMOVE}\b{_OBJECT}",
        ),
        (HistoryKind.REMOVED, rf"\b{_WHO}\b\s+{_REMOVE}\s+{_ABOUT}{_END}"),
        (HistoryKind.ADDED, rf"\b{_WHO}\b.*?\bdid\s+(?:we|they|you|it|i|\w+)\s+(?:first\s+)?{_ADD}\s+{_ABOUT}{_END}"),
        (HistoryKind.REMOVED, rf"\b{_WHO}\b.*?\bdid\s+(?:we|they|you|it|i|\w+)\s+{_REMOVE}\s+{_ABOUT}{_END}"),
        (HistoryKind.FIXED, rf"\b{_WHO}\b.*?\b(?:was|were|is|did|has|have|been|got)\s+{_ABOUT}\s+{_FIX}\b(?P<rest>.*)"),
        (HistoryKind.FIXED, rf"\b{_WHO}\b\s+(?:first\s+|last\s+)?{_FIX}\s+{_ABOUT}\s*(?:\?|$)"),
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
# The same said anywhere in a question ("X was renamed at some point, which commit?"); the first that is there decides.
_ABLE = re.compile(r"\b(?:can|could)\s+(?:i|we|you|one|users?|people)\s+\w+", re.I)
_ASKS = re.compile(rf"\b{_WHO}\b", re.I)
_SAID: tuple[tuple[HistoryKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"\b{form}\b", re.I))
    for kind, form in (
        (HistoryKind.ADDED, r"since\s+when\b.*?\b(?:ha(?:ve|s)|there|supports?|is|are|can|does|do)"),
        (
            HistoryKind.REMOVED,
            rf"(?:{_REMOVE}|(?:taken?|took|taking|ripp?(?:ed)?|thr[eo]wn?|kicked|pulled)\s+(?:it\s+|them\s+)?out|g[eo]t\s+rid\s+of|go\s+away|"
            r"went\s+away|gone|retired?|kill(?:ed)?)",
        ),
        (HistoryKind.FIXED, r"(?P<verb>swap(?:ped)?|exchang(?:ed?)|convert(?:ed)?|chang(?:ed?)\s+from)"),
        (HistoryKind.FIXED, _FIX),
        (
            HistoryKind.FIXED,
            r"(?:taught|teach|ma[dk]e|start(?:ed)?|beg[ia]n|stop(?:ped)?|bec[oa]me|turned\s+into|allow(?:ed)?|let)",
        ),
        (HistoryKind.ADDED, rf"(?:{_ADD}|g[eo]t|learn(?:ed|t)?|shipp?(?:ed)?|grew|grow|acquired?|exist(?:ed)?|around)"),
    )
)
_PLACE = re.compile(
    rf"\b{_LAST_WORD}\s+(?:\w+\s+)?(?:commits?|changes?)\s+(?:to|on|in|of|for|touching|"
    rf"affecting)\s+(?P<it>[^?]+?)\s*(?:\?|$)",
    re.I,
)
_AUTHOR = re.compile(
    r"\b(?:commits?|changes?)\s+(?:\w+\s+)?(?:by|from|of)\s+(?P<it>[A-Z][\w.-]*(?:\s+[A-Z][\w.-]*)?|\S+@\S+)"
)
_SPAN = re.compile(
    r"\b(?:last|past|this)\s+(?:(\d{1,3})\s+)?(hour|day|week|month|year)s?\b|\b(yesterday|today)\b", re.I
)
_BETWEEN = re.compile(
    r"\b(?:between|from)\s+(?P<it>v?\d[\w.-]*|[0-9a-f]{7,40})\s+(?:and|to|until)\s+(?P<until>[\w./-]+)", re.I
)
_RECENT = re.compile(r"\b(?:recent|recently|lately|latest|newest|last|these\s+days|going\s+on)\b", re.I)
_RELEASE = re.compile(r"\b(?:which|what)\s+(?:release|version|tag)\b", re.I)
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|'([^']+)'")
_WORD = re.compile(r"--?[A-Za-z][\w-]*|[\w./:@-]+")
# Words about history, git or the project itself, and stop words: never a subject.
_EMPTY = STOP_WORDS | frozenset(
    "anything author branch change changed changes clean code codebase commit commits committed current file folder "
    "function class method git give go happened head history introduced late lately latest list log main master new "
    "newest project recent recently repo repository show status tell time tree work working".split()
)
# Words of a subject that say what sort of change or thing it is: they tell no commit from another.
_UNTELLING = (
    _EMPTY
    | GENERIC
    | frozenset(
        "support supported supporting ability handling introduce introduced add added remove removed removing removal "
        "came come drop dropped touched touch last since release version changes anyone someone going happened lately "
        "person did message about get got it's methods options flags functions classes fixed fix whom by when "
        "please remember recall recalled think believe guess wonder know knew shipping shipped ship speak talk using "
        "start started begin began stop stopped taught teach made make become became around regarding concerning "
        "put puts took exist existed once called "
        "isn doesn wasn aren don didn anymore take takes honour honouring honor honoring "
        "reason instead first originally finally exactly ever still used longer able properly".split()
    )
)
_NAME = re.compile(
    r"--?[A-Za-z][\w-]*|\w*_\w+|\w*[a-z0-9][A-Z]\w*|[A-Za-z_]\w*(?:\.\w+)+|[\w.-]+/[\w./-]*|[A-Z]{2,}\w*\d\w*"
)

_NUMBERED = re.compile(r"\b([A-Za-z]+) (\d[\d.]*)\b")


def is_name(word: str) -> bool:
    """Whether a word is a name of code, a path or an option: these are looked for as they are written."""
    return _NAME.fullmatch(word) is not None


def _with_number(match: re.Match[str]) -> str:
    """ "Python 2" is one word, "using 303" is two: a long number tells by itself, and a common word adds nothing."""
    alone = match[1].lower() in _UNTELLING or re.fullmatch(r"\d{3,}", match[2])
    return match[0] if alone else f"{match[1]}-{match[2]}"


def telling_words(text: str) -> tuple[str, ...]:
    """The words of a subject that can tell one commit from another."""
    found = []
    text = _NUMBERED.sub(_with_number, re.sub(r"[`\"']|\(\)", " ", text))
    for word in _WORD.findall(text):
        bare = word.strip(".:/") if not word.startswith("-") else word.rstrip("-")
        bare = re.sub(r"^(?:to|from|in|of|for|by|than|version|release)-(?=\d)", "", bare, flags=re.I)
        plain = bare.strip("-").lower()
        if plain and (is_name(bare) or (plain not in _UNTELLING and len(plain) > 1)):
            found.append(bare)
    return tuple(dict.fromkeys(found))


def read_history_question(question: str, target: str = "") -> HistoryQuestion:
    """The question as one to git; `target` is what the planner knows it to be about, "" if nothing."""
    text = question.strip()
    read = _read(text, target)
    recent = bool(_RECENT.search(text)) and read.kind in (
        HistoryKind.HISTORY,
        HistoryKind.CHANGED,
        HistoryKind.LAST,
        HistoryKind.FIXED,
    )
    words = read.words
    if not words and read.kind is HistoryKind.HISTORY and not target:
        words = telling_words(text) if read.subject else ()
    if not words and read.kind not in (HistoryKind.SINCE, HistoryKind.COMMIT):
        words = telling_words(read.subject)
    sorts = tuple(
        word for word in re.findall(r"[a-z]+", text.lower()) if word in GENERIC and word not in _EMPTY and len(word) > 3
    )
    return replace(read, words=words, sorts=sorts, recent=recent, release=bool(_RELEASE.search(text)))


def _read(text: str, target: str) -> HistoryQuestion:
    between = _BETWEEN.search(text)
    if between:
        return HistoryQuestion(HistoryKind.SINCE, between["it"], until=between["until"])
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
            if subject and kind is not HistoryKind.SINCE:
                said = match.groupdict()
                words = telling_words(f"{match['it']} {said.get('rest') or ''}")
                return HistoryQuestion(kind, subject, words=words, verb=said.get("verb") or "")
            if subject:
                return HistoryQuestion(kind, subject, words=telling_words(text[: match.start()]))
            if kind is HistoryKind.HISTORY:
                break
    if _TREE.search(text):
        return HistoryQuestion(HistoryKind.TREE)
    span = _SPAN.search(text)
    if span:
        return HistoryQuestion(HistoryKind.SINCE, span[3] or f"{span[1] or 1} {span[2]}s ago")
    return _said_anywhere(text) or HistoryQuestion(HistoryKind.HISTORY, subject_of(target) or subject_of(text))


def _said_anywhere(text: str) -> HistoryQuestion | None:
    """A question in another order: what was done, wherever it is said, to all that the rest of it names."""
    asks = _ASKS.search(text)
    if asks is None:
        return None
    for kind, form in _SAID:
        match = form.search(text)
        if match:
            verb = match.groupdict().get("verb") or ""
            rest = (
                f"{text[: match.start()]} {text[match.end() :]}" if not match[0].lower().startswith("since") else text
            )
            words = telling_words(_ABLE.sub(" ", _ASKS.sub(" ", rest)))
            return HistoryQuestion(kind, " ".join(words), words=words, verb=verb) if words else None
    return None


def subject_of(text: str) -> str:
    """What a part of a question is about: what it quotes, else its longest run of words with a meaning."""
    quoted = _QUOTED.search(text)
    if quoted:
        return next(group for group in quoted.groups() if group).strip()
    runs: list[list[str]] = [[]]
    for word in _WORD.findall(text):
        bare = word.strip(".:-") if not word.startswith("-") else word.rstrip("-")  # an option is named as it is
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
