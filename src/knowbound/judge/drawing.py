"""Draws sentences and turns for people to label, so that a rare answer is met often enough.

The weight of each drawn item undoes the choice: how much more often such items occur than they were drawn.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from knowbound.core.quality import JudgedCall, JudgedItem, JudgedTurn, QualityTurn
from knowbound.judge.labels import UnlabelledTurn, without_secrets
from knowbound.judge.material import names_in, shortened
from knowbound.text.printable import both_ends

_TOKENS = 3_000  # of a prompt and of an answer that a person is shown
_OF_AN_ITEM = 4_000  # characters
_CALLS = 60  # the last ones
_T = TypeVar("_T")


def draw_from_both(
    rare: Sequence[_T], common: Sequence[_T], is_known: Callable[[_T], bool], count: int, draw: random.Random
) -> list[tuple[_T, float]]:
    """Draw half of the unknown items from each class, shuffled, each with its weight.

    A class with too few items leaves its places to the other class.
    """
    strata = [rare, common]
    fresh = [[one for one in stratum if not is_known(one)] for stratum in strata]
    first, second = map(len, fresh)
    of_second = min(second, max(count // 2, count - first))
    sizes = [min(first, count - of_second), of_second]
    drawn = [draw.sample(stratum, size) for stratum, size in zip(fresh, sizes, strict=True)]
    total, of = sum(map(len, drawn)), len(rare) + len(common)
    weighed = [
        (one, round(len(stratum) / of * total / len(part), 4))
        for stratum, part in zip(strata, drawn, strict=True)
        for one in part
    ]
    draw.shuffle(weighed)
    return weighed


def draw_turns(
    turns: Iterable[QualityTurn], count: int, seed: int, known: Collection[str] = ()
) -> list[tuple[str, float]]:
    """Draw the ids of unlabelled turns with injected items, each with its weight.

    Contradictions are rare (specification 2, "The judge"): half of the turns are those in which the judge saw one.
    """
    contradicted: list[str] = []
    others: list[str] = []
    for turn in turns:
        if turn.injected_items and turn.is_scored:
            verdicts = [item.verdict for item in turn.injected_items if item.verdict]
            (contradicted if any(verdict.contradicted for verdict in verdicts) else others).append(turn.id)
    return draw_from_both(contradicted, others, lambda id_: id_ in known, count, random.Random(seed))


def to_label(turn: QualityTurn, weight: float, read: JudgedTurn | None = None) -> UnlabelledTurn:
    """Return the turn without its verdicts and secrets, as much of it as a person reads.

    It comes from its trace (`read`) if that still exists, else from the log.
    """
    logged_calls = tuple(JudgedCall(call.name, {"query": call.input_excerpt}) for call in turn.tool_calls)
    shown = without_secrets(
        UnlabelledTurn(
            id=turn.id,
            prompt=(read.prompt if read else "") or turn.user_prompt,
            items=_items(turn, read),
            response=(read.response if read else "") or turn.assistant_response,
            tool_calls=(read.tool_calls if read else logged_calls)[-_CALLS:],
            session=turn.session_id,
            weight=weight,
            judge=turn.judge,
        )
    )
    names = names_in([shown.response, *(item.content for item in shown.items)])
    return replace(
        shown,
        prompt=shortened(shown.prompt, _TOKENS, names),
        response=shortened(shown.response, _TOKENS, names),
        items=tuple(replace(item, content=both_ends(item.content, _OF_AN_ITEM, " […] ")) for item in shown.items),
        tool_calls=tuple(
            replace(call, output=shortened(call.output, _TOKENS // 4, names)) for call in shown.tool_calls
        ),
    )


def _items(turn: QualityTurn, read: JudgedTurn | None) -> tuple[JudgedItem, ...]:
    """Return the items of the metrics, each once, and whole if the trace has them."""
    whole = {item.id: item for item in read.items} if read else {}
    found = {}
    for item in turn.injected_items:
        kept = JudgedItem(item.id, item.content_excerpt, is_whole=item.content_length <= len(item.content_excerpt))
        found[item.id] = whole.get(item.id, kept)
    return tuple(found.values())
