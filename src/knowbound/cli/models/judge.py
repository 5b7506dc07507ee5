"""`knowbound judge`: measure how far judges can be trusted, by labels that people give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli import options
from knowbound.cli.asking import asking_as_configured
from knowbound.cli.main import VerbGroup
from knowbound.cli.output import Out, width
from knowbound.cli.verb import argument, option, verb
from knowbound.errors import GATE_FAILED, UNDECIDED
from knowbound.report import SHORT_FORMATS

if TYPE_CHECKING:
    from knowbound.config import Settings


@click.group("judge", cls=VerbGroup)
def judge_command() -> None:
    """Measure how far judges can be trusted.

    A judge decides questions about text: whether a sentence is a hedge, how well an answer meets a rubric, whether an
    injected item was on topic, used or contradicted. Label some texts yourself, then compare the judge's verdicts with
    your labels.
    """


@verb("list", judge_command)
def list_(root: Path | None = options.root, out: Out = options.report(SHORT_FORMATS)) -> None:
    """List the judges: which can be used here, what the others need, and which ones are configured."""
    import msgspec

    from knowbound.config import ModelTask
    from knowbound.judge.choice import judge_for
    from knowbound.judge.registry import judges

    settings = options.settings_of(root)
    rows = judges()
    configured = {str(task): judge_for(settings, task) for task in ModelTask if task is not ModelTask.CHOOSE}
    if not settings.hedging_classifier_enabled:
        configured[ModelTask.HEDGES] = ""
    if out.format == "json":
        from knowbound.report.formats.json import json_text

        shown = {name: judge or None for name, judge in configured.items()}
        document = {"format": "knowbound.judges/1", "in_force": shown, "judges": msgspec.to_builtins(rows)}
        out.emit([json_text(document)])
        return
    table = [["judge", "kind", "usable", "needs, or lacks"]]
    table += [[row.form, row.kind, "yes" if row.usable else "no", row.why_not or row.needs] for row in rows]
    below = [f"Configured for {question}: {judge or 'none'}" for question, judge in configured.items()]
    out.emit(_as_table(table, below, out.format))


def _as_table(table: list[list[str]], notes: Sequence[str], format_: str) -> Iterator[str]:
    if format_ == "markdown":
        head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in table]
        for row in (head, ["---"] * len(head), *rows):
            yield f"| {' | '.join(row)} |\n"
        yield "".join(f"\n{line}\n" for line in notes)
        return
    from knowbound.report.formats.plain import aligned

    for row in aligned(table, ()):
        yield "   ".join(row).rstrip() + "\n"
    yield "\n" + "".join(f"{line}\n" for line in notes)


@verb("label", judge_command)
def label(
    question: str = option(
        "What is labelled: sentences, or the injected items of turns.", choices=("hedging", "turns"), default="hedging"
    ),
    input_: Path | None = option("Label the sentences of FILE, or its turns."),
    count: int = option("Sentences or turns to label.", within=(1, 10_000), default=50),
    seed: int = option("Which ones are drawn.", default=0),
    labels: Path | None = option("The file of labels (default: in the data folder)."),
    by: str = option("Who labels (default: you)."),
    root: Path | None = options.root,
) -> None:
    """Label by hand: sentences (is the agent not sure of a fact?), or the items injected into turns.

    The sentences are drawn from the sessions of the newest stored run: some that the judge kept, some that it
    dropped. The judge's verdict is not shown. Answer y or n; s skips, u undoes the last label, q quits. Every label
    is written at once. Without a terminal, answers are read line by line.

    With --question turns, turns are drawn from the quality log, as many with a contradiction that the judge saw as
    others. Each item has three questions: on topic, used, contradicted. Without a terminal a line may answer all
    three: yyn. FILE has a turn per line: {"id", "prompt", "items": [{"id", "content"}], "response", "tool_calls"}.
    """
    from knowbound.cli.models.labelling import label_sentences, label_turns

    if question == "turns":
        label_turns(options.project_settings(root), input_, count, seed, labels, by)
    else:
        label_sentences(options.settings_of(root), input_, count, seed, labels, by)


@verb("calibrate", judge_command, around=asking_as_configured)
def calibrate(
    labels: Path | None = argument(),
    judge: str = option("The judge (default: the configured one).", metavar="NAME"),
    question: str = option("What the labels answer.", choices=("hedging", "rubric", "turns"), default="hedging"),
    aside: float | None = option(
        "Use only the labels of this share of the sessions, chosen by hash.",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="FRACTION",
    ),
    run: bool = option("Correct the rate of the newest stored run; this reads its sessions again."),
    min_kappa: float | None = option(
        "Exit 1 when the whole interval of κ is below this.", type=click.FloatRange(-1, 1), metavar="κ"
    ),
    strict: bool = option("Exit 3 when there are too few labels to decide."),
    root: Path | None = options.root,
    out: Out = options.report(SHORT_FORMATS),
) -> int:
    """Compare a judge's verdicts with labels: sensitivity, specificity, κ, and whether there are enough labels.

    LABELS is a file of labels (default: in the data folder labels.jsonl, for turns turn-labels.jsonl). A judge is good
    enough when the whole interval of κ is at or above --min-kappa (0.6 where it is not given).

    With --question turns the judge of injected items is measured on each metric (on topic, used, contradicted): at
    least 50 labelled turns, agreement of at least 85% and above chance. Below that model.fallback is asked
    about the same turns. Exit 1 when a metric is halted or killed.
    """
    if question == "turns":
        if run or min_kappa is not None:
            raise click.UsageError("--run and --min-kappa are not about turns: their gate is on agreement.")
        return _calibrate_turns(options.project_settings(root), labels, judge, aside, strict, out)
    from knowbound.gaps.reading import judged_rate
    from knowbound.judge.calibration import calibrate_hedging, calibrate_rubric
    from knowbound.judge.labels import LABELS, RUBRIC
    from knowbound.report.judging import render_calibration
    from knowbound.stats.calibration import WANTED_KAPPA, Trust

    settings = options.settings_of(root)
    path = labels or settings.home / LABELS
    wanted_kappa = WANTED_KAPPA if min_kappa is None else min_kappa
    if question == RUBRIC:
        if run:
            raise click.UsageError("--run is about hedging: a rubric has no rate in a run.")
        report = calibrate_rubric(settings, path, judge, wanted_kappa, aside)
    else:
        rate_of = partial(judged_rate, settings) if run else None
        report = calibrate_hedging(settings, path, judge, wanted_kappa, aside, rate_of=rate_of)
    out.emit([render_calibration(report, out.format, width=width())])
    verdict = report.found.decision.verdict
    if verdict is Trust.BAD and min_kappa is not None:
        return GATE_FAILED
    return UNDECIDED if verdict is Trust.UNDERPOWERED and strict else 0


def _calibrate_turns(
    settings: Settings,
    labels: Path | None,
    judge: str,
    aside: float | None,
    strict: bool,
    out: Out,
) -> int:
    from knowbound.judge.calibration import calibrate_turns
    from knowbound.judge.labels import TURN_LABELS
    from knowbound.report.judging import render_calibration
    from knowbound.stats.judge_gate import GateState

    report = calibrate_turns(settings, labels or settings.home / TURN_LABELS, judge, aside)
    out.emit([render_calibration(report, out.format, width=width())])
    if report.states & {GateState.HALTED, GateState.KILLED}:
        return GATE_FAILED
    return UNDECIDED if strict and report.states & {GateState.UNDERPOWERED, GateState.UNMEASURED} else 0
