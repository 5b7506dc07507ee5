"""`knowbound init`: set up what a user or a project needs once."""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import click

from knowbound.cli.asking import AGREED, asking_options
from knowbound.cli.options import root_option, settings_of
from knowbound.cli.output import echo
from knowbound.errors import InputError

if TYPE_CHECKING:
    from knowbound.config import Settings

SHELLS = ("bash", "zsh", "fish")
_AS_MY_SHELL = "auto"
_KEEP_IN = {
    "bash": "~/.local/share/bash-completion/completions/knowbound",
    "zsh": "~/.zfunc/_knowbound",
    "fish": "~/.config/fish/completions/knowbound.fish",
}
_ZSH = "   (with `fpath+=~/.zfunc; autoload -Uz compinit; compinit` in ~/.zshrc)"


@click.command("init")
@click.option(
    "--completion",
    "shell",
    type=click.Choice((*SHELLS, _AS_MY_SHELL)),
    is_flag=False,
    flag_value=_AS_MY_SHELL,
    help="Print what completes verbs and options in this shell (default: the one of $SHELL).",
)
@root_option
@asking_options()
@click.pass_context
def command(context: click.Context, shell: str | None, root: Path | None) -> int:
    """Set up a project, or the completion of your shell.

    Looks at the documents and the agents on this machine, and proposes a commented knowbound.toml, a samples file of
    ten questions with answers from the documents, and a CI file. Everything is shown first; nothing that is there is
    replaced; --yes writes without asking.
    """
    if shell is not None:
        _print_completion(_own_shell(context) if shell == _AS_MY_SHELL else shell)
        return 0
    return _set_up(settings_of(root), is_agreed=bool(context.meta.get(AGREED)))


def _set_up(settings: Settings, *, is_agreed: bool) -> int:
    from knowbound.cli.asking import is_interactive
    from knowbound.evals.starting import (
        CONFIG,
        SAMPLES,
        WORKFLOW,
        WORKFLOW_TEXT,
        config_text,
        first_samples,
        look,
        samples_text,
    )
    from knowbound.files import replacing
    from knowbound.judge.choice import ModelTask, judge_for
    from knowbound.judge.registry import asker_for
    from knowbound.text.printable import counted

    found = look(settings)
    agents = ", ".join(found.agents) or "none on the PATH"
    echo(f"{settings.root}: {counted(len(found.knowledge), 'document')}; agents: {agents}", err=True)
    if not found.knowledge:
        raise InputError("no-knowledge", f"No documents under {settings.root}. Try: --root DIR")
    files = {CONFIG: config_text(found)}
    if SAMPLES not in found.existing:
        drafts = first_samples(settings, found, asker_for(settings, judge_for(settings, ModelTask.DRAFTS)))
        files |= {SAMPLES: samples_text(drafts)} if drafts else {}
        if not drafts:
            echo(
                f"No question with a checked answer could be made: write {SAMPLES} by hand (docs/samples.md).", err=True
            )
    files |= {WORKFLOW: WORKFLOW_TEXT} if found.is_git else {}
    files = {name: text for name, text in files.items() if name not in found.existing}
    for name in found.existing:
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


def _own_shell(context: click.Context) -> str:
    name = PurePath(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise click.UsageError(
            f"$SHELL names none of {', '.join(SHELLS)}. Try: knowbound init --completion bash", context
        )
    return name


def _print_completion(shell: str) -> None:
    """Print the script of a shell; where a person reads it, the place to keep it."""
    from click.shell_completion import get_completion_class

    from knowbound.cli.main import knowbound

    made = get_completion_class(shell)
    assert made is not None
    echo(made(knowbound, {}, "knowbound", "_KNOWBOUND_COMPLETE").source().strip("\n"))
    keep_in = _KEEP_IN[shell]
    folder = keep_in.rpartition("/")[0]
    keep = f"mkdir -p {folder} && knowbound init --completion {shell} > {keep_in}"
    echo(f"To keep it: {keep}{_ZSH * (shell == 'zsh')}", err=True)
