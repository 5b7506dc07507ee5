"""Options that several verbs share, and where results go."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from knowbound.errors import InputError

_Function = TypeVar("_Function", bound=Callable[..., Any])
PAGES = ("text", "json", "jsonl", "markdown", "html")
FORMATS = (*PAGES, "sarif", "junit", "github")


def root_option(function: _Function) -> _Function:
    """The project or knowledge base a verb is about."""
    return click.option(
        "--root",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=None,
        help="The project or knowledge base this is about (default: the current folder).",
    )(function)


def output_options(function: _Function) -> _Function:
    """--format and -o, for reports on gaps: every format."""
    return shown_as(FORMATS)(function)


def page_options(function: _Function) -> _Function:
    """--format and -o, for what is no test: an answer, a list of questions."""
    return shown_as(PAGES)(function)


def shown_as(formats: tuple[str, ...]) -> Callable[[_Function], _Function]:
    """--format and -o, with these formats."""

    def with_options(function: _Function) -> _Function:
        chosen = click.Choice(formats)
        function = click.option(
            "-o", "--output", type=click.Path(path_type=Path), help="Write to FILE, not to stdout."
        )(function)
        return click.option(
            "--format", "format_", type=chosen, default="text", show_default=True, help="How to show it."
        )(function)

    return with_options


def user_name() -> str:
    """Whoever runs this, for what is signed with a name."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def width() -> int:
    """Columns to fill: those of the terminal, within what reads well."""
    return max(60, min(110, shutil.get_terminal_size((100, 24)).columns))


def wants_colour() -> bool:
    """Colour only on a terminal, and never against NO_COLOR."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def emit(parts: Iterable[str], output: Path | None) -> None:
    """Print, or write the file as a whole: it is complete or as it was.

    A device or a pipe (`-o /dev/null`, `-o >(less)`) is written to, never replaced; a link stays a link.
    """
    from knowbound.files import replacing

    if output is None:
        try:
            for part in parts:
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
