"""What verbs share: options, the settings of the project, and where results are written."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from knowbound.cli.echo import echo
from knowbound.errors import InputError

if TYPE_CHECKING:
    from knowbound.config import Settings

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")
PAGES = ("text", "json", "markdown", "html")  # what every report has; report/formats/ renders them
GAP_FORMATS = ("sarif", "junit", "github")


def settings_of(root: Path | None) -> Settings:
    """The settings of the project at `root`, or of the current folder.

    A data folder that is not this user's own is an error: nothing in it is read or written.
    """
    from knowbound.config import load

    return checked(load((root or Path()).resolve()))


def project_settings(root: Path | None) -> Settings:
    """As `settings_of`; without --root those of the project that the current folder is in, as hooks find it."""
    from knowbound.store.data_dir import project_root

    return settings_of(root or Path(project_root(os.getcwd())))


def checked(settings: Settings) -> Settings:
    """The settings, if their data folder may be used; where it is taken over now, that is said."""
    from knowbound.store.owner import check_data_folder

    note = check_data_folder(settings.home, is_given=settings.home_is_given)
    if note:
        echo(f"knowbound: {note}", err=True)
    return settings


def from_stored(settings: Settings, root: Path | None, show: Callable[[Settings], Result]) -> Result:
    """What `show` makes of the runs stored for these settings.

    Where nothing is stored for the current folder, and no other was named, it is made of the one folder below it that
    was evaluated: after `eval --root docs` the other verbs need no --root.
    """
    from knowbound.evals.history import evaluated_below

    try:
        return show(settings)
    except InputError as error:
        below = evaluated_below(settings) if error.slug == "no-run" and root is None else []
        if not below:
            raise
        named = ", ".join(f"--root {os.path.relpath(folder, settings.root)}" for folder in below)
        if len(below) > 1:
            raise InputError(
                "no-run", f"Nothing is stored for this folder, but for several below it. Try one of: {named}"
            ) from error
    echo(f"knowbound: nothing is stored for this folder; this is {named}.", err=True)
    return show(settings_of(below[0]))


def root_option(function: Function) -> Function:
    """--root."""
    return _root_option("The project or knowledge base this is about (default: the current folder).")(function)


def project_option(function: Function) -> Function:
    """--root of what hooks serve: `project_settings`."""
    return _root_option("The project this is about (default: the one that the current folder is in).")(function)


def _root_option(about: str) -> Callable[[Function], Function]:
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    return click.option("--root", type=folder, default=None, help=about)


def session_options(unit: str) -> Callable[[Function], Function]:
    """Which sessions a report is about, and of a skill which of its units: samples, turns."""
    options = (
        click.option("--all", "all_", is_flag=True, help="Every project, also inside of one."),
        click.option("--since", help="Only sessions active since then: 7d, 12h, 2w or a date."),
        click.option(
            "--project", help="Only sessions that worked in this folder or below it (a path or a folder name)."
        ),
        click.option("--skill", help=f"Only {unit} of this skill (general: those without a skill)."),
        click.option("--agent", help="Only sessions of this agent: claude-code, codex, copilot-cli, gemini-cli, …"),
    )

    def with_options(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return with_options


def output_options(function: Function) -> Function:
    """--format and -o for reports with gaps or gates: every format."""
    return shown_as((*PAGES, "jsonl", *GAP_FORMATS))(function)


def page_options(function: Function) -> Function:
    """--format and -o for results without gates, such as an answer or a list of questions."""
    return shown_as((*PAGES, "jsonl"))(function)


def shown_as(
    formats: tuple[str, ...], output_help: str = "Write to FILE, not to stdout."
) -> Callable[[Function], Function]:
    """--format, with these formats, and -o."""

    def with_options(function: Function) -> Function:
        output = click.option("-o", "--output", type=click.Path(path_type=Path), help=output_help)
        return format_option(formats)(output(function))

    return with_options


def format_option(formats: tuple[str, ...]) -> Callable[[Function], Function]:
    """--format, with these formats."""
    return click.option(
        "--format", "format_", type=click.Choice(formats), default="text", show_default=True, help="How to show it."
    )


def confirm(question: str, otherwise: str, *, err: bool = False) -> None:
    """Go on only where the user agrees; `otherwise` says what did not happen."""
    try:
        agreed = click.confirm(question, err=err)
    except click.Abort:
        agreed = False
    if not agreed:
        raise InputError("not-confirmed", f"{otherwise} To agree without being asked: --yes")


def user_name() -> str:
    """The name of the user who runs this, for logs of changes."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def width() -> int:
    """Columns to fill: those of the terminal, from 60 to 110."""
    return max(60, min(110, shutil.get_terminal_size((100, 24)).columns))


class Look(TypedDict):
    """How text is laid out."""

    width: int
    colour: bool


def look(output: Path | None) -> Look:
    """The width of the terminal, and colour unless the text goes into a file or NO_COLOR or TERM=dumb is set."""
    is_terminal = output is None and sys.stdout.isatty()
    colour = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Look(width=width(), colour=colour)


def emit(parts: Iterable[str], output: Path | None) -> None:
    """Print, or write the file as a whole: it is complete or as it was.

    A device or a pipe (`-o /dev/null`, `-o >(less)`) is written to, not replaced; a link stays a link.
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
