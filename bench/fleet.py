"""What a fleet of agent users needs, from rates that this script measures: the source of docs/scale.md.

    python -m bench.fleet --megabytes 5000           # measure: growth of CPU time, memory and store; query plans
    python -m bench.fleet --megabytes 5000 --write   # and keep the rates, and print docs/scale.md from them

The corpus is made of real sessions with ids of their own (`bench.corpus`), read in three steps of growing size. CPU
time counts, not wall time: it hardly depends on what else runs. A test holds docs/scale.md to the kept rates.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import msgspec

from bench.corpus import corpus
from bench.measuring import at, options, process_ms, seconds
from knowbound.store.data_dir import FINDINGS

RATES = Path(__file__).parent / "fleet_rates.json"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"
_KNOWBOUND = Path(sys.executable).with_name("knowbound")
_STEPS = (0.25, 0.5, 1.0)
_USERS = (10, 1_000, 100_000)
_SESSIONS_A_DAY = 10  # of one user: an assumption, stated on the page
_HOURS = 8  # in which a day's traces are to be read
_KEPT_DAYS = 90
_WORDS = (
    "Nothing is central for a team: every machine reads its own traces, and [share](verbs/share.md) sends names and",
    "counts. In MongoDB there is one document per machine and project in `knowbound_shares`, found by `_id`; a new one",
    "replaces the old one, so the collection is bounded by machines × projects. Whoever has all traces in a bucket",
    "reads them with `--cluster`; model questions are asked by the one process that began, within its budget",
    "([policy](policy.md)). What a model costs was not measured.",
    "",
    "Retention: `model.keep_days`, `eval.keep_days`, `injection.log_days`, and `forget` for sessions.",
)
# The queries behind observe, audit, review and report, as the store asks them.
QUERIES = {
    "findings of a session": "SELECT findings FROM session WHERE key = 'x'",
    "audited turns of a session": "SELECT sessions FROM audited WHERE key = 'x'",
    "newest run of a kind": "SELECT id FROM run WHERE kind = 'observe' ORDER BY id DESC LIMIT 1",
    "run over a corpus": "SELECT id FROM run WHERE kind = 'observe' AND corpus = 'x'",
    "states of all sessions": "SELECT key, state FROM session",
    "items of others": "SELECT unmanaged.id, count(*) FROM unmanaged JOIN unmanaged_injection ON item = id GROUP BY id",
}


class FleetRates(msgspec.Struct, frozen=True):
    """Rates of one run, on one machine."""

    day: str
    megabytes: float
    sessions: int
    cpu_seconds: float  # of `observe`, cold, all steps together
    again_cpu_seconds: float  # with nothing new
    peak_megabytes: float
    store_megabytes: float

    @property
    def megabytes_a_session(self) -> float:
        return self.megabytes / self.sessions

    @property
    def cpu_seconds_a_session(self) -> float:
        return self.cpu_seconds / self.sessions

    @property
    def store_megabytes_per_1000(self) -> float:
        return self.store_megabytes / self.sessions * 1000


def measure(megabytes: int, day: str) -> FleetRates:
    files = sorted(path for path in corpus(megabytes).rglob("*") if path.is_file())
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        environ = os.environ | {"KNOWBOUND_HOME": str(home), "KNOWBOUND_JOBS": "1", "HOME": folder}
        print(f"{'MB':>8} {'sessions':>9} {'CPU s':>8} {'CPU ms/MB':>10} {'store MB':>9}")
        spent, before = 0.0, 0
        for share in _STEPS:
            part = files[: max(1, round(len(files) * share))]
            size = sum(path.stat().st_size for path in part)
            _, cpu = process_ms([_KNOWBOUND, "observe", *part, "--root", folder, "--format", "json"], environ=environ)
            spent += cpu / 1000
            sessions, stored = _stored(home)
            new = (size - before) / 1e6
            print(f"{size / 1e6:8.0f} {sessions:9,} {cpu / 1000:8.1f} {cpu / max(new, 1e-9):10.1f} {stored:9.2f}")
            before = size
        _, again = process_ms([_KNOWBOUND, "observe", *files, "--root", folder, "--format", "json"], environ=environ)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        _plans(home)
        return FleetRates(
            day,
            round(before / 1e6, 1),
            sessions,
            round(spent, 2),
            round(again / 1000, 2),
            round(peak),
            round(stored, 2),
        )


def _stored(home: Path) -> tuple[int, float]:
    with closing(sqlite3.connect(home / FINDINGS)) as db:
        (sessions,) = db.execute("SELECT count(*) FROM session").fetchone()
    return int(sessions), sum(path.stat().st_size for path in home.glob(f"{FINDINGS}*")) / 1e6


def _plans(home: Path) -> None:
    """Print the plan and the time of each query of the store."""
    with closing(sqlite3.connect(home / FINDINGS)) as db:
        for name, query in QUERIES.items():
            plan = "; ".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}"))
            times = [seconds(lambda query=query: db.execute(query).fetchall()) for _ in range(50)]  # type: ignore[misc]
            print(f"  {name:28} p95 {at(times, 0.95) * 1000:7.3f} ms   {plan}")


def page(rates: FleetRates) -> str:
    """Return docs/scale.md."""
    lines = [
        "# What a fleet needs",
        "",
        "Printed by `python -m bench.fleet --write`; a test holds it to the kept rates (`bench/fleet_rates.json`).",
        "",
        f"Measured on {rates.day}: {rates.sessions:,} sessions, {rates.megabytes:,.0f} MB of real transcripts with ids "
        f"of their own, one process. `observe` took {rates.cpu_seconds:.1f} s of CPU "
        f"({rates.cpu_seconds / rates.megabytes * 1000:.0f} ms a MB), {rates.again_cpu_seconds:.2f} s with nothing "
        f"new, at most {rates.peak_megabytes:,.0f} MB of memory. Its store has "
        f"{rates.store_megabytes_per_1000:.2f} MB per 1,000 sessions.",
        "",
        f"Assumed, not measured: {_SESSIONS_A_DAY} sessions a user and day; a day's traces are read within {_HOURS} "
        f"hours; traces are kept {_KEPT_DAYS} days.",
        "",
        "| users | sessions a day | traces a day | traces kept | CPU a day | cores | store of findings, kept |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for users in _USERS:
        sessions = users * _SESSIONS_A_DAY
        cpu = sessions * rates.cpu_seconds_a_session
        cores = -(-cpu // (_HOURS * 3600))
        size = sessions * rates.megabytes_a_session
        store = sessions * _KEPT_DAYS * rates.store_megabytes_per_1000 / 1000
        cells = (f"{users:,}", f"{sessions:,}", _size(size), _size(size * _KEPT_DAYS), f"{cpu / 3600:,.2f} h")
        lines.append(f"| {' | '.join(cells)} | {cores:,.0f} | {_size(store)} |")
    lines += ["", *_WORDS]
    return "\n".join(lines) + "\n"


def _size(megabytes: float) -> str:
    for unit, factor in (("TB", 1e6), ("GB", 1e3)):
        if megabytes >= factor:
            return f"{megabytes / factor:,.1f} {unit}"
    return f"{megabytes:,.0f} MB"


def kept_rates() -> FleetRates:
    return msgspec.json.decode(RATES.read_bytes(), type=FleetRates)


if __name__ == "__main__":
    given = options(__doc__ or "", megabytes=5000, day="2026-11-18", write=False)
    found = measure(given.megabytes, given.day)
    if given.write:
        RATES.write_text(json.dumps(msgspec.to_builtins(found), indent=2) + "\n")
        PAGE.write_text(page(found), "utf-8")
    print(page(found))
