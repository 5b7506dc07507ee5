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
from knowbound.core.item import Item, content_sha, is_version_of
from knowbound.core.quality import Closing, Counts, Discovery, LoggedItem, QualityTurn
from knowbound.judge.turns import Value, ValueKind, values_of
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
_WORST_FIRST = list(Fault)


class _ItemUse:
    """The injections of one item with one content, and the newest turns that judged it."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.judged: QualityTurn | None = None  # the newest turn with a verdict on it
        self.contradicted: QualityTurn | None = None

    def add(self, turn: QualityTurn, item: LoggedItem) -> None:
        self.counts += counted((item,))
        if item.verdict:
            self.judged = turn
            self.contradicted = turn if item.verdict.contradicted else self.contradicted


def to_fix(turns: Iterable[QualityTurn], log: QualityLog, index: Index) -> list[ItemToFix]:
    """Return the items to fix, the worst first. `turns` are in the order of their time."""
    by_item: dict[str, dict[str, _ItemUse]] = {}  # by id and content
    for turn in turns:
        for item in turn.injected_items:
            by_item.setdefault(item.id, {}).setdefault(item.content_sha, _ItemUse()).add(turn, item)
    records = {record.item: record for record in log.discoveries() if record.closing is Closing.OPEN}
    found: list[ItemToFix] = []
    for id_, versions in by_item.items():
        present_item = correctable(index, id_)
        if present_item is not None:
            found += _faults(present_item, versions, on_present_content(records.get(id_), present_item, log))
    return sorted(found, key=lambda item: (_WORST_FIRST.index(item.fault), -item.times, item.id))


def correctable(index: Index, id_: str) -> Item | None:
    """Return the item if it is served, or would be if it were not held back."""
    entries = index.known(id_)
    held_back = (entry.item for entry in entries if entry.item.is_held_back and screened(entry.item.content) is None)
    return next((entry.item for entry in entries if entry.served), None) or next(held_back, None)


def on_present_content(record: Discovery | None, item: Item, log: QualityLog) -> Discovery | None:
    """Return the record, unless the item was rewritten after its turn. If the turn is gone, the record counts."""
    turn = log.get(f"{record.session_id}/{record.turn_id}") if record else None
    injected = turn.injected_items if turn else ()
    shas = {logged.content_sha for logged in injected if logged.id == item.id}
    return record if not shas or any(is_present(sha, item) for sha in shas) else None


def is_present(noted: str, held: Item) -> bool:
    """Report whether a verdict is about the item's present content; 0.1.0 did not note the content."""
    return not noted or is_version_of(noted, held.content_sha)


def _faults(item: Item, versions: Mapping[str, _ItemUse], record: Discovery | None) -> Iterator[ItemToFix]:
    """Yield the worst fault of an item's present content, if it has any; `record` is its open contradiction."""
    present = [use for sha, use in versions.items() if is_present(sha, item)]
    judged = [turn for use in present if (turn := use.judged)]
    if not judged:
        return
    counts = sum((use.counts for use in present), Counts())
    contradicted = [turn for use in present if (turn := use.contradicted)] if record else []
    if record:
        fault, times = Fault.WRONG, record.contradictions
    elif counts.judged >= ENOUGH and not counts.on_topic:
        fault, times = Fault.OFF_TOPIC, counts.judged
    elif counts.on_topic >= ENOUGH and not counts.used:
        fault, times = Fault.IGNORED, counts.on_topic
    else:
        return
    newest = max(contradicted or judged, key=lambda turn: turn.timestamp)
    yield ItemToFix(
        id=item.id,
        fault=fault,
        content=excerpt(item.content, CONTENT_SHOWN),
        counts=counts,
        times=times,
        session=newest.session_id,
        turn=newest.turn_id,
        time=newest.timestamp,
        statement=excerpt(record.statement, CONTENT_SHOWN) if record else "",
        draft=drafted(item.content, record.statement).content if record else "",
        is_silenced=effective_of(item) == 0.0,
        flag=str(item.flag.kind) if item.flag else "",
    )


LONGEST_TIMES, LONGEST_MORE = 3, 400  # a draft is not both that many times and that many characters longer
LEAST_LIKENESS = 0.30  # of the statement and the item (kms/refusals.py)
LEAST_SHARED = 0.25  # of the weight of the item's specific words: the words that the statement has, too
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
# Values whose meaning is in the words beside them: 9090 may be any port, a path is one thing everywhere.
_MEASURED = frozenset(ValueKind) - {ValueKind.PATH, ValueKind.FLAG, ValueKind.NAME}
_NEAR_CHARS, _WORDS_BESIDE = 30, 2  # characters, and specific words, on each side of a value
_NOT_A_WORD = re.compile(r"[^\w\s]|_")
_SEARCH_SECONDS = 2.0  # that a search of the tree may take
_DENIAL_CHARS = 40  # before a value, in which a word such as "not" or "instead of" denies it
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
    """Draft the content that the statement suggests in place of the item's, or say why there is no draft."""
    stated = statement.strip()
    if (unusable := _why_unusable(stated)) is not None:
        return Draft("", unusable)
    replaced = _with_new_value(item, stated)
    # A value alone ("it is 9090") can be about the item: it names no other subject.
    subject_is_open = replaced is not None and not _terms_beside_values(stated)
    if not subject_is_open and not is_same_subject(item, stated):
        return Draft("", NoDraft.OTHER_SUBJECT)
    content = _best_sentence(item, stated) if replaced is None else replaced
    refused = _why_refused(item, content) if content else NoDraft.OLD_VALUE
    return Draft("" if refused else content, refused)


def is_confirmed(item: str, draft: str, words: str, root: Path | None) -> bool:
    """Report whether every new value of a draft is in the user's words or in the tree; False without a new value."""
    old_values = {(value.kind, value.key) for value in values_of(item)}
    new = [value for value in values_of(draft) if (value.kind, value.key) not in old_values]
    users_values = {(value.kind, value.key) for value in values_of(words)}
    return bool(new) and all(
        (value.kind, value.key) in users_values or (root is not None and _is_in_tree(value, draft, root))
        for value in new
    )


def _is_in_tree(value: Value, draft: str, root: Path) -> bool:
    """Report whether a file has the value: a number beside a word of the draft, a path as a file or in one."""
    text = draft[value.start : value.end]
    if value.kind is ValueKind.PATH and ".." not in text and (root / text.lstrip("/")).exists():
        return True
    edges = (r"\b" if text[0].isalnum() else "", r"\b" if text[-1].isalnum() else "")
    found, _ = matches(root, [f"{edges[0]}{re.escape(text)}{edges[1]}"], _SEARCH_SECONDS, ignore_case=False)
    subject = _terms_beside_values(draft).keys()
    lines = (_NOT_A_WORD.sub(" ", match.text) for match in found)  # `api.port = 9090` is about a port
    return any(value.kind not in _MEASURED or _weighted_terms(line).keys() & subject for line in lines)


def _best_sentence(item: str, statement: str) -> str:
    """Return the usable sentence that is most about the item; "" if each repeats a value that it denies."""
    old_values = {(value.kind, value.key) for value in values_of(item)}
    scored: list[tuple[float, str]] = []
    for sentence in plain_sentences(statement):
        values = values_of(sentence)
        is_old = any((value.kind, value.key) in old_values and _is_denied(value, sentence) for value in values)
        if not is_old and _why_unusable(sentence) is None:
            is_new = any((value.kind, value.key) not in old_values for value in values)
            # A new value counts for more than all shared words.
            scored.append((_share_of_terms(item, sentence) + is_new, sentence.strip()))
    return max(scored, key=lambda pair: pair[0])[1] if scored else ""


def is_same_subject(item: str, statement: str) -> bool:
    """Report whether a statement is about what the item is about: alike, or with its specific words."""
    likely = likeness(similarity(embed(item), embed(statement)), stems(item), stems(statement))
    return likely >= LEAST_LIKENESS or _share_of_terms(item, statement) >= LEAST_SHARED


def _why_unusable(statement: str) -> NoDraft | None:
    """Return the reason why no draft can be made from these words; None if a draft can."""
    if not any(map(str.isalnum, statement)):
        return NoDraft.EMPTY
    if screened(statement):
        return NoDraft.SCREENED
    assertions = [sentence for sentence in plain_sentences(statement) if not _QUESTION.search(sentence)]
    if not assertions:
        return NoDraft.QUESTION
    return NoDraft.UNKNOWN if all(_UNKNOWN.search(sentence) for sentence in assertions) else None


def _why_refused(item: str, content: str) -> NoDraft | None:
    """Return the reason that this content is not plausible or not safe in place of the item's."""
    if content_sha(content) == content_sha(item):
        return NoDraft.SAME
    if len(content) > LONGEST_TIMES * len(item) and len(content) > len(item) + LONGEST_MORE:
        return NoDraft.TOO_LONG
    if redact(content) != content:
        return NoDraft.SECRET
    return NoDraft.SCREENED if screened(content) else None


# The new value


def _with_new_value(item: str, statement: str) -> str | None:
    """Return the item with the statement's new value in place of its old value; None if the values are unclear."""
    item_values = values_of(item)
    excluded = (_changes(item, item_values, sentence) for sentence in plain_sentences(statement))
    changes = {(old.kind, old.key, new) for of_sentence in excluded for old, new in of_sentence}
    if len(changes) != 1:
        return None
    kind, key, new = changes.pop()
    text = item
    replaced = [value for value in item_values if (value.kind, value.key) == (kind, key)]
    for value in sorted(replaced, reverse=True, key=lambda value: value.start):
        text = text[: value.start] + new + text[value.end :]
    return text


def _changes(item: str, item_values: Sequence[Value], sentence: str) -> Iterator[tuple[Value, str]]:
    """Yield the values of the item that a sentence replaces, each with the words for the new value.

    "Not 30 s but 60 s" replaces the 30 s of "The timeout is 30 s" by "60 s".
    Of each kind there must be one old and one new value, and a reason that both are about the same thing.
    """
    for kind in ValueKind:
        present = [value for value in item_values if value.kind is kind]
        stated = [value for value in values_of(sentence) if value.kind is kind]
        keys = {value.key for value in present}
        denied = {value.key for value in stated if value.key in keys and _is_denied(value, sentence)}
        kept = {value.key for value in stated} - denied
        new = [value for value in stated if value.key not in keys and not _is_denied(value, sentence)]
        # Without a denial the old value is the one that the sentence does not repeat.
        old = [value for value in present if (value.key in denied if denied else value.key not in kept)]
        if len({value.key for value in old}) == len({value.key for value in new}) == 1:
            is_alone = kind in _MEASURED and not _terms_beside_values(sentence)
            is_beside_same = kind in _MEASURED and _words_beside(item, old[0]) & _words_beside(sentence, new[0])
            if denied or is_alone or is_beside_same:
                yield old[0], sentence[new[0].start : new[0].end]


def _is_denied(value: Value, sentence: str) -> bool:
    """Report whether the words before a value deny it. Only a measured value is denied by the past ("was 8080")."""
    denying = _DENYING_OR_PAST if value.kind in _MEASURED else _DENYING
    return denying.search(sentence[max(0, value.start - _DENIAL_CHARS) : value.start]) is not None


def _words_beside(text: str, value: Value) -> set[str]:
    """Return the specific words right around a value: what it is a value of."""
    before, after = text[max(0, value.start - _NEAR_CHARS) : value.start], text[value.end : value.end + _NEAR_CHARS]
    return {*list(_weighted_terms(before))[-_WORDS_BESIDE:], *list(_weighted_terms(after))[:_WORDS_BESIDE]}


# The subject


def _weighted_terms(text: str) -> dict[str, float]:
    """Return the specific words of a text, each with its usual weight."""
    return {terms[0]: usual_weight(terms[0]) for _, terms in places(readable(text))}


def _terms_beside_values(statement: str) -> dict[str, float]:
    """Return the specific words of a statement outside its values, weighted."""
    rest = list(statement)
    for value in values_of(statement):
        rest[value.start : value.end] = " " * (value.end - value.start)
    return _weighted_terms("".join(rest))


def _share_of_terms(item: str, statement: str) -> float:
    """Return the share of the item's weighted words that the statement has, too."""
    stated_terms, item_terms = _weighted_terms(statement).keys(), _weighted_terms(item)
    total = sum(item_terms.values())
    return sum(weight for term, weight in item_terms.items() if term in stated_terms) / total if total else 0.0
