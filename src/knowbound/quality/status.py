"""`quality status`: whether what we inject helps (specification 2, section 2).

What changed is rolled up first. The window ends today; where nothing was measured in it, it ends with the newest day
that was, and says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from knowbound import __version__
from knowbound.config import Settings
from knowbound.core.item import FlagKind
from knowbound.core.quality import Closing, Counts, DayRollup, Discovery, LoggedItem, QualityTurn
from knowbound.errors import InputError
from knowbound.injection.hook_settings import LIVE, SHADOW, is_shadowed, shadow_is_on, shadow_since
from knowbound.injection.inject import HELD_OUT, INJECTED
from knowbound.injection.log import read_log
from knowbound.judge.calibration import judge_worth
from knowbound.kms.index.database import Index
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.quality_log import QualityLog
from knowbound.quality.fixing import drafted, is_present, to_fix
from knowbound.quality.rollout.progress import Rollout, rates
from knowbound.quality.rollup import RESOLVED_DAYS, discovery_rate, opened_log
from knowbound.report.quality.model import (
    FIRST_ITEMS,
    ITEM_DAYS,
    TO_LOOK_AT,
    CorrectionMade,
    ItemDay,
    ItemInjection,
    ItemQuality,
    ItemSaving,
    ItemToFix,
    JudgeWorth,
    OtherCorrection,
    QualityStatus,
    ShadowChoice,
    ShadowStatus,
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
from knowbound.user_files import make_file

OFFER_PROMPTS = 50  # prompts with items, before a holdout is offered
_MOST_INJECTIONS = 10
_REASON_CHARS, _CONTENT_CHARS, _PROMPT_CHARS = 160, 500, 200  # shown of a judge's problem, of an item, of a prompt


def quality_status(settings: Settings, *, today: str = "") -> QualityStatus:
    """Return everything that the screen shows. `today` is a day in UTC."""
    today = today or utc_now()[:10]
    with opened_log(settings, today) as (log, index):
        days, records = log.rollups(), log.discoveries()
        until = _last_day_of_window(days, today)
        fixing = to_fix(log.since(window(until, ITEM_DAYS)[0]), log, index)
        total = sum_of_days(days, *window(until))
        judge = judge_worth(settings, total.judges, utc_now())
        held_out_days = [day.date for day in days if day.held_out]
        return QualityStatus(
            until=until,
            is_current=until == today,
            first=days[0].date if days else "",
            metrics=_metrics(days, records, until, today, judge),
            window=total,
            items=tuple(fixing),
            judge=judge,
            unscored=dict(Counter(excerpt(turn.problem, _REASON_CHARS) for turn in log.unscored()).most_common()),
            series=rolling(days, until, lambda first, last: discovery_rate(records, first, last)),
            pages=tuple(item_quality(log, index, fault.id, days, fault) for fault in fixing[:FIRST_ITEMS]),
            rollout=Rollout(settings, log, index, today).status(),
            holdout=holdout_comparison(log.since(held_out_days[0])) if held_out_days else None,
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
    open_records = [record for record in records if record.source and record.closing is Closing.OPEN]
    for record in sorted(open_records, key=lambda record: (-record.contradictions, record.id)):
        turn = log.get(f"{record.session_id}/{record.turn_id}")
        items = turn.other_items if turn else ()
        content = next((item.content_excerpt for item in items if item.id == record.item), "")
        tool, id_name, content_name = _CORRECTING.get(record.source, ("", "", ""))
        arguments = {id_name: record.own_id, content_name: drafted(content, record.statement).content} if tool else {}
        yield OtherCorrection(
            source=record.source,
            content=content,
            statement=excerpt(record.statement, _CONTENT_CHARS),
            contradictions=record.contradictions,
            tool=tool,
            arguments={name: redact(value) for name, value in arguments.items() if value},
        )


def quality_of_item(settings: Settings, id_: str, *, today: str = "") -> ItemQuality:
    """Return one item in full. Raises InputError if neither the store nor the log knows it."""
    today = today or utc_now()[:10]
    with opened_log(settings, today) as (log, index):
        days = log.rollups()
        fixing = to_fix(log.since(window(_last_day_of_window(days, today), ITEM_DAYS)[0]), log, index)
        fault = next((fault for fault in fixing if fault.id == id_), None)
        quality = item_quality(log, index, id_, days, fault)
        return replace(quality, saving=_saving(log, quality.content, quality.days[0].date if quality.days else ""))


def _saving(log: QualityLog, content: str, first: str) -> ItemSaving | None:
    """Count tool calls with a specific word of the item, and turns, before the item's first day and from then on."""
    words = _specific_words(content)
    if not first or not words:
        return None
    calls, turns = {False: 0, True: 0}, {False: 0, True: 0}  # by whether the item had been injected
    for turn in log.since(""):
        is_after = turn.date >= first
        calls[is_after] += sum(bool(words & _specific_words(call.input_excerpt)) for call in turn.tool_calls)
        turns[is_after] += 1
    return ItemSaving(calls[False], turns[False], calls[True], turns[True])


def _specific_words(text: str) -> set[str]:
    return {terms[0] for _, terms in places(readable(text))}


def _last_day_of_window(days: list[DayRollup], today: str) -> str:
    """Return today, or the newest day with a turn if the window that ends today has none."""
    measured = [day.date for day in days if day.turns and day.date <= today]
    return measured[-1] if measured and measured[-1] < window(today)[0] else today


def _metrics(
    days: list[DayRollup], records: list[Discovery], until: str, today: str, judge: JudgeWorth
) -> tuple[MetricStatus, ...]:
    """Return the four metrics of the window that ends with `until`, and of the window before."""
    now, before = (rates(days, records, *window(last)) for last in (until, day_before(until, WINDOW_DAYS)))
    about_items = [
        MetricStatus(name, now[name], before[name], judge.corrected(now[name], metric))
        for name, metric in ITEM_METRICS.items()
    ]
    name, pending = QualityMetric.DISCOVERY, _pending(records, until, today)
    return *about_items, MetricStatus(name, now[name], before[name], pending=pending)


def _pending(records: list[Discovery], until: str, today: str) -> int:
    """Count the open warranted corrections of the window that would still count if they were made now."""
    first, last = window(until)
    oldest = day_before(today, RESOLVED_DAYS)
    ours = (record for record in records if not record.source)  # of our own store
    raised = (record for record in ours if first <= record.raised[:10] <= last)
    return sum(record.closing is Closing.OPEN and record.raised[:10] > oldest for record in raised)


def item_quality(
    log: QualityLog, index: Index, id_: str, days: Sequence[DayRollup], fault: ItemToFix | None = None
) -> ItemQuality:
    """Return an item, also one that only the log still has. Raises InputError if neither store nor log knows it."""
    entries = sorted(index.known(id_), key=lambda entry: not entry.served)
    entry = entries[0] if entries else None
    by_day = [ItemDay(day.date, day.by_item[id_]) for day in days if id_ in day.by_item]
    newest = _newest_injections(log, id_, [day.date for day in by_day])
    if entry is None and not by_day:
        raise InputError(
            "item-unknown", f"No item {id_!r}, in the store or in the quality log. Try: knowbound quality status"
        )
    logged = newest[0][1].content_excerpt if newest else ""
    return ItemQuality(
        id=id_,
        content=excerpt(entry.item.content, _CONTENT_CHARS) if entry else logged,
        content_length=len(entry.item.content) if entry else newest[0][1].content_length if newest else 0,
        is_served=any(entry.served for entry in entries),
        flag=str(entry.item.flag.kind) if entry and entry.item.flag else "",
        days=tuple(by_day),
        injections=tuple(
            ItemInjection(
                turn.timestamp,
                turn.session_id,
                turn.turn_id,
                excerpt(turn.user_prompt, _PROMPT_CHARS),
                item.verdict,
                entry is None or is_present(item.content_sha, entry.item),
            )
            for turn, item in newest
        ),
        records=tuple(record for record in log.discoveries() if record.item == id_),
        corrections=tuple(
            CorrectionMade(correction.time, correction.tool, correction.by, correction.session)
            for correction in index.corrections(id_)
        ),
        fault=fault,
        version=__version__,
    )


def _newest_injections(log: QualityLog, id_: str, dates: Sequence[str]) -> list[tuple[QualityTurn, LoggedItem]]:
    """Return the last injections of an item, newest first, as far as their turns are kept."""
    newest_first: list[tuple[QualityTurn, LoggedItem]] = []
    for date in reversed(dates):
        turns = [(turn, item) for turn in log.of_day(date) for item in turn.injected_items if item.id == id_]
        newest_first += reversed(turns)
        if len(newest_first) >= _MOST_INJECTIONS:
            break
    return newest_first[:_MOST_INJECTIONS]


def holdout_comparison(turns: Iterable[QualityTurn]) -> HoldoutComparison | None:
    """Compare the turns that got items with turns that were held out; None if none of these was held out.

    What agents did is known from their traces: a turn without one is left out.
    """
    arm_turns = [_arm_turn(turn) for turn in turns if turn.arm in (HELD_OUT, INJECTED) and turn.trace]
    return compare_arms(arm_turns) if any(turn.is_held_out for turn in arm_turns) else None


def _arm_turn(turn: QualityTurn) -> ArmTurn:
    """Return the numbers of one turn for the comparison of the arms: with items, and held out."""
    outcomes: dict[TurnOutcome, float] = {
        TurnOutcome.STEPS: turn.steps,
        TurnOutcome.CALLS: turn.tool_calls_count,
        TurnOutcome.FAILED_SEARCHES: turn.failed_searches,
        TurnOutcome.CORRECTIVE_CALLS: sum(bool(call.corrected) for call in turn.tool_calls),
    }
    if turn.turn_tokens is not None:
        outcomes[TurnOutcome.TOKENS] = turn.turn_tokens
    return ArmTurn(turn.session_id, turn.arm == HELD_OUT, outcomes)


# ---- choices in shadow: a person accepts or rejects them before anything reaches an agent

# Hooks in shadow record their choices (injection/hook_settings.py), and the judge scores them like any other; they
# count in figures of their own. A person looks at ten. A rejected item is held back; after ten answers injecting may
# start.

_SHADOW_FILE = "shadow.json"  # in the data folder
_SHOWN_CONTENT = 300  # that are shown


def shadow_status(settings: Settings, days: Sequence[DayRollup] = ()) -> ShadowStatus | None:
    """Return the shadow of the project; None if the user never started in shadow."""
    home = str(settings.home)
    if not shadow_is_on():
        return None
    accepted_by_key = _shadow_answers(settings.home)
    choices = [
        ShadowChoice(
            key=f"{record.id[:6]}-{number}",
            time=record.time,
            prompt=excerpt(record.prompt, _PROMPT_CHARS),
            item=item.item,
            content=excerpt(item.excerpt, _SHOWN_CONTENT),
            accepted=accepted_by_key.get(f"{record.id[:6]}-{number}"),
        )
        for record in reversed(read_log(settings.home).records)
        if record.arm == SHADOW
        for number, item in enumerate(record.items, 1)
    ]
    counts = sum((day.shadow for day in days), Counts())
    return ShadowStatus(is_shadowed(home), shadow_since(), tuple(choices), counts)


def to_look_at(status: ShadowStatus) -> list[ShadowChoice]:
    """Return the unanswered choices to show, each item once: with the answered choices they make ten."""
    seen_items: set[str] = set()
    unanswered = []
    for choice in status.choices:
        if choice.accepted is None and choice.item not in seen_items:
            unanswered.append(choice)
        seen_items.add(choice.item)  # also of an answered choice: one answer about an item is enough
    return unanswered[: status.left]


def answer_shadow(settings: Settings, accepted: Collection[str], rejected: Collection[str], *, by: str) -> ShadowStatus:
    """Accept and reject choices by their keys. A rejected item is held back until a person clears its flag."""
    status = _status_in_shadow(settings)
    choices = {choice.key: choice for choice in status.choices}
    if unknown := [key for key in (*accepted, *rejected) if key not in choices]:
        raise InputError("no-choice", f"No choice {unknown[0]!r}. Try: knowbound quality shadow")
    if both := set(accepted) & set(rejected):
        raise InputError("no-choice", f"{min(both)} is accepted and rejected. Nothing was changed.")
    if rejected:
        with closing(open_knowledge_store(settings, by=by)) as store:
            for item, choice in {choices[key].item: choices[key] for key in rejected}.items():  # each once
                reason = f"rejected in shadow on {utc_now()[:10]}, for the prompt: {choice.prompt}"
                store.flag(item, FlagKind.HELD_BACK, reason)
    answers = dict.fromkeys(accepted, True) | dict.fromkeys(rejected, False)
    make_file(str(settings.home / _SHADOW_FILE), json.dumps(_shadow_answers(settings.home) | answers).encode())
    return _status_in_shadow(settings)


def start_injecting(settings: Settings) -> None:
    """Start injecting in this project. Raises InputError before ten choices were answered."""
    status = _status_in_shadow(settings)
    if status.left:
        words = f"{status.answered} of {TO_LOOK_AT} choices were accepted or rejected."
        raise InputError("shadow-unseen", f"{words} Nothing was changed. Try: knowbound quality shadow")
    make_file(str(settings.home / LIVE), f"{utc_now()}\n".encode())


def _status_in_shadow(settings: Settings) -> ShadowStatus:
    """Return the shadow of the project. Raises InputError if the user never started in shadow."""
    status = shadow_status(settings)
    if status is None:
        raise InputError("no-shadow", "Nothing is in shadow. Try: knowbound install claude-code --shadow")
    return status


def _shadow_answers(home: Path) -> dict[str, bool]:
    """Return the answers of a person: key of a choice → whether it was accepted; none without a file."""
    try:
        found = json.loads((home / _SHADOW_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    answers = found.items() if isinstance(found, dict) else ()
    return {key: is_accepted for key, is_accepted in answers if isinstance(is_accepted, bool)}
