"""Keeps the store bounded: removes results of old sessions (`store.keep_days`), and gives free pages back."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from knowbound.store.data_dir import FINDINGS

if TYPE_CHECKING:
    from knowbound.store.database import Database

_FREE_SHARE, _FREE_BYTES = 4, 4 * 1024 * 1024  # a quarter of the file, and so much that it matters


def oldest_kept(keep_days: int, now: datetime | None = None) -> str:
    """Return the first day that is kept, UTC; "" without a limit. It changes once a day, so that reports stay."""
    return ((now or datetime.now(UTC)) - timedelta(days=keep_days)).strftime("%Y-%m-%d") if keep_days else ""


def keep_bounded(home: Path, keep_days: int, read: Collection[str]) -> list[str]:
    """Remove results of sessions that ended before the first day that is kept; return a sentence if there were some.

    `read` are the keys of sessions whose files changed since: they stay. So do decisions of a person, trends and the
    list of what was forgotten.
    """
    from knowbound.store.database import Database  # noqa: PLC0415  (an unchanged corpus needs none of it)

    before = oldest_kept(keep_days)
    removed = 0
    with closing(Database(home / FINDINGS)) as database:
        if before:
            removed = _remove(database, before, read)
        free_pages, pages, page_bytes = (
            int(database.row(f"PRAGMA {name}")[0]) for name in ("freelist_count", "page_count", "page_size")
        )
        if free_pages * page_bytes > _FREE_BYTES and free_pages * _FREE_SHARE > pages:
            database.compact_if_idle()
    words = "Results of {:,} sessions that ended before {} were removed (store.keep_days)"
    return [words.format(removed, before)] if removed else []


def _remove(database: Database, before: str, read: Collection[str]) -> int:
    """Remove what sessions left that ended before this day; return the number of sessions."""
    from knowbound.store.listing import ENDED_BEFORE, list_changed  # noqa: PLC0415

    with database.writing() as db:
        list_changed(db)
        kept = set(read)
        keys = [row for row in db.execute(ENDED_BEFORE, (before,)).fetchall() if row[0] not in kept]
        for table in ("session", "audited", "material"):
            db.executemany(f"DELETE FROM {table} WHERE key = ?", ((key,) for key, _ in keys))
        db.execute("DELETE FROM unmanaged_injection WHERE time > '' AND time < ?", (before,))
        db.execute("DELETE FROM unmanaged WHERE id NOT IN (SELECT item FROM unmanaged_injection)")
        oldest = int(datetime.fromisoformat(before).replace(tzinfo=UTC).timestamp() * 1e9)
        db.execute("DELETE FROM file WHERE mtime_ns < ? AND problem <> 'forgotten'", (oldest,))
        list_changed(db)
    return sum(sessions for _, sessions in keys)
