"""Evaluations in a row, made by hand: a handbook that grows, breaks, and changes its test set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from knowbound.stats.evaluation import Evaluation, EvaluationHead, RunEnding, SampleRun
from knowbound.stats.figures import Coverage, Watermark
from knowbound.stats.rate import Mean, Rate
from tests.evaluation_examples import evaluation_of, sample_run
from tests.report_examples import failed_search, figures

FIRST_SET, SECOND_SET = "5f0c2a9e" * 8, "81be22d0" * 8
_START = datetime(2026, 11, 3, 9, 0, tzinfo=UTC)
_SUBJECTS = ("Begin the handbook", "Say who owns which table", "Explain refunds", "Write down the retry budget")


def head(
    number: int, gaps: int, n: int = 24, *, sha256: str = FIRST_SET, files: int | None = None, **more: object
) -> EvaluationHead:
    """The evaluation of the number-th commit: gaps of n samples; the knowledge base has so many files."""
    knowledge = {f"docs/{at:02d}.md": f"{at:08x}" for at in range(number + 1 if files is None else files)}
    made = EvaluationHead(
        id=number,
        made=(_START + timedelta(days=number)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        watermark=Watermark("samples.yaml", n, sha256[:8]),
        sha256=sha256,
        executor="claude",
        model="sonnet",
        root="/home/ada/handbook",
        commit=f"{(number + 1) * 0x1F3A5C7 % 0x10000000:07x}" + "0" * 33,
        subject=_SUBJECTS[number % len(_SUBJECTS)],
        knowledge=knowledge,
        gap=figures(
            samples=n,
            strong=gaps,
            weak=0,
            still_open=gaps,
            turns=Rate(gaps, n),
            by_type=(gaps, 0, 0, 0),
        ),
        coverage=Coverage(Rate(min(number, len(knowledge)), len(knowledge)), []),
        composite=Mean(n, 4.5 - gaps / n, 4.2 - gaps / n, 4.8 - gaps / n) if n else Mean(),
        usd=0.48,
        samples=n,
        runs_complete=n,
        version="0.1.0",
    )
    return msgspec.structs.replace(made, **more)


def falling() -> list[EvaluationHead]:
    """Five commits, each adding knowledge: from 58% to 4%."""
    return [head(number, gaps) for number, gaps in enumerate((14, 10, 6, 3, 1), 1)]


def with_break() -> list[EvaluationHead]:
    """Four commits, then a longer test set; at the end knowledge is removed."""
    first = [head(number, gaps) for number, gaps in enumerate((14, 9, 4, 2), 1)]
    then = [
        head(5, 18, 40, sha256=SECOND_SET),
        head(6, 9, 40, sha256=SECOND_SET),
        head(7, 22, 40, sha256=SECOND_SET, files=4, executor="codex"),
    ]
    return first + then


def runs_with_gaps(gaps: str) -> list[SampleRun]:
    """One run per letter: g with a gap, . without one, x crashed."""
    return [
        sample_run(
            number,
            signals=[failed_search(f"topic_{number}", line=number, sample=f"s{number:03d}#1")] if mark == "g" else [],
            ending=RunEnding.CRASHED if mark == "x" else RunEnding.DONE,
        )
        for number, mark in enumerate(gaps, 1)
    ]


def evaluation(gaps: str, **more: object) -> Evaluation:
    """An evaluation of as many samples as there are letters."""
    return evaluation_of(runs_with_gaps(gaps), topics=[], warnings=[], dirty=False, **more)
