"""`knowbound learn`: propose lines of knowledge from repeated misses."""

from __future__ import annotations

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
)
from knowbound.cli.output import echo, emit, layout
from knowbound.language import say, translated

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.gaps.stored import Filters
    from knowbound.lessons.learn import Learned


@click.command("learn")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@root_option
@session_options()
@click.option("--status", is_flag=True, help="Show what became of the lessons: applied, closed, reopened, stale.")
@page_options
@asking_options()
def command(
    paths: tuple[str, ...],
    root: Path | None,
    status: bool,
    format_: str,
    output: Path | None,
    **chosen: Any,
) -> None:
    """Propose lines of knowledge from what agents miss again and again; `knowbound fix ID` writes one.

    A lesson says where something is, how a command is called here, or what users said in several sessions. Each lesson
    is checked against the tree of the project; a lesson that the tree contradicts is never proposed.

    \b
    knowbound learn                    propose, from the sessions of this project
    knowbound learn --status           what became of the written lessons
    knowbound fix ID …                 write into CLAUDE.md or AGENTS.md, after a look at the diff
    knowbound fix --reject ID …        never propose it again
    knowbound fix ID … --to items      add it to the knowledge store; samples: to the test set; rescue: only say it
    """
    settings = settings_of(root)
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
        echo(say("knowbound: the item of lesson {} is flagged UNVERIFIED: {}.", lesson.id, lesson.unverified), err=True)
    for note in learned.notes:
        echo(f"knowbound: {note}.", err=True)
    return learned


def _rendered(learned: Learned, format_: str, output: Path | None, status: bool) -> str:
    from knowbound.core.lesson import LessonStatus
    from knowbound.report.knowledge import render_lessons
    from knowbound.report.words import not_read_words, sessions_words
    from knowbound.text.printable import counted, listed

    sessions = sessions_words(learned.report.reading, sum(learned.sessions.values()))
    named = listed([name or translated("unknown") for name in learned.sessions], 3)
    tree = (
        say("checked against the tree of {}", learned.checked)
        if learned.checked
        else translated("without a tree to check them")
    )
    at = say(" at {}", learned.commit) if learned.commit else ""
    left = not_read_words(learned.report.reading)
    shown = [one for one in learned.lessons if status or one.status is not LessonStatus.REJECTED]
    return render_lessons(
        shown,
        cast("Any", format_),
        about=say("{} from {} of {}, {}{}.", counted(len(shown), "lesson"), sessions, named, tree, at)
        + (f" {left[:1].upper()}{left[1:]}." if left else ""),
        left_out=learned.left_out,
        status=status,
        **layout(output),
    )
