"""`knowbound quality`: measure what is injected into agents' context, and correct it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli import options
from knowbound.cli.asking import asking, hint_at_model
from knowbound.cli.main import VerbGroup
from knowbound.cli.options import argument, option, several, verb
from knowbound.cli.output import Out, echo, width
from knowbound.errors import GATE_FAILED, UNDECIDED, InputError, StoreError
from knowbound.report import PAGE_FORMATS, SHORT_FORMATS

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.core.item import Item
    from knowbound.quality.corrections import Corrections

_again = option("Store content that was withdrawn before: it is true again.")


@click.group("quality", cls=VerbGroup)
def quality_command() -> None:
    """Measure what is injected into agents' context, and correct it."""


@verb("corrections", quality_command, cls=VerbGroup, invoke_without_command=True)
def corrections(root: Path | None = options.project, out: Out = options.report(PAGE_FORMATS)) -> None:
    """Show suggested corrections: items that an agent contradicted, and the drafts that would replace them.

    A suggestion is open until it is accepted or dismissed here, or its item is corrected in any other way. What a
    trusted judge found is not injected until then, and the next session of an agent starts with up to three of them
    (quality.corrections = false: neither). An item that you let through (kms flag ID --clear) without an answer for 14
    days is flagged UNVERIFIED.
    """
    if click.get_current_context().invoked_subcommand:  # accept, edit, dismiss or undo follows
        return
    from knowbound.report.quality.items import render_suggestions

    with _open_corrections(root) as opened:
        waiting = opened.open()
    out.show(render_suggestions, waiting)


@verb("accept", corrections)
def accept(
    id_: str = argument(),
    content: str = option("Use this content in place of the draft."),
    again: bool = _again,
    root: Path | None = options.project,
) -> None:
    """Supersede the item by the draft, or by --content. Repeating the command changes nothing."""
    with _open_corrections(root) as opened:
        _print_accepted(id_, opened.accept(id_, content, again=again))


@verb("edit", corrections)
def edit(id_: str = argument(), again: bool = _again, root: Path | None = options.project) -> None:
    """Open the draft in your editor, and accept what you save. Closing the editor without saving changes nothing."""
    with _open_corrections(root) as opened:
        suggestion = opened.suggestion(id_)
        written = click.edit(suggestion.draft or suggestion.content)
        if written is None or not written.strip():
            echo("Nothing was saved, and nothing was changed.")
            return
        _print_accepted(id_, opened.accept(id_, written.strip(), again=again))


@verb("dismiss", corrections)
def dismiss(
    id_: str = argument(), note: str = option("Give the reason, for the log."), root: Path | None = options.project
) -> None:
    """Close the suggestion as not warranted: the item is right as it is."""
    with _open_corrections(root) as opened:
        opened.dismiss(id_, note)
    echo(f"Dismissed: {id_} stays as it is. Undo: knowbound quality corrections undo {id_}")


@verb("undo", corrections)
def undo(id_: str = argument(), root: Path | None = options.project) -> None:
    """Take the last answer about the item back: the suggestion is open again.

    After an acceptance the item is served again, and its replacement is deleted.
    """
    with _open_corrections(root) as opened:
        opened.undo(id_)
    echo(f"Taken back: the suggestion about {id_} is open again.")


def _open_corrections(root: Path | None) -> AbstractContextManager[Corrections]:
    from knowbound.quality.suggesting import opened_corrections

    return opened_corrections(options.project_settings(root), options.user_name())


def _print_accepted(id_: str, item: Item) -> None:
    echo(f"Superseded {id_} by {item.id}: {item.content}")
    echo(f"Undo: knowbound quality corrections undo {id_}")


_SHARE = click.FloatRange(0, 1)


@verb("status", quality_command)
def status(
    item: str = option("Show one item: its figures, last injections and records.", metavar="ID"),
    root: Path | None = options.project,
    out: Out = options.report(PAGE_FORMATS),
) -> None:
    """Show whether what is injected helps, and what to fix first.

    Prints four metrics over the last 7 days, each with its interval, its target and its change: injected items that
    are on topic, used and contradicted, and contradicted items that were corrected. Then follow the five items to fix
    first, the agreement of the judge with labels, the cost, and the answers to lookups that missed. Scored turns are
    rolled up first.
    """
    from msgspec.structs import replace

    from knowbound.lessons.rescue.scores import rescue_figures
    from knowbound.quality.status import quality_of_item, quality_status
    from knowbound.report.quality.items import render_item
    from knowbound.report.quality.status import render_quality
    from knowbound.stats.quality import window

    settings, format = options.project_settings(root), out.format
    if item:
        shown = render_item(quality_of_item(settings, item), format, **out.layout)
    else:
        found = quality_status(settings)
        first, last = window(found.until)
        found = replace(found, rescues=rescue_figures(settings.home, first, last))
        shown = render_quality(found, format, **out.layout)
    out.emit([shown])
    hint_at_model(settings, "turns", out.format)


@verb("shadow", quality_command)
def shadow(
    accepted: tuple[str, ...] = option("It would have helped; repeatable.", "--accept", metavar="KEY"),
    rejected: tuple[str, ...] = option("Hold its item back; repeatable.", "--reject", metavar="KEY"),
    start: bool = option("Start injecting in this project, once ten were accepted or rejected."),
    root: Path | None = options.project,
    out: Out = options.report(SHORT_FORMATS),
) -> None:
    """Show what would have been injected, to accept or reject before anything reaches the agent.

    After `knowbound install AGENT --shadow` hooks choose and record items, the judge scores them, and the agent gets
    nothing. Ten choices are shown with their prompts; a terminal asks about each. A rejected item is held back until
    `knowbound kms flag ID --clear`.
    """
    from knowbound.quality.status import answer_shadow, start_injecting, to_look_at
    from knowbound.report.quality.items import render_shadow

    settings = options.project_settings(root)
    choices = answer_shadow(settings, accepted, rejected, by=options.user_name())
    if start:
        start_injecting(settings)
        choices = answer_shadow(settings, (), (), by="")  # read again
    to_decide = to_look_at(choices)
    out.show(render_shadow, choices, to_decide)
    if accepted or rejected or start or out.format != "text" or out.path or not os.isatty(0):
        return
    for choice in to_decide:
        answer = click.prompt(f"{choice.key}: accept, reject or skip", type=click.Choice(("a", "r", "s")), default="s")
        if answer != "s":
            accepted, rejected = ((choice.key,), ()) if answer == "a" else ((), (choice.key,))
            choices = answer_shadow(settings, accepted, rejected, by=options.user_name())
    if choices.is_on and not choices.left and click.confirm("Start injecting in this project?"):
        start_injecting(settings)


@verb("calibrate", quality_command)
def calibrate(
    prompts: Path = argument(),
    precision: float = option("Require this share of injected items to be on topic.", type=_SHARE, default=0.85),
    left_alone: float = option(
        "Require this share of prompts that need nothing to get nothing.", type=_SHARE, default=0.95
    ),
    strict: bool = option("Exit 3 when there are too few labelled prompts to decide."),
    root: Path | None = options.project,
    out: Out = options.report(SHORT_FORMATS),
) -> int:
    """Recommend the relevance floor and the number of items, from labelled prompts.

    PROMPTS has a JSON object per line: {"prompt": "…", "right": [ids of the items that it needs, or none],
    "on_topic": [ids of other items about it]}. Each prompt is searched for in the project's own store, as the hook
    does. The recommended floor is the lowest that reaches --precision and --left-alone. Nothing is changed.
    """
    from knowbound.injection.calibration import calibrate_injection
    from knowbound.report.quality.floor import render_floor
    from knowbound.stats.floor import FloorTarget

    report = calibrate_injection(options.project_settings(root), prompts, FloorTarget(precision, left_alone))
    out.emit([render_floor(report, out.format, width=width())])
    return UNDECIDED if strict and report.found.is_too_small else 0


@verb("score", quality_command, around=asking)
def score(
    paths: tuple[Path, ...] = argument(),
    input_: Path | None = option("Judge the turns of FILE.", metavar="FILE"),
    log: bool = option("With --input: put the turns into the quality log."),
    again: bool = option("Score again the turns whose judge failed."),
    queue: bool = option("Score the turns that hooks have queued, now."),
    sessions: options.Sessions = several(
        options.Sessions,
        all=options.every_project,
        since=option("Take only turns since then: 7d, 12h, 2w or a date."),
        agent=options.agent,
    ),
    root: Path | None = options.project,
    out: Out = options.page,
) -> int:
    """Judge what was injected in recorded traces: on topic, used, contradicted.

    PATHS are trace files and folders. Without a path, knowbound looks where agents keep their transcripts, and reports
    the sessions of this project. Items of the store are judged in the turn that they were injected into; instruction
    files, memory and the text of other hooks are judged in pieces, once a session. Nothing is written to the log.

    A worker in the background scores the turns that hooks report. --queue scores them now, --again those whose judge
    failed. --input judges given turns, a JSON object per line ({"id", "prompt", "items": [{"id", "content"}],
    "response", "tool_calls": [{"name", "input", "output"}]}), and prints a line per item. With --log they enter the
    quality log and `quality status`, apart from your own items: by the "source" of each item, on the day of the
    turn's "timestamp" (today without one). A turn with the same "session" and "id" is replaced.
    """
    settings = options.project_settings(root)
    if log and not input_:
        raise click.UsageError("--log needs --input FILE.")
    if queue or again:
        return _score_queue(settings, again=again)
    if input_:
        out.emit(_judged_lines(input_, settings, is_logged=log))
        return 0
    from knowbound.quality.recorded import score_traces, scored_lines
    from knowbound.report.quality.items import render_recorded

    filters = sessions.filters(settings, paths)
    report, scored = score_traces(
        options.absolute(paths), settings, project=filters.project, since=filters.since, agent=filters.agent
    )
    lines = scored_lines(scored) if out.format == "jsonl" else [render_recorded(report, out.format, **out.layout)]
    out.emit(lines)
    hint_at_model(settings, "turns", out.format)
    return 0


def _judged_lines(path: Path, settings: Settings, *, is_logged: bool) -> Iterator[str]:
    """Judge the turns of a file, a line for each item; with `is_logged` they enter the quality log."""
    from knowbound.judge.registry import turn_judge
    from knowbound.quality.recorded import judged, judged_lines, read_turns

    judge, turns = turn_judge(settings), read_turns(path)
    judgements = judged(judge, turns)
    if is_logged:
        from knowbound.kms.opening import open_quality_log
        from knowbound.quality.scoring import log_turns

        judgements = list(judgements)  # a judge may take long: before the lock is taken
        open_quality_log(settings).close()  # creates the data folder that the lock is in
        with _scoring_lock(settings):
            log_turns(settings, turns, judgements, judge.version)
    return judged_lines(judge.version, turns, judgements)


def _score_queue(settings: Settings, *, again: bool) -> int:
    """Score in this process. Raises StoreError while a worker scores."""
    from knowbound.quality.scoring import score_queue

    with _scoring_lock(settings):
        scored = score_queue(settings, again=again).scored
    words = f"{scored.turns} turns scored"
    echo(f"{words}, {scored.failed} of them without a verdict: {scored.problem}" if scored.failed else f"{words}.")
    return UNDECIDED if scored.failed else 0


@contextmanager
def _scoring_lock(settings: Settings) -> Iterator[None]:
    """Hold the lock of the worker that scores. Raises StoreError while it runs."""
    from knowbound.agent.background import SCORING
    from knowbound.quality.queue import Queue

    lock = SCORING.take_lock(str(settings.home)) if settings.home.is_dir() else None
    if lock is None:
        raise StoreError("store-busy", "A worker scores the queue right now. Try again when it has ended.")
    try:
        yield
    finally:
        os.close(lock)
    if not Queue(settings.home).is_empty():  # queued while we held the lock: the hook started no worker
        SCORING.ensure_running(str(settings.root), str(settings.home))


@verb("rollout", quality_command)
def rollout(
    advance: bool = option("Begin the next leg; refused while a criterion is open."),
    force: bool = option("With --advance: begin it although criteria are open."),
    revert: bool = option("Go back to the previous leg."),
    root: Path | None = options.project,
    out: Out = options.report(SHORT_FORMATS),
) -> int:
    """Show the present leg of the rollout of measured ranking, and its open criteria.

    Leg 0 measures. Each further leg ranks the items of one backend by their effective confidence. A leg lasts a week of
    turns at least. The next one begins by itself once every criterion is met and a replay of its ranking is no worse
    (rollout.auto = false: only with --advance; while a criterion is open the exit code is 1). --force begins it all the
    same, says what was open, and leaves the kill criteria on: they revert a leg by itself.
    """
    from knowbound.quality.rollout import progress as rolling
    from knowbound.report.quality.rollout import render_rollout

    if (advance and revert) or (force and not advance):
        raise InputError("rollout-refused", "Either --advance, with --force or without, or --revert.")
    settings = options.project_settings(root)
    if advance:
        status = rolling.advance(settings, by=options.user_name(), force=force)
    elif revert:
        status = rolling.revert(settings, by=options.user_name())
    else:
        status = rolling.rollout_status(settings)
    out.show(render_rollout, status)
    return GATE_FAILED if status.refused else 0
