"""Junk of a memory store: copies, entries that the tree contradicts, hypotheses that were disproved, what is off topic.

Rules find copies in the same words, and what the tree contradicts. Whether an entry only repeats another in other
words, was disproved by a later one, or is of no use to anybody is asked of a model, which sees each entry beside those
nearest to it. An answer counts only if the entry that it names was shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from knowbound.codebase.checkout import Checkout
from knowbound.core.same_content import folded
from knowbound.core.statement import JunkEntry, JunkKind, Truth
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import sendable
from knowbound.judge.prompts import JUNK, load_prompt
from knowbound.knowledge.asking import decided_by_model
from knowbound.knowledge.checking import Checker
from knowbound.knowledge.statements import statements_of
from knowbound.knowledge.stores import StoreEntry
from knowbound.text.embedding import embed, similarity
from knowbound.text.printable import estimated_tokens
from knowbound.text.redact import excerpt

_TOGETHER = 12  # entries in one question
_NEAREST = 4  # entries that are shown beside each
_SHOWN = 600  # characters of an entry


class JunkAnswer(msgspec.Struct, frozen=True):
    """Answer about one entry."""

    number: int
    kind: str  # keep, or a kind of junk
    of: int = 0
    reason: str = ""


class JunkAnswers(msgspec.Struct, frozen=True):
    """Answer about the entries of a question."""

    entries: list[JunkAnswer]


def junk_of(entries: Sequence[StoreEntry], checkout: Checkout, asker: Asker | None = None) -> list[JunkEntry]:
    """Return the junk of a store, in the order of its entries."""
    found = {one.id: one for one in (*_contradicted(entries, checkout, None), *_duplicates(entries))}
    if asker is not None:
        left = [one for one in entries if one.id not in found]  # the same, whatever the model says about statements
        asked = (*_judged(left, entries, asker), *_contradicted(left, checkout, asker))
        found = {one.id: one for one in asked} | found
    return [found[one.id] for one in entries if one.id in found]


def _entry(one: StoreEntry, kind: JunkKind, why: str, of: str = "", by: str = "rules") -> JunkEntry:
    return JunkEntry(one.id, kind, one.content, why, of, estimated_tokens(one.content), by)


def _duplicates(entries: Sequence[StoreEntry]) -> list[JunkEntry]:
    """Return the later ones of entries with the same words, whatever their order and signs."""
    first: dict[tuple[str, ...], StoreEntry] = {}
    found = []
    for one in sorted(entries, key=lambda one: one.created):
        words = tuple(sorted(word.strip(".,;:!?()'\"`*_-") for word in folded(one.content).split()))
        known = first.setdefault(tuple(filter(None, words)), one)
        if known is not one:
            found.append(_entry(one, JunkKind.DUPLICATE, "the same words as an earlier entry", known.id))
    return found


def _contradicted(entries: Sequence[StoreEntry], checkout: Checkout, asker: Asker | None) -> list[JunkEntry]:
    statements = [(one, each) for one in entries for each in statements_of(f"item:{one.id}", one.content)]
    checked = Checker(checkout).check_all([each for _, each in statements])
    if asker is not None:
        checked = decided_by_model(checked, checkout, asker)
    return [
        _entry(one, JunkKind.CONTRADICTED, each.why, by=each.by)
        for (one, _), each in zip(statements, checked, strict=True)
        if each.truth is Truth.CONTRADICTED
    ]


def _judged(left: Sequence[StoreEntry], entries: Sequence[StoreEntry], asker: Asker) -> list[JunkEntry]:
    """Return what a model calls junk among the entries that are left."""
    vectors = {one.id: embed(one.content) for one in entries}
    asked, shown = [], []
    for start in range(0, len(left), _TOGETHER):
        batch = left[start : start + _TOGETHER]
        near = dict.fromkeys(other.id for one in batch for other in _nearest(one, entries, vectors))
        by_id = {one.id: one for one in entries}
        others = [by_id[id_] for id_ in near if by_id[id_] not in batch]
        shown.append([*batch, *others])
        asked.append({"entries": _lines(batch, 1), "others": _lines(others, len(batch) + 1)})
    batches = [left[start : start + _TOGETHER] for start in range(0, len(left), _TOGETHER)]
    checks = [_check(len(batch), known) for batch, known in zip(batches, shown, strict=True)]
    answers = asker.ask(load_prompt(JUNK), asked, JunkAnswers, checks=checks)
    return [
        _entry(
            known[one.number - 1], JunkKind(one.kind), one.reason, known[one.of - 1].id if one.of else "", asker.judge
        )
        for known, answer in zip(shown, answers, strict=True)
        for one in (answer.value.entries if answer.value is not None else ())
        if one.kind != "keep"
    ]


def _nearest(one: StoreEntry, entries: Sequence[StoreEntry], vectors: dict[str, bytes]) -> list[StoreEntry]:
    others = (other for other in entries if other.id != one.id)
    return sorted(others, key=lambda other: (-similarity(vectors[one.id], vectors[other.id]), other.id))[:_NEAREST]


def _lines(entries: Sequence[StoreEntry], first: int) -> str:
    rows = (
        {"number": number, "created": one.created, "text": excerpt(sendable(one.content), _SHOWN)}
        for number, one in enumerate(entries, first)
    )
    return "\n".join(msgspec.json.encode(row).decode("utf-8") for row in rows)


def _check(count: int, known: Sequence[StoreEntry]) -> Callable[[JunkAnswers], str]:
    """Return the check of an answer: every entry once, kinds that exist, and others that were shown."""

    def problem(answer: JunkAnswers) -> str:
        if {one.number for one in answer.entries} != set(range(1, count + 1)):
            return "not every entry has one answer"
        for one in answer.entries:
            if one.kind != "keep" and one.kind not in set(JunkKind):
                return f"{one.kind!r} is no kind"
            needs = one.kind in (JunkKind.DUPLICATE, JunkKind.NEAR_COPY, JunkKind.DISPROVED)
            if needs and not (1 <= one.of <= len(known) and one.of != one.number):
                return f"entry {one.number} names no other entry that was shown"
            if one.kind == JunkKind.DISPROVED and known[one.of - 1].created < known[one.number - 1].created:
                return f"entry {one.number} is disproved by an earlier one"
        return ""

    return problem
