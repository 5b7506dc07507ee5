"""The worth of the judges of turns by people's labels: for rates, for the gate, and for corrections (section 3).

Rates of a window are corrected for the judge that judged most of it. The gate looks at the judge that judges from now
on. A contradiction reaches sessions only where its judge is trusted: rules where labels show that they find
contradictions, a model until labels speak against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from knowbound.config import Settings
from knowbound.core.quality import Metric
from knowbound.errors import KnowboundError
from knowbound.judge.calibration import weekly_sample
from knowbound.judge.label_files import TURN_LABELS, read_turn_labels
from knowbound.judge.registry import is_rules, turn_judge
from knowbound.report.quality.model import JudgeWorth
from knowbound.stats.judge_gate import GateReason, GateState, WeeklySample
from knowbound.store.calibrations import TurnJudgeCalibration, turn_judge_calibration

_FEW_LABELS = (GateReason.NO_VERDICT, GateReason.FEW_TURNS)


def judge_worth(settings: Settings, versions: Mapping[str, int], now: str) -> JudgeWorth:
    """Return the worth of the judge that judged most turns. `versions` are the judges of the window."""
    known = dict(versions)
    return _worth(settings, known, JudgeWorth(known).version, now)


def configured_worth(settings: Settings, versions: Mapping[str, int], now: str) -> JudgeWorth:
    """Return the worth of the judge that judges from now on; of the one that judged where none can be had."""
    main = JudgeWorth(dict(versions)).version
    with suppress(KnowboundError):  # no such judge any more
        main = turn_judge(settings, background=True).version
    return _worth(settings, {main: versions.get(main, 0)}, main, now)


def is_trusted(settings: Settings, version: str) -> bool:
    """Report whether the contradictions that this judge found may be suggested to agents."""
    found = turn_judge_calibration(settings.home, version) if version else None
    gate = found.gates.get(Metric.CONTRADICTED) if found else None
    if is_rules(version) or not version:
        return gate is not None and gate.state is GateState.PASSED
    return gate is None or gate.state is GateState.PASSED or gate.reason in _FEW_LABELS


def _worth(settings: Settings, versions: dict[str, int], main: str, now: str) -> JudgeWorth:
    found = turn_judge_calibration(settings.home, main) if main else None
    if found is None:
        return JudgeWorth(versions)
    return JudgeWorth(versions, found.turns, found.made, found.metrics, _weekly(settings, main, found, now))


def _weekly(settings: Settings, version: str, found: TurnJudgeCalibration, now: str) -> WeeklySample | None:
    """The weekly sample, where it can be had for nothing."""
    with suppress(KnowboundError):  # no label file any more, or no such judge: there is nothing to compare
        judge = turn_judge(settings)
        if judge.version == version and not judge.costs:
            return weekly_sample(found, read_turn_labels(settings.home / TURN_LABELS).labels, judge, now)
    return None
