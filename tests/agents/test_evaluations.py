"""`eval` with the real clients: what is the user's stays out, and items are injected where that is asked for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.agents.programs import program
from tests.agents.sandbox import Sandbox
from tests.agents.scripted_model import Reply, Request, Say

PORT = "The orders service listens on port 8080 behind the internal gateway."
RETRY = "Failed payment webhooks are retried three times with exponential backoff."
SAMPLES = [
    {"id": "port", "prompt": "On which port does the orders service listen?", "knows": PORT, "word": "8080"},
    {"id": "retry", "prompt": "How often are failed payment webhooks retried?", "knows": RETRY, "word": "three times"},
]
MINE = "Answer in French, always."


def answer(request: Request) -> Reply:
    """An agent that knows nothing but what it is given."""
    known = [str(sample["word"]) for sample in SAMPLES if request.with_text(str(sample["knows"]))]
    return Say(", ".join(known) or "It is not written down.")


def evaluate(sandbox: Sandbox, *options: str) -> dict[str, Any]:
    """The evaluation, as JSON, of a test set in the project."""
    samples = [
        {"sample_id": one["id"], "prompt": one["prompt"], "assertions": [{"type": "contains", "value": one["word"]}]}
        for one in SAMPLES
    ]
    (sandbox.project / "eval-samples.json").write_text(json.dumps(samples), "utf-8")
    clients = sandbox.home / "bin"
    clients.mkdir(exist_ok=True)
    name = {"claude-code": "claude"}.get(sandbox.client.name, sandbox.client.name)
    if not (clients / name).exists():
        (clients / name).symlink_to(program(sandbox.client.name))
    path = f"{clients}{os.pathsep}{sandbox.environ['PATH']}"
    words = ["eval", "--executor", name, "--format", "json", *options]
    output, errors, requests = sandbox.knowbound_with_model(*words, script=answer, PATH=path)
    return {**json.loads(output), "requests": requests, "errors": errors}


@pytest.fixture
def project(sandbox: Sandbox) -> Sandbox:
    """A project with two items, a user with instructions of their own, and our hooks installed for that user."""
    for folder, file in ((".claude", "CLAUDE.md"), (".codex", "AGENTS.md")):
        (sandbox.home / folder).mkdir(exist_ok=True)
        (sandbox.home / folder / file).write_text(MINE, "utf-8")
    (sandbox.project / ("CLAUDE.md" if sandbox.client.name == "claude-code" else "AGENTS.md")).write_text("Be brief.")
    sandbox.install()
    return sandbox


def test_an_evaluation_sees_neither_the_users_instructions_nor_our_installed_hooks(project: Sandbox) -> None:
    project.add(PORT)
    found = evaluate(project)
    assert found["inject"] is False
    assert [run["ending"] for run in found["runs"]] == ["done", "done"]
    for request in found["requests"]:
        assert request.with_text("Be brief.")
        assert not request.with_text(MINE)
        assert not request.with_text(PORT)


def test_with_injection_the_items_are_in_the_request_and_in_the_result_and_in_no_record(project: Sandbox) -> None:
    ids = {"port": project.add(PORT, "--subject", "other"), "retry": project.add(RETRY, "--subject", "other")}
    found = evaluate(project, "--inject", "on")
    assert found["inject"] is True
    for run in found["runs"]:
        assert [one["item"] for one in run["injected"]] == [ids[run["sample"]]]
        assert run["grade"]["assertions"][0]["passed"] is True, run["answer"]
    assert all(not request.with_text(MINE) for request in found["requests"])
    assert project.outcomes("user-prompt-submit") == [], "an evaluation is no use of the store by its user"
    assert not list(project.data.glob("injected/*"))


def test_both_sides_are_run_and_compared_pair_by_pair(project: Sandbox) -> None:
    project.add(PORT, "--subject", "other")
    project.add(RETRY, "--subject", "other")
    found = evaluate(project, "--inject", "both")
    with_items = [request for request in found["requests"] if request.with_text(PORT) or request.with_text(RETRY)]
    assert (len(found["requests"]), len(with_items)) == (4, 2)
    compared = found["comparison"]
    assert (compared["answered"]["before"], compared["answered"]["after"], compared["answered"]["n"]) == (0, 2, 2)
    assert compared["verdict"] == "undecided"
    assert compared["answered"]["more_samples"] > 0
    assert compared["served"] | {"low": 0, "high": 0} == {"k": 2, "n": 2, "value": 1.0, "low": 0, "high": 0}
    assert "without injection" in found["errors"]


def test_home_is_left_as_it_was(project: Sandbox) -> None:
    project.add(PORT)
    before = {path for path in project.home.rglob("*") if path.is_file()}
    evaluate(project, "--inject", "on")
    sessions = [path for path in {p for p in project.home.rglob("*") if p.is_file()} - before if _is_session(path)]
    assert sessions == []
    assert not list(project.data.rglob("client-home"))


def _is_session(path: Path) -> bool:
    return path.suffix == ".jsonl"
