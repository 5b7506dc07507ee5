"""The story in one file: what each verb does, step by step; the steps themselves are in the rooms below.

What is heavy is imported where it is needed: a verb that finds nothing new takes little more than a process start.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from knowbound.config import Settings
from knowbound.core.evidence import Investigation
from knowbound.core.signal import Signal
from knowbound.errors import InputError, StoreError
from knowbound.observing import (
    Filters,
    Progress,
    lens_state,
    listed,
    read_what_changed,
    report_of,
    sessions_of,
    signals_of,
)
from knowbound.read.corpus import default_places, knowledge_files, scan
from knowbound.report.model import ObserveReport
from knowbound.store.observed import Observed
from knowbound.text.clock import utc_now
from knowbound.text.digest import digest_of

if TYPE_CHECKING:
    from knowbound.core.evaluation import Evaluation, EvaluationHead
    from knowbound.evals.competency_probe import Probed
    from knowbound.evals.drafting import Drafts
    from knowbound.evals.evaluate import Evaluated, Plan
    from knowbound.evals.runner import Seen
    from knowbound.judge.rubric import RubricJudge
    from knowbound.store.evaluations import Evaluations

    Seeing = Callable[[Seen], None]

__all__ = [
    "Filters",
    "accept_drafts",
    "baseline_of",
    "check_hedging",
    "drafts",
    "evaluate",
    "evaluation",
    "evaluations",
    "investigate",
    "newest_evaluation",
    "newest_investigation",
    "newest_report",
    "newest_run",
    "observe",
    "probe",
    "probed_beside",
    "reject_drafts",
    "rubric_judge",
    "since",
]


def observe(
    paths: Sequence[Path],
    settings: Settings,
    filters: Filters | None = None,
    *,
    root_is_given: bool = False,
    progress: Progress | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[ObserveReport, Iterator[Signal]]:
    """Read the traces below the paths (or where agents keep theirs) and report the gaps.

    Gives the report, and the signals one by one for formats that list them all.
    """
    filters = filters or Filters()
    places = [str(path) for path in paths]
    if not paths:
        known = default_places(os.environ if environ is None else environ, Path.home())
        places = [str(path) for path in known]
        paths = [path for path in known if path.exists()]
    files, closed = scan(paths)
    if not files:
        raise InputError("no-sessions", f"No sessions found in {listed(places)}. Try: knowbound observe PATH")
    knowledge = knowledge_files(settings.root, settings.knowledge)
    store = Observed(settings.home)
    lens = lens_state(settings)
    corpus = digest_of(
        [lens, repr(filters), str(settings.root), str(root_is_given), *places, *knowledge]
        + [f"{file.path}|{file.size}|{file.mtime_ns}" for file in files]
    )
    kept = store.run("observe", ObserveReport, corpus)
    if kept is not None:
        report, keys = kept
        store.make_newest("observe", corpus)
        return report, signals_of(store, keys, filters)
    sessions, unrecognised = sessions_of(files, store)
    keys, warnings = read_what_changed(sessions, files, settings, store, lens, progress)
    warnings += [f"{folder} could not be entered" for folder in closed]
    report = report_of(store, keys, settings, filters, root_is_given, places, files, unrecognised, warnings, knowledge)
    # A report that a failed judge had a part in is shown by `report`, and made again by the next `observe`.
    store.keep_run("observe", report.made, corpus if store.are_read(keys) else f"undecided {corpus}", keys, report)
    return report, signals_of(store, keys, filters)


def investigate(
    question: str, settings: Settings, *, allow_run: bool = False, seconds: float = 60.0, keep: bool = True
) -> Investigation:
    """Answer a question about the root from evidence, and keep the answer for `report`."""
    from knowbound import evidence

    found = evidence.investigate(question, settings.root, allow_run=allow_run, seconds=seconds)
    if keep:
        made = utc_now()
        with suppress(StoreError):  # an answer is an answer, also where nothing can be kept
            Observed(settings.home).keep_run(
                "investigation", made, digest_of([question, str(settings.root)]), [], found
            )
    return found


def newest_investigation(settings: Settings) -> Investigation | None:
    """The investigation that was stored last, where it is the newest run."""
    store = Observed(settings.home)
    kept = store.run("investigation", Investigation) if store.newest_kind() == "investigation" else None
    return kept[0] if kept else None


def newest_evaluation(settings: Settings) -> Evaluation | None:
    """The evaluation that was stored last, where it is the newest run."""
    id_ = _newest_written(settings) if Observed(settings.home).newest_kind() == "evaluation" else None
    return None if id_ is None else evaluation(settings, id_)


def _newest_written(settings: Settings) -> int | None:
    """The id of the newest evaluation of this root that people's samples made."""
    from knowbound.core.evaluation import Origin

    mine = [head.id for head in evaluations(settings) if not head.against and head.origin is Origin.WRITTEN]
    return mine[-1] if mine else None


def newest_report(settings: Settings) -> tuple[ObserveReport, Iterator[Signal]]:
    """The report of the newest stored run."""
    store = Observed(settings.home)
    kept = store.run("observe", ObserveReport)
    if kept is None:
        raise InputError("no-run", f"No stored run in {settings.home}. Try: knowbound observe, or knowbound eval")
    report, keys = kept
    return report, signals_of(store, keys, Filters(**report.filters))


def since(text: str, now: datetime | None = None) -> str:
    """`7d`, `12h`, `2w` or a date, as an ISO time to compare with."""
    now = now or datetime.now(UTC)
    units = {"h": "hours", "d": "days", "w": "weeks"}
    try:
        if text[-1:] in units and text[:-1].isdigit():
            then = now - timedelta(**{units[text[-1]]: int(text[:-1])})
            return then.strftime("%Y-%m-%dT%H:%M:00")  # whole minutes: the same question within one has one answer
        given = datetime.fromisoformat(text)
        if given.tzinfo is not None:
            given = given.astimezone(UTC)
        return given.strftime("%Y-%m-%dT%H:%M:%S")
    except (ValueError, OverflowError):
        raise InputError(
            "bad-since", f"--since {text!r} is neither a span (7d, 12h, 2w) nor a date (2026-11-01)."
        ) from None


def evaluate(
    plan: Plan, settings: Settings, *, executor: str, model: str = "", judge: str = "", progress: Seeing | None = None
) -> Evaluated:
    """Run a test set through an agent, and keep what came of it (specification 1, sections 5 to 7)."""
    from knowbound.evals import evaluate as evals
    from knowbound.evals.executors.registry import executor_named
    from knowbound.evals.knowledge import knowledge_globs
    from knowbound.store.evaluations import Evaluations

    check_hedging(settings)
    hidden = evals.hidden_paths(plan.set, settings)
    runs_it = executor_named(executor, model=model, hidden=hidden, globs=knowledge_globs(settings.knowledge))
    scores = rubric_judge(settings, judge, Evaluations(settings.home)) if judge else None
    verdicts = Observed(settings.home)
    return evals.evaluate(plan, settings, runs_it, judge=scores, verdicts=verdicts, progress=progress)


def probe(
    settings: Settings,
    *,
    count: int,
    executor: str,
    model: str = "",
    judge: str = "",
    questions_only: bool = False,
    progress: Seeing | None = None,
) -> Probed:
    """Ask what the knowledge base should be able to answer by its own structure (specification 1, section 9)."""
    from knowbound.evals.competency_probe import Probed, questions_of, run_probe
    from knowbound.evals.executors.registry import executor_named
    from knowbound.evals.knowledge import knowledge_globs
    from knowbound.evals.runner import Limits
    from knowbound.judge.options import JudgeOptions
    from knowbound.judge.registry import asker_named, check_judge
    from knowbound.store.evaluations import Evaluations

    answers = Evaluations(settings.home)
    if judge:
        check_judge(judge)
    asked = questions_of(settings, count, asker_named(judge, JudgeOptions.of(settings), answers) if judge else None)
    if questions_only:
        return Probed(asked, notes=asked.notes)
    globs = knowledge_globs(settings.knowledge)
    runs_it = executor_named(executor, model=model, hidden=(settings.home,), globs=globs)
    limits = Limits(settings.eval_concurrency, float(settings.eval_seconds), settings.eval_retries)
    return run_probe(asked, settings, runs_it, limits=limits, progress=progress)


def drafts(settings: Settings, samples: Path | None) -> Drafts:
    """Samples to propose, from open gaps and uncovered files (specification 1, section 8)."""
    from knowbound.evals.drafting_sources import drafts_of

    return drafts_of(settings, samples)


def accept_drafts(settings: Settings, ids: Sequence[str], drafts: Path, target: Path) -> list[str]:
    """Put proposals into the test set, and remember that they were accepted."""
    from knowbound.evals.drafting_file import accept
    from knowbound.evals.drafting_sources import decide

    added = accept(ids, drafts, target)
    decide(settings.home, accepted=ids)
    return added


def reject_drafts(settings: Settings, ids: Sequence[str]) -> None:
    """Remember that proposals are not wanted."""
    from knowbound.evals.drafting_sources import decide

    decide(settings.home, rejected=ids)


def check_hedging(settings: Settings) -> None:
    """Before agents run: whoever decides hedges can be asked."""
    from knowbound.judge.registry import check_judge

    if settings.hedging_classifier_enabled:
        check_judge(settings.hedging_classifier_model)


def rubric_judge(settings: Settings, name: str, answers: Evaluations) -> RubricJudge | None:
    """The judge of rubrics by name, with its limits and its memory."""
    from knowbound.judge.options import JudgeOptions
    from knowbound.judge.registry import check_judge, rubric_judge_named

    check_judge(name, scores=True)
    return rubric_judge_named(name, JudgeOptions.of(settings), answers)


def evaluations(settings: Settings) -> list[EvaluationHead]:
    """Every stored evaluation of this root without its runs, oldest first."""
    from knowbound.store.evaluations import Evaluations

    heads = Evaluations(settings.home).heads()
    if settings.home.is_relative_to(settings.root):
        return heads  # wherever the folder lay when they were made
    return [head for head in heads if head.root == str(settings.root)]


def evaluation(settings: Settings, id_: int) -> Evaluation:
    """A stored evaluation with its runs."""
    found = _stored(settings, id_)
    if found is None:
        raise InputError("no-run", f"There is no evaluation {id_} in {settings.home}. Try: knowbound trend")
    return found


def _stored(settings: Settings, id_: int) -> Evaluation | None:
    from knowbound.store.evaluations import Evaluations

    return Evaluations(settings.home).get(id_)


def baseline_of(settings: Settings, evaluation: Evaluation) -> Evaluation | None:
    """What a regression is against: the last run with the same test set that counted something.

    Where two versions were run together, that is the other version.
    """
    from knowbound.store.evaluations import Evaluations

    store = Evaluations(settings.home)
    before = [
        head
        for head in evaluations(settings)
        if head.id < evaluation.id and (head.sha256, head.origin) == (evaluation.sha256, evaluation.origin)
        and head.gap.rate.n and (not head.against or head.id == evaluation.compared_with)
    ]  # fmt: skip
    return store.get(before[-1].id) if before else None


def probed_beside(settings: Settings, evaluation: Evaluation) -> Evaluation | None:
    """The newest competency questions, to be shown beside what people wrote and never mixed with it (section 9)."""
    from knowbound.core.evaluation import Origin

    if evaluation.origin is not Origin.WRITTEN:
        return None
    probed = [head.id for head in evaluations(settings) if head.origin is Origin.PROBED]
    return _stored(settings, probed[-1]) if probed else None


def newest_run(settings: Settings) -> Evaluation | ObserveReport:
    """What `check` gates: the newest stored run that has a gap rate, an evaluation or an observed corpus."""
    id_ = None if Observed(settings.home).newest_evaluation() is None else _newest_written(settings)
    return newest_report(settings)[0] if id_ is None else evaluation(settings, id_)
