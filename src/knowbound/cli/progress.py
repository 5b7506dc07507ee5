"""Progress of a long run: one line on a terminal's stderr, with rate and time left; nothing elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType

_AFTER_SECONDS = 0.5  # a short run shows nothing
_EVERY_SECONDS = 0.1


class ReadingProgress:
    """Bytes read of bytes to read."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._shown = 0.0
        self._live = sys.stderr.isatty()

    def __enter__(self) -> ReadingProgress:
        return self

    def __call__(self, done: int, total: int) -> None:
        """Show where the run is."""
        now = time.monotonic()
        spent = now - self._start
        if not self._live or spent < _AFTER_SECONDS or now - self._shown < _EVERY_SECONDS:
            return
        self._shown = now
        rate = done / spent
        left = (total - done) / rate if rate else 0
        sys.stderr.write(
            f"\r\x1b[2Kreading {100 * done / max(total, 1):3.0f}%  {done / 1e6:,.0f} of {total / 1e6:,.0f} MB  "
            f"{rate / 1e6:,.0f} MB/s  {left:.0f} s left"
        )
        sys.stderr.flush()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
