"""What a fleet of agent users needs, from rates that this script measures: the source of docs/scale.md.

    python -m bench.fleet --megabytes 5000           # measure: growth of CPU time, memory and store; query plans
    python -m bench.fleet --megabytes 5000 --write   # and keep the rates, and print docs/scale.md from them
    python -m bench.fleet --page                     # print docs/scale.md from the kept rates

The corpus is made of real sessions with ids of their own (`bench.corpus`), read in steps of growing size. CPU time
counts, not wall time: it hardly depends on what else runs. On a part of the corpus the audit and a real mongod are
measured, too, and questions for models are counted, with their tokens as the tool estimates them, and never asked. A
test holds docs/scale.md to the kept rates.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pymongo
from tests.services import running_mongod

from bench.corpus import corpus
from bench.measuring import at, options, process_ms, seconds
from knowbound.audit.audit import Judging, audit
from knowbound.cli.asking import estimated_usd
from knowbound.config import load
from knowbound.gaps.observe import observe
from knowbound.judge.announcing import Announcer, AskingPlan, announced_by
from knowbound.judge.registry import asker_for
from knowbound.kms.team_results import publish
from knowbound.store.data_dir import FINDINGS

RATES = Path(__file__).parent / "fleet_rates.json"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "scale.md"
_KNOWBOUND = Path(sys.executable).with_name("knowbound")
_STEPS = (0.06, 0.25, 0.5, 1.0)
_PART_MEGABYTES = 150  # of the corpus that is audited and that questions are counted on
_USERS = (10, 1_000, 100_000)
_SESSIONS_A_DAY = 10  # of one user: an assumption, stated on the page
_HOURS = 8  # in which a day's traces are to be read
_KEPT_DAYS = 90
_PRICED = "anthropic:claude-haiku-4-5"
_TASKS = {"misses": "how misses ended", "hedges": "doubt in words", "claims": "suspicious answers"}
_WORDS = (
    "## Where it is kept",
    "",
    "Nothing is central for a team: every machine reads its own traces, and [share](verbs/share.md) sends names",
    "and counts. In MongoDB there is one document per machine and project in `knowbound_shares`, found by `_id`;",
    "a new one replaces the old one, so the collection is bounded by machines × projects.",
    "",
    "Whoever has all traces in a bucket reads them with `--cluster`. `cluster.mongo_url` then keeps the results",
    "for the team: `knowbound_result` (one document per session and kind, found by `_id`), `knowbound_session`",
    "(indexes: newest first over all, by project and by agent; `session`, `names`, `key`) and `knowbound_turn`",
    "(newest first over all, by project, by diagnosis and by both; `session`, `key`). Verdicts on items are in",
    "`kms_quality_item`, one document per item, found by `_id`. A page of fifty rows is one",
    "range of one index in SQLite and in MongoDB.",
    "",
    "Model questions are asked by the one process that began, within its budget ([policy](policy.md)):",
    "`model.budget_calls` calls a day and `model.budget_usd` a command, whatever the number of workers.",
    "",
    "## How it stays bounded",
    "",
    "`store.keep_days` removes results of sessions that ended so many days ago, and reads their traces no more.",
    "What is removed is said. Free pages of the file are given back once they are a quarter of it.",
    "`cluster.keep_days` removes results of such sessions from MongoDB, whenever a run puts results there, and puts",
    "none of them there again. What models answered, runs of evaluations and the log of injections have days of their",
    "own: `model.keep_days`, `eval.keep_days`, `injection.log_days`. A policy can tighten them all (`keep_days`).",
    "`forget` erases sessions at once.",
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


class GrowthStep(msgspec.Struct, frozen=True):
    """A part of the corpus, read on top of the part before."""

    megabytes: float
    sessions: int
    cpu_seconds: float  # of this step alone
    peak_megabytes: float
    store_megabytes: float


class TaskRate(msgspec.Struct, frozen=True):
    """Questions of one task about the sessions that they were counted on."""

    questions: int
    tokens_in: int
    tokens_out: int


class AuditRates(msgspec.Struct, frozen=True):
    """`audit` after `observe` of a part of the corpus, and what both keep of it."""

    sessions: int
    megabytes: float
    observe_cpu_seconds: float
    cpu_seconds: float  # of audit alone
    store_megabytes: float
    mongo_megabytes: float  # documents as compressed on disk, with their indexes

    @property
    def cpu_ratio(self) -> float:
        """CPU of both, against that of `observe` over the same part."""
        return (self.observe_cpu_seconds + self.cpu_seconds) / self.observe_cpu_seconds


class FleetRates(msgspec.Struct, frozen=True):
    """Rates of one run, on one machine."""

    day: str
    steps: list[GrowthStep]
    audit: AuditRates
    again_cpu_seconds: float  # with nothing new
    asked_sessions: int
    tasks: dict[str, TaskRate]
    usd_in: float | None  # of a million tokens
    usd_out: float | None

    @property
    def cpu_seconds(self) -> float:
        return sum(step.cpu_seconds for step in self.steps)

    @property
    def megabytes_a_session(self) -> float:
        return self.steps[-1].megabytes / self.steps[-1].sessions

    @property
    def cpu_seconds_a_session(self) -> float:
        return self.cpu_seconds / self.steps[-1].sessions

    @property
    def store_megabytes_per_1000(self) -> float:
        return self.steps[-1].store_megabytes / self.steps[-1].sessions * 1000


def measure(megabytes: int, day: str) -> FleetRates:
    files = sorted(path for path in corpus(megabytes).rglob("*") if path.is_file())
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        environ = os.environ | {"KNOWBOUND_HOME": str(home), "KNOWBOUND_JOBS": "1", "HOME": folder}
        steps: list[GrowthStep] = []
        print(f"{'MB':>8} {'sessions':>9} {'CPU s':>8} {'CPU ms/MB':>10} {'peak MB':>8} {'store MB':>9}")
        for share in _STEPS:
            part = files[: max(1, round(len(files) * share))]
            size = sum(path.stat().st_size for path in part)
            _, cpu = process_ms([_KNOWBOUND, "observe", *part, "--root", folder, "--format", "json"], environ=environ)
            sessions, stored = _stored(home)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            new = (size - steps[-1].megabytes * 1e6 if steps else size) / 1e6
            steps.append(
                GrowthStep(round(size / 1e6, 1), sessions, round(cpu / 1000, 2), round(peak), round(stored, 2))
            )
            print(
                f"{size / 1e6:8.0f} {sessions:9,} {cpu / 1000:8.1f} {cpu / max(new, 1e-9):10.1f} {peak:8.0f} "
                f"{stored:9.2f}",
                flush=True,
            )
        _, again = process_ms([_KNOWBOUND, "observe", *files, "--root", folder, "--format", "json"], environ=environ)
        _plans(home)
        part = _spread(files)
        audited = _audited(part, Path(folder) / "audited")
        sessions, tasks = questions(part, Path(folder) / "asked")
    usd = [estimated_usd(_PRICED, *tokens) for tokens in ((1_000_000, 0), (0, 1_000_000))]
    return FleetRates(day, steps, audited, round(again / 1000, 2), sessions, tasks, *usd)


class _Counting(Announcer):
    """Counts what would be asked, and lets nothing be asked."""

    def __init__(self) -> None:
        self.questions = self.tokens_in = self.tokens_out = 0

    def begin(self, plan: AskingPlan) -> bool:
        self.questions += len(plan.questions)
        self.tokens_in += plan.tokens_in
        self.tokens_out += plan.tokens_out
        return False

    @property
    def rate(self) -> TaskRate:
        return TaskRate(self.questions, self.tokens_in, self.tokens_out)


def _spread(files: Sequence[Path]) -> list[Path]:
    """Return files of every original, of the size that is audited and asked about."""
    part, size = list[Path](), 0
    for path in files[:: max(1, len(files) // 400)]:
        part.append(path)
        size += path.stat().st_size
        if size > _PART_MEGABYTES * 1e6:
            break
    return part


def _audited(part: Sequence[Path], folder: Path) -> AuditRates:
    """Measure `audit` after `observe`, and what both put into a data folder and into a real mongod."""
    folder.mkdir()
    home = folder / "home"
    environ = os.environ | {"KNOWBOUND_HOME": str(home), "KNOWBOUND_JOBS": "1", "HOME": str(folder)}
    cpu = [
        process_ms([_KNOWBOUND, verb, *part, "--root", folder, "--format", "json"], environ=environ)[1] / 1000
        for verb in ("observe", "audit")
    ]
    sessions, stored = _stored(home)
    with running_mongod(folder / "mongod") as server:
        publish(replace(load(folder), home=home, cluster_mongo_url=server.url))
        with pymongo.MongoClient[dict[str, Any]](server.url) as client:
            client.admin.command("fsync")
            sizes = client.get_default_database("knowbound").command("dbStats")
    in_mongo = (sizes["storageSize"] + sizes["indexSize"]) / 1e6
    megabytes = sum(path.stat().st_size for path in part) / 1e6
    print(f"  {sessions:,} sessions, {megabytes:,.0f} MB: CPU {cpu}, store {stored:.2f} MB, MongoDB {in_mongo:.2f} MB")
    return AuditRates(sessions, round(megabytes, 1), *(round(one, 2) for one in (*cpu, stored, in_mongo)))


def questions(part: Sequence[Path], folder: Path) -> tuple[int, dict[str, TaskRate]]:
    """Count what each task would ask about a part of the corpus, without asking."""
    folder.mkdir()
    found: dict[str, TaskRate] = {}
    sessions = 0
    for task in _TASKS:
        one = replace(
            load(folder),
            home=folder / task,
            jobs=1,
            model_cross_provider=True,
            hedging_classifier_max_candidates=1_000_000_000 if task == "hedges" else 0,
            **{f"model_tasks_{task}": "command:false"},  # type: ignore[arg-type]
        )
        counting = _Counting()
        with announced_by(counting):
            if task == "claims":
                asker = asker_for(one, "command:false")
                assert asker is not None
                report, _ = audit(part, one, judging=Judging(asker, 1_000_000_000))
                sessions = report.sessions
            else:
                observe(part, one)
        found[task] = counting.rate
        print(f"  {task}: {counting.questions:,} questions, {counting.tokens_in:,} tokens", flush=True)
    return sessions, found


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
    last, part = rates.steps[-1], rates.audit
    lines = [
        "# What a fleet needs",
        "",
        "Printed by `python -m bench.fleet --write`; a test holds it to the kept rates (`bench/fleet_rates.json`).",
        "",
        f"Measured on {rates.day}: {last.sessions:,} sessions, {last.megabytes:,.0f} MB of real transcripts with ids "
        f"of their own, one process. `observe` took {rates.cpu_seconds:.1f} s of CPU "
        f"({rates.cpu_seconds / last.megabytes * 1000:.0f} ms a MB), {rates.again_cpu_seconds:.2f} s with nothing "
        f"new, at most {last.peak_megabytes:,.0f} MB of memory. Its store has "
        f"{rates.store_megabytes_per_1000:.2f} MB per 1,000 sessions.",
        "",
        "Each step reads what is new since the step before. Its CPU time follows the megabytes of that step, whatever "
        "is stored already; memory and store follow the number of sessions.",
        "",
        "| this step | CPU of this step | CPU a MB | read so far | sessions so far | memory at most | store |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    before = 0.0
    for step in rates.steps:
        new = step.megabytes - before
        cells = (
            f"{new:,.0f} MB", f"{step.cpu_seconds:.1f} s", f"{step.cpu_seconds / new * 1000:.0f} ms",
            f"{step.megabytes:,.0f} MB", f"{step.sessions:,}", f"{step.peak_megabytes:,.0f} MB",
            f"{step.store_megabytes:.1f} MB",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
        before = step.megabytes
    lines += [
        "",
        f"`audit` after `observe`, over {part.sessions:,} sessions ({part.megabytes:,.0f} MB) of these, made that "
        f"{part.cpu_ratio:.1f} times the CPU time. Of both together the store keeps "
        f"{part.store_megabytes / part.sessions * 1000:.1f} MB per 1,000 sessions, MongoDB "
        f"{part.mongo_megabytes / part.sessions * 1000:.1f} MB with its indexes.",
        "",
        "## Users",
        "",
        f"Assumed, not measured: {_SESSIONS_A_DAY} sessions a user and day, as large as those above "
        f"({rates.megabytes_a_session:.1f} MB on average); results and traces are kept {_KEPT_DAYS} days; whoever "
        f"reads everybody's traces reads a day's within {_HOURS} hours, for `observe` and `audit`. CPU time is that of "
        f"one core of the machine that measured. Workers are as many as have that CPU time in {_HOURS} hours; what a "
        "cluster costs beside it is printed by `python -m bench.cluster`. Traces have to reach the workers at the rate "
        "in the table: for many users that, and not CPU time, says how many workers are needed.",
        "",
        "| users | sessions a day | traces a day | CPU a day | workers | rate of reading | traces kept | store kept "
        "| MongoDB kept |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for users in _USERS:
        sessions = users * _SESSIONS_A_DAY
        cpu = sessions * rates.cpu_seconds_a_session * part.cpu_ratio
        size = sessions * rates.megabytes_a_session
        store, mongo = (
            sessions * _KEPT_DAYS * kept / part.sessions for kept in (part.store_megabytes, part.mongo_megabytes)
        )
        row = (
            f"{users:,}", f"{sessions:,}", _size(size), _time(cpu), f"{-(-cpu // (_HOURS * 3600)):,.0f}",
            f"{size / _HOURS / 3600:,.2g} MB/s", *map(_size, (size * _KEPT_DAYS, store, mongo)),
        )  # fmt: skip
        lines.append(f"| {' | '.join(row)} |")
    lines += ["", *_asked(rates), "", *_WORDS]
    return "\n".join(lines) + "\n"


def _asked(rates: FleetRates) -> list[str]:
    """Return the section about models: what they would be asked about every session, and for how much."""
    names = ", ".join(f"{rate.questions:,} about {_TASKS[task]}" for task, rate in rates.tasks.items())
    lines = [
        "## Model calls",
        "",
        f"Without a model everything above holds, and nothing is paid. About {rates.asked_sessions:,} of these "
        f"sessions there would be {names}: questions that were counted and not asked, with tokens as the tool "
        "estimates them. "
        f"An answer is kept and paid once. Prices are those of `{_PRICED.partition(':')[2]}` on that day, USD "
        f"{_usd(rates.usd_in)} and {_usd(rates.usd_out)} per million tokens in and out, without discounts; a login of "
        "`claude` or `codex` is paid by its plan. Nobody needs to ask about everything: limits hold for each machine, "
        "and the most suspicious answers come first.",
        "",
        "| users | calls a day, everything asked | tokens in | tokens out | USD a day |",
        "| --- | --- | --- | --- | --- |",
    ]
    each = [sum(getattr(rate, name) for rate in rates.tasks.values()) for name in TaskRate.__struct_fields__]
    for users in _USERS:
        calls, tokens_in, tokens_out = (users * _SESSIONS_A_DAY * one / rates.asked_sessions for one in each)
        usd = None
        if rates.usd_in is not None and rates.usd_out is not None:
            usd = (tokens_in * rates.usd_in + tokens_out * rates.usd_out) / 1e6
        cells = (f"{users:,}", f"{calls:,.0f}", f"{tokens_in / 1e6:,.1f} M", f"{tokens_out / 1e6:,.1f} M", _usd(usd))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _usd(usd: float | None) -> str:
    return "unknown" if usd is None else f"{usd:,.2f}"


def _time(seconds_: float) -> str:
    return f"{seconds_:,.0f} s" if seconds_ < 600 else f"{seconds_ / 3600:,.1f} h"


def _size(megabytes: float) -> str:
    for unit, factor in (("TB", 1e6), ("GB", 1e3)):
        if megabytes >= factor:
            return f"{megabytes / factor:,.1f} {unit}"
    return f"{megabytes:,.0f} MB"


def kept_rates() -> FleetRates:
    return msgspec.json.decode(RATES.read_bytes(), type=FleetRates)


if __name__ == "__main__":
    given = options(__doc__ or "", megabytes=5000, day="2026-11-18", write=False, page=False)
    found = kept_rates() if given.page else measure(given.megabytes, given.day)
    if given.write:
        RATES.write_text(json.dumps(msgspec.to_builtins(found), indent=2) + "\n")
        PAGE.write_text(page(found), "utf-8")
    print(page(found))
