"""The status of quality, made by hand: a project after a month, and one where nothing is known."""

from __future__ import annotations

from datetime import date, timedelta

from knowbound.core.quality import Closing, Counts, DayRollup, Discovery, Durations, ItemVerdict, Metric, Spread
from knowbound.report.quality.model import (
    CorrectionMade,
    Fault,
    ItemDay,
    ItemInjection,
    ItemQuality,
    ItemToFix,
    JudgeWorth,
    QualityStatus,
    RescueFigures,
)
from knowbound.stats.calibration import Pair, calibrate
from knowbound.stats.judge_gate import MeasuredMetric, gate
from knowbound.stats.quality import (
    ITEM_METRICS,
    MetricStatus,
    QualityMetric,
    WindowRates,
    item_rates,
    sum_of_days,
    window,
)
from knowbound.stats.quality import rolling as rolling_windows
from knowbound.stats.rate import Rate

UNTIL = "2026-11-16"
SESSION = "5f0c2a9e-81be-42d0-9e1f-0a1b2c3d4e5f"
_TURNS = (Counts(3, 3, 2, 0), Counts(2, 2, 1, 0), Counts(3, 2, 2, 0), Counts(1, 1, 1, 0), Counts(2, 1, 0, 1))


def a_day(number: int) -> DayRollup:
    """The number-th day: ten prompts, half of them with items; it gets better."""
    turns = [*_TURNS] if number >= 20 else [Counts(one.judged, one.on_topic // 2, one.used // 2, 0) for one in _TURNS]
    turns = [Counts(one.judged, one.on_topic, one.used, one.contradicted * (number % 4 == 0)) for one in turns]
    total = sum(turns, Counts())
    return DayRollup(
        (date.fromisoformat(UNTIL) - timedelta(days=29 - number)).isoformat(),
        turns=10,
        prompts_with_items=5,
        interrupted=number % 2,
        injected=total,
        spread=sum(map(Spread.of_turn, turns), Spread()),
        by_backend={"sqlite": total},
        by_source={"technical": total},
        pulled=Counts(1, 1, 1, 0),
        others={"CLAUDE.md": Counts(4, 1, 1, 0), "<b>.md": Counts(2, 0, 0, 0)},
        injected_tokens=480,
        prompt_ms=sum((Durations.of(40.0 + at) for at in range(10)), Durations()),
        stop_ms=sum((Durations.of(11.0) for _ in range(10)), Durations()),
        judges={"rules-1": 5},
    )


def days() -> list[DayRollup]:
    return [a_day(number) for number in range(30)]


def discovered(first: str, last: str) -> Rate:
    """Three were raised, one of them was corrected."""
    raised = [("2026-11-01", True), ("2026-11-11", False), ("2026-11-14", False)]
    known = [is_resolved for day, is_resolved in raised if first <= day <= last]
    return Rate(sum(known), len(known))


def rolling() -> tuple[WindowRates, ...]:
    return rolling_windows(days(), UNTIL, discovered)


def judge() -> JudgeWorth:
    """Measured on 60 turns: it passes."""

    def measured(yes: int, no: int, missed: int, invented: int) -> MeasuredMetric:
        pairs = [Pair(True, at >= missed, session=f"y{at}") for at in range(yes)]
        pairs += [Pair(False, at < invented, session=f"n{at}") for at in range(no)]
        found = calibrate(pairs)
        return MeasuredMetric(found, gate(found, 60))

    found = {
        Metric.ON_TOPIC: measured(70, 50, 2, 3),
        Metric.USED: measured(60, 60, 5, 4),
        Metric.CONTRADICTED: measured(8, 112, 1, 0),
    }
    return JudgeWorth({"rules-1": 35}, 60, "2026-11-12T09:00:00Z", found)


def to_fix() -> tuple[ItemToFix, ...]:
    """One of each kind; what comes from traces is hostile."""
    return (
        ItemToFix(
            "k7m2p",
            Fault.WRONG,
            "The staging database listens on port 5432; connect with the read-only user, <b>never</b> as admin.",
            Counts(12, 11, 4, 3),
            3,
            SESSION,
            "turn-9",
            "2026-11-14T10:00:00Z",
            "It is \x1b[31m6432\x1b[0m since March <script>alert(1)</script>",
        ),
        ItemToFix(
            "x3f9a",
            Fault.OFF_TOPIC,
            "Ada prefers tabs in Makefiles.",
            Counts(9, 0, 0, 0),
            9,
            SESSION,
            "turn-12",
            "2026-11-15T10:00:00Z",
        ),
        ItemToFix(
            "it's 1",
            Fault.IGNORED,
            "The nightly export runs at 02:00 UTC.",
            Counts(8, 7, 0, 0),
            7,
            SESSION,
            "turn-13",
            "2026-11-16T08:00:00Z",
            flag="UNVERIFIED",
        ),
    )


def item_page() -> ItemQuality:
    wrong, _, _ = to_fix()
    said = ItemVerdict("k7m2p", True, False, True, "It is 6432 now.", "denies the port", "rules-1")
    return ItemQuality(
        wrong.id,
        wrong.content,
        len(wrong.content),
        True,
        "",
        (ItemDay("2026-11-13", Counts(5, 5, 3, 1)), ItemDay("2026-11-14", Counts(7, 6, 1, 2))),
        (
            ItemInjection("2026-11-14T10:00:00Z", SESSION, "turn-9", "Why does staging refuse | me?", said),
            ItemInjection("2026-11-13T09:00:00Z", SESSION, "turn-2", "Connect to staging", None, is_present=False),
        ),
        (
            Discovery(
                "k7m2p", "2026-10-02T10:00:00Z", "", "", "", 1, Closing.RESOLVED, "2026-10-03T10:00:00Z", "kms_flag"
            ),
            Discovery("k7m2p", "2026-11-13T10:00:00Z", SESSION, "turn-9", "It is 6432 now.", 3),
        ),
        (CorrectionMade("2026-10-03T10:00:00Z", "kms_flag", "ada"),),
        wrong,
        "0.1.0",
    )


def everyday_status() -> QualityStatus:
    known, worth = days(), judge()
    now, before = (sum_of_days(known, *window(end)) for end in (UNTIL, "2026-11-09"))
    rates, rates_before = item_rates(now), item_rates(before)
    metrics = [
        MetricStatus(name, rates[name], rates_before[name], worth.corrected(rates[name], metric))
        for name, metric in ITEM_METRICS.items()
    ]
    discovery = MetricStatus(
        QualityMetric.DISCOVERY, discovered(*window(UNTIL)), discovered(*window("2026-11-09")), pending=2
    )
    return QualityStatus(
        until=UNTIL,
        is_current=True,
        first=known[0].date,
        metrics=(*metrics, discovery),
        window=now,
        items=to_fix(),
        judge=worth,
        unscored={"no key: set ANTHROPIC_API_KEY or choose another judge": 4},
        series=rolling(),
        pages=(item_page(),),
        rescues=RescueFigures(misses=14, said=9, absent=1, used=Rate(6, 8), contradicted=Rate(0, 8)),
        version="0.1.0",
    )


def empty_status() -> QualityStatus:
    return QualityStatus(
        until=UNTIL,
        is_current=True,
        first="",
        metrics=tuple(MetricStatus(metric, Rate(), Rate()) for metric in QualityMetric),
        window=DayRollup(UNTIL),
        items=(),
        judge=JudgeWorth(),
        unscored={},
        version="0.1.0",
    )
