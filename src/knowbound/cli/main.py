"""The command line: one group of verbs. Each verb is imported when it is used, so --help is fast."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from io import StringIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from knowbound import __version__
from knowbound.cli.groups import HelpText, VerbGroup, refuse_taken_out
from knowbound.cli.output import echo
from knowbound.errors import DEFECT, KnowboundError
from knowbound.language import LANGUAGES, VARIABLE, use

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Verb → module (and command, where the module has several), and its line in --help.
VERBS: dict[str, tuple[str, str]] = {
    "review": ("knowbound.cli.review", "Show what to do next (the same as knowbound alone)."),
    "fix": ("knowbound.cli.fix", "Carry out an action that knowbound shows, or take it back."),
    "serve": ("knowbound.cli.serve", "Open the studio: see and decide it in the browser."),
    "demo": ("knowbound.cli.demo", "Show a report on traces that come with knowbound."),
    "init": ("knowbound.cli.init", "Set up a project (config, first samples, CI), or the completion of your shell."),
    "observe": ("knowbound.cli.observe", "Report what agents looked for and did not find."),
    "learn": ("knowbound.cli.learn", "Propose lines of knowledge from what agents miss, and write them."),
    "lint": ("knowbound.cli.lint", "Check what knowledge files say against the tree."),
    "rules": ("knowbound.cli.rules", "Report which rules of knowledge files agents obey, and which they ignore."),
    "audit": ("knowbound.cli.audit", "Check what agents claimed against what their traces show."),
    "investigate": ("knowbound.cli.investigate", "Answer a question from evidence, or say what is missing."),
    "rescue": ("knowbound.cli.rescue", "Say where the thing that a tool call missed really is."),
    "eval": ("knowbound.cli.evals.eval", "Run a test set through an agent and report its gap rate."),
    "trend": ("knowbound.cli.evals.history:trend", "Show how the gap rate moved from commit to commit."),
    "compare": (
        "knowbound.cli.evals.history:compare",
        "Compare two evaluations of the same test set, sample by sample.",
    ),
    "check": ("knowbound.cli.check", "Test the newest stored run against gates, without running anything."),
    "draft": ("knowbound.cli.evals.draft", "Propose samples from gaps and uncovered files."),
    "probe": ("knowbound.cli.evals.probe", "Ask what the knowledge base should be able to answer."),
    "report": ("knowbound.cli.report", "Render the newest stored run in any format."),
    "kms": ("knowbound.cli.kms.verbs", "Add, find and correct the items that are injected into agents' context."),
    "quality": ("knowbound.cli.quality", "Measure what is injected into agents' context, and correct it."),
    "share": ("knowbound.cli.share", "Share what agents of this machine miss with a team, without a transcript."),
    "export": ("knowbound.cli.export", "Write tables and verdicts for other programs."),
    "secrets": ("knowbound.cli.secrets", "List secrets that lie in transcripts, and what to rotate."),
    "model": ("knowbound.cli.model", "Use a model that you already have: see, try and allow it."),
    "judge": ("knowbound.cli.judge", "Measure how far judges can be trusted."),
    "install": ("knowbound.cli.connect.install:install", "Connect an agent: hooks and MCP server."),
    "uninstall": ("knowbound.cli.connect.install:uninstall", "Remove knowbound from an agent's settings."),
    "trust": ("knowbound.cli.connect.trust", "Allow a project's config to run programs or to name where data go."),
    "on": ("knowbound.cli.connect.hooks:on", "Switch all hooks on again."),
    "off": ("knowbound.cli.connect.hooks:off", "Switch all hooks off, in every agent and project."),
    "wrong": ("knowbound.cli.connect.hooks:wrong", "Say that the last interruption by a hook was wrong."),
    "hook": ("knowbound.cli.connect.hooks:hook", "Answer an agent's hook (called by the agent)."),
    "mcp": ("knowbound.cli.connect.hooks:mcp", "Serve the knowledge store to an agent (MCP, stdio)."),
    "statusline": ("knowbound.cli.connect.hooks:statusline", "Print a line for Claude Code's status line."),
    "doctor": ("knowbound.cli.connect.doctor", "Check the store, the index, the hooks and the extras."),
    "forget": ("knowbound.cli.connect.forget", "Erase what is kept about sessions, and prove it."),
    "explain": ("knowbound.cli.explain", "Explain a code or an error."),
}
# The order and the headings of --help and of docs/verbs/index.md; only clients call the verbs that are in no group.
GROUPS: dict[str, tuple[str, ...]] = {
    "Start": ("review", "fix", "demo", "init", "install", "serve", "doctor"),
    "What agents know": ("observe", "learn", "lint", "rules", "rescue", "draft"),
    "What is injected": ("kms", "quality"),
    "What agents say": ("audit", "investigate"),
    "Test": ("eval", "trend", "compare", "probe", "check"),
    "A team": ("share", "secrets", "export"),
    "Settings": ("model", "judge", "trust", "forget", "on", "off", "wrong", "uninstall", "report", "explain"),
}
ONLY_FOR_CLIENTS = ("hook", "mcp", "statusline")

# Verbs that speak Chinese, too: to start with, and what agents know. The formats that are for people.
BILINGUAL = (
    "review",
    "fix",
    "serve",
    "demo",
    "install",
    "doctor",
    "observe",
    "learn",
    "lint",
    "rules",
    "rescue",
    "draft",
)
_FOR_PEOPLE = ("text", "markdown", "html")
_lang = click.Option(
    ["--lang"], type=click.Choice(LANGUAGES), envvar=VARIABLE, expose_value=False, help="Print in this language."
)


class Verbs(VerbGroup):
    """The verbs of `VERBS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of --help."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of the verb."""
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name][0].partition(":")
        command = getattr(import_module(module), name or "command")
        assert isinstance(command, click.Command)
        if cmd_name in BILINGUAL and _lang not in command.params:
            command.params.append(_lang)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a verb without importing any."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(verb, help=line) for verb, (_, line) in VERBS.items() if verb.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs by group without importing them."""
        width = max(map(len, VERBS))
        for heading, verbs in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(verb.ljust(width), VERBS[verb][1]) for verb in verbs])


click.Context.formatter_class = HelpText


@click.group(cls=Verbs, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", message="knowbound %(version)s")
@click.pass_context
def knowbound(ctx: click.Context) -> Any:
    """Keep the knowledge of coding agents true, complete and used.

    Without a command, shows what to do next in this project: lines of CLAUDE.md and AGENTS.md that the tree
    contradicts, and lines that agents keep missing. Everything works without a key and without a network.
    """
    if ctx.invoked_subcommand is not None:
        return None
    review = ctx.command.get_command(ctx, "review") if isinstance(ctx.command, click.Group) else None
    assert review is not None
    return ctx.invoke(review)


knowbound.params.append(_lang)


def main(args: list[str] | None = None) -> Any:
    """Run the command line. An error becomes one line on stderr and an exit code."""
    try:
        use(language_of(sys.argv[1:] if args is None else args, os.environ))
        code = _run(args)
    except KnowboundError as error:
        from knowbound.text.redact import redact

        echo(f"knowbound: {redact(str(error))}", err=True)
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        echo("knowbound: stopped. What was read so far is kept.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        shown = StringIO()
        error.show(shown)
        echo(shown.getvalue().rstrip("\n"), err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if os.environ.get("KNOWBOUND_TRACEBACK"):
            raise
        echo(f"knowbound: a defect of ours: {type(error).__name__}: {error}   [defect]", err=True)
        sys.exit(DEFECT)
    sys.exit(code if isinstance(code, int) else 0)


def language_of(args: list[str], environ: Mapping[str, str]) -> str:
    """Return the language that the arguments or the environment ask for, before --help prints in it.

    Verbs of other groups and formats for programs are English.
    """
    given = dict(pairwise([*(part for one in args for part in one.split("=", 1)), ""]))
    verb = next((one for one in args if one in VERBS), "review")
    is_for_people = given.get("--format", "text") in _FOR_PEOPLE
    named = given.get("--lang") or environ.get(VARIABLE, "en")
    return named if named in LANGUAGES and verb in BILINGUAL and is_for_people else "en"


def _run(args: list[str] | None) -> Any:
    try:
        return knowbound.main(args=args, standalone_mode=False)
    except click.NoSuchOption as error:
        refuse_taken_out(error.ctx, error.option_name)
        raise
