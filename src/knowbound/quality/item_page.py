"""One item in full: its numbers by day, its last injections with their verdicts, its records and corrections."""

from __future__ import annotations

from collections.abc import Sequence

from knowbound import __version__
from knowbound.core.item import Item
from knowbound.core.quality_log import DayRollup, LoggedItem, QualityTurn
from knowbound.errors import InputError
from knowbound.kms.index.database import Index
from knowbound.kms.quality_log.protocol import QualityLog
from knowbound.quality.fixing import is_present
from knowbound.report.quality.model import CorrectionMade, ItemDay, ItemInjection, ItemQuality, ItemToFix
from knowbound.text.redact import excerpt

MOST_INJECTIONS = 10
_CONTENT = 500
_PROMPT = 200


def item_quality(
    log: QualityLog, index: Index, id_: str, days: Sequence[DayRollup], fault: ItemToFix | None = None
) -> ItemQuality:
    """The item, whether the store still has it or only the log. Raises InputError where neither knows it."""
    known = sorted(index.known(id_), key=lambda one: not one.served)
    held = known[0] if known else None
    by_day = [ItemDay(day.date, day.by_item[id_]) for day in days if id_ in day.by_item]
    newest = _newest(log, id_, [day.date for day in by_day])
    if held is None and not by_day:
        raise InputError(
            "item-unknown", f"No item {id_!r}, in the store or in the quality log. Try: knowbound quality status"
        )
    logged = newest[0][1].content_excerpt if newest else ""
    return ItemQuality(
        id=id_,
        content=excerpt(held.item.content, _CONTENT) if held else logged,
        content_length=len(held.item.content) if held else newest[0][1].content_length if newest else 0,
        is_served=any(one.served for one in known),
        flag=str(held.item.flag.kind) if held and held.item.flag else "",
        days=tuple(by_day),
        injections=tuple(_injected(turn, item, held.item if held else None) for turn, item in newest),
        records=tuple(one for one in log.discoveries() if one.item == id_),
        corrections=tuple(CorrectionMade(one.time, one.tool, one.by, one.session) for one in index.corrections(id_)),
        fault=fault,
        version=__version__,
    )


def _newest(log: QualityLog, id_: str, dates: Sequence[str]) -> list[tuple[QualityTurn, LoggedItem]]:
    """Its last injections, newest first, as far as their turns are kept."""
    found: list[tuple[QualityTurn, LoggedItem]] = []
    for date in reversed(dates):
        turns = [(turn, item) for turn in log.of_day(date) for item in turn.injected_items if item.id == id_]
        found += reversed(turns)
        if len(found) >= MOST_INJECTIONS:
            break
    return found[:MOST_INJECTIONS]


def _injected(turn: QualityTurn, item: LoggedItem, held: Item | None) -> ItemInjection:
    is_same = held is None or is_present(item.content_sha, held)
    prompt = excerpt(turn.user_prompt, _PROMPT)
    return ItemInjection(turn.timestamp, turn.session_id, turn.turn_id, prompt, item.verdict, is_same)
