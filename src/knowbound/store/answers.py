"""Answers of models, kept per entry so that nothing is paid for twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from knowbound.store.data_dir import FINDINGS
from knowbound.store.database import Database

_MOST_DAYS = 36_500


def erase_answers(
    db: sqlite3.Connection, is_erased: Callable[[str, str], bool], before: str, *, also_unnamed: bool
) -> int:
    """Erase the answers about erased sessions and projects, and those of earlier days; return their number."""
    gone = 0
    for session, project, made in db.execute("SELECT DISTINCT session, project, made FROM answer").fetchall():
        is_named = bool(session or project)
        is_old = bool(before and made and made < before[:10])
        if is_old or (is_erased(session, project) if is_named else also_unnamed):
            query = "DELETE FROM answer WHERE session = ? AND project = ? AND made = ?"
            gone += db.execute(query, (session, project, made)).rowcount
    return gone


class ModelAnswers:
    """The kept answers of one data folder. Its methods may be called from several threads."""

    def __init__(self, home: Path, keep_days: int = 0) -> None:
        """`keep_days`: older answers are removed when the file is opened, at the first use (0 keeps all)."""
        self._path, self._keep_days = home / FINDINGS, keep_days

    @cached_property
    def _db(self) -> Database:
        db = Database(self._path)
        oldest = (datetime.now(UTC) - timedelta(days=min(self._keep_days, _MOST_DAYS))).strftime("%Y-%m-%d")
        if self._keep_days and db.row("SELECT 1 FROM answer WHERE made != '' AND made < ?", oldest):
            with db.writing() as writing:
                writing.execute("DELETE FROM answer WHERE made != '' AND made < ?", (oldest,))
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
        made = datetime.now(UTC).strftime("%Y-%m-%d")
        with self._db.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO answer (prompt, model, sha256, answer, session, project, made)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (prompt, model, sha256, answer, session, project, made),
            )
