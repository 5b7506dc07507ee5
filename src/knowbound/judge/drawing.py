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

_TEXT_TOKENS = 3_000  # of a prompt and of an answer that a person is shown
_ITEM_CHARACTERS = 4_000
_LAST_CALLS = 60
_T = TypeVar("_T")


def draw_from_both(
    rare: Sequence[_T], common: Sequence[_T], is_known: Callable[[_T], bool], count: int, draw: random.Random
) -> list[tuple[_T, float]]:
    """Draw half of the unknown items from each class, shuffled, each with its weight.

    A class with too few items leaves its places to the other class.
    """
    classes = [rare, common]
    unknown_rare, unknown_common = ([item for item in items if not is_known(item)] for items in classes)
    common_count = min(len(unknown_common), max(count // 2, count - len(unknown_rare)))
    rare_count = min(len(unknown_rare), count - common_count)
    drawn = [draw.sample(unknown_rare, rare_count), draw.sample(unknown_common, common_count)]
    drawn_count, all_count = rare_count + common_count, len(rare) + len(common)
    weighted = [
        # The share of the class among all items, by its share among the drawn ones.
        (item, round(len(items) / all_count * drawn_count / len(part), 4))
        for items, part in zip(classes, drawn, strict=True)
        for item in part
    ]
    draw.shuffle(weighted)
    return weighted


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


def to_label(turn: QualityTurn, weight: float, traced: JudgedTurn | None = None) -> UnlabelledTurn:
    """Return the turn without its verdicts and secrets, as much of it as a person reads.

    It comes from its trace (`traced`) if that still exists, else from the log.
    """
    logged_calls = tuple(JudgedCall(call.name, {"query": call.input_excerpt}) for call in turn.tool_calls)
    shown = without_secrets(
        UnlabelledTurn(
            id=turn.id,
            prompt=(traced.prompt if traced else "") or turn.user_prompt,
            items=_items(turn, traced),
            response=(traced.response if traced else "") or turn.assistant_response,
            tool_calls=(traced.tool_calls if traced else logged_calls)[-_LAST_CALLS:],
            session=turn.session_id,
            weight=weight,
            judge=turn.judge,
        )
    )
    names = names_in([shown.response, *(item.content for item in shown.items)])
    return replace(
        shown,
        prompt=shortened(shown.prompt, _TEXT_TOKENS, names),
        response=shortened(shown.response, _TEXT_TOKENS, names),
        items=tuple(replace(item, content=both_ends(item.content, _ITEM_CHARACTERS, " […] ")) for item in shown.items),
        tool_calls=tuple(
            replace(call, output=shortened(call.output, _TEXT_TOKENS // 4, names)) for call in shown.tool_calls
        ),
    )


def _items(turn: QualityTurn, traced: JudgedTurn | None) -> tuple[JudgedItem, ...]:
    """Return the items of the metrics, each once, and whole if the trace has them."""
    whole = {item.id: item for item in traced.items} if traced else {}
    found = {}
    for item in turn.injected_items:
        kept = JudgedItem(item.id, item.content_excerpt, is_whole=item.content_length <= len(item.content_excerpt))
        found[item.id] = whole.get(item.id, kept)
    return tuple(found.values())
