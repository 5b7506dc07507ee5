"""First steps: `knowbound demo`, `init`, `explain` and `serve`."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import click

from knowbound.cli import options
from knowbound.cli.asking import AGREED, asker_of, asking
from knowbound.cli.options import argument, option, verb
from knowbound.cli.output import echo, emit, layout, width
from knowbound.errors import InputError
from knowbound.language import is_english, language, say, translated
from knowbound.text.printable import counted

if TYPE_CHECKING:
    from knowbound.config import Settings

_NEXT = (
    ("knowbound", "what to do next: wrong lines to repair, missing lines to write"),
    ("knowbound fix ID", "carry it out, after a look at the diff"),
    ("knowbound serve", "see and decide it in the browser; this demo there: knowbound serve --demo"),
)


@verb("demo")
def demo_command() -> None:
    """Show a report on traces that come with knowbound.

    The traces are two weeks of Claude Code and Codex sessions in an invented company, read like your own. Prints the
    report and then the path of the same report as HTML. Needs no key and no network.
    """
    from msgspec.structs import replace

    from knowbound.config import load
    from knowbound.demo import PROJECT, TRACES
    from knowbound.distribution import path_command
    from knowbound.gaps.observe import observe
    from knowbound.report.observe import Detail, render_observe
    from knowbound.store.marking import mark_folder
    from knowbound.user_files import make_folder

    home = options.checked(load(Path().resolve(), ignore_untrusted=True)).home.absolute() / "demo"
    if not home.parent.exists():  # the project's own folder, which the next command looks for
        make_folder(home.parent)
        mark_folder(home.parent)
    # Only the settings of the demo count: the report is the same on every machine.
    settings = load(PROJECT, environ={"KNOWBOUND_HOME": str(home)})
    report, _ = observe([TRACES], settings, root_is_given=True)
    report = replace(report, last_look="")  # the report is the same every time
    current = Path().absolute()
    shown_home = shlex.quote(str(home.relative_to(current) if home.is_relative_to(current) else home))
    page = home / "report.html"
    emit([render_observe(report, "html", commands=_NEXT)], page)
    emit([render_observe(report, "text", **layout(None), commands=(), detail=Detail.SHORT)], None)
    echo("")
    echo(say("These traces are made up. Everything in a browser: {}", page))
    echo(say("The traces behind a topic: KNOWBOUND_HOME={} knowbound report --topic ID", shown_home))
    is_found = shutil.which("knowbound")
    echo("Next, in a project of yours:" if is_found else say("Next, in a project of yours, after {}", path_command()))
    for command_, what in _NEXT:
        echo(f"  {command_:<22}{translated(what)}")


SHELLS = ("bash", "zsh", "fish")
_OWN_SHELL = "auto"
_COMPLETION_FILES = {
    "bash": "~/.local/share/bash-completion/completions/knowbound",
    "zsh": "~/.zfunc/_knowbound",
    "fish": "~/.config/fish/completions/knowbound.fish",
}


@verb("init", around=asking)
def init_command(
    shell: str | None = option(
        "Print what completes verbs and options in this shell (default: the one of $SHELL).",
        "--completion",
        choices=(*SHELLS, _OWN_SHELL),
        is_flag=False,
        flag_value=_OWN_SHELL,
    ),
    root: Path | None = options.root,
) -> int:
    """Set up a project, or the completion of your shell.

    Looks at the documents and the agents on this machine, and proposes a commented knowbound.toml, a samples file of
    ten questions with answers from the documents, and a CI file. Everything is shown first; nothing that is there is
    replaced; --yes writes without asking.
    """
    if shell is not None:
        _print_completion(_own_shell() if shell == _OWN_SHELL else shell)
        return 0
    return _set_up(options.settings_of(root), is_agreed=bool(click.get_current_context().meta.get(AGREED)))


def _set_up(settings: Settings, *, is_agreed: bool) -> int:
    """Show the proposed files, and write them if the user agrees."""
    from knowbound.cli.asking import is_interactive
    from knowbound.evals.questions.draft_file import (
        CONFIG,
        SAMPLES,
        WORKFLOW,
        WORKFLOW_TEXT,
        config_text,
        first_samples,
        samples_text,
        surroundings_of,
    )
    from knowbound.files import replacing

    surroundings = surroundings_of(settings)
    agents = ", ".join(surroundings.agents) or "none on the PATH"
    echo(f"{settings.root}: {counted(len(surroundings.knowledge), 'document')}; agents: {agents}", err=True)
    if not surroundings.knowledge:
        raise InputError("no-knowledge", f"No documents under {settings.root}. Try: --root DIR")
    files = {CONFIG: config_text(surroundings)}
    if SAMPLES not in surroundings.existing:
        drafts = first_samples(settings, surroundings, asker_of(settings, "drafts"))
        files |= {SAMPLES: samples_text(drafts)} if drafts else {}
        if not drafts:
            echo(
                f"No question with a checked answer could be made: write {SAMPLES} by hand (docs/samples.md).",
                err=True,
            )
    files |= {WORKFLOW: WORKFLOW_TEXT} if surroundings.is_git else {}
    files = {name: text for name, text in files.items() if name not in surroundings.existing}
    for name in surroundings.existing:
        echo(f"{name} is there already: it stays as it is.", err=True)
    for name, text in files.items():
        echo(f"--- {name}\n{text}")
    if not files:
        echo("Nothing to write.", err=True)
        return 0
    if not is_agreed and not (is_interactive() and click.confirm(f"Write {counted(len(files), 'file')}?", err=True)):
        echo("Nothing was written. Try: knowbound init --yes", err=True)
        return 0
    for name, text in files.items():
        path = settings.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(text.encode())
        echo(f"wrote {name}", err=True)
    echo("Next: knowbound eval, then commit the files; a change that takes an answer away fails.", err=True)
    return 0


def _own_shell() -> str:
    name = PurePath(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise click.UsageError(
            f"$SHELL names none of {', '.join(SHELLS)}. Try: knowbound init --completion bash",
            click.get_current_context(),
        )
    return name


def _print_completion(shell: str) -> None:
    """Print the script of a shell; where a person reads it, the place to keep it."""
    from click.shell_completion import get_completion_class

    from knowbound.cli.main import knowbound

    completion_class = get_completion_class(shell)
    assert completion_class is not None
    echo(completion_class(knowbound, {}, "knowbound", "_KNOWBOUND_COMPLETE").source().strip("\n"))
    keep_in = _COMPLETION_FILES[shell]
    folder = keep_in.rpartition("/")[0]
    keep_command = f"mkdir -p {folder} && knowbound init --completion {shell} > {keep_in}"
    advice = "   (with `fpath+=~/.zfunc; autoload -Uz compinit; compinit` in ~/.zshrc)" if shell == "zsh" else ""
    echo(f"To keep it: {keep_command}{advice}", err=True)


@verb("explain")
def explain_command(code: str | None = argument()) -> None:
    """Explain a code or an error slug, with an example. Without CODE, list all codes."""
    import difflib
    import textwrap

    from knowbound.catalogue import codes, codes_named, problems

    if code is None:
        groups: dict[str, list[str]] = {}
        for entry in codes():
            groups.setdefault(entry.group, []).append(entry.code)
        groups["error"] = list(problems())
        lines = textwrap.TextWrapper(width(), subsequent_indent="    ", break_on_hyphens=False)
        for group, names in groups.items():
            echo(lines.fill(f"{group}: {', '.join(names)}"))
        echo("\nOne of them: knowbound explain CODE")
        return
    # A code has underscores, a slug has hyphens: the user may type either, in any case.
    names_by_spelling = {_normalised(name): name for name in (*problems(), *(entry.code for entry in codes()))}
    chinese = {entry.zh.partition("：")[0]: entry.code for entry in codes() if entry.zh}
    names_by_spelling |= {
        _normalised(name): code for term, code in chinese.items() for name in (term, *term.split(" / "))
    }
    key = names_by_spelling.get(_normalised(code), code)
    if meanings := codes_named(key):
        for entry in meanings:
            defined = "" if is_english() and code.isascii() else entry.zh  # asked in English
            parts = (f"{entry.code} ({entry.group})", defined, entry.meaning, entry.example)
            echo("\n\n".join(filter(None, parts)))
    elif problem := problems().get(key):
        echo(f"{problem.slug} (error)\n\n{problem.what}\n{problem.why}\n\n{problem.do}")
    else:
        nearest = difflib.get_close_matches(_normalised(code), names_by_spelling, n=1)
        hint = f" Did you mean {names_by_spelling[nearest[0]]!r}?" if nearest else ""
        raise InputError("unknown-code", f"No code {key!r}.{hint} Try: knowbound explain")


def _normalised(code: str) -> str:
    return code.strip().strip("[]").lower().replace("-", "_").replace(" ", "_")


_PORT = 4180


@verb("serve")
def serve_command(
    paths: tuple[str, ...] = argument(),
    root: Path | None = options.root,
    port: int | None = option("Listen on this port; 0 takes any free one.", within=(0, 65535)),
    no_open: bool = option("Print the link, and do not open a browser."),
    read_only: bool = option("Show everything and change nothing."),
    listen: str | None = option(
        "Serve a team from this address: read-only but for labels and verdicts.", metavar="ADDRESS"
    ),
    users: Path | None = option(
        "With --listen: the file of users, a line NAME:HASH for each.",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
    ),
    hash_password: bool = option("Ask for a password, print its hash for --users, and end."),
    proxy: str | None = option("With --listen: the address of the reverse proxy that names users.", metavar="ADDRESS"),
    proxy_header: str | None = option("The header in which the proxy names the user.", metavar="NAME"),
    hosts: tuple[str, ...] = option("Answer to this host name, too (repeatable).", "--host", metavar="NAME"),
    demo: bool = option("Show an invented project, with sessions that come with knowbound."),
) -> None:
    """Open the studio: actions, sessions, turns and knowledge in the browser.

    Listens on this machine alone and prints a link that opens it once. Sessions are read while it runs, as knowbound
    alone reads them; PATHS name traces, as for review. Changes go through the checks of fix. With --listen it serves a
    team, whose members sign in; then files, hooks, evaluations and models are out of reach.
    """
    with studio_extra():
        from knowbound.web import app as web
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
    traces = options.absolute(paths)
    if demo:
        from knowbound.web.demo import lay_out_demo

        settings, traces, environ = lay_out_demo(options.settings_of(None).home)
    else:
        settings = options.settings_of(root)
    try:
        address = web.Address(listen or web.LOOPBACK, _PORT if port is None else port, hosts)
    except InputError:
        if port is not None:
            raise  # else the usual port is taken: any free one
        address = web.Address(listen or web.LOOPBACK, 0, hosts)
    studio = web.prepared(
        settings,
        address,
        options.user_name(),
        traces,
        root_is_given=demo or root is not None,
        is_read_only=read_only,
        team=team,
        environ=environ,
        language=language(),
    )
    web.serve(studio, opens=not no_open, say_line=echo)


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
