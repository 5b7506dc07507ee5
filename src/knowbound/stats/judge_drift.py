"""Whether a judge of turns has drifted since its calibration (specification 2, "The judge": a weekly sample of 10)."""

from __future__ import annotations

import msgspec

from knowbound.core.quality import Metric
from knowbound.stats.calibration import Share
from knowbound.stats.judge_gate import AGREEMENT

DRIFT_TURNS = 10  # hand-labelled turns of the weekly sample
DRIFT_DAYS = 7


class SampledMetric(msgspec.Struct, frozen=True):
    """Agreement on one metric in the sample, what it was when the judge was calibrated, and whether it fell."""

    agreement: Share
    calibrated: Share
    drifted: bool


class WeeklySample(msgspec.Struct, frozen=True):
    """The newest sample; or, where there is none of the last seven days, how far it is and when it is due."""

    labelled: int  # turns, of the ten
    due: str  # when the next one is, or was, due; UTC
    is_due: bool = False
    metrics: dict[Metric, SampledMetric] = {}  # empty: there is no sample yet

    @property
    def drifted(self) -> tuple[Metric, ...]:
        """The metrics on which the judge agrees less for certain: it counts as a new judge, to be calibrated."""
        return tuple(metric for metric, one in self.metrics.items() if one.drifted)


def has_drifted(sample: Share, calibrated: Share) -> bool:
    """Whether a newer sample agrees less for certain: than when the judge was calibrated, or than the limit.

    Both are estimates: their intervals must not touch. Against the middle of the calibration, one wrong verdict of 40
    would count as drift of a judge that had none wrong before.
    """
    if sample.high is None:
        return False
    return sample.high < AGREEMENT or (calibrated.low is not None and sample.high < calibrated.low)
