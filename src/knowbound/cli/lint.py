"""`knowbound lint`: check what knowledge files say against the tree."""

from __future__ import annotations

from pathlib import Path

import click

from knowbound.cli.options import report_options, root_option, settings_of
from knowbound.cli.output import emit


@click.command("lint")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--against", metavar="BASE", default="", help="Report only what held at this commit and is wrong now.")
@root_option
@report_options(("text", "jsonl"))
def command(files: tuple[Path, ...], against: str, root: Path | None, format_: str, output: Path | None) -> int:
    """Check the statements of CLAUDE.md, AGENTS.md, rules and skills, or of FILES, against the project's tree.

    Rules look up the paths, links, scripts, packages, names and versions of Python that a statement names; nothing of
    the project is run. Examples, plans, outputs and what the tree does not decide are not checked. With history the
    report says since which commit a path is gone. Exit 1 if the tree contradicts a statement. For a pull request,
    --against names its base: what was wrong before is not reported.
    """
    from knowbound.core.statement import Truth
    from knowbound.knowledge.lint import lint, lint_project
    from knowbound.report.lint import render_lint

    settings = settings_of(root)
    checked = lint(settings.root, files, against=against) if files or against else lint_project(settings)
    emit(render_lint(checked, format_), output)
    return int(any(one.truth is Truth.CONTRADICTED for one in checked))
