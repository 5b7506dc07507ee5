"""`knowbound demo`: a report on traces that come with knowbound."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import click

from knowbound.cli.options import checked
from knowbound.cli.output import echo, emit, layout
from knowbound.language import say, translated

_NEXT = (
    ("knowbound", "what to do next: wrong lines to repair, missing lines to write"),
    ("knowbound fix ID", "carry it out, after a look at the diff"),
    ("knowbound serve", "see and decide it in the browser; this demo there: knowbound serve --demo"),
)


@click.command("demo")
def command() -> None:
    """Show a report on traces that come with knowbound.

    The traces are two weeks of Claude Code and Codex sessions in an invented company, read like your own. Prints the
    report and then the path of the same report as HTML. Needs no key and no network.
    """
    from msgspec.structs import replace

    from knowbound.config import load
    from knowbound.demo import PROJECT, TRACES
    from knowbound.distribution import path_command
    from knowbound.gaps.observe import observe
    from knowbound.report.gaps.observe import Detail, render_observe
    from knowbound.store.marking import mark_folder
    from knowbound.user_files import make_folder

    home = checked(load(Path().resolve(), ignore_untrusted=True)).home.absolute() / "demo"
    if not home.parent.exists():  # the project's own folder, which the next command looks for
        make_folder(home.parent)
        mark_folder(home.parent)
    # Only the settings of the demo count: the report is the same on every machine.
    settings = load(PROJECT, environ={"KNOWBOUND_HOME": str(home)})
    report, _ = observe([TRACES], settings, root_is_given=True)
    report = replace(report, last_look="")  # the report is the same every time
    kept = shlex.quote(str(home.relative_to(Path().absolute()) if home.is_relative_to(Path().absolute()) else home))
    page = home / "report.html"
    emit([render_observe(report, "html", commands=_NEXT)], page)
    emit([render_observe(report, "text", **layout(None), commands=(), detail=Detail.SHORT)], None)
    echo("")
    echo(say("These traces are made up. Everything in a browser: {}", page))
    echo(say("The traces behind a topic: KNOWBOUND_HOME={} knowbound report --topic ID", kept))
    is_found = shutil.which("knowbound")
    echo("Next, in a project of yours:" if is_found else say("Next, in a project of yours, after {}", path_command()))
    for command_, what in _NEXT:
        echo(f"  {command_:<22}{translated(what)}")
