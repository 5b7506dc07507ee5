"""`quality status`: whether what we inject helps (specification 2, section 2).

What changed is rolled up first. The window ends today; where nothing was measured in it, it ends with the newest day
that was, and says so.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing

from knowbound import __version__
from knowbound.config import Settings
from knowbound.core.quality_log import Closing, DayRollup, Discovery
from knowbound.kms.opening import open_index, open_quality_log
from knowbound.kms.quality_log.protocol import QualityLog
from knowbound.quality.discovery import RESOLVED_DAYS, discovery_rate
from knowbound.quality.fixing import to_fix
from knowbound.quality.holdout import holdout_comparison
from knowbound.quality.item_page import item_quality
from knowbound.quality.rollout import status_of
from knowbound.quality.rollup import roll_up
from knowbound.quality.worth import judge_worth
from knowbound.report.quality.model import FIRST_ITEMS, ITEM_DAYS, ItemQuality, JudgeWorth, QualityStatus
from knowbound.stats.holdout import HoldoutComparison
from knowbound.stats.quality import (
    ITEM_METRICS,
    WINDOW_DAYS,
    MetricStatus,
    QualityMetric,
    day_before,
    item_rates,
    rolling,
    window,
    within,
)
from knowbound.stats.rate import Rate
from knowbound.text.clock import utc_now
from knowbound.text.redact import excerpt

_REASON = 160  # characters of why a turn has no verdict


def quality_status(settings: Settings, *, today: str = "") -> QualityStatus:
    """Everything that the screen shows. `today` is a day in UTC."""
    today = today or utc_now()[:10]
    with closing(open_quality_log(settings)) as log, closing(open_index(settings)) as index:
        roll_up(log, index.corrections(), today=today)
        days, records = log.rollups(), log.discoveries()
        until = _until(days, today)
        fixing = to_fix(log.since(window(until, ITEM_DAYS)[0]), log, index)
        total = within(days, *window(until))
        judge = judge_worth(settings, total.judges, utc_now())
        return QualityStatus(
            until=until,
            is_current=until == today,
            first=days[0].date if days else "",
            metrics=_metrics(days, records, until, today, judge),
            window=total,
            items=tuple(fixing),
            judge=judge,
            unscored=_unscored(log),
            series=rolling(days, until, lambda first, last: discovery_rate(records, first, last)),
            pages=tuple(item_quality(log, index, one.id, days, one) for one in fixing[:FIRST_ITEMS]),
            rollout=status_of(settings, log, index, today=today),
            holdout=_holdout(log, days),
            version=__version__,
        )


def quality_of_item(settings: Settings, id_: str, *, today: str = "") -> ItemQuality:
    """One item in full. Raises InputError where nobody knows it."""
    today = today or utc_now()[:10]
    with closing(open_quality_log(settings)) as log, closing(open_index(settings)) as index:
        roll_up(log, index.corrections(), today=today)
        days = log.rollups()
        fixing = to_fix(log.since(window(_until(days, today), ITEM_DAYS)[0]), log, index)
        return item_quality(log, index, id_, days, next((one for one in fixing if one.id == id_), None))


def _until(days: list[DayRollup], today: str) -> str:
    """Today; or the newest day with a turn, where the window that ends today has none."""
    measured = [day.date for day in days if day.turns and day.date <= today]
    return measured[-1] if measured and measured[-1] < window(today)[0] else today


def _metrics(
    days: list[DayRollup], records: list[Discovery], until: str, today: str, judge: JudgeWorth
) -> tuple[MetricStatus, ...]:
    now, before = _rates(days, records, until), _rates(days, records, day_before(until, WINDOW_DAYS))
    about_items = [
        MetricStatus(name, now[name], before[name], judge.corrected(now[name], metric))
        for name, metric in ITEM_METRICS.items()
    ]
    name, pending = QualityMetric.DISCOVERY, _pending(records, until, today)
    return *about_items, MetricStatus(name, now[name], before[name], pending=pending)


def _rates(days: list[DayRollup], records: list[Discovery], until: str) -> dict[QualityMetric, Rate]:
    first, last = window(until)
    discovered = discovery_rate(records, first, last)
    return {**item_rates(within(days, first, last)), QualityMetric.DISCOVERY: discovered}


def _pending(records: list[Discovery], until: str, today: str) -> int:
    """Warranted corrections of the window that would still count if they were made now."""
    first, last = window(until)
    oldest = day_before(today, RESOLVED_DAYS)
    raised = (one for one in records if first <= one.raised[:10] <= last)
    return sum(one.closing is Closing.OPEN and one.raised[:10] > oldest for one in raised)


def _holdout(log: QualityLog, days: list[DayRollup]) -> HoldoutComparison | None:
    """Turns are read only where some were held out."""
    held = [day.date for day in days if day.held_out]
    return holdout_comparison(log.since(held[0])) if held else None


def _unscored(log: QualityLog) -> dict[str, int]:
    reasons = Counter(excerpt(turn.problem, _REASON) for turn in log.unscored())
    return dict(reasons.most_common())
