"""Long runs: a line of progress on a terminal's stderr, and an end without leftovers when the user interrupts."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self

from knowbound.cli.output import echo

if TYPE_CHECKING:
    from knowbound.evals.runner import RunProgress

_AFTER_SECONDS = 0.5  # a short run shows nothing
_EVERY_SECONDS = 0.1
_SIGNALS = (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))


class StatusLine:
    """A line that overwrites itself, ten times a second at most. A short run shows nothing."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._shown = 0.0
        self._is_terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.clear()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    @property
    def is_due(self) -> bool:
        """Report whether the line may be shown now."""
        now = time.monotonic()
        return self._is_terminal and now - self._start >= _AFTER_SECONDS and now - self._shown >= _EVERY_SECONDS

    def clear(self) -> None:
        """Remove the line, if one is shown."""
        if self._shown:
            self.write("")

    def write(self, text: str) -> None:
        """Show a text in place of the last one."""
        self._shown = time.monotonic()
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()


class ReadingProgress(StatusLine):
    """Bytes read of bytes to read."""

    def __call__(self, done: int, total: int) -> None:
        """Show the progress if it is due."""
        if not self.is_due:
            return
        rate = done / (time.monotonic() - self._start)
        left = (total - done) / rate if rate else 0
        self.write(
            f"reading {100 * done / max(total, 1):3.0f}%  {done / 1e6:,.0f} of {total / 1e6:,.0f} MB  "
            f"{rate / 1e6:,.0f} MB/s  {left:.0f} s left"
        )


class EvalProgress(StatusLine):
    """Samples done of samples to run, with gaps, failures and the cost so far."""

    def __call__(self, now: RunProgress) -> None:
        """Show the progress if it is due."""
        if not self.is_due:
            return
        parts = [f"{now.done} of {now.total} runs", f"{now.gaps} with a gap"]
        if now.incomplete:
            parts.append(f"{now.incomplete} incomplete")
        left = (now.total - now.done) / max(now.done, 1)
        parts.append("cost unknown" if now.usd is None else f"${now.usd:.2f}, about ${now.usd * left:.2f} more")
        parts.append(f"{self.seconds * left:.0f} s left" if now.done else "")
        self.write(" · ".join(filter(None, parts)))


@contextmanager
def end_agents_on_interrupt(advice: str) -> Iterator[None]:
    """End running agents when Ctrl-C or a signal ends this process. The sentence `advice` says how to go on."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    # An ignored signal, such as SIGHUP under nohup, stays ignored.
    handled = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        if "knowbound.evals.executors.agent_process" in sys.modules:  # else no agent was started
            from knowbound.evals.executors.agent_process import end_all

            end_all()
        echo(f"knowbound: stopped. {advice}", err=True)
        sys.stdout.flush()
        os._exit(130)  # a thread that waits for a model would delay a normal exit
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
