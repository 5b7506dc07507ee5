"""`knowbound forget`: erase what is kept about sessions, and prove it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli.options import format_option, root_option, settings_of
from knowbound.cli.output import confirm, echo, print_result
from knowbound.errors import UNDECIDED, InputError

if TYPE_CHECKING:
    from knowbound.agent.forget import ForgetReport, Selection


@click.command("forget")
@click.option(
    "--session", "sessions", multiple=True, metavar="ID", help="Erase this session (the agent's id); repeatable."
)
@click.option(
    "--project",
    is_flag=False,
    flag_value=".",
    metavar="[DIR]",
    help="Erase the sessions that worked in or below DIR (default: this project, with all that its data folder has).",
)
@click.option("--before", metavar="DATE", help="Erase what ended or was recorded before then: a date, or 30d, 12h, 2w.")
@click.option("--everything", is_flag=True, help="Erase all that came from sessions, hooks and evaluations.")
@click.option("--dry-run", is_flag=True, help="Only show what would be erased.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@root_option
@format_option(("text", "json"))
def command(
    sessions: tuple[str, ...],
    project: str | None,
    before: str | None,
    everything: bool,
    dry_run: bool,
    yes: bool,
    root: Path | None,
    format_: str,
) -> int:
    """Erase what is kept about sessions from every store, and prove it.

    Shows first what would be erased, and asks. Afterwards all bytes of all files that knowbound keeps are searched for
    the erased ids, prompts and sentences; the exit code is 3 when something is left. The agents' own transcripts and
    the items of the knowledge store stay; `observe` does not read forgotten sessions again. docs/privacy.md says where
    each kind of data is kept.
    """
    from knowbound.agent.forget import Selection, forget

    settings = settings_of(root)
    if sum((bool(sessions), project is not None, before is not None, everything)) != 1:
        raise click.UsageError("Give one of --session ID, --project [DIR], --before DATE or --everything.")
    folder = (settings.root if project == "." else Path(project).expanduser()).resolve() if project is not None else ""
    selection = Selection(sessions, str(folder), _time(before) if before is not None else "", everything)
    shown = forget(selection, settings, is_preview=True)
    if not dry_run:
        if format_ == "text" and not yes:
            echo("\n".join(_to_erase(shown, "To be erased from")))
        confirm("Erase it?", "Nothing was erased.", yes=yes, err=format_ != "text")
        shown = forget(selection, settings)
    _print(shown, selection, format_)
    return UNDECIDED if shown.proof is not None and (shown.proof.left or shown.proof.unreadable) else 0


def _time(before: str) -> str:
    from knowbound.gaps.stored import since

    try:
        return since(before)
    except InputError as error:
        raise InputError(error.slug, f"--before {before!r} is neither a span (30d, 12h, 2w) nor a date.") from None


def _print(shown: ForgetReport, selection: Selection, format_: str) -> None:
    from msgspec.structs import asdict

    proof = shown.proof
    lines = _to_erase(shown, "To be erased from" if proof is None else "Erased from")
    if proof is not None:
        found = sum(one.texts for one in proof.left)
        documents = f" and {proof.documents:,} documents of MongoDB" if proof.documents else ""
        lines.append(
            f"Searched {proof.files:,} files{documents}, {proof.bytes:,} bytes for {proof.texts:,} erased texts: "
            f"{found:,} {'occurrence' if found == 1 else 'occurrences'}."
        )
        lines += [f"  left: {one.file} ({one.texts:,})" for one in proof.left]
        lines += [f"  could not be read: {path}" for path in proof.unreadable]
    print_result(format_, "forget", {"selection": selection, **asdict(shown)}, lines)


def _to_erase(shown: ForgetReport, words: str) -> list[str]:
    lines = [f"{words} {shown.home}: {shown.sessions:,} sessions."]
    lines += [f"  {count:>7,}  {store}" for store, count in shown.erased.items()] or ["  nothing is kept"]
    return lines + [f"Not touched: {one}." for one in shown.not_touched]
