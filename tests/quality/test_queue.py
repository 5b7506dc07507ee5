"""The queue of ended turns as kills, full disks, restored backups and set clocks leave it."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from knowbound.agent import worker
from knowbound.agent.background import SCORING
from knowbound.core.quality import KEPT_DAYS, ItemVerdict, LoggedItem, QualityTurn
from knowbound.judge.turns import RulesTurnJudge
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.quality import queue
from knowbound.quality.queue import EndedRecord, Queue
from knowbound.quality.rollup import roll_up
from knowbound.quality.scoring import Scorer
from knowbound.store.data_dir import ITEMS
from tests.quality.scored_project import ScoredProject

DAY = 86_400


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScoredProject:
    monkeypatch.setattr(queue, "LATE_SECONDS", 0.0)
    return ScoredProject(tmp_path / "shop")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "ended").mkdir()
    return tmp_path


def line(number: int, **fields: object) -> bytes:
    told = {"time": "2026-11-16T08:00:00Z", "id": f"r-{number}", "session": f"s-{number}", "event": "session-end"}
    return json.dumps(told | fields, separators=(",", ":")).encode() + b"\n"


def write(home: Path, data: bytes, name: str = "2026-11-16.jsonl") -> Path:
    path = home / "ended" / name
    path.write_bytes(data)
    return path


def drained(queue: Queue) -> list[str]:
    """The ids of all that is pending, each piece marked."""
    found: list[str] = []
    for _ in range(1000):
        if (records := queue.pending()) is None:
            return found
        assert not queue.is_waiting
        found += [record.id for record in records]
        queue.mark_done()
    raise AssertionError("the queue does not end")


# What is in the files


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", []),
        (b"\n\n", []),
        (line(1) + line(2), ["r-1", "r-2"]),
        (line(1) + line(2)[:30], ["r-1"]),
        (line(1)[:30] + b"\n" + line(2), ["r-2"]),
        (line(1)[:30] + line(2), ["r-2"]),
        (b"\x00\xff\xfe\n" + line(1), ["r-1"]),
        (b'{"time":1}\n[]\n"x"\n' + line(1), ["r-1"]),
        (line(1, id=7) + line(2, id=["x"]) + line(3, id={}) + line(4), ["r-4"]),
        (line(1, time="yesterday") + line(2, time="2026-11-16T08:00:00") + line(3), ["r-3"]),
        (line(1, session=7) + line(2), ["r-2"]),
        (b'{"time":' + b"[" * 100_000 + b"\n" + line(1), ["r-1"]),
        (b'{"time":"2026-11-16T08:00:00Z","id":"r-0","answer":"Of a turn before."}\n' + line(1), ["r-1"]),
    ],
    ids=[
        "empty", "blank", "whole", "being written", "torn", "glued", "garbage", "no objects", "ids", "times", "types",
        "nested", "an answer alone",
    ],
)  # fmt: skip
def test_what_is_whole_is_read_and_what_is_not_stops_nothing(home: Path, data: bytes, found: list[str]) -> None:
    write(home, data)
    assert drained(one := Queue(home)) == found
    assert one.is_empty()
    write(home, data + line(9) if data.endswith(b"\n") or not data else data + b"\n" + line(9))
    assert "r-9" in drained(Queue(home))


def test_records_are_read_in_pieces_and_none_is_left_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "_PIECE_BYTES", 300)
    firsts = [line(number, event="stop", answer_sum="0", time="2026-11-16T08:00:00Z") for number in range(40)]
    answers = [
        json.dumps({"time": "2026-11-16T08:00:00Z", "id": f"r-{number}", "answer": f"A {number}"}).encode() + b"\n"
        for number in range(40)
    ]
    write(home, b"".join(part for pair in zip(firsts, answers, strict=True) for part in pair))
    one, found = Queue(home), list[EndedRecord]()
    while (records := one.pending()) is not None:
        assert len(records) < 5
        found += records
        one.mark_done()
    assert [(record.id, record.answer) for record in found] == [(f"r-{n}", f"A {n}") for n in range(40)]


def test_a_line_that_is_longer_than_any_is_passed_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "_PIECE_BYTES", 300)
    write(home, b"x" * 2000 + b"\n" + line(1))
    assert drained(Queue(home)) == ["r-1"]


def test_files_of_several_days_are_read_and_old_ones_removed_when_they_are_worked_off(home: Path) -> None:
    today, yesterday = (time.strftime("%Y-%m-%d.jsonl", time.gmtime(time.time() - days * DAY)) for days in (0, 1))
    for number, name in enumerate(("2020-01-01.jsonl", yesterday, today)):
        write(home, line(number), name)
    write(home, line(7) + line(8)[:20], "2020-01-02.jsonl")  # nobody will complete that
    (home / "ended" / "2020-01-03.jsonl").mkdir()  # no file
    one = Queue(home)
    assert [record.id for record in one.pending() or ()] == ["r-0"]
    assert (home / "ended" / "2020-01-01.jsonl").exists()  # until it is marked
    assert drained(one) == ["r-0", "r-7", "r-1", "r-2"]
    assert {path.name for path in (home / "ended").glob("*.jsonl") if path.is_file()} == {yesterday, today}
    assert one.is_empty()


@pytest.mark.parametrize(
    "mark",
    [
        b"", b"{", b"[]", b"\xff", b'{"2026-11-16.jsonl": -5}', b'{"2026-11-16.jsonl": [-5, 1]}', b"[" * 100_000,
        b'{"2026-11-16.jsonl": [99999999999999999999, 0]}', b'{"2026-11-16.jsonl": [40, 1]}', b'{"x": [1, 2]}',
    ],
)  # fmt: skip
def test_a_mark_that_is_garbage_has_everything_read_again(home: Path, mark: bytes) -> None:
    write(home, line(1) + line(2))
    (home / "ended" / "done.json").write_bytes(mark)
    one = Queue(home)
    assert not one.is_empty()
    assert drained(one) == ["r-1", "r-2"]
    assert one.is_empty()


def test_of_a_file_from_a_backup_all_is_read_whether_it_is_shorter_or_grew_beyond_the_mark(home: Path) -> None:
    write(home, line(1) + line(2) + line(3))
    assert drained(Queue(home)) == ["r-1", "r-2", "r-3"]
    write(home, line(1))
    assert drained(Queue(home)) == ["r-1"]
    path = write(home, line(1) + line(4) + line(5) + line(6) + line(7))
    assert set(drained(Queue(home))) >= {"r-4", "r-5", "r-6", "r-7"}
    with path.open("ab") as file:
        file.write(line(8))
    assert drained(Queue(home)) == ["r-8"]


def test_what_comes_after_the_reading_is_not_marked(home: Path) -> None:
    path = write(home, line(1))
    one = Queue(home)
    one.pending()
    with path.open("ab") as file:
        file.write(line(2))
    one.mark_done()
    assert not one.is_empty()
    assert drained(one) == ["r-2"]


# Waiting


def recent(number: int, **fields: object) -> bytes:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return line(number, **{"time": now, "event": "stop", "answer_sum": "0"} | fields)


def test_a_turn_whose_answer_is_to_come_waits_and_holds_up_nobody_before_it(home: Path) -> None:
    write(home, recent(1, answer="A") + recent(2) + recent(3, answer="C"))
    one = Queue(home)
    assert [record.id for record in one.pending() or ()] == ["r-1"]
    assert not one.is_waiting
    one.mark_done()
    assert one.pending() == []
    assert one.is_waiting
    assert not one.is_empty()
    with (home / "ended" / "2026-11-16.jsonl").open("ab") as file:
        file.write(b'{"time":"2026-11-16T08:00:00Z","id":"r-2","answer":"B"}\n')
    assert [(record.id, record.answer) for record in one.pending() or ()] == [("r-2", "B"), ("r-3", "C")]


def test_a_turn_that_has_waited_long_enough_is_taken_as_it_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home, recent(1))
    monkeypatch.setattr(queue, "LATE_SECONDS", 0.0)
    assert drained(Queue(home)) == ["r-1"]


def test_when_the_clock_is_set_back_nobody_waits_until_it_is_that_late_again(home: Path) -> None:
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    write(home, recent(1, time=later), "2999-01-01.jsonl")
    assert drained(Queue(home)) == ["r-1"]


# Workers


@pytest.mark.parametrize(
    "left",
    [b'{"time":"2026-11-16T08:00:00Z","id":"of a turn that was scored","answer":"Late."}\n', b'{"time":"2026-11-1'],
    ids=["an answer that came late", "half a line"],
)
def test_a_worker_ends_when_what_is_left_can_never_be_scored(
    shop: ScoredProject, monkeypatch: pytest.MonkeyPatch, left: bytes
) -> None:
    shop.queue_file().write_bytes(left)
    runs: list[object] = []

    def counted(*_: object) -> bool:
        runs.append(shop.score())
        assert len(runs) < 5, "it never ends"
        return True

    monkeypatch.setattr(worker, "_score", counted)
    monkeypatch.setattr(worker, "settle_in", lambda _: None)
    monkeypatch.setattr("sys.argv", ["", str(shop.root), str(shop.home), "score"])
    worker.main()
    assert len(runs) == 1


LISTING = """
import json, os, sys
from knowbound.agent.background import SCORING, settle_in

settle_in(SCORING.take_lock(sys.argv[2]))
found = {}
for descriptor in range(50):
    try:
        found[descriptor] = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        pass
with open(sys.argv[1] + "/found", "w") as file:
    json.dump(found, file)
"""


def test_the_lock_goes_to_the_worker_and_nothing_else_that_the_starter_had_open(
    shop: ScoredProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits at a pipe of the agent would wait for the worker."""
    (tmp_path / "listing.py").write_text(LISTING)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(SCORING, "module", "listing")
    left, held = os.pipe()
    os.set_inheritable(held, True)
    high = fcntl.fcntl(held, fcntl.F_DUPFD, 40)  # a free one, which the worker would inherit
    try:
        assert SCORING.ensure_running(str(tmp_path), str(shop.home))
        with (shop.home / SCORING.lock).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until the worker has ended
    finally:
        for descriptor in (left, held, high):
            os.close(descriptor)
    lock_path = str(shop.home / SCORING.lock)
    assert json.loads((tmp_path / "found").read_text()) == dict(
        zip("0123", [os.devnull] * 3 + [lock_path], strict=True)
    )


def test_what_was_scored_with_its_trace_is_not_replaced_when_that_is_gone(shop: ScoredProject) -> None:
    shop.prompted("s-1")
    shop.queue_file().write_bytes(shop.queue_line("s-1", answer="", answer_sum=""))
    shop.score()
    [before] = shop.turns()
    shop.trace("s-1").unlink()
    (shop.home / "ended" / "done.json").unlink()
    shop.score()
    assert shop.turns() == [before]
    assert before.assistant_response


def test_the_end_of_a_session_is_not_forgotten_when_more_is_queued_than_is_read_at_once(
    shop: ScoredProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn that nobody reported is over when its session is; others may have their end in the rest of the queue."""
    monkeypatch.setattr(queue, "_PIECE_BYTES", 400)
    for session in ("s-1", "s-2", "s-3"):
        shop.prompted(session)
    shop.prompted("s-3", "t-2")
    lines = [shop.queue_line("s-1", "", event="session-end"), shop.queue_line("s-2"), shop.queue_line("s-3", "t-1")]
    shop.queue_file().write_bytes(b"".join([*lines, shop.queue_line("s-3", "t-2")]))
    judged: list[object] = []
    monkeypatch.setattr(Scorer, "_verdicts", counting(Scorer._verdicts, judged))
    shop.score()
    assert shop.problems([("s-1", "t-1"), ("s-2", "t-1"), ("s-3", "t-1"), ("s-3", "t-2")]) == []
    assert len(judged) == 4  # none twice
    assert {turn.id: turn.ending for turn in shop.turns()}["s-1/t-1"] == "interrupted"


def counting(method: object, seen: list[object]) -> object:
    def counted(self: object, turn: object) -> object:
        seen.append(turn)
        return method(self, turn)  # type: ignore[operator]

    return counted


# Days


def test_a_turn_that_is_written_again_within_the_second_is_in_its_day(shop: ScoredProject) -> None:
    shop.prompted("s-1", answer="I do not know.")
    shop.queue_file().write_bytes(shop.queue_line("s-1"))
    shop.score()
    before = shop.days()
    shop.write_trace("s-1", answer="The orders service listens on port 8080 behind the internal gateway.")
    (shop.home / "ended" / "done.json").unlink()
    with closing(SqliteQualityLog(shop.home)) as log:  # a worker that is killed before its rollup
        Scorer(shop.home, log, RulesTurnJudge()).run()
    shop.score()
    assert shop.problems([("s-1", "t-1")]) == []
    assert shop.days()[0].newest > before[0].newest


def test_a_clock_that_is_set_back_hides_no_write_from_the_rollup(shop: ScoredProject) -> None:
    shop.prompted("s-1")
    with closing(SqliteQualityLog(shop.home)) as log:
        log.put(logged("s-2", 0, "2999-01-01T00:00:00.000000Z"))
    shop.queue_file().write_bytes(shop.queue_line("s-1"))
    shop.score()
    [first] = shop.days()
    (shop.home / "ended" / "done.json").unlink()
    shop.score()
    [second] = shop.days()
    assert (first.turns, second.turns) == (2, 2)
    assert second.newest > first.newest


def logged(session: str, days_ago: int, scored_at: str) -> QualityTurn:
    at = time.strftime("%Y-%m-%dT08:00:00Z", time.gmtime(time.time() - days_ago * DAY))
    return QualityTurn(session, "t-1", at, scored_at=scored_at)


def test_turns_that_come_after_their_day_has_left_the_log_are_added_to_it_once(
    shop: ScoredProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SqliteQualityLog(shop.home)) as log:
        log.put(logged("s-1", KEPT_DAYS + 5, "2026-01-01T00:00:01Z"))  # the machine was off for months
        assert roll_up(log, []).pruned == 1
        log.put(logged("s-2", KEPT_DAYS + 5, "2026-01-01T00:00:02Z"))
        with monkeypatch.context() as killed:
            killed.setattr(log, "prune", lambda _: 0)  # killed before
            roll_up(log, [])
        assert roll_up(log, []).pruned == 1
        assert [day.turns for day in log.rollups()] == [2]
        assert log.days() == []


def test_a_day_that_has_lost_turns_says_so_unless_its_time_in_the_log_is_over(shop: ScoredProject) -> None:
    """Of a day at its limit the database itself may remove turns, and of an empty one there is nothing to count."""
    with closing(SqliteQualityLog(shop.home)) as log:
        for session, days_ago in (("s-1", 3), ("s-2", 3), ("s-3", 5), ("s-4", KEPT_DAYS), ("s-5", KEPT_DAYS)):
            log.put(logged(session, days_ago, f"2026-01-01T00:00:0{session[-1]}Z"))
        roll_up(log, [])
        with closing(sqlite3.connect(shop.home / ITEMS)) as db, db:
            db.execute("DELETE FROM kms_quality_log WHERE session_id IN ('s-1', 's-3', 's-4')")
        roll_up(log, [])
        assert [day.turns for day in log.rollups()] == [2, 1, 1]


def test_a_contradiction_that_comes_late_is_no_second_record(shop: ScoredProject) -> None:
    verdict = ItemVerdict("k-1", on_topic=True, used=False, contradicted=True, correction="It is 9090.")
    item = LoggedItem("k-1", "sqlite", "Port 8080.", 10, verdict=verdict)
    with closing(SqliteQualityLog(shop.home)) as log:
        for number, days_ago in enumerate((1, 3, 2)):
            turn = logged(f"s-{number}", days_ago, f"2026-01-01T00:00:0{number}Z")
            log.put(
                QualityTurn(turn.session_id, "t-1", turn.timestamp, injected_items=(item,), scored_at=turn.scored_at)
            )
            roll_up(log, [])
        [record] = log.discoveries()
    assert (record.session_id, record.contradictions) == ("s-1", 3)
