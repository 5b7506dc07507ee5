from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from knowbound.agent.doctor.examine import examine
from knowbound.agent.hook import log as hook_log
from knowbound.config import load
from knowbound.injection import record
from knowbound.injection.bundle import Bundle
from knowbound.injection.inject import MOST_POOL, Choice
from knowbound.injection.log import InjectionRecord, read_log
from knowbound.kms.index import ranking
from knowbound.kms.index.ranking import RANKER, RELEVANCE_FLOOR, FoundItem
from knowbound.text import embedding, specific_words
from tests.hook_project import HOOK, PORT, PROMPT, Project, context

HOOK_CODE = "from knowbound.agent.hook_entry import main; main()"


def log_file(project: Project) -> Path:
    [path] = (project.home / "injections").glob("*.jsonl")
    return path


# What a record says


def test_a_record_says_what_was_delivered_and_from_what_it_was_chosen(project: Project) -> None:
    long = PORT + " é" * 600
    [port] = project.store(long, confidence=0.8)
    project.ask(prompt_id="p-7", transcript_path="/home/ada/.claude/projects/shop/s-1.jsonl")
    [found] = project.records()
    assert (found.event, found.agent, found.session) == ("user-prompt-submit", "claude-code", "s-1")
    assert (found.prompt_id, found.turn_id, found.turn_key) == ("p-7", "", "p-7")
    assert found.transcript == "/home/ada/.claude/projects/shop/s-1.jsonl"
    assert (found.prompt, found.outcome, found.delivered, found.reason) == (PROMPT, "injected", True, "")
    assert (found.ranker, found.floor, found.budget) == (RANKER, RELEVANCE_FLOOR, 600)
    assert found.tokens > 0
    assert found.ms is not None
    assert found.ms > 0
    assert found.time.endswith("Z")
    [item] = found.items
    assert (item.item, item.backend, item.confidence, item.rank) == (port, "sqlite", 0.8, 1)
    assert (item.excerpt, item.content_length) == (long[:500], len(long))
    assert item.score > 0
    assert item.sha


def test_a_candidate_of_the_pool_has_the_same_score_again(filled: Project) -> None:
    filled.ask()
    [found] = filled.records()
    scores = {row[0]: FoundItem(*row).computed_score() for row in found.pool}  # type: ignore[arg-type]
    assert [round(scores[item.item], 6) for item in found.items] == [item.score for item in found.items]


def test_a_ranker_whose_constants_change_gets_a_new_version() -> None:
    """Records name it: replay compares rankers by it."""
    weights = (ranking.INTERCEPT, ranking.WORDS, ranking.MEANING, ranking.ITEMS)
    constants = (ranking.RECENCY, ranking.HALF_LIFE_DAYS, ranking.UNKNOWN_RECENCY, ranking.UNVERIFIED, ranking.STALE)
    parts = (embedding.VERSION, specific_words.VERSION)
    assert (RANKER, *weights, *constants, *parts) == (
        "3", -8.56, 0.34, 10.2, 1.16, 0.1, 90.0, 0.5, 0.5, 0.8, 1, 1,
    )  # fmt: skip


def test_the_pool_is_bounded(project: Project) -> None:
    project.store(*(f"The orders service has a port {9000 + number} for shard {number}." for number in range(60)))
    project.ask()
    [found] = project.records()
    assert len(found.pool) == MOST_POOL
    assert {item.item for item in found.items} <= {row[0] for row in found.pool}


def test_a_prompt_for_which_nothing_is_injected_leaves_a_record(filled: Project) -> None:
    filled.ask("Which port of which harbour is the largest?", prompt_id="p-1")
    [found] = filled.records()
    assert (found.outcome, found.delivered, found.items, found.prompt_id) == ("nothing", False, (), "p-1")
    assert found.prompt == "Which port of which harbour is the largest?"
    assert found.pool


def test_a_failure_leaves_a_record_with_its_reason(filled: Project) -> None:
    (filled.home / "index.db").write_bytes(b"SQLite format 3\x00" + os.urandom(5000))
    filled.ask()
    [found] = filled.records()
    assert (found.outcome, found.delivered, found.session, found.prompt) == ("failed", False, "s-1", PROMPT)
    assert found.reason == filled.last_run()["reason"] != ""


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
    [found] = filled.records()
    assert (found.agent, found.turn_id, found.turn_key, found.transcript) == ("codex", "t-3", "t-3", "")


@pytest.mark.parametrize(
    ("payload", "agent"),
    [
        ({"transcript_path": "/home/a/.codex/sessions/2026/11/16/rollout-2026-11-16T14-49-52-01a.jsonl"}, "codex"),
        ({"transcript_path": None, "model": "gpt-6", "permission_mode": "default"}, "codex"),
        ({"transcript_path": "/home/a/.claude/projects/-home-a-shop/2853e0cb.jsonl"}, "claude-code"),
        ({"prompt_id": "c97d3951"}, "claude-code"),
        ({}, "unknown"),
    ],
)
def test_the_client_is_known_by_the_shape_of_its_input(filled: Project, payload: dict[str, Any], agent: str) -> None:
    given = {"session_id": "s-1", "cwd": str(filled.root), "source": "startup"} | payload
    filled.run("session-start", json.dumps(given).encode())
    [found] = filled.records()
    assert (found.agent, found.event, found.source) == (agent, "session-start", "startup")


def test_a_secret_in_the_prompt_is_not_recorded(filled: Project) -> None:
    token = "ghp_" + "a1B2" * 9
    assert filled.ask(f"{PROMPT} my token is {token}")
    assert "my token is [redacted:" in filled.records()[0].prompt
    assert all(token.encode() not in path.read_bytes() for path in filled.home.rglob("*") if path.is_file())


def test_parallel_hooks_lose_no_record_and_say_exactly_what_was_delivered(filled: Project) -> None:
    filled.command = (str(HOOK),)
    with ThreadPoolExecutor(8) as pool:
        injected = list(pool.map(lambda n: filled.ask(session=f"s-{n}"), range(16)))
    delivered = {found.session for found in filled.records() if found.delivered}
    assert delivered == {f"s-{n}" for n, text in enumerate(injected) if PORT in text}
    assert {found.session for found in filled.records()} == {f"s-{n}" for n in range(16)}
    assert len(hook_log.runs(str(filled.home))) == 16


def test_under_a_short_limit_every_hook_is_accounted_for(filled: Project) -> None:
    """Some answer, some give up, as the machine is; none is counted as the other."""
    filled.ask(session="warm")
    for limit in ("40", "140"):
        filled.environ["KNOWBOUND_INJECTION_TIME_LIMIT_MS"] = limit
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda n: run_in_project(filled, f"{limit}-{n}"), range(8)))  # noqa: B023
        assert len(filled.records()) == len(hook_log.runs(str(filled.home)))
        records = {found.session: found for found in filled.records()}
        for session, answer in answers:
            found = records.get(session)  # one that gave up early does not know its session
            assert bool(answer) == bool(found and found.delivered), (session, answer, found)
            if found and not answer:
                assert found.outcome == "gave_up"
    assert len(filled.records()) == 1 + 2 * 8


def run_in_project(project: Project, session: str) -> tuple[str, bytes]:
    given = json.dumps({"session_id": session, "cwd": str(project.root), "prompt": PROMPT}).encode()
    done = subprocess.run(
        [HOOK, "user-prompt-submit"],
        input=given,
        capture_output=True,
        env=project.environ,
        cwd=project.root,
        check=True,
    )
    return session, done.stdout


# Delivered or not


def test_an_agent_that_has_gone_got_nothing_and_the_item_is_not_withheld(filled: Project) -> None:
    given = json.dumps({"session_id": "s-1", "cwd": str(filled.root), "prompt": PROMPT}).encode()
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [HOOK, "user-prompt-submit"], input=given, stdout=writing, env=filled.environ, check=False
        )
    finally:
        os.close(writing)
    assert done.returncode == 0
    [found] = filled.records()
    assert (found.outcome, found.delivered) == ("undelivered", False)
    assert [item.excerpt for item in found.items] == [PORT]  # what was meant
    assert "Broken pipe" in found.reason
    assert (filled.last_run()["outcome"], filled.last_run()["items"]) == ("undelivered", 0)
    assert PORT in filled.ask()


DIE = """
import os, signal, sys
from knowbound.agent.hook.process import ProcessRun, main
point = sys.argv.pop(1)
def die(*args, **named): os.kill(os.getpid(), signal.SIGKILL)
if point == "before": ProcessRun.send = die
else:
    send = ProcessRun.send
    ProcessRun.send = lambda run, output, answered: send(run, output, die)
main(sys.argv[1:])
"""


@pytest.mark.parametrize("point", ["before", "after"])
def test_of_a_killed_hook_it_is_not_known_whether_it_delivered(filled: Project, point: str) -> None:
    filled.ask(session="warm")
    given = json.dumps({"session_id": "s-1", "cwd": str(filled.root), "prompt": PROMPT}).encode()
    done = subprocess.run(
        [sys.executable, "-c", DIE, point, "user-prompt-submit"],
        input=given,
        capture_output=True,
        env=filled.environ,
        check=False,
    )
    assert done.returncode == -9
    assert bool(done.stdout) == (point == "after")
    found = filled.records()[-1]
    assert (found.session, found.outcome, found.delivered) == ("s-1", "unknown", None)
    assert [item.excerpt for item in found.items] == [PORT]
    assert PORT in filled.ask(session="s-1")  # rather twice than never


def test_what_the_hook_cannot_record_whole_it_does_not_inject(filled: Project) -> None:
    """The log may grow by 100 bytes: less than a record, and SQLite's own files still fit."""
    filled.ask(session="s-0")
    path = log_file(filled)
    with path.open("ab") as file:
        file.write(b"\n" * (40_000 - path.stat().st_size))
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (40_100, 40_100)); {HOOK_CODE}"
    given = {"session_id": "s-1", "cwd": str(filled.root), "prompt": PROMPT}
    assert filled.run("user-prompt-submit", json.dumps(given).encode(), (sys.executable, "-c", limited)) == b""
    assert "only 100 of" in filled.last_run()["reason"]
    assert filled.last_run()["outcome"] == "failed"
    assert filled.ask(session="s-2")
    found = read_log(filled.home)
    assert [one.session for one in found.records if one.delivered] == ["s-0", "s-2"]
    assert found.torn == 1
    [check] = [
        one for one in examine(load(filled.root, environ={}), {"HOME": str(filled.root)}) if one.name == "injections"
    ]
    assert check.found == "2 recorded, 2 with items that were delivered, 1 lines could not be read: the disk was full"


# Reading


def line(id_: str, **fields: Any) -> bytes:
    return json.dumps({"time": "2026-11-16T08:00:00Z", "id": id_, **fields}, separators=(",", ":")).encode()


def read(tmp_path: Path, data: bytes) -> tuple[list[InjectionRecord], int]:
    folder = tmp_path / "injections"
    folder.mkdir(exist_ok=True)
    (folder / "2026-11-16.jsonl").write_bytes(data)
    found = read_log(tmp_path)
    return found.records, found.torn


def test_a_torn_line_is_counted_and_one_glued_to_it_is_read(tmp_path: Path) -> None:
    whole = line("a", session="s-1", outcome="nothing", delivered=False)
    records, torn = read(tmp_path, whole[:30] + line("b", session="s-2") + b"\n{broken\n" + whole + b"\n" + whole[:50])
    assert [(one.id, one.outcome) for one in records] == [("b", "unknown"), ("a", "nothing")]
    assert torn == 3


@pytest.mark.parametrize("value", [r'"\ud800"', "[]", "null", "1" + "0" * 30, "[" * 10_000])
def test_an_odd_value_stops_no_reader(tmp_path: Path, value: str) -> None:
    odd = line("a", session="X").replace(b'"X"', value.encode())
    records, torn = read(tmp_path, odd + b"\n" + line("b", session="s-1"))
    assert [one.id for one in records] == ["b"]
    assert torn == 1


def test_a_day_that_is_too_large_goes_on_without_candidates(
    filled: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(record, "MOST_OF_A_DAY", 10)
    home = tmp_path / "home"
    for _ in range(2):
        one = record.Record("user-prompt-submit")
        item = FoundItem("k-1", "sqlite", "sha", content=PORT)
        one.add_known(Choice(Bundle("", [item]), [item], floor=0.3, budget=600).fields())
        one.begin(str(home))
    first, second = read_log(home).records
    assert (len(first.pool), first.items[0].excerpt) == (1, PORT)
    assert (len(second.pool), second.items[0].excerpt, second.items[0].item) == (0, "", "k-1")


def test_a_clock_that_jumps_does_not_tear_a_record_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = record.Record("user-prompt-submit")
    item = FoundItem("k-1", "sqlite", "sha", content=PORT)
    one.add_known(Choice(Bundle("", [item]), [item], floor=0.3, budget=600).fields())
    one.begin(str(tmp_path))
    monkeypatch.setattr(time, "gmtime", lambda *_: time.struct_time((2001, 1, 1, 0, 0, 0, 0, 1, 0)))
    one.end(str(tmp_path), "injected", 5.0, 60, delivered=True, reason="")
    one.end_with_prompt(str(tmp_path), PROMPT)
    [found] = read_log(tmp_path).records
    assert (found.delivered, found.prompt, len(found.items)) == (True, PROMPT, 1)
    assert len(list((tmp_path / "injections").iterdir())) == 1


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
