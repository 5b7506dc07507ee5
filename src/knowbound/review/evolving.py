"""`fix --evolve FILE`: one rewrite of an instruction file, a skill or a document, from half of the test set.

A model sees the failures of one half. The rewrite is tried on the other half, and offered only if it answers no fewer
of those samples and is not longer.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from knowbound.config import Settings
from knowbound.core.lesson import Action, ActionKind, action_id
from knowbound.errors import InputError
from knowbound.evals.evaluate import EvalPlan, evaluate
from knowbound.evals.executor import Executor
from knowbound.evals.history import compared_of
from knowbound.evals.runner import RunLimits, RunProgress
from knowbound.evals.samples.values import SampleSet
from knowbound.evals.variants import Variant
from knowbound.files import FilePatch, read_below
from knowbound.judge.models.asking import Asker
from knowbound.judge.prompts import load_prompt
from knowbound.report.evals.comparison import verdict_words
from knowbound.stats.evaluation import Evaluation, Origin, SampleCause
from knowbound.store.decisions import Fix
from knowbound.store.evaluations import Evaluations
from knowbound.text.digest import digest_of
from knowbound.text.printable import estimated_tokens
from knowbound.text.redact import redact

_UNSEEN_SHARE = 0.5
_FEWEST_UNSEEN = 4  # samples of the half that is not shown
_MOST_TOKENS = 12_000  # of a file


class EvolvedFile(msgspec.Struct, frozen=True):
    """Answer of the model."""

    text: str
    why: str = ""


class Evolved(NamedTuple):
    """The rewrite as a fix, or why none is offered; and how it did on the samples that it was not made from."""

    fix: Fix | None
    words: str


def evolve(
    path: Path,
    set_: SampleSet,
    settings: Settings,
    asker: Asker,
    actions: Sequence[Action] = (),
    *,
    executor: Executor | None = None,
    progress: Callable[[RunProgress], None] | None = None,
) -> Evolved:
    """Return the rewrite of a file below the root; `actions` are what is known to be wrong. Raises InputError."""
    relative = _relative(path, settings.root)
    before = read_below(settings.root, relative)
    text = before.decode("utf-8", "surrogateescape")
    if redact(text) != text or estimated_tokens(text) > _MOST_TOKENS:
        raise InputError(
            "no-evolving", f"{relative} holds a secret or more than {_MOST_TOKENS:,} tokens: it is not sent to a model."
        )
    unseen = frozenset(set_.held_out(_UNSEEN_SHARE))
    failures = _failures(Evaluations(settings.home).newest(Origin.WRITTEN), set_, unseen)
    problems = [f"- {action.title}" for action in actions if action.place == relative]
    if not failures and not problems:
        words = f"Nothing failed in the half that is shown, and nothing is known to be wrong in {relative}."
        return Evolved(None, words)
    unseen_samples = tuple(sample for sample in set_.samples if sample.id in unseen)
    if len(unseen_samples) < _FEWEST_UNSEEN:
        needed = f"at least {_FEWEST_UNSEEN} are needed to try a rewrite"
        return Evolved(None, f"The other half has {len(unseen_samples)} samples: {needed}.")
    lists = {"failures": "\n".join(failures) or "(none)", "problems": "\n".join(problems) or "(none)"}
    inputs = {"path": relative, "file": text, **lists}
    (asked,) = asker.ask(load_prompt("evolve"), [inputs], EvolvedFile, [lambda answer: _problem(text, answer.text)])
    if asked.value is None:
        return Evolved(None, f"No rewrite: {asked.problem}.")
    # A line break at the end is often left out.
    after = asked.value.text if asked.value.text.endswith("\n") or not text.endswith("\n") else asked.value.text + "\n"
    if after == text:
        return Evolved(None, "The model leaves the file as it is.")
    half = SampleSet(set_.path, unseen_samples, digest_of(["evolve", set_.sha256]))  # not in the trend of the whole
    is_worse, words = _tried(path, relative, after, half, settings, executor, progress)
    if is_worse:
        refusal = f"the rewrite does worse on the {len(unseen_samples)} samples it was not made from"
        return Evolved(None, f"Not offered: {refusal}. {words}")
    tokens = f"{estimated_tokens(text):,} → {estimated_tokens(after):,} tokens"
    title = f"{relative} rewritten from {len(failures)} failed samples ({tokens}): {' '.join(asked.value.why.split())}"
    patch = FilePatch(relative, before, after.encode("utf-8", "surrogateescape"))
    return Evolved(Fix(action_id(ActionKind.WRITE, f"evolve {relative} {digest_of([after])}"), title, [patch]), words)


def _relative(path: Path, root: Path) -> str:
    place = path.resolve()
    if not place.is_relative_to(root.resolve()) or not place.is_file():
        raise InputError("no-such-path", f"{path} is no file below {root}. Try: --root DIR")
    return place.relative_to(root.resolve()).as_posix()


def _failures(evaluation: Evaluation | None, set_: SampleSet, unseen: frozenset[str]) -> list[str]:
    """Return a line for each failed sample of the half that is shown, from the newest evaluation of this test set."""
    if evaluation is None or evaluation.sha256 != set_.sha256:
        raise InputError("no-evolving", "The newest evaluation is of another test set. First: knowbound eval")
    prompts = {sample.id: sample.prompt for sample in set_.samples}
    return [_failure(cause, prompts[cause.sample]) for cause in evaluation.causes if cause.sample not in unseen]


def _failure(cause: SampleCause, prompt: str) -> str:
    place = f" · {cause.path}:{cause.line}: {cause.quote}" if cause.quote else ""
    expected = f" · right answer: {cause.expected}" if cause.expected else ""
    return f"- {' '.join(prompt.split())} · {cause.cause.value}: {cause.why}{place}{expected}"


def _problem(before: str, after: str) -> str:
    """Return why a rewrite cannot be offered, whatever it does; "" if it can."""
    if not after.strip():
        return "the file would be empty"
    if (new := estimated_tokens(after)) > (old := estimated_tokens(before)):
        return f"it has {new:,} tokens, the file {old:,}: it must not be longer"
    return "the name in the front matter has changed" if _name_line(before) != _name_line(after) else ""


def _name_line(text: str) -> str:
    """Return the line of the front matter that names a skill; "" if there is none."""
    front = text.split("\n---", 1)[0] if text.startswith("---\n") else ""
    return next((line for line in front.split("\n") if line.startswith("name:")), "")


def _tried(
    path: Path,
    relative: str,
    after: str,
    half: SampleSet,
    settings: Settings,
    executor: Executor | None,
    progress: Callable[[RunProgress], None] | None,
) -> tuple[bool, str]:
    """Run the half with the file as it is and with the rewrite; return whether fewer are answered, and the verdict."""
    with tempfile.TemporaryDirectory(prefix="knowbound-evolve-") as folder:
        file = Path(folder) / Path(relative).name
        file.write_text(after, "utf-8", errors="surrogateescape")
        variants = (Variant("as it is", str(path.resolve())), Variant("rewrite", str(file)))
        plan = EvalPlan(
            half,
            RunLimits(),
            variants=variants,
            causes=False,
            executor=settings.eval_executor,
            model=settings.eval_model,
        )
        done = evaluate(plan, settings, executor, progress=progress)
    compared = compared_of(settings, done.evaluation)
    if compared is None or not done.evaluation.runs_complete:
        return True, "No sample has a complete trace."
    return compared.answered.rise > 0, verdict_words(compared)  # a rise of the samples that are not answered
