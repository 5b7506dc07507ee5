"""`knowbound serve`: the studio in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from knowbound.cli.options import absolute, root_option, settings_of, user_name
from knowbound.cli.output import echo
from knowbound.errors import InputError
from knowbound.language import language

_PORT = 4180


@click.command("serve")
@click.argument("paths", nargs=-1)
@root_option
@click.option("--port", type=click.IntRange(0, 65535), default=None, help="Listen on this port; 0 takes any free one.")
@click.option("--no-open", is_flag=True, help="Print the link, and do not open a browser.")
@click.option("--read-only", is_flag=True, help="Show everything and change nothing.")
@click.option(
    "--listen", metavar="ADDRESS", help="Serve a team from this address: read-only but for labels and verdicts."
)
@click.option(
    "--users",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --listen: the file of users, a line NAME:HASH for each.",
)
@click.option("--hash-password", is_flag=True, help="Ask for a password, print its hash for --users, and end.")
@click.option("--proxy", metavar="ADDRESS", help="With --listen: the address of the reverse proxy that names users.")
@click.option("--proxy-header", metavar="NAME", help="The header in which the proxy names the user.")
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Answer to this host name, too (repeatable).")
@click.option("--demo", is_flag=True, help="Show an invented project, with sessions that come with knowbound.")
def command(
    paths: tuple[str, ...],
    root: Path | None,
    port: int | None,
    no_open: bool,
    read_only: bool,
    listen: str | None,
    users: Path | None,
    hash_password: bool,
    proxy: str | None,
    proxy_header: str | None,
    hosts: tuple[str, ...],
    demo: bool,
) -> None:
    """Open the studio: actions, sessions, turns and knowledge in the browser.

    Listens on this machine alone and prints a link that opens it once. Sessions are read while it runs, as knowbound
    alone reads them; PATHS name traces, as for review. Changes go through the checks of fix. With --listen it serves a
    team, whose members sign in; then files, hooks, evaluations and models are out of reach.
    """
    with studio_extra():
        from knowbound.web import serve as web
        from knowbound.web.access import Team, password_hash, read_users
    if hash_password:
        echo(password_hash(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)))
        return
    team = None
    if listen is not None:
        if not users and not (proxy and proxy_header):
            raise click.UsageError("--listen needs --users FILE, or --proxy ADDRESS and --proxy-header NAME.")
        team = Team(read_users(users) if users else {}, proxy or "", proxy_header or "")
    elif users or proxy or proxy_header:
        raise click.UsageError("--users, --proxy and --proxy-header are for --listen.")
    environ: dict[str, str] = {}
    traces = absolute(paths)
    if demo:
        from knowbound.web.demo import lay_out_demo

        settings, traces, environ = lay_out_demo(settings_of(None).home)
    else:
        settings = settings_of(root)
    try:
        address = web.Address(listen or web.LOOPBACK, _PORT if port is None else port, hosts)
    except InputError:
        if port is not None:
            raise
        address = web.Address(listen or web.LOOPBACK, 0, hosts)
    made = web.prepared(
        settings,
        address,
        user_name(),
        traces,
        root_is_given=demo or root is not None,
        is_read_only=read_only,
        team=team,
        environ=environ,
        language=language(),
    )
    web.serve(made, opens=not no_open, say_line=echo)


@contextmanager
def studio_extra() -> Iterator[None]:
    """Say how the extra is installed where a part of it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("jinja2", "markupsafe", "starlette", "uvicorn", "anyio"):
            raise
        from knowbound.distribution import extra_command

        raise InputError(
            "no-studio", f"The studio needs jinja2, starlette and uvicorn. Install them: {extra_command('studio')}"
        ) from error
