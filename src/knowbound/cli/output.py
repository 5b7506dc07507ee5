"""Output of the verbs: lines for people, results, questions to the user, progress of long runs and their end."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import click

from knowbound.cli.receipts import Recorder
from knowbound.errors import InputError
from knowbound.language import translated
from knowbound.report import Layout

if TYPE_CHECKING:
    from knowbound.evals.runner import RunProgress

recorder: Recorder | None = None  # of this run, where its output may be printed again


def layout(output: Path | None) -> Layout:
    """Return the layout for the terminal. A file, NO_COLOR or TERM=dumb switches colour off."""
    is_terminal = output is None and sys.stdout.isatty()
    colour = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Layout(width=width(), colour=colour)


def width() -> int:
    """Return the columns of the terminal, at least 60 and at most 110."""
    return max(60, min(110, shutil.get_terminal_size((100, 24)).columns))


def echo(text: str, *, err: bool = False) -> None:
    """Print text without terminal codes, control characters and characters that change the direction of text.

    A sentence of the catalogue is printed in the chosen language.
    """
    from knowbound.report.formats.plain import printable

    shown = printable(translated(text))
    if recorder is not None:
        recorder.add(shown + "\n", is_error=err)
    click.echo(shown, err=err)


def emit(parts: Iterable[str], output: Path | None) -> None:
    """Print the parts, or replace the file `output` as a whole: a failure leaves the file as it was.

    A device or a pipe (`-o /dev/null`, `-o >(less)`) is written to, not replaced; a link stays a link.
    """
    from knowbound.files import replacing

    if output is None:
        try:
            for part in parts:
                if recorder is not None:
                    recorder.add(part, is_error=False)
                sys.stdout.write(part)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader of our output went away (`| head`): nothing is wrong
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    try:
        if output.exists() and not output.is_file():
            with output.open("w", encoding="utf-8", newline="") as device:
                device.writelines(parts)
            return
        with replacing(output) as file:
            file.writelines(part.encode() for part in parts)
    except OSError as error:
        raise InputError("output-unwritable", f"Cannot write {output}: {error.strerror or error}.") from error


class Out(NamedTuple):
    """The format that --format names, and the file of -o; None is the terminal."""

    format: Any  # one of those that the verb offers
    path: Path | None = None

    @property
    def layout(self) -> Layout:
        """The layout of a text for this place."""
        return layout(self.path)

    def emit(self, parts: Iterable[str]) -> None:
        """Print the parts, or replace the file."""
        emit(parts, self.path)

    def show(self, render: Callable[..., str], *values: object, **more: object) -> None:
        """Print what a renderer of a report makes of the values."""
        self.emit([render(*values, self.format, **self.layout, **more)])


def print_result(format_: str, kind: str, document: Any, lines: list[str], late: Sequence[str] = ()) -> None:
    """Print the document (a mapping or a struct) as JSON, or the lines. `late` says why the index is not current."""
    if format_ == "json":
        import msgspec

        from knowbound.report.formats.json import json_text

        fields = msgspec.to_builtins(document)
        emit([json_text({"format": f"knowbound.{kind}/1"} | fields | ({"late": late} if late else {}))], None)
    else:
        echo("\n".join(lines))
        for sentence in late:
            echo(sentence, err=True)


def confirm(question: str, otherwise: str, *, yes: bool, err: bool = False) -> None:
    """Ask the user, unless --yes was given. Raises InputError with the sentence `otherwise` if the answer is no."""
    if yes:
        return
    try:
        agreed = click.confirm(translated(question), err=err)
    except click.Abort:
        agreed = False
    if not agreed:
        raise InputError("not-confirmed", f"{otherwise} To agree without being asked: --yes")


_FIRST_SHOWN_SECONDS = 0.5  # a short run shows nothing
_UPDATE_SECONDS = 0.1  # between two updates of the line
_END_SIGNALS = (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))


class StatusLine:
    """A line that overwrites itself, ten times a second at most. A short run shows nothing."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._shown_at = 0.0
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
        is_long_run = now - self._start >= _FIRST_SHOWN_SECONDS
        return self._is_terminal and is_long_run and now - self._shown_at >= _UPDATE_SECONDS

    def clear(self) -> None:
        """Remove the line, if one is shown."""
        if self._shown_at:
            self.write("")

    def write(self, text: str) -> None:
        """Show a text in place of the last one."""
        self._shown_at = time.monotonic()
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()


class ReadingProgress(StatusLine):
    """Bytes read of bytes to read."""

    def __call__(self, done: int, total: int) -> None:
        """Show the progress if it is due."""
        if not self.is_due:
            return
        bytes_per_second = done / (time.monotonic() - self._start)
        seconds_left = (total - done) / bytes_per_second if bytes_per_second else 0
        self.write(
            f"reading {100 * done / max(total, 1):3.0f}%  {done / 1e6:,.0f} of {total / 1e6:,.0f} MB  "
            f"{bytes_per_second / 1e6:,.0f} MB/s  {seconds_left:.0f} s left"
        )


class EvalProgress(StatusLine):
    """Samples done of samples to run, with gaps, failures and the cost so far."""

    def __call__(self, progress: RunProgress) -> None:
        """Show the progress if it is due."""
        if not self.is_due:
            return
        parts = [f"{progress.done} of {progress.total} runs", f"{progress.gaps} with a gap"]
        if progress.incomplete:
            parts.append(f"{progress.incomplete} incomplete")
        remaining = (progress.total - progress.done) / max(progress.done, 1)  # runs for each run that is done
        usd = progress.usd
        parts.append("cost unknown" if usd is None else f"${usd:.2f}, about ${usd * remaining:.2f} more")
        parts.append(f"{self.seconds * remaining:.0f} s left" if progress.done else "")
        self.write(" · ".join(filter(None, parts)))


@contextmanager
def reading(advice: str = "What was read so far is kept.") -> Iterator[ReadingProgress]:
    """Show how much of the traces is read, and end in order when the user interrupts."""
    with ReadingProgress() as progress, end_agents_on_interrupt(advice):
        yield progress


@contextmanager
def end_agents_on_interrupt(advice: str) -> Iterator[None]:
    """End running agents when Ctrl-C or a signal ends this process. The sentence `advice` says how to go on."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    # An ignored signal, such as SIGHUP under nohup, stays ignored.
    handled = [number for number in _END_SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
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
