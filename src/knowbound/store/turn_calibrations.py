"""What `judge calibrate --question turns` found about judges of turns: `turn-calibration.json` of the data folder.

Specification 2, "The judge". By the version of the judge and by metric, with the counts of labels against verdicts, so
that a rate can be corrected for the judge's error (`stats.calibration.corrected`).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from knowbound.core.quality import Metric
from knowbound.errors import StoreError
from knowbound.files import replacing
from knowbound.stats.judge_gate import MeasuredMetric, MetricGate
from knowbound.user_files import make_folder

NAME = "turn-calibration.json"


class CalibratedJudge(msgspec.Struct, frozen=True):
    """The newest calibration of one version of a judge."""

    judge: str  # its name, without secrets
    made: str  # when, UTC
    labels: str  # the first 8 hex digits of the SHA-256 of their file
    turns: int  # labelled ones
    metrics: dict[Metric, MeasuredMetric]
    fallback: str = ""  # the version of the judge that was asked in its place

    @property
    def gates(self) -> dict[Metric, MetricGate]:
        """The state of each metric."""
        return {metric: one.gate for metric, one in self.metrics.items()}


def calibrated_judge(home: Path, version: str) -> CalibratedJudge | None:
    """The newest calibration of this version of a judge; None where it was never calibrated."""
    return _load(home).get(version)


def keep_calibrated_judges(home: Path, found: dict[str, CalibratedJudge]) -> None:
    """Remember calibrations by version, in place of earlier ones of the same versions."""
    known = {**_load(home), **found}
    make_folder(home)
    with replacing(home / NAME, private=True) as file:
        file.write(msgspec.json.format(msgspec.json.encode(known), indent=2) + b"\n")


def _load(home: Path) -> dict[str, CalibratedJudge]:
    path = home / NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, CalibratedJudge])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(
            "calibration-unreadable",
            f"{path} cannot be used: {error}. Move it away, and run: knowbound judge calibrate --question turns",
        ) from error
