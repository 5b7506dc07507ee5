"""A judge compared with people's labels (specification 2, "The judge")."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from knowbound.config import Settings
from knowbound.errors import ConfigError, InputError
from knowbound.judge.hedging.cache import VerdictCache, judge_candidates, key_of
from knowbound.judge.hedging.verdict import HedgingCandidate, HedgingJudge
from knowbound.judge.labels import HEDGING, RUBRIC, Label, kept_aside, read_labels
from knowbound.judge.options import JudgeOptions
from knowbound.judge.registry import judge_named, judge_version, rubric_judge
from knowbound.judge.rubric import RubricKind, RubricQuestion
from knowbound.report.calibration import CalibrationReport, LabelMark
from knowbound.stats.calibration import Calibration, Estimate, Pair, calibrate, calibrate_scores, corrected
from knowbound.stats.printing import percent
from knowbound.stats.rate import Rate
from knowbound.store.calibrations import ENOUGH, FALSE_LIMIT, Calibrated, keep_calibrated
from knowbound.store.evaluations import Evaluations
from knowbound.store.observed import Observed
from knowbound.text.clock import utc_now

RunRate = Callable[[HedgingJudge], Rate | None]
_OTHER_JUDGE = "The newest stored run was not judged by this judge, so its rate is not corrected."


def calibrate_hedging(
    settings: Settings,
    path: Path,
    name: str,
    wanted: float,
    aside: float | None = None,
    *,
    rate_of: RunRate | None = None,
) -> CalibrationReport:
    """Compare the named judge, or the configured one, with the labels of hedging sentences.

    `rate_of` gives the rate of the newest stored run, which is then corrected for the judge's error.
    """
    name = name or settings.hedging_classifier_model
    judge = judge_named(name, JudgeOptions.of(settings))
    labels, mark = _labels(path, HEDGING, aside)
    pairs, problems = judged_labels(labels, judge, settings)
    found = calibrate(pairs, wanted)
    rate = rate_of(judge) if rate_of else None
    false = _false_positives(found, mark.sha256_8)
    keep_calibrated(settings.home, judge_version(name), false)
    return CalibrationReport(
        judge=name,
        version=judge.version,
        question=HEDGING,
        labels=mark,
        found=found,
        run=rate,
        corrected=corrected(rate, found) if rate else Estimate(),
        problems=tuple(problems),
        notes=(*((_OTHER_JUDGE,) if rate_of and rate is None else ()), *_switch(false)),
        hedges_off=false.switches_off,
    )


def _false_positives(found: Calibration, sha256_8: str) -> Calibrated:
    """Of what the judge called doubt, what people did not (specification 1, section 10)."""
    precision = found.precision
    share = None if precision.value is None else 1 - precision.value
    return Calibrated(found.false_yes, precision.n, share, precision.effective, sha256_8, utc_now())


def _switch(false: Calibrated) -> Iterator[str]:
    """What the calibration means for `observe` and `eval`."""
    if not false.is_above_limit:
        return
    shown = f"{percent(false.share)} of what it calls doubt is none, more than {percent(FALSE_LIMIT)}"
    if false.switches_off:
        yield f"{shown}: observe and eval leave hedges out while this judge is configured."
    else:
        worth = f"these are worth {false.effective:.0f}"
        yield f"{shown}; hedges are left out once {ENOUGH} independent labels of it say so, and {worth}."


def calibrate_rubric(
    settings: Settings, path: Path, name: str, wanted: float, aside: float | None = None
) -> CalibrationReport:
    """Compare the named judge, or the configured one, with people's scores."""
    name = name or settings.judge_model
    judge = rubric_judge(settings, name, Evaluations(settings.home))
    if judge is None:
        raise ConfigError(
            "unknown-judge",
            f"{f'The judge {name!r} does not score rubrics' if name else 'No judge is set for rubrics'}. "
            "Try: knowbound judge list",
        )
    labels, mark = _labels(path, RUBRIC, aside)
    scores = judge.score([RubricQuestion(RubricKind.RUBRIC, one.context, one.text, one.rubric) for one in labels])
    pairs = [(int(label.label), given.score) for label, given in zip(labels, scores, strict=True)]
    return CalibrationReport(
        judge=name,
        version=judge.version,
        question=RUBRIC,
        labels=mark,
        found=calibrate_scores(pairs, wanted),
        problems=tuple(given.problem for given in scores if given.score is None),
    )


def _labels(path: Path, question: str, aside: float | None) -> tuple[tuple[Label, ...], LabelMark]:
    """The labels to compare the judge with, and where they come from."""
    found = read_labels(path, question)
    labels = found.labels if aside is None else kept_aside(found.labels, aside)
    if not labels:
        raise InputError("no-labels", f"None of the {len(found.labels)} labels in {path} is kept aside by {aside:g}.")
    mark = LabelMark(
        path=found.path,
        labels=len(labels),
        sha256_8=found.sha256_8,
        sessions=len({label.session for label in labels if label.session}),
        of=None if aside is None else len(found.labels),
        repeated=found.repeated,
        disagreements=found.disagreements,
    )
    return labels, mark


def judged_labels(labels: Sequence[Label], judge: HedgingJudge, settings: Settings) -> tuple[list[Pair], list[str]]:
    """Each label with the judge's verdict, and the problem where the judge failed.

    Verdicts that cost are kept: the next time only the missing ones are asked for.
    """
    cache = VerdictCache(Observed(settings.home) if judge.costs else None)
    candidates = [HedgingCandidate(label.text, label.context) for label in labels]
    judged = judge_candidates(judge, candidates, cache, max_candidates=len(candidates))
    keys = [key_of(candidate, judge) for candidate in candidates]
    verdicts = cache.look_up(judge.version, keys)  # a verdict that failed is not remembered
    pairs = []
    for label, key in zip(labels, keys, strict=True):
        verdict = verdicts.get(key)
        said = verdict.is_uncertainty if verdict else None
        pairs.append(Pair(bool(label.label), said, label.weight, label.session))
    asked = zip(keys, judged.verdicts, strict=True)
    return pairs, [verdict.reason for key, verdict in asked if verdict and key not in verdicts]
