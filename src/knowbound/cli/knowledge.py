"""Knowledge files: `knowbound lint` checks them against the tree, `knowbound rules` against sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli import options
from knowbound.cli.asking import MODEL, asker_of, asking, hint_at_model
from knowbound.cli.output import Out, reading
from knowbound.cli.verb import argument, option, verb

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.judge.models.asking import Asker

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
        from knowbound.knowledge.skills import check_skills
        from knowbound.report.knowledge import render_skills

        if files or against or store or out.format not in ("text", "jsonl"):
            raise click.UsageError("--skills goes with --format text or jsonl, and with nothing else.")
        checked_skills = check_skills(settings)
        out.emit(render_skills(checked_skills, out.format))
        return int(any(skill.problems for skill in checked_skills))
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
    from knowbound.knowledge.rules.rules import check_rules
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
