"""One rewrite of a file: from half of the failures, tried on the other half, not longer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.cli.main import knowbound
from knowbound.config import Settings
from knowbound.errors import InputError
from knowbound.evals.evaluate import EvalPlan, evaluate
from knowbound.evals.executor import Execution, Task
from knowbound.evals.runner import RunLimits
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, ModelQuestion
from knowbound.judge.names import JudgeOptions
from knowbound.review.evolving import Evolved, evolve
from knowbound.review.fixing import apply_fix, known_fixes
from knowbound.stats.evaluation import Origin
from knowbound.store.evaluations import Evaluations
from tests.evals.test_runner import Scripted, said, samples, settings

__all__ = ["settings"]

OLD = "# Ledger\n\nThe ledger of the shop is very old, as everybody in the shop has known for a long time.\n"
NEW = "# Ledger\n\nThe ledger is closed on the 5th. It is kept for ten years.\n"


class Writer:
    """A model that writes one text, and remembers what it was shown."""

    def __init__(self, text: str) -> None:
        self.text, self.seen = text, list[ModelQuestion]()

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        self.seen.append(question)
        return Completion(json.dumps({"text": self.text, "why": "It said when."}), 0, 0, 0.0)


def answer(task: Task) -> Execution:
    """Answer where the ledger says when it is closed, or where it is the old one and the sample is s1."""
    text = (task.folder / "docs" / "ledger.md").read_text()
    return said(task, miss="" if "closed" in text and "never" not in text else "closing")


def evolved(settings: Settings, model: Writer, test_set: int = 12, *, first: bool = True) -> Evolved:
    path = settings.root / "docs" / "ledger.md"
    path.write_text(OLD)
    executor = Scripted(answer)
    set_ = samples(test_set)
    if first:
        evaluate(EvalPlan(set_, RunLimits(concurrency=1)), settings, executor)
    return evolve(path, set_, settings, Asker("m", model, JudgeOptions(retries=0)), executor=executor)


def test_a_rewrite_that_helps_the_unseen_half_is_offered_written_and_taken_back(settings: Settings) -> None:
    model = Writer(NEW)
    found = evolved(settings, model)
    assert found.fix is not None
    assert "6 of 6 more" in found.words
    unseen = samples(12).held_out(0.5)
    shown = model.seen[0].inputs["failures"]
    prompts = {one.id: one.prompt for one in samples(12).samples}
    assert [one for one in prompts if f"- {prompts[one]} " in shown] == [one for one in prompts if one not in unseen]
    apply_fix(found.fix, settings, "me")
    assert (settings.root / "docs" / "ledger.md").read_text() == NEW
    assert known_fixes(settings)[1][found.fix.id].fix == found.fix


def test_the_trial_is_no_baseline_of_the_next_run(settings: Settings) -> None:
    evolved(settings, Writer(NEW))
    newest = Evaluations(settings.home).newest(Origin.WRITTEN)
    assert newest is not None
    assert newest.samples == 12


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (OLD + "And more of it.\n", "must not be longer"),
        (" \n", "the file would be empty"),
        (OLD, "leaves the file as it is"),
    ],
)
def test_what_cannot_be_offered_is_not_tried(settings: Settings, text: str, words: str) -> None:
    found = evolved(settings, Writer(text))
    assert found.fix is None
    assert words in found.words


def test_a_rewrite_that_does_worse_is_not_offered(settings: Settings) -> None:
    path = settings.root / "docs" / "ledger.md"
    path.write_text("# Ledger\n\nIt is closed on the 5th, and nobody ever has to ask about it again.\n")
    executor = Scripted(lambda task: answer(task) if task.sample != "s1" else said(task, miss="x"))
    set_ = samples(12)
    assert "s1" not in set_.held_out(0.5)
    evaluate(EvalPlan(set_, RunLimits(concurrency=1)), settings, executor)
    asker = Asker("m", Writer("# Ledger\n\nIt is never closed.\n"), JudgeOptions(retries=0))
    found = evolve(path, set_, settings, asker, executor=executor)
    assert found.fix is None
    assert "Not offered: the rewrite does worse on the 6 samples" in found.words


def test_without_a_run_of_the_test_set_or_with_a_secret_nothing_is_asked(settings: Settings, tmp_path: Path) -> None:
    model = Writer(NEW)
    with pytest.raises(InputError, match="First: knowbound eval"):
        evolved(settings, model, first=False)
    path = settings.root / "docs" / "ledger.md"
    path.write_text("The token is ghp_" + "a1B2" * 9)
    asker = Asker("m", model, JudgeOptions(retries=0))
    with pytest.raises(InputError, match="holds a secret"):
        evolve(path, samples(12), settings, asker)
    with pytest.raises(InputError, match="no file below"):
        evolve(tmp_path / "elsewhere.md", samples(12), settings, asker)
    assert model.seen == []


def test_few_samples_try_nothing(settings: Settings) -> None:
    assert "at least 4 are needed" in evolved(settings, Writer(NEW), 6).words


def test_the_request_is_shown_and_nothing_is_sent(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    (settings.root / "docs" / "ledger.md").write_text(OLD)
    asserted = "assertions: [{type: contains, value: 5th}]"
    lines = [f"- {{sample_id: s{at}, prompt: 'When is the closing {at}?', {asserted}}}" for at in range(12)]
    (settings.root / "eval-samples.yaml").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("KNOWBOUND_HOME", str(settings.home))
    root = ["--root", str(settings.root)]
    assert CliRunner().invoke(knowbound, ["eval", *root]).exit_code == 0
    monkeypatch.setenv("KNOWBOUND_MODEL", "command:false")
    file = str(settings.root / "docs" / "ledger.md")
    done = CliRunner().invoke(knowbound, ["fix", "--evolve", file, "--show-request", *root])
    assert done.exit_code == 0, done.output
    assert "# Request 1 of 1 to command:false" in done.output
    assert OLD.splitlines()[2] in done.output


def test_the_verb_needs_a_model(settings: Settings) -> None:
    done = CliRunner().invoke(
        knowbound, ["fix", "--evolve", "docs/ledger.md", "--root", str(settings.root)], standalone_mode=False
    )
    assert "A rewrite needs a model" in str(done.exception)
    both = CliRunner().invoke(knowbound, ["fix", "abc", "--evolve", "x.md", "--root", str(settings.root)])
    assert both.exit_code == 2
