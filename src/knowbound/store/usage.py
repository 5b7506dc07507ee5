"""The user's count of calls of models: one for all processes and projects, in the state folder.

A call is reserved before it is made, in one transaction, so that parallel processes never exceed a cap together.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from knowbound.store.database import Database
from knowbound.user_files import state_folder

FILE = "usage.db"
_KEPT_DAYS = 40
_PAUSE = timedelta(hours=1)  # of the background, after a provider's limit


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
        with closing(_open()) as database, database.writing() as db:
            paused = db.execute("SELECT reason FROM pause WHERE until > ?", (_stamp(now),)).fetchone()
            if paused and self._background:
                return str(paused[0])
            counted = "SELECT coalesce(sum(calls), 0) FROM call WHERE background = ? AND day = ?"
            today = db.execute(counted, (self._background, day)).fetchone()[0]
            this_hour = db.execute(f"{counted} AND hour = ?", (self._background, day, hour)).fetchone()[0]
            if today >= self._a_day:
                return f"the {self._a_day} calls of today are used up ({self._setting})"
            if this_hour >= self._an_hour:
                return f"the {self._an_hour} calls of this hour are used up ({self._setting})"
            db.execute("DELETE FROM call WHERE day < ?", ((now - timedelta(days=_KEPT_DAYS)).strftime("%Y-%m-%d"),))
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
        with closing(_open()) as database, database.writing() as db:
            db.execute(
                "UPDATE call SET usd = usd + ? WHERE day = ? AND hour = ? AND background = ?",
                (usd or 0.0, now.strftime("%Y-%m-%d"), now.hour, self._background),
            )
            if limit:
                db.execute("DELETE FROM pause")
                db.execute("INSERT INTO pause VALUES (?, ?)", (_stamp(now + _PAUSE), limit))

    @property
    def _setting(self) -> str:
        return "model.background_calls" if self._background else "model.budget_calls"


def used_today(*, background: bool) -> UsedToday:
    """Return what was used today."""
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    if not (Path(state_folder()) / FILE).exists():
        return UsedToday(0, 0.0)
    query = "SELECT coalesce(sum(calls), 0), coalesce(sum(usd), 0) FROM call WHERE day = ? AND background = ?"
    with closing(_open()) as database:
        return UsedToday(*database.row(query, day, int(background)))


def _open() -> Database:
    return Database(Path(state_folder()) / FILE)


def _stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
