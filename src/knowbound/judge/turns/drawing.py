"""Draws measured turns for people to label (specification 2, "The judge").

Contradictions are rare: turns in which the judge saw one are drawn as often as all others together, as far as there are
so many. The weight of each undoes the choice. What the judge said stays behind.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from typing import NamedTuple

from knowbound.core.quality import JudgedCall, JudgedItem, JudgedTurn
from knowbound.core.quality_log import QualityTurn
from knowbound.judge.drawing import draw_from_both
from knowbound.judge.turns.labels import UnlabelledTurn
from knowbound.judge.turns.shortening import bounded


class DrawnTurn(NamedTuple):
    """Which turn of the log, and how much more often its like occurs than it was drawn."""

    id: str
    weight: float


def draw_turns(turns: Iterable[QualityTurn], count: int, seed: int, known: Collection[str] = ()) -> list[DrawnTurn]:
    """Turns of the log that have injected items and are not among the known ones."""
    contradicted: list[str] = []
    others: list[str] = []
    for turn in turns:
        if turn.injected_items and turn.is_scored:
            verdicts = [item.verdict for item in turn.injected_items if item.verdict]
            (contradicted if any(one.contradicted for one in verdicts) else others).append(turn.id)
    drawn = draw_from_both(contradicted, others, lambda id_: id_ in known, count, random.Random(seed))
    return [DrawnTurn(id_, weight) for id_, weight in drawn]


def to_label(turn: QualityTurn, weight: float, read: JudgedTurn | None = None) -> UnlabelledTurn:
    """The turn without its verdicts. `read` has all of it, where its trace can still be read; else the log decides."""
    shown = bounded(
        JudgedTurn(
            id=turn.id,
            prompt=(read.prompt if read else "") or turn.user_prompt,
            response=(read.response if read else "") or turn.assistant_response,
            items=_items(turn, read),
            tool_calls=read.tool_calls if read else _calls(turn),
        )
    )
    return UnlabelledTurn(
        id=turn.id,
        prompt=shown.prompt,
        items=shown.items,
        response=shown.response,
        tool_calls=shown.tool_calls,
        session=turn.session_id,
        weight=weight,
        judge=turn.judge,
    )


def _items(turn: QualityTurn, read: JudgedTurn | None) -> tuple[JudgedItem, ...]:
    """The items that are in the metrics, each once, and whole where that is known."""
    whole = {item.id: item for item in read.items} if read else {}
    found = {}
    for item in turn.injected_items:
        kept = JudgedItem(item.id, item.content_excerpt, is_whole=item.content_length <= len(item.content_excerpt))
        found[item.id] = whole.get(item.id, kept)
    return tuple(found.values())


def _calls(turn: QualityTurn) -> tuple[JudgedCall, ...]:
    return tuple(JudgedCall(call.name, {"query": call.input_excerpt}) for call in turn.tool_calls)
