"""Progress of a long run: one line on a terminal's stderr, with rate and time left; nothing elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowbound.evals.runner import RunProgress

_AFTER_SECONDS = 0.5  # a short run shows nothing
_EVERY_SECONDS = 0.1


class _StatusLine:
    """The line itself: nothing for a short run, and not more often than an eye can follow."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self._shown = 0.0
        self._live = sys.stderr.isatty()

    @property
    def is_due(self) -> bool:
        """Whether a new text would be shown now."""
        now = time.monotonic()
        return self._live and now - self.start >= _AFTER_SECONDS and now - self._shown >= _EVERY_SECONDS

    def show(self, text: str) -> None:
        """Put the text in place of the last one."""
        if self.is_due:
            self._shown = time.monotonic()
            sys.stderr.write(f"\r\x1b[2K{text}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Leave nothing behind."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


class ReadingProgress:
    """Bytes read of bytes to read."""

    def __init__(self) -> None:
        self._line = _StatusLine()

    def __enter__(self) -> ReadingProgress:
        return self

    def __call__(self, done: int, total: int) -> None:
        """Show where the run is."""
        if not self._line.is_due:
            return
        rate = done / (time.monotonic() - self._line.start)
        left = (total - done) / rate if rate else 0
        self._line.show(
            f"reading {100 * done / max(total, 1):3.0f}%  {done / 1e6:,.0f} of {total / 1e6:,.0f} MB  "
            f"{rate / 1e6:,.0f} MB/s  {left:.0f} s left"
        )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._line.clear()


class EvalProgress:
    """Samples done of samples to run, with gaps, failures and the cost so far."""

    def __init__(self) -> None:
        self._line = _StatusLine()

    def __enter__(self) -> EvalProgress:
        return self

    def __call__(self, seen: RunProgress) -> None:
        """Show where the run is."""
        parts = [f"{seen.done} of {seen.total} runs", f"{seen.gaps} with a gap"]
        if seen.incomplete:
            parts.append(f"{seen.incomplete} incomplete")
        parts.append("cost unknown" if seen.usd is None else f"${seen.usd:.2f}")
        self._line.show(" · ".join(parts))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._line.clear()
