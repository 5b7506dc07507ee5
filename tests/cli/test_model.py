"""`knowbound model`, and what commands say before they ask one."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from knowbound.cli.main import knowbound
from knowbound.judge.choice import load_permission
from knowbound.store.judges import used_today
from knowbound.user_files import state_folder
from tests.transcripts import Transcript

ANSWERS = """
import json, sys
asked = sys.stdin.read()
lines = [json.loads(line) for line in asked.splitlines() if line.startswith('{"id"')]
if 'isUncertainty' in asked:
    rows = [{"id": one["id"], "isUncertainty": "not sure" in one["sentence"], "confidence": 0.9} for one in lines]
elif '"chosen"' in asked:
    print(json.dumps({"chosen": []})); sys.exit()
else:
    rows = [{"id": one["id"], "on_topic": True, "used": False, "contradicted": False} for one in lines]
print(json.dumps({"items": rows}))
"""


def run(*words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(knowbound, list(words), input=answer)


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A model that is a program: it calls everything on topic, and sentences with "not sure" doubt."""
    script = tmp_path / "model.py"
    script.write_text(ANSWERS, "utf-8")
    return f"command:{shlex.join([sys.executable, str(script)])}"


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    session = Transcript().user("Which table holds it?")
    for name in ("ledger", "orders", "stock"):
        session.says(f"I am not sure whether {name} holds it, I have not looked at it.")
        session.says(f"The user may choose {name} later, perhaps with a filter.")
    session.write(tmp_path / "traces")
    return tmp_path / "traces"


def test_nothing_is_allowed_until_the_user_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    shown = run("model").stdout
    assert "No model is allowed: rules decide alone." in shown
    assert "Used today: 0 of 500 calls by commands, 0 of 100 in the background." in shown


def test_permissions_are_given_apart_and_taken_back(model: str) -> None:
    assert run("model", model, "--commands").exit_code == 0
    assert (load_permission().commands, load_permission().background) == (True, False)
    assert "is allowed for commands and the background." in run("model", "--background").stdout
    assert (load_permission().name, load_permission().background) == (model, True)
    run("model", "--no-commands")
    assert (load_permission().commands, load_permission().background) == (False, True)
    assert "No model is allowed any more" in run("model", "--off").stdout
    assert not load_permission().name


def test_another_model_needs_a_permission_of_its_own(model: str) -> None:
    run("model", model, "--commands", "--background")
    run("model", f"{model} other", "--commands")
    assert (load_permission().name, load_permission().background) == (f"{model} other", False)


def test_a_model_that_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    refused = run("model", "command:no-such-program-here", "--commands")
    assert "cannot be asked" in str(refused.exception)
    assert not load_permission().name


def test_trying_a_model_shows_its_hits_beside_rules_and_advises_against_a_bad_one(model: str) -> None:
    shown = run("model", model, "--try").stdout
    assert "rules" in shown
    assert "large model" in shown
    assert "turns: not clearly better than rules" in shown
    found = json.loads(run("model", model, "--try", "--format", "json").stdout)["tried"]
    by_task = {one["task"]: one for one in found["tasks"]}
    assert set(by_task) == {"turns", "hedges", "choose"}
    assert by_task["hedges"]["model"]["n"] == by_task["choose"]["model"]["n"] == 20
    assert by_task["choose"]["model"]["k"] == 4  # "none" is right four times
    assert by_task["choose"]["large"]["k"] > by_task["choose"]["rules"]["k"]
    assert not by_task["turns"]["worth_it"]


def test_a_command_says_before_how_much_it_asks(model: str, traces: Path) -> None:
    done = run("observe", str(traces), "--root", str(traces.parent), "--model", model, "--format", "json")
    assert f"Asking {model}" in done.stderr
    assert "1 question, about " in done.stderr
    assert "tokens in and" in done.stderr
    assert json.loads(done.stdout)["gap"]["by_type"]["hedging"] == 3
    assert used_today(background=False).calls == 1


def test_the_exact_request_is_shown_and_nothing_is_sent(model: str, traces: Path) -> None:
    done = run("observe", str(traces), "--root", str(traces.parent), "--model", model, "--show-request")
    assert done.stdout.startswith("# Request 1 of 1 to ")
    assert '"sentence":"I am not sure whether ledger holds it' in done.stdout
    assert "Which table holds it?" in done.stdout
    assert used_today(background=False).calls == 0


def test_without_a_model_a_report_says_in_one_line_that_one_would_help(traces: Path) -> None:
    done = run("observe", str(traces), "--root", str(traces.parent))
    assert (
        "Rules alone decided about hedges. A model decides better; to see which you have: knowbound model"
        in done.stderr
    )
    as_data = run("observe", str(traces), "--root", str(traces.parent), "--format", "json")
    assert "Rules alone" not in as_data.output


def test_at_the_limit_of_a_day_a_command_stops_with_what_it_has(
    model: str, traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNOWBOUND_MODEL_BUDGET_CALLS", "0")
    done = run("observe", str(traces), "--root", str(traces.parent), "--model", model, "--format", "json")
    found = json.loads(done.stdout)
    assert found["gap"]["by_type"]["hedging"] == 6  # kept: not judged
    assert "the 0 calls of today are used up (model.budget_calls)" in str(found["warnings"])


def test_a_replaced_setting_is_named_with_its_replacement(traces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWBOUND_HEDGING_CLASSIFIER_MODEL", "rules")
    done = run("observe", str(traces), "--root", str(traces.parent))
    assert (
        "KNOWBOUND_HEDGING_CLASSIFIER_MODEL still counts; it was replaced by KNOWBOUND_MODEL_TASKS_HEDGES."
        in done.stderr
    )


def test_a_damaged_counter_is_a_reason_not_to_ask(model: str, traces: Path) -> None:
    Path(state_folder()).mkdir(parents=True, exist_ok=True)
    (Path(state_folder()) / "usage.db").write_bytes(b"no database at all" * 100)
    done = run("observe", str(traces), "--root", str(traces.parent), "--model", model, "--format", "json")
    assert "calls cannot be counted" in str(json.loads(done.stdout)["warnings"])


def test_trying_counts_its_calls_and_the_rules_are_no_model(model: str) -> None:
    run("model", model, "--try")
    assert used_today(background=False).calls >= 42
    assert "The rules are no model to try" in str(run("model", "rules", "--try").exception)


def test_a_refusal_leaves_no_name_behind(model: str) -> None:
    run("model", model, "--commands")
    run("model", "--no-commands")
    assert not load_permission().name
