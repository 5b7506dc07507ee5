"""Evaluations made by hand: an everyday one, one with nothing in it, one of competency questions, a hostile one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from knowbound.core.signal import HedgingVerdict, Signal, SignalType, Status
from knowbound.report.evals.evaluation import EvaluationReport, Format, render_evaluation
from knowbound.stats.comparison import Comparison
from knowbound.stats.evaluation import (
    AssertionGrade,
    CriterionScore,
    Evaluation,
    Grade,
    Origin,
    RunEnding,
    SampleRun,
    complete_runs,
    sample_rate,
    sample_weight,
    total_usd,
)
from knowbound.stats.figures import Coverage, GapFigures, MissedSearch, RateKind, Watermark
from knowbound.stats.gate import GateResult, Limits, limit, run_gates
from knowbound.stats.rate import Mean, Rate, mean_of
from tests.report_examples import failed_search, figures

ROOT = "/home/ada/handbook"
SAMPLES = f"{ROOT}/samples.yaml"
NUDGE = (
    "⚠ The current sample set's gap rate has been below 10% for 3 evaluations in a row. Consider expanding the sample "
    'set to probe new areas, otherwise the drop in gap rate may only reflect "sample domestication" rather than '
    '"knowledge filled in."'
)


def _trace(number: int) -> str:
    return f"{ROOT}/.knowbound/evals/7/v0/{number:04d}-1/1/trace.jsonl"


def _missed(query: str, number: int, **more: object) -> Signal:
    more = {"turn": 1, "step": more.pop("step", 1), "sample": f"s{number:03d}#1", "where": "docs/", "line": 4, **more}
    return failed_search(query, file=_trace(number), **more)  # type: ignore[arg-type]


REVENUE = _missed(
    "revenue_schema",
    3,
    step=4,
    said="need to verify which domain the revenue field definitions live in",
)
GUESSED = _missed(
    "",
    7,
    step=2,
    type=SignalType.EXPLICIT_MARKER,
    tool="",
    call_ids=[],
    message_id="m-7-2",
    text="【推断】this data should come from the user_profile table",
)
UNSURE = _missed(
    "",
    7,
    step=2,
    line=6,
    type=SignalType.HEDGING,
    tool="",
    call_ids=[],
    message_id="m-7-2",
    text="I'm not sure whether profiles are kept after an account is closed.",
    verdict=HedgingVerdict(True, 0.86, "states that a fact is not known", "rules"),
)
FOUND_LATER = _missed("refund_polcy", 4, status=Status.RESOLVED, resolved_by="toolu_0009")
RETRIED = _missed(
    "retry_budget · RetryBudget · max_retries",
    5,
    type=SignalType.REPEATED_FAILURE,
    reason="3 searches in 3 consecutive steps, all failed",
)

CONTAINS_TABLE = AssertionGrade(
    "contains", '"finance.revenue_daily"', passed=False, reason="the answer does not contain it", layer="fact"
)
NO_GUESS = AssertionGrade("not-contains", '"probably"', passed=True, layer="behavior")
UNSCORED = CriterionScore("rubric", judge="openai:small", problem="the judge did not answer within 60 s")


def sample_run(number: int, **more: object) -> SampleRun:
    """One sample that went well."""
    run = SampleRun(
        sample=f"s{number:03d}",
        prompt=f"Question {number} about the handbook?",
        answer="It is written down.",
        turns=1,
        steps=3,
        calls=4,
        grade=Grade(assertions=(NO_GUESS,), fact=None, behavior=5.0, composite=5.0),
        seconds=1.5,
        usd=0.02,
        model="sonnet",
        trace=_trace(number),
        capability=["billing"] if number % 2 else ["accounts"],
        difficulty="easy" if number < 5 else "hard",
        file=SAMPLES,
        line=10 * number,
    )
    return msgspec.structs.replace(run, **more)


def everyday_runs() -> list[SampleRun]:
    """Ten samples: four with a gap, one that crashed, one whose judge did not answer."""
    return [
        sample_run(1),
        sample_run(2),
        sample_run(
            3,
            prompt="Which table holds the daily revenue, and who owns it?",
            signals=[REVENUE],
            grade=Grade(assertions=(CONTAINS_TABLE, NO_GUESS), fact=1.0, behavior=5.0, composite=3.0),
        ),
        sample_run(4, signals=[FOUND_LATER]),
        sample_run(5, signals=[RETRIED], usd=None),
        sample_run(6, grade=Grade((NO_GUESS,), (UNSCORED,), behavior=5.0, composite=5.0, unscored=1)),
        sample_run(7, signals=[GUESSED, UNSURE]),
        sample_run(
            8, ending=RunEnding.CRASHED, grade=Grade(), problem="the agent ended with exit code 1: rate limited"
        ),
        sample_run(
            9, ending=RunEnding.TIMEOUT, problem="no answer within 300 s", usd=None, seconds=300.0, grade=Grade()
        ),
        sample_run(10),
    ]  # fmt: skip


def gap_of(runs: list[SampleRun]) -> GapFigures:
    """The figures that agree with the runs."""
    complete = [run for run in runs if run.is_complete]
    signals = [signal for run in complete for signal in run.signals]
    samples = complete_runs(runs)
    weights = [sample_weight(own) for own in samples.values()]
    gap = figures(
        samples=len(samples),
        strong=weights.count(1.0),
        weak=weights.count(0.5),
        still_open=sum(sample_weight(own, RateKind.OPEN) > 0 for own in samples.values()),
        turns=Rate(sum(run.has_gap for run in complete), len(complete)),
    )
    return msgspec.structs.replace(
        gap,
        rate=sample_rate(samples),
        by_type={type_: sum(one.type is type_ for one in signals) for type_ in SignalType},
        by_status={status: sum(one.status is status for one in signals) for status in Status},
    )


def evaluation_of(runs: list[SampleRun], **more: object) -> Evaluation:
    """An evaluation whose figures agree with its runs."""
    complete = [run for run in runs if run.is_complete]
    composites = [[run.grade.composite] for run in complete if run.grade.composite is not None]
    samples = len({run.sample for run in runs})
    evaluation = Evaluation(
        id=7,
        made="2026-11-15T19:46:00Z",
        watermark=Watermark("samples.yaml", samples, "5f0c2a9e"),
        sha256="5f0c2a9e" * 8,
        executor="claude",
        model="sonnet",
        judge="openai:small",
        root=ROOT,
        commit="3f9a1c07d5e24b6f8a90c1d2e3f4a5b6c7d8e9f0",
        subject="Say who owns which table",
        dirty=True,
        knowledge={"AGENTS.md": "0a1b2c3d", "docs/tables.md": "4e5f6a7b", "docs/refunds.md": "8c9d0e1f"},
        gap=gap_of(runs),
        coverage=Coverage(Rate(2, 3), ["docs/refunds.md"]),
        composite=mean_of(composites),
        usd=total_usd(run.usd for run in runs),
        seconds=sum(run.seconds for run in runs),
        samples=samples,
        runs_complete=len(complete),
        runs_incomplete=len(runs) - len(complete),
        version="0.1.0",
        runs=runs,
        topics=[MissedSearch("revenue_schema", events=1, samples=1, sessions=1, example=REVENUE)] if runs else [],
        warnings=["The cost of 2 of 10 runs is unknown: the agent does not say it."] if runs else [],
    )
    return msgspec.structs.replace(evaluation, **more)


def everyday_evaluation(**more: object) -> Evaluation:
    """A handbook of three files and ten questions about it."""
    return evaluation_of(everyday_runs(), **more)


def repeated_evaluation() -> Evaluation:
    """Three samples, each run three times."""
    runs = [
        sample_run(number, repeat=repeat, trace=f"{_trace(number)[:-1]}{repeat}")
        for repeat in (1, 2, 3)
        for number in (1, 2, 3)
    ]
    for at, repeat in ((2, 1), (5, 2)):
        runs[at] = msgspec.structs.replace(
            runs[at], signals=[msgspec.structs.replace(REVENUE, sample=f"s003#{repeat}")]
        )
    runs[8] = msgspec.structs.replace(runs[8], ending=RunEnding.INCOMPLETE, problem="no answer of the agent")
    return evaluation_of(runs, repeat=3)


def probed_evaluation() -> Evaluation:
    """Competency questions about the same handbook."""
    runs = [sample_run(number, sample=f"cq-{number}", capability=[], difficulty="") for number in range(1, 7)]
    runs[0] = msgspec.structs.replace(runs[0], signals=[_missed("who approves refunds", 1)])
    return evaluation_of(
        runs, watermark=Watermark("probed", 6, "c81e40d7"), origin=Origin.PROBED, topics=[], warnings=[], judge=""
    )


def empty_evaluation() -> Evaluation:
    """Nothing could be counted: every figure is unknown, none is 0%."""
    runs = [sample_run(1, ending=RunEnding.CRASHED, problem="claude is not installed", usd=None, grade=Grade())]
    return evaluation_of(
        runs,
        commit="",
        subject="",
        dirty=False,
        judge="",
        model="",
        knowledge={},
        coverage=Coverage(Rate(0, 0), []),
        composite=Mean(),
        topics=[],
        warnings=[],
    )


def gates_of(evaluation: Evaluation, before: Rate | None = None) -> tuple[GateResult, ...]:
    """Both gates, one over its limit."""
    return tuple(run_gates(Limits(limit("0.3"), limit("0.05")), evaluation.gap.rate, before))


def hostile_evaluation(text: str) -> Evaluation:
    """The everyday evaluation with `text` in every place that a sample, a trace, a model or git can fill."""
    fields = ("session", "message_id", "tool", "query", "text", "reason", "said", "agent_id", "file")
    runs = [
        msgspec.structs.replace(
            run,
            sample=f"{text}{number}",
            problem=text,
            prompt=text,
            answer=text,
            model=text,
            trace=text,
            capability=[text],
            difficulty=text,
            file=text,
            signals=[
                msgspec.structs.replace(
                    signal,
                    sample=text,
                    call_ids=[text],
                    path=f"{text}/",
                    verdict=signal.verdict and HedgingVerdict(True, 0.5, text, text),
                    **dict.fromkeys(fields, text),
                )
                for signal in run.signals
            ],
            grade=Grade(
                assertions=(AssertionGrade(text, text, passed=False, reason=text),),
                criteria=(CriterionScore(text, problem=text),),
            ),
        )
        for number, run in enumerate(everyday_runs())
    ]
    evaluation = evaluation_of(runs)
    return msgspec.structs.replace(
        evaluation,
        watermark=Watermark(text, 10, "5f0c2a9e"),
        executor=text,
        model=text,
        judge=text,
        root=text,
        subject=text,
        commit=text,
        against=text,
        knowledge={text: text},
        coverage=Coverage(Rate(2, 3), [text]),
        topics=[MissedSearch(text, 1, 1, 1, runs[2].signals[0])],
        warnings=[text],
    )


def rendered_evaluation(
    evaluation: Evaluation,
    format_: Format,
    *,
    gates: Iterable[GateResult] = (),
    nudge: str = "",
    beside: Evaluation | None = None,
    comparison: Comparison | None = None,
    **more: Any,
) -> str:
    """Return an evaluation in a format, with what is shown beside it."""
    return render_evaluation(EvaluationReport(evaluation, tuple(gates), nudge, beside, comparison), format_, **more)
