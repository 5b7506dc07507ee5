"""`knowbound learn`: propose lines of knowledge from repeated misses, and write the accepted lines."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.asking import asking_options, hint_at_model
from knowbound.cli.long_runs import ReadingProgress, end_agents_on_interrupt
from knowbound.cli.options import (
    absolute,
    page_options,
    root_option,
    session_filters,
    session_options,
    settings_of,
    user_name,
)
from knowbound.cli.output import confirm, echo, emit, layout

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.gaps.filters import Filters
    from knowbound.lessons.learn import Learned


@click.command("learn")
@click.argument("paths", nargs=-1, metavar="[PATHS | IDS]...")
@root_option
@session_options()
@click.option("--accept", is_flag=True, help="Accept the lessons IDS.")
@click.option("--reject", is_flag=True, help="Never propose the lessons IDS again.")
@click.option(
    "--apply",
    "apply_",
    type=click.Choice(("file", "items", "samples")),
    help="Write the accepted lessons, or only IDS, to one target.",
)
@click.option("--status", is_flag=True, help="Show what became of the lessons: applied, closed, reopened, stale.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@page_options
@asking_options(with_yes=False)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    root: Path | None,
    accept: bool,
    reject: bool,
    apply_: str | None,
    status: bool,
    yes: bool,
    format_: str,
    output: Path | None,
    **chosen: Any,
) -> None:
    """Propose lines of knowledge from what agents miss again and again, and write the lines that you accept.

    A lesson says where something is, how a command is called here, or what users said in several sessions. Each lesson
    is checked against the tree of the project; a lesson that the tree contradicts is never proposed.

    \b
    knowbound learn                    propose, from the sessions of this project
    knowbound learn --accept ID …      accept (--reject: never propose again)
    knowbound learn --apply file       write what is accepted into CLAUDE.md or AGENTS.md, after a look at the diff
    knowbound learn --status           what became of the written lessons
    """
    from knowbound.core.lesson import LessonStatus
    from knowbound.lessons.kept import decide

    if sum((accept, reject, bool(apply_), status)) > 1:
        raise click.UsageError("Only one of --accept, --reject, --apply and --status.", ctx)
    if (accept or reject) and not paths:
        raise click.UsageError("Which lessons? knowbound learn --accept ID …", ctx)
    settings = settings_of(root)
    if accept or reject:
        decided = decide(settings.home, paths, LessonStatus.ACCEPTED if accept else LessonStatus.REJECTED)
        echo(f"{len(decided)} {'accepted. Next: knowbound learn --apply file' if accept else 'rejected'}.")
        return
    if apply_:
        _apply(apply_, paths, settings, yes)
        return
    filters = session_filters(settings, bool(paths), **chosen)
    learned = _learn(absolute(paths), settings, filters, root_is_given=root is not None)
    emit([_rendered(learned, format_, output, status)], output)
    hint_at_model(settings, "lessons", format_)


def _learn(paths: list[Path], settings: Settings, filters: Filters, *, root_is_given: bool) -> Learned:
    from knowbound.audit.audit import audit_lens
    from knowbound.lessons.applying import flag_stale_items
    from knowbound.lessons.learn import learn

    also = [audit_lens(settings)]

    with ReadingProgress() as progress, end_agents_on_interrupt("What was read so far is kept."):
        learned = learn(paths, settings, filters, root_is_given=root_is_given, progress=progress, also=also)
    for lesson in flag_stale_items(learned.lessons, settings):
        echo(f"knowbound: the item of lesson {lesson.id} is flagged UNVERIFIED: {lesson.unverified}.", err=True)
    for note in learned.notes:
        echo(f"knowbound: {note}.", err=True)
    return learned


def _rendered(learned: Learned, format_: str, output: Path | None, status: bool) -> str:
    from knowbound.core.lesson import LessonStatus
    from knowbound.report.lessons import render_lessons
    from knowbound.text.printable import counted, listed

    sessions = sum(learned.sessions.values())
    named = listed([name or "unknown" for name in learned.sessions], 3)
    tree = f"checked against the tree of {learned.checked}" if learned.checked else "without a tree to check them"
    at = f" at {learned.commit}" if learned.commit else ""
    shown = [one for one in learned.lessons if status or one.status is not LessonStatus.REJECTED]
    return render_lessons(
        shown,
        cast("Any", format_),
        about=f"{counted(len(shown), 'lesson')} from {counted(sessions, 'session')} of {named}, {tree}{at}.",
        left_out=learned.left_out,
        status=status,
        **layout(output),
    )


def _apply(target: str, ids: tuple[str, ...], settings: Settings, yes: bool) -> None:
    from knowbound.lessons.applying import accepted, mark_applied, write_items

    if target == "file":
        _apply_to_files(ids, settings, yes)
        return
    chosen = accepted(settings.home, ids)
    if not chosen:
        echo("No lesson is accepted. Try: knowbound learn --accept ID")
        return
    for lesson in chosen:
        echo(f"{lesson.id}  {lesson.text}")
    where = "the knowledge store" if target == "items" else "the test set"
    confirm(f"Add {len(chosen)} to {where}?", "Nothing was written.", yes=yes)
    if target == "items":
        written = write_items(chosen, settings, user_name())
        echo(f"{len(written)} added to the knowledge store. To see them: knowbound kms list")
        return
    from knowbound.cli.evals.draft import samples_file
    from knowbound.evals.drafts.file import add
    from knowbound.evals.drafts.sources import sample_of_lesson

    path = samples_file(settings)
    add([sample_of_lesson(one) for one in chosen], path)
    mark_applied(chosen, "samples", str(path), settings)
    echo(f"{len(chosen)} added to {path}.")


def _apply_to_files(ids: tuple[str, ...], settings: Settings, yes: bool) -> None:
    from knowbound.core.lesson import LessonStatus
    from knowbound.lessons.applying import accepted, plan_files, write_files
    from knowbound.store.lessons import KeptLessons

    accepted(settings.home, ids)  # raises an error for an id that is not accepted
    with closing(KeptLessons(settings.home)) as store:
        known = [one for one in store.lessons() if not ids or one.status is not LessonStatus.ACCEPTED or one.id in ids]
    plan = plan_files(known, settings)
    if plan.left_out:
        echo(
            f"{len(plan.left_out)} do not fit the budget (learn.max_lines, learn.max_tokens) and are left out.",
            err=True,
        )
    if not plan.patches:
        echo("Nothing to write: no accepted lesson is missing from its file.")
        return
    for patch in plan.patches:
        echo(patch.diff())
    paths = ", ".join(patch.path for patch in plan.patches)
    confirm(f"Write {paths}?", "Nothing was written.", yes=yes)
    write_files(plan, settings)
    echo(f"Written: {paths}.")
