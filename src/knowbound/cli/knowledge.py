"""Knowledge of agents: `lint` and `rules` check it, `learn` proposes lines for misses, `rescue` answers a miss."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowbound.cli import options
from knowbound.cli.asking import MODEL, asker_of, asking, hint_at_model
from knowbound.cli.options import argument, option, verb
from knowbound.cli.output import Out, echo, reading
from knowbound.errors import InputError
from knowbound.files import numbered_lines
from knowbound.language import say, translated
from knowbound.text.printable import counted, listed, one_line

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.gaps.stored import Filters
    from knowbound.judge.models.asking import Asker
    from knowbound.lessons.learn import Learned
    from knowbound.lessons.rescue.words import Rescue

_FORMATS = ("text", "jsonl", "sarif", "github")


@verb("lint", around=asking)
def lint_command(
    files: tuple[Path, ...] = argument(),
    against: str = option("Report only what held at this commit and is wrong now.", metavar="BASE"),
    store: str = option(
        "List the junk of a memory store: claude-code, claude-mem, or the path of an export, a database or a folder.",
        metavar="STORE",
    ),
    skills: bool = option("Check the skills: description, size, rules that they break, use."),
    root: Path | None = options.root,
    out: Out = options.report(_FORMATS),
) -> int:
    """Check the statements of CLAUDE.md, AGENTS.md, rules, skills and items, or of FILES, against the project's tree.

    Rules look up the paths, links, scripts, packages, names and versions of Python that a statement names; nothing of
    the project is run. Examples, plans, outputs and what the tree does not decide are not checked. With history the
    report says since which commit a path is gone. A model that you allowed decides about layout, behaviour and versions
    in prose, with a quotation of the tree; in CI only if --model names it. Exit 1 if the tree contradicts a statement.
    For a pull request, --against names its base: what was wrong before is not reported, and no model is asked.

    --store lists entries of another tool's memory that can be deleted: copies, what the tree contradicts, and with a
    model what was disproved later or is of no use. Nothing is deleted; jsonl has the ids.

    --skills lists each skill with its size, commands that a rule of CLAUDE.md forbids, what its steps name and the
    tree does not have, and by the newest observe: how often it was used, ended well and hit a gap, and how many prompts
    share words with its description. Exit 1 if a skill has a problem.
    """
    from knowbound.core.statement import Truth
    from knowbound.knowledge.lint import lint, lint_project
    from knowbound.report.knowledge import render_lint

    settings = options.settings_of(root)
    if skills:
        if files or against or store or out.format not in ("text", "jsonl"):
            raise click.UsageError("--skills goes with --format text or jsonl, and with nothing else.")
        return _lint_skills(settings, out)
    is_named = bool(click.get_current_context().meta.get(MODEL))
    may_ask = not against and (is_named or not os.environ.get("CI"))  # in CI only a model that the command line names
    asker = asker_of(settings, "statements") if may_ask else None
    if store:
        if files or against or out.format not in ("text", "jsonl"):
            raise click.UsageError("--store goes with --format text or jsonl, and with no files and no --against.")
        out.emit(_junk_report(store, settings, asker, out.format))
        hint_at_model(settings, "statements", out.format)
        return 0
    checked = (
        lint(settings.root, files, against=against, asker=asker) if files or against else lint_project(settings, asker)
    )
    out.emit(render_lint(checked, out.format))
    if not against:
        hint_at_model(settings, "statements", out.format)
    return int(any(statement.truth is Truth.CONTRADICTED for statement in checked))


def _lint_skills(settings: Settings, out: Out) -> int:
    from knowbound.knowledge.skills import check_skills
    from knowbound.report.knowledge import render_skills

    checked = check_skills(settings)
    out.emit(render_skills(checked, out.format))
    return int(any(skill.problems for skill in checked))


def _junk_report(store: str, settings: Settings, asker: Asker | None, format_: str) -> Iterator[str]:
    from knowbound.codebase.checkout import Checkout
    from knowbound.knowledge.junk import junk_of, read_store
    from knowbound.report.knowledge import render_junk

    entries = read_store(store, settings.root)
    return render_junk(junk_of(entries, Checkout(settings.root), asker), len(entries), format_)


@verb("rules", around=asking)
def rules_command(
    paths: tuple[Path, ...] = argument(),
    newest: int = option("Look at so many sessions.", within=(1, None), default=30),
    root: Path | None = options.root,
    sessions: options.Sessions = options.sessions("sessions"),
    out: Out = options.report(("text", "jsonl")),
) -> None:
    """Report which rules of CLAUDE.md, AGENTS.md and the like agents obey, and which they ignore.

    A rule is a line that tells agents what to do or not to do, in the file as it was on the day of each session. Rules
    of knowbound decide what a trace shows by itself: commands that have to run, commands and files that are forbidden,
    commits, pushes, files to read first. A model that you allowed decides the rest from a shortened record of each
    session, one question a session, with a quotation; without one those cases are counted as undecided.
    """
    from knowbound.knowledge.rules import check_rules
    from knowbound.report.knowledge import render_rules

    settings = options.settings_of(root)
    filters = sessions.filters(settings, paths)
    asker = asker_of(settings, "rules")
    with reading() as progress:
        checked = check_rules(
            options.absolute(paths),
            settings,
            filters,
            newest=newest,
            root_is_given=root is not None,
            asker=asker,
            progress=progress,
        )
    out.emit(render_rules(checked.checks, checked.sessions, checked.of, checked.notes, out.format))
    hint_at_model(settings, "rules", out.format)


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

    also = [audit_lens(settings)]  # sessions are read once for both

    with reading() as progress:
        learned = learn(paths, settings, filters, root_is_given=root_is_given, progress=progress, also=also)
    for lesson in flag_stale_items(learned.lessons, settings):
        echo(say("knowbound: the item of lesson {} is flagged UNVERIFIED: {}.", lesson.id, lesson.unverified), err=True)
    for note in learned.notes:
        echo(f"knowbound: {note}.", err=True)
    return learned


def _rendered(learned: Learned, out: Out, status: bool) -> str:
    """Render the lessons below a sentence about the sessions and the tree that they come from."""
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

            undecided = [position for position, answer in enumerate(rescues) if answer.is_open]
            may_see_event = partial(may_see, asker.judge, settings=settings)
            by_model = rescues_by_model([events[position][1] for position in undecided], tree, asker, may_see_event)
            for position, answer in zip(undecided, by_model, strict=True):
                # An answer without a place is no answer.
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
