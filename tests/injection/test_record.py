from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from knowbound.agent.doctor import examine
from knowbound.config import load
from tests.hook_project import PORT, PROMPT, RETRY, SWIFT, Project, context


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "shop"
    root.mkdir()
    return Project(root)


@pytest.fixture
def filled(project: Project) -> Project:
    project.store(PORT, RETRY, SWIFT)
    return project


def test_what_was_injected_is_recorded(project: Project) -> None:
    long = PORT + " é" * 600
    [port] = project.store(long, confidence=0.8)
    project.ask(prompt_id="p-7")
    [row] = project.injected()
    assert (row["session"], row["turn"], row["prompt_id"], row["prompt"]) == ("s-1", "p-7", "p-7", PROMPT)
    assert (row["item"], row["backend"], row["confidence"], row["rank"]) == (port, "sqlite", 0.8, 1)
    assert row["excerpt"] == long[:500]
    assert row["content_length"] == len(long)
    assert row["score"] > 0
    assert row["time"].endswith("Z")
    assert port in row["pool"]
    assert isinstance(json.loads(row["pool"]), list)


def test_codex_has_a_turn_id(filled: Project) -> None:
    given = {
        "session_id": "c-1",
        "turn_id": "t-3",
        "transcript_path": None,
        "cwd": str(filled.root),
        "model": "gpt-6",
        "hook_event_name": "UserPromptSubmit",
        "permission_mode": "default",
        "prompt": PROMPT,
    }
    assert PORT in context(filled.run("user-prompt-submit", json.dumps(given).encode()), "UserPromptSubmit")
    assert filled.injected()[0]["turn"] == "t-3"


def test_a_secret_in_the_prompt_is_not_recorded(filled: Project) -> None:
    token = "ghp_" + "a1B2" * 9
    assert filled.ask(f"{PROMPT} my token is {token}")
    assert filled.injected()
    assert all(token.encode() not in path.read_bytes() for path in filled.home.rglob("*") if path.is_file())


def test_a_record_arrives_once_however_often_it_is_collected(filled: Project) -> None:
    filled.ask()
    assert len(filled.injected()) == len(filled.injected()) > 0


def test_a_half_written_line_waits_and_a_broken_one_is_passed_over(filled: Project) -> None:
    filled.ask()
    [journal] = (filled.home / "injected").glob("*.jsonl")
    whole = journal.read_bytes()
    journal.write_bytes(b"{broken\n" + whole[:-10])
    assert filled.injected() == []
    journal.write_bytes(b"{broken\n" + whole)
    assert filled.injected()


def test_a_journal_of_an_earlier_day_is_cleared_away_when_it_is_read(filled: Project) -> None:
    filled.ask()
    [journal] = (filled.home / "injected").glob("*.jsonl")
    old = journal.rename(journal.with_name("2020-01-01.jsonl"))
    os.utime(old, (0, 0))
    assert len(filled.injected()) == 1
    assert not old.exists()
    assert len(filled.injected()) == 1


def test_doctor_brings_records_into_the_index(filled: Project) -> None:
    filled.ask()
    checks = examine(load(filled.root, environ={}), {"HOME": str(filled.root)})
    assert [check.found for check in checks if check.name == "injections"] == ["1 recorded"]


def test_parallel_hooks_lose_no_record(filled: Project) -> None:
    with ThreadPoolExecutor(8) as pool:
        injected = list(pool.map(lambda n: filled.ask(session=f"s-{n}"), range(24)))
    assert all(PORT in text for text in injected)
    assert {row["session"] for row in filled.injected()} == {f"s-{n}" for n in range(24)}
