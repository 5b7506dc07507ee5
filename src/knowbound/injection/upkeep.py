"""Upkeep of the hooks' files, outside of the hooks: verbs that write to the store call it.

Old days of the logs and contexts of silent sessions are removed. Lines of sessions that went on after they were
forgotten are erased, also from the queue of ended turns. Journals of 0.1.0 become part of the log.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from knowbound.injection import contexts
from knowbound.injection.log import log_files
from knowbound.store.data_dir import ENDED, INJECTIONS, LATE, RESCUES, day_files
from knowbound.store.forgotten import load_forgotten
from knowbound.store.record_lines import blank_lines, sessions_in
from knowbound.user_files import make_folder

_SILENT = 30 * 24 * 3600.0  # seconds without an injection after which a session's context is removed
_OVER = 24 * 3600.0  # seconds after which the turn of a late choice is over
_JOURNALS, _CONTEXTS = "injected", "told"  # the folders of 0.1.0


def tidy(home: Path, log_days: int) -> None:
    """Tidy the files of a data folder; repeating this changes nothing. Raises OSError and StoreError."""
    if not home.is_dir():
        return
    _take_over_journals(home)
    oldest = (datetime.now(UTC) - timedelta(days=max(1, log_days))).strftime("%Y-%m-%d")
    for path in (*log_files(home), *day_files(home, RESCUES)):
        if path.name[:10] < oldest:
            path.unlink(missing_ok=True)
    if forgotten := load_forgotten(home):
        for path in (*log_files(home), *day_files(home, RESCUES), *day_files(home, ENDED)):
            blank_lines(path, lambda line: any(map(forgotten.has_session, sessions_in(line))), preview=False)
    for path in _silent_contexts(home):
        path.unlink(missing_ok=True)


def _take_over_journals(home: Path) -> None:
    """Move a journal whole: a hook of 0.1.0 that still writes to it then writes to the log."""
    journals = home / _JOURNALS
    if journals.is_symlink():
        return
    for path in sorted(journals.glob("[0-9]*.jsonl")):
        make_folder(home / INJECTIONS)
        with suppress(FileNotFoundError):  # another process was quicker
            path.rename(home / INJECTIONS / f"{path.stem}.{secrets.token_hex(4)}.jsonl")
    with suppress(OSError):  # missing, or not empty
        journals.rmdir()


def _silent_contexts(home: Path) -> Iterator[Path]:
    if not (home / contexts.FOLDER).is_symlink():
        yield from (path for path in (home / contexts.FOLDER).glob("*") if _age(path) > _SILENT)
    if not (home / LATE).is_symlink():
        yield from (path for path in (home / LATE).glob("*") if _age(path) > _OVER)
    if not (home / _CONTEXTS).is_symlink():
        yield from (home / _CONTEXTS).glob("*")  # their items are injected once more
        with suppress(OSError):
            (home / _CONTEXTS).rmdir()


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
