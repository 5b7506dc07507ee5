"""What the judge is worth: what labels say about the one that judged the window (specification 2, "The judge").

Nothing here asks a model. Whether a judge that costs something has drifted, `judge calibrate` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from knowbound.config import Settings
from knowbound.errors import KnowboundError
from knowbound.judge.calibration import weekly_sample
from knowbound.judge.label_files import TURN_LABELS, read_turn_labels
from knowbound.judge.turns.opening import turn_judge
from knowbound.report.quality.model import JudgeWorth
from knowbound.stats.judge_gate import WeeklySample
from knowbound.store.calibrations import CalibratedJudge, calibrated_judge


def judge_worth(settings: Settings, versions: Mapping[str, int], now: str) -> JudgeWorth:
    """Of the judge that judged most turns. `versions` are the judges of the window, with their turns."""
    main = JudgeWorth(dict(versions)).version
    found = calibrated_judge(settings.home, main) if main else None
    if found is None:
        return JudgeWorth(dict(versions))
    return JudgeWorth(dict(versions), found.turns, found.made, found.metrics, _weekly(settings, main, found, now))


def _weekly(settings: Settings, version: str, found: CalibratedJudge, now: str) -> WeeklySample | None:
    """The weekly sample, where it can be had for nothing."""
    with suppress(KnowboundError):  # no label file any more, or no such judge: there is nothing to compare
        judge = turn_judge(settings)
        if judge.version == version and not judge.costs:
            return weekly_sample(found, read_turn_labels(settings.home / TURN_LABELS).labels, judge, now)
    return None
