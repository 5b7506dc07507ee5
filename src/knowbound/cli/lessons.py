"""Misses: `knowbound learn` proposes lines about them, `knowbound rescue` says where a thing really is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowbound.cli import options
from knowbound.cli.asking import asker_of, asking, hint_at_model
from knowbound.cli.output import Out, echo, reading
from knowbound.cli.verb import argument, option, verb
from knowbound.errors import InputError
from knowbound.files import numbered_lines
from knowbound.language import say, translated
from knowbound.text.printable import counted, listed, one_line

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.gaps.stored import Filters
    from knowbound.lessons.learn import Learned
    from knowbound.lessons.rescue.words import Rescue


@verb("learn", around=asking)
def learn_command(
    paths: tuple[str, ...] = argument(metavar="[PATHS]..."),
    root: Path | None = options.root,
    sessions: options.Sessions = options.sessions(),
    status: bool = option("Show what became of the lessons: applied, closed, reopened, stale."),
    out: Out = options.page,
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
    settings = options.settings_of(root)
    filters = sessions.filters(settings, paths)
    learned = _learn(options.absolute(paths), settings, filters, root_is_given=root is not None)
    out.emit([_rendered(learned, out, status)])
    hint_at_model(settings, "lessons", out.format)


def _learn(paths: list[Path], settings: Settings, filters: Filters, *, root_is_given: bool) -> Learned:
    """Learn, flag the items of lessons that became stale, and print the notes."""
    from knowbound.audit.audit import audit_lens
    from knowbound.lessons.applying import flag_stale_items
    from knowbound.lessons.learn import learn

    also = [audit_lens(settings)]

    with reading() as progress:
        learned = learn(paths, settings, filters, root_is_given=root_is_given, progress=progress, also=also)
    for lesson in flag_stale_items(learned.lessons, settings):
        echo(say("knowbound: the item of lesson {} is flagged UNVERIFIED: {}.", lesson.id, lesson.unverified), err=True)
    for note in learned.notes:
        echo(f"knowbound: {note}.", err=True)
    return learned


def _rendered(learned: Learned, out: Out, status: bool) -> str:
    from knowbound.core.lesson import LessonStatus
    from knowbound.report.knowledge import render_lessons
    from knowbound.report.words import not_read_words, sessions_words

    sessions = sessions_words(learned.report.reading, sum(learned.sessions.values()))
    projects = listed([name or translated("unknown") for name in learned.sessions], 3)
    tree_words = (
        say("checked against the tree of {}", learned.checked)
        if learned.checked
        else translated("without a tree to check them")
    )
    commit_words = say(" at {}", learned.commit) if learned.commit else ""
    unread_words = not_read_words(learned.report.reading)
    shown = [lesson for lesson in learned.lessons if status or lesson.status is not LessonStatus.REJECTED]
    lessons = counted(len(shown), "lesson")
    about = say("{} from {} of {}, {}{}.", lessons, sessions, projects, tree_words, commit_words)
    return render_lessons(
        shown,
        out.format,
        about=about + (f" {unread_words[:1].upper()}{unread_words[1:]}." if unread_words else ""),
        left_out=learned.left_out,
        status=status,
        **out.layout,
    )


@verb("rescue", around=asking)
def rescue_command(
    input_: Path = option(
        "Read events of PostToolUse or PostToolUseFailure, as the client sends them, one per line, each with an id.",
        required=True,
    ),
    root: Path | None = options.root,
    out: Out = options.report(("text", "jsonl")),
) -> int:
    """Say for each missed lookup where the thing really is, or that it is nowhere, or nothing.

    The hooks say the same while an agent works (`install`). Here the events are recorded, and the tree is as it is now.
    Where rules are silent, a model that you allowed is asked; the tree verifies every place that it names.
    """
    out.emit(_rescues(input_, options.project_settings(root), out.format))
    return 0


def _rescues(path: Path, settings: Settings, format_: str) -> Iterator[str]:
    """Yield a line for each event: what rules say, and where they are silent what the model says."""
    from knowbound.judge.choice import may_see
    from knowbound.lessons.rescue.asking import SECONDS, indexed
    from knowbound.lessons.rescue.rescue import rescue

    events = list(_events(path))
    asker = asker_of(settings, "rescue")
    with indexed(settings.root, settings.home) as tree:
        rescues = [rescue(event, tree, home=str(settings.home), seconds=SECONDS) for _, event in events]
        if asker is not None:
            from knowbound.lessons.rescue.asking import rescues_by_model

            open_numbers = [position for position, answer in enumerate(rescues) if answer.is_open]
            may_see_event = partial(may_see, asker.judge, settings=settings)
            by_model = rescues_by_model([events[position][1] for position in open_numbers], tree, asker, may_see_event)
            for position, answer in zip(open_numbers, by_model, strict=True):
                rescues[position] = answer if answer.suggestions else rescues[position]
    for (number, event), answer in zip(events, rescues, strict=True):
        yield _rescue_line(event.get("id", number), answer, format_)


def _events(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in numbered_lines(path):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError("bad-events", f"{path}, line {number}: {error}.") from error
        if not isinstance(event, dict):
            raise InputError("bad-events", f"{path}, line {number}: an event is a JSON object.")
        yield number, event


def _rescue_line(id_: object, rescue: Rescue, format_: str) -> str:
    if format_ == "text":
        return f"{one_line(str(id_))}  {rescue.text or '(silent)'}\n"
    places = [
        {"path": suggestion.path, "line": suggestion.line, "why": suggestion.why} for suggestion in rescue.suggestions
    ]
    row = {"id": id_, "status": rescue.status, "rule": rescue.rule, "text": rescue.text, "suggestions": places}
    return json.dumps(row, ensure_ascii=False) + "\n"
