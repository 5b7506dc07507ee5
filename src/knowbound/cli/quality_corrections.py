"""`knowbound quality corrections`: show suggested corrections, and answer them (specification 2, section 5)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.groups import VerbGroup
from knowbound.cli.options import project_option, project_settings, report_options, user_name
from knowbound.cli.output import echo, emit, layout
from knowbound.report import PAGE_FORMATS

if TYPE_CHECKING:
    from knowbound.core.item import Item
    from knowbound.quality.corrections.answers import Corrections

_again = click.option("--again", is_flag=True, help="Store content that was withdrawn before: it is true again.")


@click.group("corrections", cls=VerbGroup, invoke_without_command=True)
@project_option
@report_options(PAGE_FORMATS)
@click.pass_context
def corrections(context: click.Context, root: Path | None, format_: str, output: Path | None) -> None:
    """Show suggested corrections: items that an agent contradicted, and the drafts that would replace them.

    A suggestion is open until it is accepted or dismissed here, or its item is corrected in any other way. What a
    trusted judge found is not injected until then, and the next session of an agent starts with up to three of them
    (quality.corrections = false: neither). An item that you let through (kms flag ID --clear) without an answer for 14
    days is flagged UNVERIFIED.
    """
    if context.invoked_subcommand:
        return
    from knowbound.report.quality.items import render_suggestions

    with _opened(root) as opened:
        waiting = opened.open()
    emit([render_suggestions(waiting, cast("Any", format_), **layout(output))], output)


@corrections.command("accept")
@click.argument("id_", metavar="ID")
@click.option("--content", default="", help="Use this content in place of the draft.")
@_again
@project_option
def accept(id_: str, content: str, again: bool, root: Path | None) -> None:
    """Supersede the item by the draft, or by --content. Repeating the command changes nothing."""
    with _opened(root) as opened:
        _print_accepted(id_, opened.accept(id_, content, again=again))


@corrections.command("edit")
@click.argument("id_", metavar="ID")
@_again
@project_option
def edit(id_: str, again: bool, root: Path | None) -> None:
    """Open the draft in your editor, and accept what you save. Closing the editor without saving changes nothing."""
    with _opened(root) as opened:
        one = opened.suggestion(id_)
        written = click.edit(one.draft or one.content)
        if written is None or not written.strip():
            echo("Nothing was saved, and nothing was changed.")
            return
        _print_accepted(id_, opened.accept(id_, written.strip(), again=again))


@corrections.command("dismiss")
@click.argument("id_", metavar="ID")
@click.option("--note", default="", help="Give the reason, for the log.")
@project_option
def dismiss(id_: str, note: str, root: Path | None) -> None:
    """Close the suggestion as not warranted: the item is right as it is."""
    with _opened(root) as opened:
        opened.dismiss(id_, note)
    echo(f"Dismissed: {id_} stays as it is. Undo: knowbound quality corrections undo {id_}")


@corrections.command("undo")
@click.argument("id_", metavar="ID")
@project_option
def undo(id_: str, root: Path | None) -> None:
    """Take the last answer about the item back: the suggestion is open again.

    After an acceptance the item is served again, and its replacement is deleted.
    """
    with _opened(root) as opened:
        opened.undo(id_)
    echo(f"Taken back: the suggestion about {id_} is open again.")


def _opened(root: Path | None) -> AbstractContextManager[Corrections]:
    from knowbound.quality.corrections.loop import opened_corrections

    return opened_corrections(project_settings(root), user_name())


def _print_accepted(id_: str, item: Item) -> None:
    echo(f"Superseded {id_} by {item.id}: {item.content}")
    echo(f"Undo: knowbound quality corrections undo {id_}")
