"""The freshness of the index of each shared backend: when it was last current, and why not since.

One small file per backend, `.knowbound/sync/NAME`. Its time of modification is when the index was last known to be
current; its content is the reason of a later failed attempt, or empty. So "still current" is noted every few seconds
without writing data, neither to the index nor to the disk.
"""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from knowbound.config import Settings
from knowbound.text.redact import excerpt
from knowbound.user_files import PRIVATE_FOLDER, make_file

FOLDER = "sync"
_REASON_CHARACTERS = 300
_LATE_AFTER_LOOKS = 3.0  # times the seconds between two looks of the worker


class Freshness(NamedTuple):
    """The freshness of the index of one backend."""

    backend: str
    current: float | None  # seconds since 1970; None: never
    failing_since: str = ""
    reason: str = ""

    @property
    def current_at(self) -> str:
        """Return the time when the index was last current, as text."""
        return "never" if self.current is None else _utc(self.current)

    def is_late(self, settings: Settings) -> bool:
        """Report whether the index is older than the bound that the settings promise while agents work."""
        bound = max(1, settings.kms_sync_seconds) * _LATE_AFTER_LOOKS
        return self.current is None or time.time() - self.current > bound


def note_current(home: Path, backend: str, at: float) -> None:
    """Note that the index was current at this time."""
    _note(home, backend, at, b"")


def note_failure(home: Path, backend: str, reason: str) -> None:
    """Note that the backend could not be read; the time when the index was last current stays."""
    last = freshness_of(home, backend)
    failure = {"failing_since": last.failing_since or _utc(time.time()), "reason": excerpt(reason, _REASON_CHARACTERS)}
    _note(home, backend, last.current or 0, json.dumps(failure).encode())  # 0: never current


def freshness_of(home: Path, backend: str) -> Freshness:
    """Return the last note about a backend."""
    path = home / FOLDER / backend
    try:
        current = path.stat().st_mtime
        failure = json.loads(path.read_bytes() or b"{}")
        since, reason = str(failure.get("failing_since", "")), str(failure.get("reason", ""))
    except (OSError, ValueError, AttributeError):
        return Freshness(backend, None)
    return Freshness(backend, current or None, since, reason)


def lateness(settings: Settings) -> list[str]:
    """Return a sentence for each shared backend whose index is late."""
    of_backends = [freshness_of(settings.home, name) for name in settings.shared_backends]
    return [
        f"The index was last current with {freshness.backend} at {freshness.current_at}"
        + (f": {freshness.reason}" if freshness.reason else ". Try: knowbound kms sync")
        for freshness in of_backends
        if freshness.is_late(settings)
    ]


def _note(home: Path, backend: str, at: float, data: bytes) -> None:
    """Write the file if it differs. Without the data folder, or the right to write, nothing is noted."""
    path = home / FOLDER / backend
    try:
        if not path.parent.is_dir():
            os.mkdir(path.parent, PRIVATE_FOLDER)  # never the data folder itself: it may just have been deleted
        if not path.exists() or path.read_bytes() != data:
            make_file(path, data)
        os.utime(path, (at, at))
    except OSError:
        return


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
