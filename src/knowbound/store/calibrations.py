"""Calibrations of judges, by judge version: `calibration.json` and `turn-calibration.json` of the data folder.

`judge calibrate` writes the first for judges of hedges, `judge calibrate --question turns` the second for judges of
turns (specification 2, "The judge"). The second keeps the counts of labels against verdicts for each metric, so that
`stats.calibration.corrected` can correct a rate for the judge's error.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from knowbound.core.quality import Metric
from knowbound.errors import StoreError
from knowbound.files import replacing
from knowbound.stats.judge_gate import MeasuredMetric, MetricGate, gate, with_fallback
from knowbound.user_files import make_folder

HEDGING_FILE = "calibration.json"
TURNS_FILE = "turn-calibration.json"
FALSE_LIMIT = 0.40  # specification 1, section 10: above it hedges are switched off
ENOUGH = 20  # labels: the specification's own limit (section 5) for a rate that can be relied on
_Kept = TypeVar("_Kept")


class HedgingCalibration(msgspec.Struct, frozen=True):
    """Labelled sentences that a judge called doubt, and the number of them that people did not."""

    false: int
    of: int
    share: float | None  # false / of, unless labels weigh differently; None where the judge called nothing doubt
    effective: float  # number of independent labels with the same information
    labels: str  # the first 8 hex digits of the SHA-256 of the label file
    made: str  # UTC

    @property
    def is_above_limit(self) -> bool:
        """Report whether too many are false, however few labels say so."""
        return self.share is not None and self.share > FALSE_LIMIT

    @property
    def switches_off(self) -> bool:
        """Report whether hedges are left out while this judge is configured."""
        return self.is_above_limit and round(self.effective) >= ENOUGH


class TurnJudgeCalibration(msgspec.Struct, frozen=True):
    """The newest calibration of one version of a judge of turns."""

    judge: str  # its name, without secrets
    made: str  # UTC
    labels: str  # the first 8 hex digits of the SHA-256 of the label file
    turns: int  # labelled turns
    metrics: dict[Metric, MeasuredMetric]
    fallback: str = ""  # the version of the judge that was asked instead

    @property
    def gates(self) -> dict[Metric, MetricGate]:
        """The gate of each metric."""
        return {metric: measured.gate for metric, measured in self.metrics.items()}


def hedging_calibration(home: Path, judge: str) -> HedgingCalibration | None:
    """Return the newest calibration of this version of a judge of hedges, if any."""
    return _load(home / HEDGING_FILE, HedgingCalibration, "knowbound judge calibrate").get(judge)


def keep_hedging_calibration(home: Path, judge: str, found: HedgingCalibration) -> None:
    """Store the calibration in place of an earlier one of the same version."""
    by_judge = _load(home / HEDGING_FILE, HedgingCalibration, "knowbound judge calibrate")
    _keep(home / HEDGING_FILE, {**by_judge, judge: found})


def turn_judge_calibration(home: Path, version: str) -> TurnJudgeCalibration | None:
    """Return the newest calibration of this version of a judge of turns, if any, with the gates of its counts.

    Earlier versions decided by other rules: what they kept of a gate is made again.
    """
    by_version = _load(home / TURNS_FILE, TurnJudgeCalibration, "knowbound judge calibrate --question turns")
    kept = by_version.get(version)
    if kept is None:
        return None
    fallback = by_version.get(kept.fallback)
    second: dict[Metric, MetricGate] = {}  # gates of the judge that was asked instead
    if fallback is not None:
        second = {metric: gate(measured.found, fallback.turns) for metric, measured in fallback.metrics.items()}
    gated = {
        metric: MeasuredMetric(measured.found, with_fallback(gate(measured.found, kept.turns), second.get(metric)))
        for metric, measured in kept.metrics.items()
    }
    return msgspec.structs.replace(kept, metrics=gated)


def keep_turn_judge_calibrations(home: Path, found: dict[str, TurnJudgeCalibration]) -> None:
    """Store calibrations by version, in place of earlier ones of the same versions."""
    by_version = _load(home / TURNS_FILE, TurnJudgeCalibration, "knowbound judge calibrate --question turns")
    _keep(home / TURNS_FILE, {**by_version, **found})


def _keep(path: Path, calibrations: dict[str, _Kept]) -> None:
    make_folder(path.parent)
    with replacing(path, private=True) as file:
        file.write(msgspec.json.format(msgspec.json.encode(calibrations), indent=2) + b"\n")


def _load(path: Path, type_: type[_Kept], command: str) -> dict[str, _Kept]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, type_])  # type: ignore[valid-type]
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(
            "calibration-unreadable", f"{path} cannot be used: {error}. Move it away, and run: {command}"
        ) from error
