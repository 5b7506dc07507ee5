"""Output of the verbs: lines for people, results on stdout or in a file, and questions to the user."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from knowbound.cli.receipts import Recorder
from knowbound.errors import InputError
from knowbound.language import translated
from knowbound.report import Layout

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
