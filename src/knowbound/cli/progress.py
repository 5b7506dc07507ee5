"""Progress of a long run: one line on a terminal's stderr, with rate and time left; nothing elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from knowbound.evals.runner import RunProgress

_AFTER_SECONDS = 0.5  # a short run shows nothing
_EVERY_SECONDS = 0.1


class _StatusLine:
    """A line that is written over: nothing for a short run, and not more often than an eye can follow."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._shown = 0.0
        self._is_terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown:
            self._write("")

    @property
    def _is_due(self) -> bool:
        now = time.monotonic()
        return self._is_terminal and now - self._start >= _AFTER_SECONDS and now - self._shown >= _EVERY_SECONDS

    def _write(self, text: str) -> None:
        self._shown = time.monotonic()
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()


class ReadingProgress(_StatusLine):
    """Bytes read of bytes to read."""

    def __call__(self, done: int, total: int) -> None:
        """Show how far the run is."""
        if not self._is_due:
            return
        rate = done / (time.monotonic() - self._start)
        left = (total - done) / rate if rate else 0
        self._write(
            f"reading {100 * done / max(total, 1):3.0f}%  {done / 1e6:,.0f} of {total / 1e6:,.0f} MB  "
            f"{rate / 1e6:,.0f} MB/s  {left:.0f} s left"
        )


class EvalProgress(_StatusLine):
    """Samples done of samples to run, with gaps, failures and the cost so far."""

    def __call__(self, now: RunProgress) -> None:
        """Show how far the run is."""
        if not self._is_due:
            return
        parts = [f"{now.done} of {now.total} runs", f"{now.gaps} with a gap"]
        if now.incomplete:
            parts.append(f"{now.incomplete} incomplete")
        parts.append("cost unknown" if now.usd is None else f"${now.usd:.2f}")
        self._write(" · ".join(parts))
