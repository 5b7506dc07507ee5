"""`quality status`: whether what we inject helps (specification 2, section 2).

What changed is rolled up first. The window ends today; where nothing was measured in it, it ends with the newest day
that was, and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from msgspec.structs import replace

from knowbound import __version__
from knowbound.config import Settings
from knowbound.core.item import Item
from knowbound.core.quality import Closing, DayRollup, Discovery, LoggedItem, QualityTurn
from knowbound.errors import InputError
from knowbound.injection.inject import HELD_OUT, INJECTED
from knowbound.judge.calibration import judge_worth
from knowbound.kms.index.database import Index
from knowbound.kms.opening import open_index, open_quality_log
from knowbound.kms.quality_log import QualityLog
from knowbound.quality.corrections.discovery import RESOLVED_DAYS, discovery_rate
from knowbound.quality.corrections.fixing import drafted, is_present, to_fix
from knowbound.quality.rollout.progress import Rollout, rates
from knowbound.quality.rollup import roll_up
from knowbound.quality.shadow import shadow_status
from knowbound.report.quality.model import (
    FIRST_ITEMS,
    ITEM_DAYS,
    CorrectionMade,
    ItemDay,
    ItemInjection,
    ItemQuality,
    ItemSaving,
    ItemToFix,
    JudgeWorth,
    OtherCorrection,
    QualityStatus,
)
from knowbound.stats.quality import (
    ITEM_METRICS,
    WINDOW_DAYS,
    ArmTurn,
    HoldoutComparison,
    MetricStatus,
    QualityMetric,
    TurnOutcome,
    compare_arms,
    day_before,
    rolling,
    sum_of_days,
    window,
)
from knowbound.text.clock import utc_now
from knowbound.text.redact import excerpt, redact
from knowbound.text.specific_words import places, readable

OFFER_PROMPTS = 50  # prompts with items, before a holdout is offered
_MOST_INJECTIONS = 10
_REASON, _CONTENT, _PROMPT = 160, 500, 200  # characters that are shown: of a judge's problem, of an item, of a prompt


def quality_status(settings: Settings, *, today: str = "") -> QualityStatus:
    """Everything that the screen shows. `today` is a day in UTC."""
    today = today or utc_now()[:10]
    with closing(open_quality_log(settings)) as log, closing(open_index(settings)) as index:
        roll_up(log, index.corrections(), today=today, gamma=settings.quality_gamma)
        days, records = log.rollups(), log.discoveries()
        until = _until(days, today)
        fixing = to_fix(log.since(window(until, ITEM_DAYS)[0]), log, index)
        total = sum_of_days(days, *window(until))
        judge = judge_worth(settings, total.judges, utc_now())
        return QualityStatus(
            until=until,
            is_current=until == today,
            first=days[0].date if days else "",
            metrics=_metrics(days, records, until, today, judge),
            window=total,
            items=tuple(fixing),
            judge=judge,
            unscored=dict(Counter(excerpt(turn.problem, _REASON) for turn in log.unscored()).most_common()),
            series=rolling(days, until, lambda first, last: discovery_rate(records, first, last)),
            pages=tuple(item_quality(log, index, one.id, days, one) for one in fixing[:FIRST_ITEMS]),
            rollout=Rollout(settings, log, index, today).status(),
            holdout=_holdout(log, days),
            offers_holdout=not settings.quality_holdout
            and sum(day.prompts_with_items for day in days) >= OFFER_PROMPTS,
            shadow=shadow_status(settings, days),
            others_corrected={name: discovery_rate(records, *window(until), name) for name in total.others},
            other_corrections=tuple(_other_corrections(log, records)),
            version=__version__,
        )


# By store: the tool that corrects an item there, and its arguments for the item and for what replaces it.
_CORRECTING = {"kms": ("kms_supersede", "old_id", "new_content"), "mem0": ("update_memory", "memory_id", "text")}


def _other_corrections(log: QualityLog, records: Sequence[Discovery]) -> Iterator[OtherCorrection]:
    """Yield open corrections of texts that other tools injected, as calls to the other tool's store."""
    waiting = [record for record in records if record.source and record.closing is Closing.OPEN]
    for record in sorted(waiting, key=lambda one: (-one.contradictions, one.id)):
        turn = log.get(f"{record.session_id}/{record.turn_id}")
        content = (
            next((item.content_excerpt for item in turn.other_items if item.id == record.item), "") if turn else ""
        )
        tool, id_name, content_name = _CORRECTING.get(record.source, ("", "", ""))
        arguments = {id_name: record.own_id, content_name: drafted(content, record.statement).content} if tool else {}
        yield OtherCorrection(
            source=record.source,
            content=content,
            statement=excerpt(record.statement, _CONTENT),
            contradictions=record.contradictions,
            tool=tool,
            arguments={name: redact(value) for name, value in arguments.items() if value},
        )


def quality_of_item(settings: Settings, id_: str, *, today: str = "") -> ItemQuality:
    """Return one item in full. Raises InputError if neither the store nor the log knows it."""
    today = today or utc_now()[:10]
    with closing(open_quality_log(settings)) as log, closing(open_index(settings)) as index:
        roll_up(log, index.corrections(), today=today, gamma=settings.quality_gamma)
        days = log.rollups()
        fixing = to_fix(log.since(window(_until(days, today), ITEM_DAYS)[0]), log, index)
        found = item_quality(log, index, id_, days, next((one for one in fixing if one.id == id_), None))
        return replace(found, saving=_saving(log, found.content, found.days[0].date if found.days else ""))


def _saving(log: QualityLog, content: str, first: str) -> ItemSaving | None:
    """Tool calls with a specific word of the item, a turn, before the day it was injected first and from then on."""
    words = {terms[0] for _, terms in places(readable(content))}
    if not first or not words:
        return None
    counts = {False: [0, 0], True: [0, 0]}
    for turn in log.since(""):
        side = counts[turn.date >= first]
        side[0] += sum(
            bool(words & {t[0] for _, t in places(readable(call.input_excerpt))}) for call in turn.tool_calls
        )
        side[1] += 1
    return ItemSaving(*counts[False], *counts[True])


def _until(days: list[DayRollup], today: str) -> str:
    """Today; or the newest day with a turn, where the window that ends today has none."""
    measured = [day.date for day in days if day.turns and day.date <= today]
    return measured[-1] if measured and measured[-1] < window(today)[0] else today


def _metrics(
    days: list[DayRollup], records: list[Discovery], until: str, today: str, judge: JudgeWorth
) -> tuple[MetricStatus, ...]:
    now, before = (rates(days, records, *window(last)) for last in (until, day_before(until, WINDOW_DAYS)))
    about_items = [
        MetricStatus(name, now[name], before[name], judge.corrected(now[name], metric))
        for name, metric in ITEM_METRICS.items()
    ]
    name, pending = QualityMetric.DISCOVERY, _pending(records, until, today)
    return *about_items, MetricStatus(name, now[name], before[name], pending=pending)


def _pending(records: list[Discovery], until: str, today: str) -> int:
    """Warranted corrections of the window that would still count if they were made now."""
    first, last = window(until)
    oldest = day_before(today, RESOLVED_DAYS)
    raised = (record for record in records if first <= record.raised[:10] <= last and not record.source)
    return sum(one.closing is Closing.OPEN and one.raised[:10] > oldest for one in raised)


def _holdout(log: QualityLog, days: list[DayRollup]) -> HoldoutComparison | None:
    """Turns are read only where some were held out."""
    held = [day.date for day in days if day.held_out]
    return holdout_comparison(log.since(held[0])) if held else None


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
    """Return the last injections of an item, newest first, as far as their turns are kept."""
    found: list[tuple[QualityTurn, LoggedItem]] = []
    for date in reversed(dates):
        turns = [(turn, item) for turn in log.of_day(date) for item in turn.injected_items if item.id == id_]
        found += reversed(turns)
        if len(found) >= _MOST_INJECTIONS:
            break
    return found[:_MOST_INJECTIONS]


def _injected(turn: QualityTurn, item: LoggedItem, held: Item | None) -> ItemInjection:
    is_same = held is None or is_present(item.content_sha, held)
    prompt = excerpt(turn.user_prompt, _PROMPT)
    return ItemInjection(turn.timestamp, turn.session_id, turn.turn_id, prompt, item.verdict, is_same)


def holdout_comparison(turns: Iterable[QualityTurn]) -> HoldoutComparison | None:
    """Turns for which something was found while prompts were held out; None where none was.

    What agents then did is known from their traces: a turn without one is left out.
    """
    given = [_arm_turn(turn) for turn in turns if turn.arm in (HELD_OUT, INJECTED) and turn.trace]
    return compare_arms(given) if any(turn.is_held_out for turn in given) else None


def _arm_turn(turn: QualityTurn) -> ArmTurn:
    outcomes: dict[TurnOutcome, float] = {
        TurnOutcome.STEPS: turn.steps,
        TurnOutcome.CALLS: turn.tool_calls_count,
        TurnOutcome.FAILED_SEARCHES: turn.failed_searches,
        TurnOutcome.CORRECTIVE_CALLS: sum(bool(call.corrected) for call in turn.tool_calls),
    }
    if turn.turn_tokens is not None:
        outcomes[TurnOutcome.TOKENS] = turn.turn_tokens
    return ArmTurn(turn.session_id, turn.arm == HELD_OUT, outcomes)
