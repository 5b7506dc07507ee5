"""The front door: `knowbound review` says what to do next, `knowbound fix` does it or takes it back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli import options
from knowbound.cli.options import argument, option, verb
from knowbound.cli.output import EvalProgress, Out, confirm, echo, end_agents_on_interrupt, layout, reading
from knowbound.errors import InputError
from knowbound.language import say, translated

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.core.lesson import Action
    from knowbound.review.review import Reviewed
    from knowbound.store.decisions import DecidedFix, Fix


@verb("review")
def review_command(
    paths: tuple[str, ...] = argument(),
    root: Path | None = options.root,
    sessions: options.Sessions = options.sessions(),
    cluster: str | None = options.cluster,
    team: bool = option("Add up the files of knowbound share: files, folders or addresses as PATHS."),
    people: int = option("With --team: show only what this many people have.", type=click.IntRange(min=3), default=3),
    out: Out = options.report(("text", "json")),
) -> None:
    """Show what to do next: wrong lines to repair, missing lines to write.

    The same as knowbound without a verb. Reads the sessions of this project once for every lens, checks what CLAUDE.md,
    AGENTS.md, rules, skills and the items of the store say against the tree, and prints at most seven actions, best
    first, each with what it cost and the command that carries it out. PATHS are trace files and folders, as for
    observe; with --team they are the places of files that knowbound share wrote: files, folders, addresses of MongoDB
    or of a bucket.
    """
    if team:
        _review_team(paths, people, out)
        return
    from knowbound.review.review import first_look, is_kept, review

    settings = options.settings_of(root, cluster_address=cluster)
    filters = sessions.filters(settings, paths)
    first_look_lines = 0
    if not paths and out == Out("text") and sys.stdout.isatty() and not is_kept(settings, filters):
        first = first_look(settings, filters)  # the first reading takes long
        if first is not None:
            hint = translated("First look: only the newest sessions. Reading the rest …")
            text = f"{_review_text(first, 'text')}{hint}\n"
            out.emit([text])
            first_look_lines = text.count("\n")
    with reading() as progress:
        reviewed = review(options.absolute(paths), settings, filters, root_is_given=root is not None, progress=progress)
    # The report goes in the place of the first look: the terminal goes up its lines and clears them.
    out.emit([f"\x1b[{first_look_lines}F\x1b[J" if first_look_lines else "", _review_text(reviewed, out.format)])


def _review_team(places: tuple[str, ...], people: int, out: Out) -> None:
    from knowbound.report.review import render_team
    from knowbound.review.team import read_shares, team_review

    if not places:
        raise click.UsageError("--team needs the places of shared files: knowbound review --team week/")
    out.emit([render_team(team_review(read_shares(places), people), out.format)])


def _review_text(reviewed: Reviewed, format_: str) -> str:
    from knowbound.report.review import render_review

    return render_review(
        reviewed.project, reviewed.actions, reviewed.figures, reviewed.watched, reviewed.notes, format_
    )


_KEY_HELP = "a accept · e edit · r reject · l later · q quit"


@verb("fix")
def fix_command(
    ids: tuple[str, ...] = argument(metavar="[ID]..."),
    root: Path | None = options.root,
    yes: bool = option("Write (and with --evolve ask and run) without asking."),
    undo: bool = option("Take the fixes IDS back."),
    reject: bool = option("Never show the actions IDS again."),
    to: str = option(
        "Write lines to their file, or add them to the knowledge store, to the test set, or only to what rescue says.",
        choices=("file", "items", "samples", "rescue"),
        default="file",
    ),
    evolve: Path | None = option(
        "Have a model rewrite FILE from half of the failed samples; offered if the other half does not get worse.",
        metavar="FILE",
    ),
    show_request: bool = option("With --evolve: print what would be sent to the model, and send nothing."),
    branch: bool = option("Commit on a branch of its own, and leave the files as they are."),
) -> None:
    """Carry out the actions IDS that knowbound shows, or the lessons IDS of learn: show the diff, ask, write.

    Without an id, on a terminal, go through all actions with single keys. A file is written only if it is a regular
    file below the root and still the one that the diff was made from. --undo takes a fix back; where its lines changed
    since, it prints the reverse diff and writes nothing.

    --evolve proposes one rewrite of an instruction file, a skill or a document, as a diff. The model that you allowed
    sees the failures of one half of the newest evaluation; both versions then answer the other half with the agent of
    eval. The rewrite is offered only if it answers no fewer of them and is not longer.
    """
    from knowbound.review.fixing import known_fixes, rejectable

    if sum((undo, reject, branch)) > 1:
        raise click.UsageError("Only one of --undo, --reject and --branch.")
    if to != "file" and (undo or reject or branch or not ids):
        raise click.UsageError("Which lessons? knowbound fix ID … --to items|samples|rescue")
    settings = options.settings_of(root)
    reviewed, decided = known_fixes(settings)
    if evolve is not None:
        if ids or undo or reject or to != "file":
            raise click.UsageError("--evolve FILE goes with --yes and --branch alone.")
        _evolve(
            evolve, reviewed.actions if reviewed else [], settings, yes=yes, show_request=show_request, branch=branch
        )
        return
    if undo:
        for id_ in ids:
            _undo(id_, decided, settings, yes)
        return
    fixes = reviewed.fixes if reviewed else {}
    if not ids:
        _walk([fixes[action.id] for action in reviewed.actions if action.id in fixes] if reviewed else [], settings)
        return
    for id_ in ids:
        fix = (rejectable(id_, reviewed) if reject else None) or _fix_named(id_, fixes, decided, settings)
        if to == "file":
            _fix(fix, settings, yes=yes, reject=reject, branch=branch)
        else:
            _use_elsewhere(fix, to, settings, yes)


def _evolve(
    path: Path, actions: list[Action], settings: Settings, *, yes: bool, show_request: bool, branch: bool
) -> None:
    """Propose one rewrite of a file, tried on the samples that it was not made from."""
    from knowbound.cli.asking import announced, asker_of
    from knowbound.cli.evals.eval import find_test_set
    from knowbound.review.evolving import evolve

    asker = asker_of(settings, "drafts")
    if asker is None:
        raise InputError("no-judge", "A rewrite needs a model. Allow one: knowbound model, or name it: KNOWBOUND_MODEL")
    set_ = find_test_set(None, settings)
    runs = 2 * (len(set_.samples) // 2)  # both versions on one half
    question = say("Ask {} for a rewrite, then run about {} samples?", asker.judge, runs)
    confirm(question, "Nothing was asked.", yes=yes or show_request)
    rewrite = None  # stays so where the request is shown only
    with (
        announced(yes=True, show_request=show_request),
        EvalProgress() as progress,
        end_agents_on_interrupt("Nothing was written."),
    ):
        rewrite = evolve(path, set_, settings, asker, actions, progress=progress)
    if rewrite is not None:
        echo(rewrite.words)
    if rewrite is not None and rewrite.fix is not None:
        _fix(rewrite.fix, settings, yes=yes, reject=False, branch=branch)


def _fix_named(id_: str, fixes: dict[str, Fix], decided: dict[str, DecidedFix], settings: Settings) -> Fix:
    """Return the open fix of an id, or the line of a lesson. Raises InputError for a decided or unknown id."""
    from knowbound.review.fixing import line_of

    if (fix := fixes.get(id_) or line_of(id_, settings)) is not None:
        return fix
    decision = decided.get(id_)
    state = f"The action {id_} is {decision.state} already." if decision else f"There is no action {id_!r} with a fix."
    raise InputError("no-such-action", f"{state} To see the open ones: knowbound")


def _fix(fix: Fix, settings: Settings, *, yes: bool, reject: bool, branch: bool) -> None:
    """Carry out a fix or reject it: show the diff, ask, then write it or commit it on a branch."""
    from knowbound.review.fixing import apply_fix, commit_on_branch, current, reject_fix

    if reject:
        reject_fix(fix, settings)
        echo(say("{} is not shown again.", fix.id))
        return
    if fix.session:  # an answer to verify: there is nothing to write
        _open_turn(fix, settings)
        return
    fix = current(fix, settings)
    if fix.lesson is not None and fix.lesson.id == fix.id and not fix.patches:
        echo("Nothing to write: the line is there, or learn.max_lines and learn.max_tokens leave no room for it.")
        return
    _show(fix)
    if branch:
        name = commit_on_branch(fix, settings)
        echo(say("Committed on {}. The files here are unchanged.", name))
        return
    if fix.needs_person and not sys.stdin.isatty():
        raise InputError(
            "needs-a-person",
            f"{fix.id} changes what runs or is refused here, or has a value that neither the tree nor the user has "
            f"shown: --yes does not write it. On a terminal: knowbound fix {fix.id}",
        )
    confirm("Write this?", "Nothing was written.", yes=yes and not fix.needs_person)
    apply_fix(fix, settings, options.user_name())
    echo(say("Done. To take it back: knowbound fix --undo {}", fix.id))


def _open_turn(fix: Fix, settings: Settings) -> None:
    """Show the turn of an answer that nothing shows, and what would."""
    from knowbound.audit.reading import turn_page
    from knowbound.report.answers import render_turn

    page = turn_page([Path(fix.trace)], fix.session, fix.turn, settings.home)
    echo(render_turn(page, "text", **layout(None)))
    echo(say("To verify it: {}", fix.content))
    echo(say("Not worth it: knowbound fix --reject {}", fix.id))


def _use_elsewhere(fix: Fix, to: str, settings: Settings, yes: bool) -> None:
    """Use the line of a lesson elsewhere than in its file."""
    from knowbound.core.lesson import LessonStatus
    from knowbound.lessons.applying import decide, mark_applied, write_item

    lesson = fix.lesson if fix.is_written_line else None
    if lesson is None:
        raise InputError("no-such-lesson", f"{fix.id} is no line of learn that holds: --to is for those.")
    echo(lesson.text)
    if to == "rescue":
        confirm("Have rescue say this?", "Nothing was changed.", yes=yes)
        decide(lesson, LessonStatus.ACCEPTED, settings.home)
        echo(say("Rescue says it from now on. To take it back: knowbound fix --reject {}", lesson.id))
        return
    if to == "items":
        confirm("Add this to the knowledge store?", "Nothing was written.", yes=yes)
        write_item(lesson, settings, options.user_name())
        echo("Added to the knowledge store. To see it: knowbound kms list")
        return
    from knowbound.cli.evals.eval import samples_file
    from knowbound.evals.questions.draft_file import add, sample_of_lesson

    path = samples_file(settings)
    confirm(say("Add this to {}?", path), "Nothing was written.", yes=yes)
    add([sample_of_lesson(lesson)], path)
    mark_applied(lesson, "samples", str(path), settings.home)
    echo(say("Added to {}.", path))


def _show(fix: Fix) -> None:
    from knowbound.review.proposing import diff_of

    echo(f"{fix.title}\n\n{diff_of(fix)}")


def _undo(id_: str, decided: dict[str, DecidedFix], settings: Settings, yes: bool) -> None:
    """Take a fix back, after its reverse diff was shown. Raises InputError if it is not in place."""
    from knowbound.review.fixing import undo_fix, undo_of
    from knowbound.store.decisions import FixState

    decided_fix = decided.get(id_)
    if decided_fix is None or decided_fix.state is not FixState.APPLIED:
        state = f"is {decided_fix.state}" if decided_fix else "was never carried out"
        raise InputError("no-such-action", f"The action {id_} {state}: there is nothing to take back.")
    patches = undo_of(decided_fix, settings)
    for patch in patches:
        echo(patch.diff())
    confirm("Write this?", "Nothing was written.", yes=yes)
    undo_fix(decided_fix, patches, settings, options.user_name())
    echo(say("Taken back: {}", decided_fix.fix.title))


def _walk(fixes: list[Fix], settings: Settings) -> None:
    """Go through the actions with single keys."""
    from knowbound.review.fixing import apply_fix, current, reject_fix

    if not sys.stdin.isatty():
        raise InputError("no-such-action", "Which action? knowbound shows them; then: knowbound fix ID")
    if not fixes:
        echo("There is no action with a fix. To look: knowbound")
        return
    for number, shown in enumerate(fixes, 1):
        try:
            fix = current(shown, settings)
        except InputError as error:
            echo(str(error), err=True)
            continue
        echo("")
        echo(say("{} of {}", number, len(fixes)))
        if fix.session:
            _open_turn(fix, settings)
            continue
        _show(fix)
        echo(_KEY_HELP)
        match _pressed_key():
            case "a" | "e" as key:
                apply_fix(_edited(fix) if key == "e" else fix, settings, options.user_name())
                echo(say("Done. To take it back: knowbound fix --undo {}", fix.id))
            case "r":
                reject_fix(shown, settings)
            case "q":
                return


def _pressed_key() -> str:
    while (pressed := click.getchar().lower()) not in ("a", "e", "r", "l", "q", "\x03", "\x1b"):
        pass
    return "q" if pressed in ("\x03", "\x1b") else pressed


def _edited(fix: Fix) -> Fix:
    """Return the fix with the files as the user's editor left them."""
    from msgspec.structs import replace

    patches = []
    for patch in fix.patches:
        text = click.edit(patch.after.decode("utf-8", "surrogateescape"), extension=".md")
        after = patch.after if text is None else text.encode("utf-8", "surrogateescape")
        patches.append(replace(patch, after=after))
    return replace(fix, patches=patches)
