from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from knowbound.agent.doctor.examine import examine
from knowbound.config import load
from knowbound.injection.collect import collect
from tests.hook_project import PORT, PROMPT, RETRY, SWIFT, Project, context
from tests.kills import killed_at_each_step

HOOK_CODE = "from knowbound.agent.hook import main; main()"


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


# Nothing lost: a killed collector, a full disk


def journal_of_an_earlier_day(project: Project) -> Path:
    project.ask(session="s-1")
    project.ask(session="s-2")
    [journal] = (project.home / "injected").glob("*.jsonl")
    old = journal.rename(journal.with_name("2020-01-01.jsonl"))
    os.utime(old, (0, 0))
    return old


def test_a_journal_outlives_a_collection_that_is_not_committed(filled: Project) -> None:
    old = journal_of_an_earlier_day(filled)
    data, index = old.read_bytes(), (filled.home / "index.db").read_bytes()
    points = 0
    for _ in killed_at_each_step(lambda: collect(filled.home)):
        points += 1
        assert sorted(row["session"] for row in filled.injected()) == ["s-1", "s-2"]
        assert not old.exists()
        old.write_bytes(data)
        os.utime(old, (0, 0))
        (filled.home / "index.db").write_bytes(index)
    assert points > 3


def test_a_journal_that_is_read_again_counts_once(filled: Project) -> None:
    old = journal_of_an_earlier_day(filled)
    data = old.read_bytes()
    assert len(filled.injected()) == 2
    old.write_bytes(data)  # as if the removal had not come to the disk
    os.utime(old, (0, 0))
    assert len(filled.injected()) == 2


def test_a_line_of_an_earlier_version_counts_once_too(filled: Project) -> None:
    filled.ask()
    [journal] = (filled.home / "injected").glob("*.jsonl")
    line = json.loads(journal.read_bytes())
    del line["id"]
    old = journal.rename(journal.with_name("2020-01-01.jsonl"))
    data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
    for _ in range(2):
        old.write_bytes(data * 2)
        os.utime(old, (0, 0))
        assert len(filled.injected()) == 2


FILL = """
import resource, sys
from knowbound.user_files import append
path, limit, records = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
for record in records:
    try:
        append(path, record.encode() + b"\\n")
        print(record, flush=True)
    except OSError:
        pass
"""


def test_a_full_disk_takes_only_the_record_that_was_refused(tmp_path: Path) -> None:
    """A limit on the file's size cuts a write short as a full disk does; then there is room again."""
    path = tmp_path / "records"
    records = [f"record {number} {'x' * 20 * number}" for number in range(6)]
    acknowledged: list[str] = []
    for limit in (100, 300, 100_000):
        given = [sys.executable, "-c", FILL, str(path), str(limit), *records]
        acknowledged += subprocess.run(given, capture_output=True, text=True, check=True).stdout.splitlines()
    found = path.read_text().splitlines()
    assert len(acknowledged) > len(records)
    assert [line for line in found if line in records] == acknowledged


def test_a_torn_record_is_counted_and_one_glued_to_it_is_read(filled: Project) -> None:
    filled.ask(session="s-1")
    [journal] = (filled.home / "injected").glob("*.jsonl")
    whole = journal.read_bytes()
    other = whole.replace(b'"s-1"', b'"s-2"').replace(b'"id":"', b'"id":"f')
    journal.write_bytes(whole[: len(whole) // 2] + other + whole[: len(whole) // 3] + b"\n" + whole)
    assert sorted(row["session"] for row in filled.injected()) == ["s-1", "s-2"]
    [check] = [
        one for one in examine(load(filled.root, environ={}), {"HOME": str(filled.root)}) if one.name == "injections"
    ]
    assert check.found == "2 recorded, 2 could not be read: the disk was full"


@pytest.mark.parametrize("value", [r'"\ud800"', "[]", "null", "1" + "0" * 30])
def test_an_odd_value_stops_no_collection(filled: Project, value: str) -> None:
    filled.ask()
    [journal] = (filled.home / "injected").glob("*.jsonl")
    whole = journal.read_bytes()
    odd = whole.replace(b'"session":"s-1"', b'"session":' + value.encode()).replace(b'"id":"', b'"id":"f')
    assert odd.count(value.encode()) == 1
    journal.write_bytes(odd + whole)
    assert filled.injected()[-1]["session"] == "s-1"


def test_what_the_hook_cannot_record_whole_it_does_not_inject(filled: Project) -> None:
    """The journal may grow by 100 bytes: less than a record, and SQLite's own files still fit."""
    filled.ask(session="s-0")
    [journal] = (filled.home / "injected").glob("*.jsonl")
    with journal.open("ab") as file:
        file.write(b"\n" * (40_000 - journal.stat().st_size))
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (40_100, 40_100)); {HOOK_CODE}"
    given = {"session_id": "s-1", "cwd": str(filled.root), "prompt": PROMPT}
    assert filled.run("user-prompt-submit", json.dumps(given).encode(), (sys.executable, "-c", limited)) == b""
    assert "only 100 of" in filled.last_run()["reason"]
    assert filled.ask(session="s-2")
    assert [row["session"] for row in filled.injected()] == ["s-0", "s-2"]
