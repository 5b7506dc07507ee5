"""Keeps what is known of judges: answers of models, questions for an agent, the count of calls, and calibrations.

Answers are kept per entry, so that nothing is paid for twice. Questions wait for the agent of a session, whose answers
are kept like those of any model. Calls are counted for all processes and projects of the user, in the state folder: a
call is reserved before it is made, in one transaction, so that parallel processes never exceed a cap together.

Calibrations are kept by judge version. `judge calibrate` writes `calibration.json` of the data folder for judges of
hedges, `judge calibrate --question turns` writes `turn-calibration.json` for judges of turns (specification 2, "The
judge"). That has the counts of labels against verdicts for each metric, so that `stats.calibration.corrected` can
correct a rate for the judge's error.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from knowbound.core.quality import Metric
from knowbound.errors import StoreError
from knowbound.files import replacing
from knowbound.stats.judge_gate import MeasuredMetric, MetricGate, gate, with_fallback
from knowbound.store.data_dir import FINDINGS
from knowbound.store.database import Database
from knowbound.user_files import make_folder, state_folder

_MOST_DAYS = 36_500  # before today: a date has no year below 1


def erase_answers(
    db: sqlite3.Connection, is_erased: Callable[[str, str], bool], before: str, *, also_unnamed: bool
) -> int:
    """Erase the answers about erased sessions and projects, and those of earlier days; return their number."""
    erased = 0
    for session, project, made in db.execute("SELECT DISTINCT session, project, made FROM answer").fetchall():
        is_named = bool(session or project)
        is_old = bool(before and made and made < before[:10])  # `made` is a day
        if is_old or (is_erased(session, project) if is_named else also_unnamed):
            query = "DELETE FROM answer WHERE session = ? AND project = ? AND made = ?"
            erased += db.execute(query, (session, project, made)).rowcount
    return erased


class ModelAnswers:
    """The kept answers of one data folder. Its methods may be called from several threads."""

    def __init__(self, home: Path, keep_days: int = 0) -> None:
        """`keep_days`: older answers are removed when the file is opened, at the first use (0 keeps all)."""
        self._path, self._keep_days = home / FINDINGS, keep_days

    @cached_property
    def _db(self) -> Database:
        db = Database(self._path)
        oldest = _day(before=min(self._keep_days, _MOST_DAYS))
        if self._keep_days and db.row("SELECT 1 FROM answer WHERE made != '' AND made < ?", oldest):  # '': unknown day
            db.write("DELETE FROM answer WHERE made != '' AND made < ?", oldest)
        return db

    def answer(self, prompt: str, model: str, sha256: str) -> bytes | None:
        """Return the stored answer of a model about this material, or None."""
        row = self._db.row(
            "SELECT answer FROM answer WHERE prompt = ? AND model = ? AND sha256 = ?", prompt, model, sha256
        )
        return bytes(row[0]) if row else None

    def keep_answer(
        self, prompt: str, model: str, sha256: str, answer: bytes, session: str = "", project: str = ""
    ) -> None:
        """Store an answer."""
        columns = "prompt, model, sha256, answer, session, project, made"
        query = f"INSERT OR REPLACE INTO answer ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self._db.write(query, prompt, model, sha256, answer, session, project, _day())


KEPT_DAYS = 30  # an older question is not answered any more


class QueuedEntry(msgspec.Struct, frozen=True):
    """One of the things that a question asks about."""

    id: str  # its name in the material; "" if the question is about one thing
    key: str  # of its answer
    session: str = ""
    project: str = ""


class QueuedQuestion(msgspec.Struct, frozen=True):
    """A question as the agent gets it, and where its answers go."""

    id: str  # hash of the judge, the prompt's version and the keys of the entries
    judge: str
    prompt: str
    version: str
    instructions: str
    text: str
    schema: Mapping[str, object]
    entries: tuple[QueuedEntry, ...]  # those without an answer yet
    made: str = ""  # day, UTC


def question_id(judge: str, version: str, entries: Iterable[QueuedEntry]) -> str:
    """Return the name by which a question is answered."""
    keys = "\n".join((judge, version, *(entry.key for entry in entries)))
    return hashlib.sha256(keys.encode()).hexdigest()[:12]


def erase_questions(db: sqlite3.Connection, is_erased: Callable[[str, str], bool], before: str) -> int:
    """Erase unreadable questions, questions of earlier days, and questions about erased sessions and projects."""
    erased = []
    for id_, made, data in db.execute("SELECT id, made, question FROM agent_question").fetchall():
        try:
            entries = msgspec.json.decode(data, type=QueuedQuestion).entries
        except msgspec.MsgspecError:
            entries = ()
        if not entries or made < before[:10] or any(is_erased(entry.session, entry.project) for entry in entries):
            erased.append((id_,))
    db.executemany("DELETE FROM agent_question WHERE id = ?", erased)
    return len(erased)


class AgentQuestions:
    """The queue of one data folder. Its methods may be called from several threads."""

    def __init__(self, home: Path) -> None:
        self._path = home / FINDINGS

    @cached_property
    def _db(self) -> Database:
        db = Database(self._path)
        db.write("DELETE FROM agent_question WHERE made < ?", _day(before=KEPT_DAYS))
        return db

    def put(self, client: str, question: QueuedQuestion) -> None:
        """Queue a question, once."""
        query = "INSERT OR REPLACE INTO agent_question (id, client, made, question) VALUES (?, ?, ?, ?)"
        self._db.write(query, question.id, client, question.made or _day(), msgspec.json.encode(question))

    def open(self, client: str) -> list[QueuedQuestion]:
        """Return the questions for this client, oldest first."""
        rows = self._db.rows("SELECT question FROM agent_question WHERE client = ? ORDER BY rowid", client)
        return [msgspec.json.decode(row[0], type=QueuedQuestion) for row in rows]

    def take(self, client: str, id_: str) -> QueuedQuestion | None:
        """Remove a question and return it to the first caller; None for later callers and unless it is open."""
        with self._db.writing() as db:
            query = "DELETE FROM agent_question WHERE id = ? AND client = ? RETURNING question, made"
            row = db.execute(query, (id_, client)).fetchone()
        if row is None:
            return None
        return msgspec.structs.replace(msgspec.json.decode(row[0], type=QueuedQuestion), made=row[1])


def _day(*, before: int = 0) -> str:
    """Return today, or the day this many days before."""
    return (datetime.now(UTC) - timedelta(days=before)).strftime("%Y-%m-%d")


FILE = "usage.db"
_KEPT_DAYS = 40
_BACKGROUND_PAUSE = timedelta(hours=1)  # after a provider's limit


class UsedToday(NamedTuple):
    """Calls of today, and their known costs."""

    calls: int
    usd: float


class CallCounter:
    """Counts calls of one kind against its caps."""

    def __init__(self, *, background: bool, a_day: int, an_hour: int) -> None:
        self._background, self._a_day, self._an_hour = int(background), a_day, an_hour

    def reserve(self) -> str:
        """Reserve one call. Returns "" or the reason to make none."""
        now = datetime.now(UTC)
        day, hour = now.strftime("%Y-%m-%d"), now.hour
        with closing(_open_usage()) as database, database.writing() as db:
            paused = db.execute("SELECT reason FROM pause WHERE until > ?", (_stamp(now),)).fetchone()
            if paused and self._background:  # a person's own calls go on
                return str(paused[0])
            counted = "SELECT coalesce(sum(calls), 0) FROM call WHERE background = ? AND day = ?"
            calls_today = db.execute(counted, (self._background, day)).fetchone()[0]
            calls_this_hour = db.execute(f"{counted} AND hour = ?", (self._background, day, hour)).fetchone()[0]
            if calls_today >= self._a_day:
                return f"the {self._a_day} calls of today are used up ({self._setting})"
            if calls_this_hour >= self._an_hour:
                return f"the {self._an_hour} calls of this hour are used up ({self._setting})"
            db.execute("DELETE FROM call WHERE day < ?", (_day(before=_KEPT_DAYS),))
            db.execute(
                "INSERT INTO call VALUES (?, ?, ?, 1, 0) ON CONFLICT DO UPDATE SET calls = calls + 1",
                (day, hour, self._background),
            )
        return ""

    def record(self, usd: float | None, limit: str = "") -> None:
        """Record the known cost of a call; a provider's limit stops the background for an hour."""
        now = datetime.now(UTC)
        if not usd and not limit:
            return
        with closing(_open_usage()) as database, database.writing() as db:
            db.execute(
                "UPDATE call SET usd = usd + ? WHERE day = ? AND hour = ? AND background = ?",
                (usd or 0.0, now.strftime("%Y-%m-%d"), now.hour, self._background),
            )
            if limit:
                db.execute("DELETE FROM pause")
                db.execute("INSERT INTO pause VALUES (?, ?)", (_stamp(now + _BACKGROUND_PAUSE), limit))

    @property
    def _setting(self) -> str:
        return "model.background_calls" if self._background else "model.budget_calls"


def used_today(*, background: bool) -> UsedToday:
    """Return what was used today."""
    if not (Path(state_folder()) / FILE).exists():
        return UsedToday(0, 0.0)
    query = "SELECT coalesce(sum(calls), 0), coalesce(sum(usd), 0) FROM call WHERE day = ? AND background = ?"
    with closing(_open_usage()) as database:
        return UsedToday(*database.row(query, _day(), int(background)))


def _open_usage() -> Database:
    return Database(Path(state_folder()) / FILE)


def _stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


# Calibrations


HEDGING_FILE = "calibration.json"
TURNS_FILE = "turn-calibration.json"
FALSE_LIMIT = 0.40  # specification 1, section 10: above it hedges are switched off
ENOUGH = 20  # labels: the specification's own limit (section 5) for a rate that can be relied on
_Kept = TypeVar("_Kept")


class HedgingCalibration(msgspec.Struct, frozen=True):
    """Labelled sentences that a judge called doubt, and the number of them that people did not."""

    false: int
    of: int
    share: float | None  # false / of, unless labels weigh differently; None where the judge called nothing doubt
    effective: float  # number of independent labels with the same information
    labels: str  # the first 8 hex digits of the SHA-256 of the label file
    made: str  # UTC

    @property
    def is_above_limit(self) -> bool:
        """Report whether too many are false, however few labels say so."""
        return self.share is not None and self.share > FALSE_LIMIT

    @property
    def switches_off(self) -> bool:
        """Report whether hedges are left out while this judge is configured."""
        return self.is_above_limit and round(self.effective) >= ENOUGH


class TurnJudgeCalibration(msgspec.Struct, frozen=True):
    """The newest calibration of one version of a judge of turns."""

    judge: str  # its name, without secrets
    made: str  # UTC
    labels: str  # the first 8 hex digits of the SHA-256 of the label file
    turns: int  # labelled turns
    metrics: dict[Metric, MeasuredMetric]
    fallback: str = ""  # the version of the judge that was asked instead

    @property
    def gates(self) -> dict[Metric, MetricGate]:
        """The gate of each metric."""
        return {metric: measured.gate for metric, measured in self.metrics.items()}


def hedging_calibration(home: Path, judge: str) -> HedgingCalibration | None:
    """Return the newest calibration of this version of a judge of hedges, if any."""
    return _load(home / HEDGING_FILE, HedgingCalibration, "knowbound judge calibrate").get(judge)


def keep_hedging_calibration(home: Path, judge: str, found: HedgingCalibration) -> None:
    """Store the calibration in place of an earlier one of the same version."""
    by_judge = _load(home / HEDGING_FILE, HedgingCalibration, "knowbound judge calibrate")
    _keep(home / HEDGING_FILE, {**by_judge, judge: found})


def turn_judge_calibration(home: Path, version: str) -> TurnJudgeCalibration | None:
    """Return the newest calibration of this version of a judge of turns, if any, with the gates of its counts.

    Earlier versions decided by other rules: what they kept of a gate is made again.
    """
    by_version = _load(home / TURNS_FILE, TurnJudgeCalibration, "knowbound judge calibrate --question turns")
    kept = by_version.get(version)
    if kept is None:
        return None
    fallback = by_version.get(kept.fallback)
    second: dict[Metric, MetricGate] = {}  # gates of the judge that was asked instead
    if fallback is not None:
        second = {metric: gate(measured.found, fallback.turns) for metric, measured in fallback.metrics.items()}
    gated = {
        metric: MeasuredMetric(measured.found, with_fallback(gate(measured.found, kept.turns), second.get(metric)))
        for metric, measured in kept.metrics.items()
    }
    return msgspec.structs.replace(kept, metrics=gated)


def keep_turn_judge_calibrations(home: Path, found: dict[str, TurnJudgeCalibration]) -> None:
    """Store calibrations by version, in place of earlier ones of the same versions."""
    by_version = _load(home / TURNS_FILE, TurnJudgeCalibration, "knowbound judge calibrate --question turns")
    _keep(home / TURNS_FILE, {**by_version, **found})


def _keep(path: Path, calibrations: dict[str, _Kept]) -> None:
    make_folder(path.parent)
    with replacing(path, private=True) as file:
        file.write(msgspec.json.format(msgspec.json.encode(calibrations), indent=2) + b"\n")


def _load(path: Path, type_: type[_Kept], command: str) -> dict[str, _Kept]:
    """Return the calibrations in a file by key; {} without the file. `command` is the way to make it again."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, type_])  # type: ignore[valid-type]
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(
            "calibration-unreadable", f"{path} cannot be used: {error}. Move it away, and run: {command}"
        ) from error
