"""How long pages of stored results take, at three sizes, in SQLite and in a real mongod.

    python -m bench.pages                    # up to 100,000 turns, 1,000,000 signals and 1,000,000 items
    python -m bench.pages --turns 10000      # the largest of the three sizes

Each size has ten signals a turn, ten turns a session and ten items a turn. The rows are made up; p95 of 60 questions
with arguments of their own, in milliseconds, of the clock and of this process's CPU (a busy machine adds only to the
clock), with the plan of SQLite looked at by tests/store/test_listing.py and
tests/store/test_scale.py.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
from tests.services import running_mongod

from bench.measuring import at, options, seconds
from knowbound.core.audit import AuditedSession, AuditedTurn, Diagnosis
from knowbound.core.item import Item
from knowbound.core.quality import ItemVerdict, LoggedItem, QualityTurn
from knowbound.core.signal import Findings, Signal, SignalType, Status, Turn
from knowbound.kms.index.database import Index
from knowbound.kms.index.entry import record_of
from knowbound.kms.listing import ItemFilter, items_page
from knowbound.kms.quality_log import QualityLog, SqliteQualityLog
from knowbound.kms.team_log import MongoQualityLog
from knowbound.kms.team_results import AUDITED, FINDINGS, MongoResults
from knowbound.store.data_dir import INDEX, ITEMS
from knowbound.store.database import Database
from knowbound.store.listing import ResultPages, SqliteResults
from knowbound.store.observed import Observed

_RUNS, _SHARES = 60, (0.01, 0.1, 1.0)
_TURNS, _SIGNALS, _ITEMS = 10, 10, 10  # of a session, of a turn, of a turn
_PROJECTS, _DAYS, _NAMES = 40, 90, 200  # sessions that share a name: one in 200
_ID, _NAME, _DAY, _FOLDER = "session-00000000", "name-000000", "2026-01-01", "/work/project-00"
_chance = random.Random(7)


def _day(number: int) -> str:
    return f"2026-{1 + number % _DAYS // 28:02}-{1 + number % _DAYS % 28:02}"


def _bodies() -> tuple[bytes, bytes]:
    """The findings and the audit of one session, as templates."""
    turns = [Turn(one, f"{_ID}#1", "Add a discount, please", f"{_DAY}T10:00:00Z", 3, 9) for one in range(1, 11)]
    signals = [
        Signal(
            SignalType.FAILED_SEARCH, Status.OPEN, _ID, 1 + one % _TURNS, f"{_ID}#1", query="discountWindow",
            context="grep -r discountWindow src", said="I will look elsewhere.", file=f"/traces/{_ID}.jsonl", line=one,
            names=(_NAME,),
        )
        for one in range(_TURNS * _SIGNALS)
    ]  # fmt: skip
    found = Findings(_ID, "claude-code", _FOLDER, ended=f"{_DAY}T12:00:00Z", turns=turns, signals=signals)
    audited = [
        AuditedTurn(_ID, one, "m", "", list(Diagnosis)[one % 8], "low", time=f"{_DAY}T10:00:00Z")
        for one in range(1, 11)
    ]
    whole = AuditedSession(_ID, "claude-code", _FOLDER, ended=f"{_DAY}T12:00:00Z", turns=audited)
    return msgspec.msgpack.encode([found]), msgspec.msgpack.encode([whole])


def _sessions(number: int) -> Iterator[tuple[str, bytes, bytes]]:
    findings, audited = _bodies()
    for one in range(number):
        values = {
            _ID: f"session-{one:08}", _NAME: f"name-{one % _NAMES:06}", _DAY: _day(one),
            _FOLDER: f"/work/project-{one % _PROJECTS:02}",
        }  # fmt: skip
        pair = findings, audited
        for name, value in values.items():
            pair = pair[0].replace(name.encode(), value.encode()), pair[1].replace(name.encode(), value.encode())
        yield f"claude-code:session-{one:08}:0123456789abcdef", *pair


def _fill(home: Path, sessions: int) -> None:
    Observed(home).close()
    with closing(Database(home / "knowbound.db")) as database, database.writing() as db:
        for key, findings, audited in _sessions(sessions):
            db.execute("INSERT INTO session VALUES (?, ?, 'x', ?)", (key, key, findings))
            db.execute("INSERT INTO audited VALUES (?, 'x', ?)", (key, audited))


def _turns_of_log(number: int) -> Iterator[QualityTurn]:
    for one in range(number):
        wrong = ItemVerdict(f"k{one}", True, False, one % 100 == 0, "It is 8040." if one % 100 == 0 else "")
        item = LoggedItem(f"k{one}", "sqlite", "The port is 8004.", 17, verdict=wrong)
        stamp = f"{_day(one)}T10:00:00Z"
        yield QualityTurn(
            f"session-{one // 10:08}", str(one % 10), stamp, user_prompt="Which port?" * 20,
            assistant_response="The port is 8004. " * 40, injected_items=(item,), judge="rules-1", scored_at=stamp,
        )  # fmt: skip


def _fill_items(home: Path, turns: int, items: int) -> None:
    SqliteQualityLog(home).close()
    with closing(Database(home / ITEMS)) as database, database.writing() as db:
        for turn in _turns_of_log(turns):
            row = (turn.id, turn.date, turn.session_id, turn.scored_at, "", msgspec.json.encode(turn).decode())
            db.execute("INSERT INTO kms_quality_log VALUES (?, ?, ?, ?, ?, ?)", row)
        db.executemany("INSERT INTO kms_quality_item VALUES (?, ?, ?, ?, ?, 0, ?)", _counts(items))
    Index(home).close()
    template = record_of(Item(id="k-00000000", content="The port of the orders service is 8004."))
    with closing(Database(home / INDEX)) as database, database.writing() as db:
        triggers = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in triggers:  # the search for items is measured by bench.retrieval_speed
            db.execute(f"DROP TRIGGER {name}")
        names = (
            "id, backend, content, type, source, subject, user, timestamp, confidence, flag, served, stale, copy_of, "
            "content_sha, code, vector, record"
        )
        rows = (
            (
                f"k-{one:08}", "sqlite", "The port.", "technical", "team", f"subject {one % 500}", "", "2026", 0.7,
                "UNVERIFIED" if one % 1000 == 0 else "", 1, 0, "", f"{one:064}", b"", b"",
                template.replace(b"k-00000000", f"k-{one:08}".encode()),
            )
            for one in range(items)
        )  # fmt: skip
        db.executemany(f"INSERT INTO item ({names}) VALUES (?{', ?' * 16})", rows)


def _counts(items: int) -> Iterator[tuple[str, int, int, int, int, str]]:
    for one in range(items):
        judged = _chance.randrange(1, 500)
        yield f"k-{one:08}", judged, judged // 2, judged // 3, judged // 50, _day(one)


def _ask_results(results: ResultPages, sessions: int) -> None:
    half = results.sessions(since="", most=50).after
    for _ in range(min(40, sessions // 100)):
        half = results.sessions(after=half, most=50).after or half
    _print("sessions, first page", results.sessions)
    _print("sessions, a later page", lambda: results.sessions(after=half))
    _print("sessions of a project", lambda: results.sessions(project=f"project-{_chance.randrange(_PROJECTS):02}"))
    _print("turns with a diagnosis", lambda: results.turns(diagnosis=_chance.choice(list(Diagnosis))))
    _print(
        "turns, project and diagnosis",
        lambda: results.turns(project=f"project-{_chance.randrange(_PROJECTS):02}", diagnosis="unsupported"),
    )
    _print("one turn", lambda: results.turn(f"session-{_chance.randrange(min(sessions, 100)):08}", 3))
    _print("sessions of a topic", lambda: results.keys_about([f"name-{_chance.randrange(_NAMES):06}"]))
    _print(
        "diagnoses of a project",
        lambda: results.counts("diagnosis", project=f"project-{_chance.randrange(_PROJECTS):02}"),
    )


def _ask_quality(log: QualityLog, items: int) -> None:
    ids = [f"k-{_chance.randrange(items):08}" for _ in range(50)]
    _print("verdicts on 50 items", lambda: log.verdicts_on(ids))
    _print("days of the log", log.days, runs=5)
    _print("contradictions of 14 days", lambda: list(log.corrective("2026-03-20")), runs=5)


def _print(name: str, ask: Callable[[], object], runs: int = _RUNS) -> None:
    walls, cpus = list[float](), list[float]()
    for _ in range(runs):
        began = time.thread_time()
        walls.append(seconds(ask) * 1000)
        cpus.append((time.thread_time() - began) * 1000)
    print(
        f"    {name:30} p50 {at(walls, 0.5):8.2f}   p95 {at(walls, 0.95):8.2f}   CPU p95 {at(cpus, 0.95):8.2f}",
        flush=True,
    )


def report(turns: int) -> None:
    for share in _SHARES:
        number = int(turns * share)
        sessions, items = number // _TURNS, number * _ITEMS
        print(f"\n{number:,} turns, {number * _SIGNALS:,} signals, {items:,} items")
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "home"
            _fill(home, sessions)
            _fill_items(home, number, items)
            began = time.process_time()
            with closing(SqliteResults(home)) as results:
                print(f"  SQLite (listed once in {time.process_time() - began:.1f} s of CPU)")
                _ask_results(results, sessions)
            with closing(SqliteQualityLog(home)) as log, closing(Index(home)) as index:
                _ask_quality(log, items)
                with index.reading() as items_of:
                    for one in ItemFilter:
                        _print(f"items: {one}", lambda one=one: items_page(items_of, one, "", "", 50))  # type: ignore[misc]
                    _print("items with a word", lambda: items_page(items_of, ItemFilter.ALL, "8004", "", 50), runs=5)
            with running_mongod(Path(folder) / "mongod") as server:
                print("  MongoDB")
                _mongo(server.url, number, sessions, items)


def _mongo(url: str, turns: int, sessions: int, items: int) -> None:
    with closing(MongoResults(url)) as results, closing(MongoQualityLog(url)) as log:
        batch: list[tuple[str, bytes, bytes]] = []
        for row in _sessions(sessions):
            batch.append(row)
            if len(batch) == 500 or row[0].startswith(f"claude-code:session-{sessions - 1:08}"):
                results.put(FINDINGS, [(key, "x", findings) for key, findings, _ in batch])
                results.put(AUDITED, [(key, "x", audited) for key, _, audited in batch])
                batch.clear()
        names = ("_id", "judged", "on_topic", "used", "contradicted", "last")
        rows = [dict(zip(names, row, strict=True)) | {"days": []} for row in _counts(items)]
        for start in range(0, items, 10_000):
            log._items.insert_many(rows[start : start + 10_000], ordered=False)
        for turn in _turns_of_log(min(turns, 10_000)):
            log.put(turn)
        _ask_results(results, sessions)
        _ask_quality(log, items)


if __name__ == "__main__":
    given = options(__doc__ or "", turns=100_000)
    report(given.turns)
