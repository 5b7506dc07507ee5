"""What people are asked to label, and a judge held against their labels.

Stands beside the pipeline: it reads the sessions of the newest stored run again, because the store keeps the hedging
sentences that the judge kept and not those that it dropped (specification 1, section 4, source 3).
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from knowbound.config import Settings
from knowbound.core.signal import Findings, Signal, SignalType
from knowbound.errors import ConfigError, InputError
from knowbound.gaps.filters import Filters
from knowbound.gaps.reading import LensSettings, read_session
from knowbound.judge.hedging.cache import VerdictCache, judge_candidates
from knowbound.judge.hedging.verdict import HedgingCandidate, HedgingJudge
from knowbound.judge.labels import HEDGING, RUBRIC, Label, kept_aside, read_labels
from knowbound.judge.options import JudgeOptions
from knowbound.judge.registry import judge_named, rubric_judge
from knowbound.judge.rubric import RubricKind, RubricQuestion
from knowbound.report.calibration import CalibrationReport, LabelMark
from knowbound.report.model import ObserveReport
from knowbound.stats.calibration import Estimate, Pair, calibrate, calibrate_scores, corrected
from knowbound.stats.rate import Rate, clustered
from knowbound.store.evaluations import Evaluations
from knowbound.store.observed import Observed
from knowbound.text.redact import redact
from knowbound.traces.corpus import FoundFile, Member, SessionFiles, group

_POOL_PER_LABEL = 20  # sentences to draw one from; then no further session is read
_POOL_AT_LEAST = 1000
_OTHER_JUDGE = "The newest stored run was not judged by this judge, so its rate is not corrected."


class Unlabelled(msgspec.Struct, frozen=True):
    """A sentence to label. What a judge says about it is left out on purpose."""

    text: str
    context: str = ""
    session: str = ""
    weight: float = 1.0  # how much more often its like occurs than it was drawn


def label_candidates(settings: Settings, count: int, seed: int, known: Collection[str] = ()) -> list[Unlabelled]:
    """Hedging sentences of the newest stored run that are not among the known ones, in an order that tells nothing.

    Half of them are sentences that the judge kept, half are sentences that it dropped, as far as there are so many:
    a rare answer is met often enough to tell how well the judge finds it. The weights undo the choice.
    """
    run = _newest_run(settings)
    draw = random.Random(seed)
    draw.shuffle(run.sessions)
    pool = _pool(run, settings, max(_POOL_AT_LEAST, _POOL_PER_LABEL * count))
    strata = [[one for one in pool.values() if (one.text in run.kept) is side] for side in (True, False)]
    fresh = [[one for one in stratum if one.text not in known] for stratum in strata]
    if not any(fresh):
        left = "has no sentence that may speak of doubt" if not pool else "has none that is not labelled yet"
        raise InputError("nothing-to-label", f"The newest stored run {left}. Try: knowbound judge label --input FILE")
    drawn = [draw.sample(stratum, size) for stratum, size in zip(fresh, _sizes(fresh, count), strict=True)]
    total = sum(map(len, drawn))
    weighed = [
        Unlabelled(one.text, one.context, one.session, round(len(stratum) / len(pool) * total / len(part), 4))
        for stratum, part in zip(strata, drawn, strict=True)
        for one in part
    ]
    draw.shuffle(weighed)
    return weighed


def _sizes(strata: Sequence[Sequence[Signal]], count: int) -> list[int]:
    """Half from each; where one has fewer, the other has more."""
    first, second = map(len, strata)
    of_second = min(second, max(count // 2, count - first))
    return [min(first, count - of_second), of_second]


def _pool(run: _Run, settings: Settings, enough: int) -> dict[str, Signal]:
    """Sentences of sessions until there are enough, each once."""
    pool: dict[str, Signal] = {}
    for session in run.sessions:
        for signal in _hedges(session, run, settings):
            pool.setdefault(signal.text, signal)
        if len(pool) >= enough:
            break
    return pool


def judged_rate(settings: Settings, judge: HedgingJudge) -> Rate | None:
    """Of the sentences in the newest stored run that may speak of doubt, those that this judge kept.

    None where another judge decided in that run, or none.
    """
    run = _newest_run(settings)
    if any(by != judge.version for by in run.kept.values()):
        return None
    found = [[signal.text in run.kept for signal in _hedges(session, run, settings)] for session in run.sessions]
    return clustered(Rate(one.count(True), len(one)) for one in found)


class _Run(msgspec.Struct, frozen=True):
    """The newest stored run: its sessions, and the hedging sentences that were kept in them, with who kept them."""

    sessions: list[SessionFiles]
    kept: dict[str, str]
    filters: Filters


def _newest_run(settings: Settings) -> _Run:
    store = Observed(settings.home)
    stored = store.run("observe", ObserveReport)
    if stored is None:
        raise InputError("no-run", f"No stored run in {settings.home}. Try: knowbound observe")
    report, keys = stored
    filters = Filters(**report.filters)
    kept: dict[str, str] = {}
    files: dict[str, None] = {}
    for found in store.findings(keys):
        if filters.admits(found):
            files.update(dict.fromkeys(found.files))
            kept.update((one.text, one.verdict.judge if one.verdict else "") for one in _of_hedging(found, filters))
    rows = store.files()
    members = [
        Member(FoundFile(row.path, row.size, row.mtime_ns), row.reader, row.session, row.agent_id, row.time)
        for row in (rows[path] for path in files if path in rows)
        if row.reader and Path(row.path).is_file()
    ]
    return _Run(group(members), kept, filters)


def _hedges(session: SessionFiles, run: _Run, settings: Settings) -> Iterator[Signal]:
    """Every sentence of a session that may speak of doubt, judged or not, as `observe` reads it."""
    for found in read_session(session, LensSettings(settings.knowledge, settings.repeated_failure_calls)):
        if run.filters.admits(found):
            yield from _of_hedging(found, run.filters)


def _of_hedging(found: Findings, filters: Filters) -> Iterator[Signal]:
    wanted = {sample.id for sample in found.samples if not filters.skill or sample.name == filters.skill}
    return (one for one in found.signals if one.type is SignalType.HEDGING and one.sample in wanted)


def given_candidates(path: Path, known: Collection[str] = ()) -> list[Unlabelled]:
    """The sentences of a file: one per line, as plain text or as `{"text", "context", "session"}`."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
    found = [_given(line.strip(), path, number) for number, line in enumerate(lines, 1) if line.strip()]
    fresh = {one.text: one for one in reversed(found) if one.text not in known}
    if not fresh:
        raise InputError("nothing-to-label", f"{path} has no sentence that is not labelled yet.")
    return list(reversed(fresh.values()))


def _given(line: str, path: Path, number: int) -> Unlabelled:
    if not line.startswith("{"):
        return Unlabelled(redact(line))
    try:
        row = msgspec.json.decode(line)
        if "sentence" in row and "text" not in row:
            row["text"] = row["sentence"]
        given = msgspec.convert(row, Unlabelled)
    except msgspec.MsgspecError as error:
        raise InputError(
            "bad-labels", f'{path}:{number} is no sentence: {error}. Try: {{"text": "…", "context": "…"}}'
        ) from None
    return Unlabelled(redact(given.text), redact(given.context), given.session)


def calibrate_hedging(
    settings: Settings, path: Path, name: str, wanted: float, aside: float | None = None, *, run: bool = False
) -> CalibrationReport:
    """The judge of that name, or the one in force, held against the labels of hedging sentences.

    `run`: the rate of the newest stored run is corrected for the judge's error; its sessions are read again for that.
    """
    name = name or settings.hedging_classifier_model
    judge = judge_named(name, JudgeOptions(settings.judge_seconds, settings.judge_retries, settings.judge_concurrency))
    labels, mark = _labels(path, HEDGING, aside)
    pairs, problems = judged_labels(labels, judge, settings)
    found = calibrate(pairs, wanted)
    rate = judged_rate(settings, judge) if run else None
    return CalibrationReport(
        judge=name,
        version=judge.version,
        question=HEDGING,
        labels=mark,
        found=found,
        run=rate,
        corrected=corrected(rate, found) if rate else Estimate(),
        problems=tuple(problems),
        notes=(_OTHER_JUDGE,) if run and rate is None else (),
    )


def calibrate_rubric(
    settings: Settings, path: Path, name: str, wanted: float, aside: float | None = None
) -> CalibrationReport:
    """The judge of that name, or the one in force, held against people's scores."""
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
    """The labels to hold the judge against, and where they come from."""
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
    """Each label with the judge's verdict, and why there is none where it gave none.

    Verdicts that cost are kept: the next time only the missing ones are asked for.
    """
    cache = VerdictCache(Observed(settings.home) if judge.costs else None)
    candidates = [HedgingCandidate(label.text, label.context) for label in labels]
    judged = judge_candidates(judge, candidates, cache, max_candidates=len(candidates))
    verdicts = cache.look_up(
        judge.version, (candidate.sha256 for candidate in candidates)
    )  # a verdict that failed is not remembered
    pairs = []
    for label, candidate in zip(labels, candidates, strict=True):
        verdict = verdicts.get(candidate.sha256)
        said = verdict.is_uncertainty if verdict else None
        pairs.append(Pair(bool(label.label), said, label.weight, label.session))
    return pairs, [verdict.reason for asked, verdict in judged.kept if asked.sha256 not in verdicts]
