"""Test sets: `knowbound eval` runs one, `draft` proposes samples, `probe` asks what should be answerable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from knowbound.cli import options
from knowbound.cli.asking import asking, asking_as_configured, hint_at_model
from knowbound.cli.options import argument, option, verb
from knowbound.cli.output import EvalProgress, Out, echo, emit, end_agents_on_interrupt
from knowbound.errors import UNDECIDED, InputError
from knowbound.judge.names import RULES
from knowbound.language import say
from knowbound.text.printable import counted

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.evals.samples.values import SampleSet
    from knowbound.stats.evaluation import Evaluation
    from knowbound.stats.gate import GateResult

_BUDGET = click.FloatRange(0, 10**9, min_open=True)


@verb("eval")
def eval_command(
    samples: Path | None = argument(),
    root: Path | None = options.root,
    executor: str | None = option(
        "Run this agent: investigate (built in), claude, codex, model:NAME, 'command:PROGRAM …', replay:FILE."
    ),
    model: str | None = option("Use this model in claude or codex."),
    judges: tuple[str, ...] = option(
        "Score rubrics with this judge (see: knowbound judge list); given twice, with the median of both. Without a "
        "judge they stay unscored.",
        "--judge",
    ),
    record: Path | None = option("Write the runs to FILE, for --executor replay:FILE.", metavar="FILE"),
    variants: tuple[str, ...] = option(
        "Run two, in turns, and compare them: '.' (as it is), a folder, a git revision, a file or skill in the place "
        "of the other one's, or none; WHAT+inject also injects items of the store.",
        "--variant",
        metavar="NAME=WHAT",
    ),
    against: str | None = option("The same as --variant DIR|REF=DIR|REF --variant 'this version'=.", metavar="DIR|REF"),
    inject: str = option(
        "Inject items of the store into claude and codex; both: two variants, with and without.",
        choices=["off", "on", "both"],
        default="off",
    ),
    repeat: int = option("Run every sample this often.", within=(1, 10_000), default=1),
    concurrency: int = option("Run this many samples at once.", within=(1, 1000), default=4),
    seconds: float | None = option("End a sample after this time.", within=(0.1, 10**7)),
    budget: float | None = option("Begin no further sample once this much is spent.", type=_BUDGET, metavar="USD"),
    sample_budget: float | None = option("Leave samples that cost more out of the rates.", type=_BUDGET, metavar="USD"),
    holdout: float | None = option(
        "Hold this share of the samples out, chosen by hash: their causes are not named, and they are compared.",
        type=click.FloatRange(0, 0.9, min_open=True),
        metavar="SHARE",
    ),
    cache: bool | None = option("Take identical runs from memory (default: if a run costs)."),
    in_place: bool = option("Let claude and codex work in the root itself, where they see the samples."),
    resume: bool = option("Continue the interrupted run."),
    allow_run: bool = option("Allow custom assertions to run their files."),
    as_specified: bool = options.as_specified,
    validate: bool = option("Only check the samples file."),
    gates: options.Gates = options.gates,
    out: Out = options.output,
) -> int:
    """Run a test set through an agent and report its gap rate.

    SAMPLES is a samples file (JSON, YAML, JSONL) or a folder of samples files (default: eval-samples.* in the root or
    the current folder). The built-in executor answers from the knowledge files with the model that you allowed, by
    verified quotations; without one it is retrieval only. Every evaluation is kept for `trend`, `compare` and `check`.
    The exit code is 1 when a gate fails, 3 where nothing was measured.
    """
    from knowbound.agent.install.clients import hook_commands
    from knowbound.config import ModelTask
    from knowbound.evals.evaluate import EvalPlan, evaluate, finish
    from knowbound.evals.executor import BUILT_IN
    from knowbound.evals.executors.without_agent import RETRIEVAL_ONLY
    from knowbound.evals.grading import judged_parts, loose_words
    from knowbound.evals.history import baseline_of, note_gates
    from knowbound.evals.runner import RunLimits
    from knowbound.evals.variants import read_variants
    from knowbound.judge.choice import model_for
    from knowbound.report.words import gate_line
    from knowbound.stats.gate import evaluation_gates, exit_code

    settings = options.settings_of(root, as_specified=as_specified or None)
    gate_limits = gates.limits(settings)
    set_ = find_test_set(samples, settings)
    if validate:
        if loose := loose_words(set_.samples):
            echo(loose, err=True)
        echo(f"{set_.watermark.path}: {len(set_.samples)} samples, sha256 {set_.watermark.sha256_8}. Good.")
        return 0
    limits = RunLimits(
        concurrency=concurrency,
        seconds=seconds or float(settings.eval_seconds),
        usd=budget,
        sample_usd=sample_budget,
        allow_run=allow_run,
    )
    plan = EvalPlan(
        set_,
        limits=limits,
        repeat=repeat,
        variants=read_variants(variants, against or "", inject),
        resume=resume,
        in_place=in_place,
        cache=cache,
        executor=executor or settings.eval_executor,
        model=model or settings.eval_model,
        judges=judges or tuple(filter(None, [model_for(settings, ModelTask.RUBRICS)])),
        record=record,
        holdout=holdout or 0.0,
    )
    if any(variant.inject for variant in plan.variants):
        plan = replace(plan, hooks=hook_commands(settings))
    if plan.judges and (asked := repeat * sum(map(judged_parts, set_.samples))):
        by, asked = " and ".join(plan.judges), asked * len(plan.judges)
        echo(f"Asking {by} about answers, as they come: up to {asked:,} questions of rubrics.", err=True)
    with (
        EvalProgress() as progress,
        end_agents_on_interrupt("What is done is kept: run the same command with --resume."),
    ):
        evaluated = evaluate(plan, settings, progress=progress, until_shown=True)
    if plan.executor == BUILT_IN and not model_for(settings, ModelTask.INVESTIGATE):
        echo(RETRIEVAL_ONLY, err=True)
    for note in evaluated.notes:
        echo(note, err=True)
    baseline = baseline_of(settings, evaluated.evaluation, gate_limits.kind)
    gate_results = evaluation_gates(gate_limits, evaluated.evaluation, baseline)
    note_gates(settings, evaluated.evaluation, gate_results)
    out.emit([rendered(settings, evaluated.evaluation, gate_results, out)])
    if evaluated.other is not None:
        ids = f"{evaluated.other.id} {evaluated.evaluation.id}"
        echo(f"{evaluated.other.variant} is evaluation {evaluated.other.id}: knowbound compare {ids}", err=True)
    for gate in gate_results:
        if gate.failed or out.path is not None or out.format != "text":
            echo(gate_line(gate, evaluated.evaluation.watermark), err=True)
    finish(evaluated, settings)  # --resume has nothing left to continue
    if not evaluated.evaluation.runs_complete:
        echo("knowbound: no sample has a complete trace: nothing is decided.", err=True)
        return UNDECIDED
    return exit_code(gate_results, strict=gates.strict)


def rendered(settings: Settings, evaluation: Evaluation, gates: Sequence[GateResult], out: Out) -> str:
    """Render the evaluation with its comparison, its gates, its nudge and its competency questions."""
    from knowbound.evals.history import compared_of, evaluations, probed_beside
    from knowbound.evals.questions.draft_sources import next_questions
    from knowbound.report.evals.evaluation import EvaluationReport, render_evaluation
    from knowbound.stats.trend import nudge

    heads = [head for head in evaluations(settings) if head.id <= evaluation.id]  # as it was then
    if advice := nudge(heads) or "":
        advice += next_questions(settings, Path(evaluation.watermark.path))
    beside, comparison = probed_beside(settings, evaluation), compared_of(settings, evaluation)
    report = EvaluationReport(evaluation, tuple(gates), advice, beside, comparison)
    return render_evaluation(report, out.format, **out.layout)


def find_test_set(samples: Path | None, settings: Settings) -> SampleSet:
    """Load the named samples, or those of the project."""
    from knowbound.evals.samples.load import find_samples, load_samples

    current = Path.cwd()
    path = samples or find_samples(settings.root, settings.eval_samples) or find_samples(current)
    if path is None:
        where = f"{settings.root}" if current == settings.root else f"{settings.root} or {current}"
        raise InputError(
            "no-samples",
            f"No samples file in {where} (looked for eval-samples.* and samples.* as json, yaml, yml or jsonl, "
            "and for .omk/). Try: knowbound eval FILE, or knowbound draft -o eval-samples.draft.yaml for proposals",
        )
    return load_samples(path, settings.root)


# Samples: proposed, and questions that should be answerable

_DRAFTS = "eval-samples.draft.yaml"
_MOST_SHOWN = 5  # candidates that were not proposed


@verb("draft", around=asking)
def draft_command(
    ids: tuple[str, ...] = argument(),
    root: Path | None = options.root,
    accept: bool = option(f"Add the samples IDS of {_DRAFTS} to the test set."),
    reject: bool = option("Never propose the samples IDS again."),
    count: int = option("Let the model write this many at most.", within=(1, 500), default=10),
    output: Path | None = option("Write the proposals to FILE, not to stdout.", "-o", "--output"),
) -> int:
    """Propose samples from topics, open gaps of evaluations and knowledge files that no sample reached.

    A model that you allowed writes them (--model), each with the quotation that answers it, which rules look up; what
    no document answers is marked. Without one, rules make questions of headings and names. A person decides:
    --accept IDS adds samples to the test set, --reject IDS never proposes them again.
    """
    from knowbound.config import ModelTask
    from knowbound.evals.questions.draft_file import draft_text
    from knowbound.evals.questions.draft_sources import accept_drafts, decide, drafts_of
    from knowbound.evals.samples.load import find_samples
    from knowbound.judge.choice import model_for
    from knowbound.judge.registry import asker_for

    if accept and reject:
        raise click.UsageError("Either --accept or --reject.", click.get_current_context())
    if bool(ids) != (accept or reject):
        raise click.UsageError(
            "IDS go with --accept or --reject: knowbound draft --accept ID …", click.get_current_context()
        )
    settings = options.settings_of(root)
    test_set = find_samples(settings.root, settings.eval_samples)
    if accept:
        target = _file_for_drafts(test_set, settings)
        added = accept_drafts(settings, ids, settings.root / _DRAFTS, target)
        echo(say("{} of {} added to {}; the others are there already.", len(added), len(ids), target))
        return 0
    if reject:
        decide(settings.home, rejected=ids)
        echo(say("{} rejected: they are not proposed again.", len(ids)))
        return 0
    asker = asker_for(settings, model_for(settings, ModelTask.DRAFTS) or RULES)
    proposed = drafts_of(settings, test_set if test_set and test_set.exists() else None, asker, count)
    if asker is None:
        hint_at_model(settings, "drafts", "text")
    if not proposed.drafts:
        echo("Nothing to propose: no topic and no uncovered file makes a new sample.", err=True)
        for candidate in proposed.dropped[:_MOST_SHOWN]:
            echo(f"  {candidate.prompt}: {candidate.reason}", err=True)
        return 0
    emit([draft_text(proposed)], output)
    echo(say("{} proposed, {} not.", counted(len(proposed.drafts), "sample"), len(proposed.dropped)), err=True)
    return 0


def samples_file(settings: Settings) -> Path:
    """Return the file that accepted samples of a project are added to."""
    from knowbound.evals.samples.load import find_samples

    return _file_for_drafts(find_samples(settings.root, settings.eval_samples), settings)


def _file_for_drafts(test_set: Path | None, settings: Settings) -> Path:
    """Return the test set if it is a file, or a file of its own in a folder of samples files."""
    if test_set is None:
        return settings.root / "eval-samples.yaml"
    return test_set / "drafted.yaml" if test_set.is_dir() else test_set


@verb("probe", around=asking_as_configured)
def probe_command(
    root: Path | None = options.root,
    count: int = option("Ask this many questions at most, spread over files.", within=(1, 10_000), default=30),
    executor: str | None = option(
        "Run this agent: investigate (built in), claude, codex, model:NAME, 'command:PROGRAM …'."
    ),
    model: str | None = option("Use this model in claude or codex."),
    judge: str | None = option("Let this model propose questions, too (see: knowbound judge list)."),
    questions_only: bool = option("Only list the questions."),
    out: Out = options.page,
) -> int:
    """Ask what the knowledge base should be able to answer by its scope.

    Rules make the questions from headings, file names and the principles in CLAUDE.md; a model, if one is configured,
    proposes more. Their gap rate is shown beside the gap rate of the written samples, never mixed with it.
    """
    from knowbound.config import ModelTask
    from knowbound.evals.questions.probe import probe as run_probe
    from knowbound.judge.choice import model_for
    from knowbound.report.evals.probe import ProbeReport, render_probe

    settings = options.settings_of(root)
    with EvalProgress() as progress, end_agents_on_interrupt("Nothing was stored."):
        probed = run_probe(
            settings,
            count=count,
            executor=executor or settings.eval_executor,
            model=model or settings.eval_model,
            judge=judge or model_for(settings, ModelTask.PROBE),
            questions_only=questions_only,
            progress=progress,
        )
    for note in probed.notes:
        echo(note, err=True)
    report = ProbeReport(probed.probe, probed.evaluation, probed.written)
    out.show(render_probe, report)
    if not judge:
        hint_at_model(settings, "probe", out.format)
    is_unanswered = probed.evaluation is not None and not probed.evaluation.runs_complete
    return UNDECIDED if is_unanswered or not probed.probe.questions else 0
