"""The items to fix first: wrong, never on topic, or on topic and never used (specification 2, sections 2 and 5).

Only items that are served or held back, and only verdicts on their content as it is now: what was corrected, withdrawn
or rewritten since is done. Non-use alone is never a fault: an ignored item comes last, and may be left as it is.

A draft (section 5) would supersede a contradicted item. The contradicting statement is in the agent's or the judge's
words. Where it gives the new value plainly ("8080" is "9090"), the draft is the item with that value in place of the
old one; else it is the one sentence of the statement that is about the item and does not repeat the old value. What is
not plausible is not drafted: then a person or an agent writes the content. A draft is data of a recorded session, so it
is screened like any new item, and a new value counts only where the tree or the user has it: output of tools and of the
web may be planted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from knowbound.codebase.tree import matches
from knowbound.core.item import Item
from knowbound.core.quality import Closing, Counts, Discovery, LoggedItem, QualityTurn
from knowbound.core.same_content import content_sha, is_version_of
from knowbound.judge.turns.values import Value, ValueKind, values_of
from knowbound.kms.index.database import Index
from knowbound.kms.index.entry import effective_of
from knowbound.kms.quality_log import QualityLog
from knowbound.kms.refusals import likeness, stems
from knowbound.kms.screening import screened
from knowbound.quality.rollup import counted
from knowbound.report.quality.model import ENOUGH, Fault, ItemToFix
from knowbound.text.embedding import embed, similarity
from knowbound.text.redact import excerpt, redact
from knowbound.text.sentences import plain_sentences
from knowbound.text.specific_words import places, readable, usual_weight

CONTENT_SHOWN = 300  # characters
_ORDER = list(Fault)


class _Seen:
    """The injections of one item with one content."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.judged: QualityTurn | None = None  # the newest turn in which it was
        self.contradicted: QualityTurn | None = None

    def add(self, turn: QualityTurn, item: LoggedItem) -> None:
        self.counts += counted((item,))
        if item.verdict:
            self.judged = turn
            self.contradicted = turn if item.verdict.contradicted else self.contradicted


def to_fix(turns: Iterable[QualityTurn], log: QualityLog, index: Index) -> list[ItemToFix]:
    """All of them, the worst first. `turns` are those of the days that are looked at, in the order of their time."""
    seen: dict[tuple[str, str], _Seen] = {}
    for turn in turns:
        for item in turn.injected_items:
            seen.setdefault((item.id, item.content_sha), _Seen()).add(turn, item)
    by_item: dict[str, dict[str, _Seen]] = {}
    for (id_, sha), one in seen.items():
        by_item.setdefault(id_, {})[sha] = one
    records = {one.item: one for one in log.discoveries() if one.closing is Closing.OPEN}
    found: list[ItemToFix] = []
    for id_, versions in by_item.items():
        held = correctable(index, id_)
        if held is not None:
            found += _faults(held, versions, on_present_content(records.get(id_), held, log))
    return sorted(found, key=lambda one: (_ORDER.index(one.fault), -one.times, one.id))


def correctable(index: Index, id_: str) -> Item | None:
    """Return the item if it is served, or would be if it were not held back."""
    known = index.known(id_)
    held = (one.item for one in known if one.item.is_held_back and screened(one.item.content) is None)
    return next((one.item for one in known if one.served), None) or next(held, None)


def on_present_content(record: Discovery | None, held: Item, log: QualityLog) -> Discovery | None:
    """Return the record, unless the item was rewritten after its turn. If the turn is gone, the record counts."""
    turn = log.get(f"{record.session_id}/{record.turn_id}") if record else None
    shas = {item.content_sha for item in turn.injected_items if item.id == held.id} if turn else set()
    return record if not shas or any(is_present(sha, held) for sha in shas) else None


def is_present(noted: str, held: Item) -> bool:
    """Report whether a verdict is about the item's present content; 0.1.0 did not note the content."""
    return not noted or is_version_of(noted, held.content_sha)


def _faults(held: Item, versions: Mapping[str, _Seen], record: Discovery | None) -> Iterator[ItemToFix]:
    present = [one for sha, one in versions.items() if is_present(sha, held)]
    judged = [turn for one in present if (turn := one.judged)]
    if not judged:
        return
    counts = sum((one.counts for one in present), Counts())
    fault, times = _fault(counts, record)
    if fault is None:
        return
    contradicted = [turn for one in present if (turn := one.contradicted)]
    newest = max(contradicted if fault is Fault.WRONG and contradicted else judged, key=lambda turn: turn.timestamp)
    yield ItemToFix(
        id=held.id,
        fault=fault,
        content=excerpt(held.content, CONTENT_SHOWN),
        counts=counts,
        times=times,
        session=newest.session_id,
        turn=newest.turn_id,
        time=newest.timestamp,
        statement=excerpt(record.statement, CONTENT_SHOWN) if record and fault is Fault.WRONG else "",
        draft=drafted(held.content, record.statement).content if record and fault is Fault.WRONG else "",
        is_silenced=effective_of(held) == 0.0,
        flag=str(held.flag.kind) if held.flag else "",
    )


def _fault(counts: Counts, record: Discovery | None) -> tuple[Fault | None, int]:
    """The worst that is the matter, and how often it showed."""
    if record:
        return Fault.WRONG, record.contradictions
    if counts.judged >= ENOUGH and not counts.on_topic:
        return Fault.OFF_TOPIC, counts.judged
    if counts.on_topic >= ENOUGH and not counts.used:
        return Fault.IGNORED, counts.on_topic
    return None, 0


LONGEST_TIMES, LONGEST_MORE = 3, 400  # a draft is not both that many times and that many characters longer
LEAST_LIKENESS = 0.30  # of the statement and the item (kms/refusals.py)
LEAST_SHARED = 0.25  # of what the specific words of the item say, that the statement has, too
_NOT = (
    r"\b(?:not|no longer|isn't|aren't|instead of|rather than|nicht|statt|ya no|pas{})[\s`'\"]+"
    r"(?:[\w-]+[\s`'\"=]+){{0,4}}$|(?:不是|而不是|不再是|而非|并非)\s*$"
)
_DENYING = re.compile(_NOT.format(""), re.IGNORECASE)
_DENYING_OR_PAST = re.compile(_NOT.format("|than|from|was|were|wasn't|used to be"), re.IGNORECASE)
_UNKNOWN = re.compile(
    r"\b(?:unknown|unclear|not sure|unsure|uncertain|(?:can(?:no|')t|could(?: no|n')t|unable to|did(?: no|n')t) "
    r"(?:\w+ )?(?:verify|confirm|find|check|tell|determine|say)|(?:do|does)(?: no|n')t (?:know|say)"
    r"|no (?:idea|evidence)|not (?:known|documented|verified|confirmed|found))\b|不确定|不清楚|无法确认|未知",
    re.IGNORECASE,
)
_MEASURED = frozenset(ValueKind) - {ValueKind.PATH, ValueKind.FLAG, ValueKind.NAME}  # what is read off words beside it
_NEAR, _WORDS_BESIDE = 30, 2  # characters, and specific words, on each side of a value
_NOT_A_WORD = re.compile(r"[^\w\s]|_")
_SECONDS = 2.0  # that a search of the tree may take
_QUESTION = re.compile(r"[?？]\s*[\"'”’)*_`]*\s*$")


class NoDraft(StrEnum):
    """Reason for the missing draft."""

    EMPTY = "empty"
    QUESTION = "question"
    UNKNOWN = "unknown"
    OTHER_SUBJECT = "other subject"
    TOO_LONG = "too long"
    SAME = "same"
    OLD_VALUE = "old value"  # no sentence says what is true without the value that is wrong
    SCREENED = "screened"
    SECRET = "secret"


class Draft(NamedTuple):
    """The drafted content, or why there is none."""

    content: str
    missing: NoDraft | None = None


def drafted(item: str, statement: str) -> Draft:
    """The content that the statement suggests in place of the item's."""
    said = statement.strip()
    if (doubt := _why_unusable(said)) is not None:
        return Draft("", doubt)
    replaced = _with_new_value(item, said)
    subject_is_open = replaced is not None and not _subject(said)  # "it is 9090": nothing else is spoken of
    if not subject_is_open and not is_same_subject(item, said):
        return Draft("", NoDraft.OTHER_SUBJECT)
    content = _sentence(item, said) if replaced is None else replaced
    refused = _refused(item, content) if content else NoDraft.OLD_VALUE
    return Draft("" if refused else content, refused)


def is_confirmed(item: str, draft: str, words: str, root: Path | None) -> bool:
    """Report whether every new value of a draft is in the user's words or in the tree; False without a new value."""
    known = {(one.kind, one.key) for one in values_of(item)}
    new = [one for one in values_of(draft) if (one.kind, one.key) not in known]
    said = {(one.kind, one.key) for one in values_of(words)}
    return bool(new) and all(
        (one.kind, one.key) in said or (root is not None and _is_in_tree(one, draft, root)) for one in new
    )


def _is_in_tree(value: Value, draft: str, root: Path) -> bool:
    """Report whether a file has the value: a number beside a word of the draft, a path as a file or in one."""
    text = draft[value.start : value.end]
    if value.kind is ValueKind.PATH and ".." not in text and (root / text.lstrip("/")).exists():
        return True
    edges = (r"\b" if text[0].isalnum() else "", r"\b" if text[-1].isalnum() else "")
    found, _ = matches(root, [f"{edges[0]}{re.escape(text)}{edges[1]}"], _SECONDS, ignore_case=False)
    subject = _subject(draft).keys()
    lines = (_NOT_A_WORD.sub(" ", one.text) for one in found)  # `api.port = 9090` is about a port
    return any(value.kind not in _MEASURED or _terms(line).keys() & subject for line in lines)


def _sentence(item: str, said: str) -> str:
    """Return the usable sentence that is most about the item; "" if each repeats a value that it denies."""
    held = {(one.kind, one.key) for one in values_of(item)}
    found: list[tuple[float, str]] = []
    for sentence in plain_sentences(said):
        values = values_of(sentence)
        is_old = any((value.kind, value.key) in held and _is_denied(value, sentence) for value in values)
        if not is_old and _why_unusable(sentence) is None:
            is_new = any((value.kind, value.key) not in held for value in values)
            found.append((_shared(item, sentence) + is_new, sentence.strip()))
    return max(found, key=lambda one: one[0])[1] if found else ""


def is_same_subject(item: str, statement: str) -> bool:
    """Report whether a statement is about what the item is about: alike, or with its specific words."""
    likely = likeness(similarity(embed(item), embed(statement)), stems(item), stems(statement))
    return likely >= LEAST_LIKENESS or _shared(item, statement) >= LEAST_SHARED


def _why_unusable(said: str) -> NoDraft | None:
    """Return the reason why no draft can be made from these words; None if a draft can."""
    if not any(map(str.isalnum, said)):
        return NoDraft.EMPTY
    if screened(said):
        return NoDraft.SCREENED
    stated = [one for one in plain_sentences(said) if not _QUESTION.search(one)]
    if not stated:
        return NoDraft.QUESTION
    return NoDraft.UNKNOWN if all(_UNKNOWN.search(one) for one in stated) else None


def _refused(item: str, content: str) -> NoDraft | None:
    """Return the reason that this content is not plausible or not safe in place of the item's."""
    if content_sha(content) == content_sha(item):
        return NoDraft.SAME
    if len(content) > LONGEST_TIMES * len(item) and len(content) > len(item) + LONGEST_MORE:
        return NoDraft.TOO_LONG
    if redact(content) != content:
        return NoDraft.SECRET
    return NoDraft.SCREENED if screened(content) else None


# The new value


def _with_new_value(item: str, said: str) -> str | None:
    """Return the item with the statement's new value in place of its old value; None if the values are unclear."""
    held = values_of(item)
    changes = {
        (old.kind, old.key, new) for sentence in plain_sentences(said) for old, new in _changes(item, held, sentence)
    }
    if len(changes) != 1:
        return None
    kind, key, new = changes.pop()
    text = item
    replaced = [one for one in held if (one.kind, one.key) == (kind, key)]
    for one in sorted(replaced, reverse=True, key=lambda one: one.start):
        text = text[: one.start] + new + text[one.end :]
    return text


def _changes(item: str, held: Sequence[Value], sentence: str) -> Iterator[tuple[Value, str]]:
    """The values of the item that a sentence excludes, each with the words for the new one."""
    given = values_of(sentence)
    for kind in ValueKind:
        keys = {one.key for one in held if one.kind is kind}
        denied = {one.key for one in given if one.kind is kind and one.key in keys and _is_denied(one, sentence)}
        new = _each(one for one in given if one.kind is kind and one.key not in keys and not _is_denied(one, sentence))
        kept = {one.key for one in given} - denied
        old = _each(one for one in held if one.kind is kind and (one.key in denied if denied else one.key not in kept))
        if len(old) == len(new) == 1:
            is_alone = kind in _MEASURED and not _subject(sentence)
            if denied or is_alone or (kind in _MEASURED and _beside(item, old[0]) & _beside(sentence, new[0])):
                yield old[0], sentence[new[0].start : new[0].end]


def _each(values: Iterator[Value]) -> list[Value]:
    """The first of each."""
    found: dict[str, Value] = {}
    for one in values:
        found.setdefault(one.key, one)
    return list(found.values())


def _is_denied(value: Value, said: str) -> bool:
    """Report whether it is said not to hold. A name that is spoken of in the past may be of anything."""
    denying = _DENYING_OR_PAST if value.kind in _MEASURED else _DENYING
    return denying.search(said[max(0, value.start - 40) : value.start]) is not None


def _beside(text: str, value: Value) -> set[str]:
    """The specific words right around a value: what it is a value of."""
    before, after = text[max(0, value.start - _NEAR) : value.start], text[value.end : value.end + _NEAR]
    return {*list(_terms(before))[-_WORDS_BESIDE:], *list(_terms(after))[:_WORDS_BESIDE]}


# The subject


def _terms(text: str) -> dict[str, float]:
    return {terms[0]: usual_weight(terms[0]) for _, terms in places(readable(text))}


def _subject(said: str) -> dict[str, float]:
    """The specific words of a statement beside its values."""
    rest = list(said)
    for value in values_of(said):
        rest[value.start : value.end] = " " * (value.end - value.start)
    return _terms("".join(rest))


def _shared(item: str, statement: str) -> float:
    said, own = _terms(statement).keys(), _terms(item)
    total = sum(own.values())
    return sum(weight for term, weight in own.items() if term in said) / total if total else 0.0
