"""The command line: one group of verbs. Each verb is imported when it is used, so --help is fast."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from io import StringIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from knowbound import __version__
from knowbound.cli.output import echo
from knowbound.errors import DEFECT, InputError, KnowboundError
from knowbound.language import LANGUAGES, VARIABLE, is_english, translated, use
from knowbound.report import FOR_PEOPLE

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Heading of --help and of docs/verbs/index.md → verb → module of this room, which has the function VERB_command, and
# its line. Only clients call the verbs of the last group.
_CALLED = "Called by agents"
_TABLE: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "review": ("review", "Show what to do next (the same as knowbound alone)."),
        "fix": ("review", "Carry out an action that knowbound shows, or take it back."),
        "demo": ("start", "Show a report on traces that come with knowbound."),
        "init": ("start", "Set up a project (config, first samples, CI), or the completion of your shell."),
        "install": ("connect", "Connect an agent: hooks and MCP server."),
        "serve": ("start", "Open the studio: see and decide it in the browser."),
        "doctor": ("connect", "Check the store, the index, the hooks and the extras."),
    },
    "What agents know": {
        "observe": ("observe", "Report what agents looked for and did not find."),
        "learn": ("knowledge", "Propose lines of knowledge from what agents miss, and write them."),
        "lint": ("knowledge", "Check what knowledge files say against the tree."),
        "rules": ("knowledge", "Report which rules of knowledge files agents obey, and which they ignore."),
        "rescue": ("knowledge", "Say where the thing that a tool call missed really is."),
        "draft": ("evals.eval", "Propose samples from gaps and uncovered files."),
    },
    "What is injected": {
        "kms": ("kms.verbs", "Add, find and correct the items that are injected into agents' context."),
        "quality": ("kms.quality", "Measure what is injected into agents' context, and correct it."),
    },
    "What agents say": {
        "audit": ("observe", "Check what agents claimed against what their traces show."),
        "investigate": ("observe", "Answer a question from evidence, or say what is missing."),
    },
    "Test": {
        "eval": ("evals.eval", "Run a test set through an agent and report its gap rate."),
        "trend": ("evals.history", "Show how the gap rate moved from commit to commit."),
        "compare": ("evals.history", "Compare two evaluations of the same test set, sample by sample."),
        "probe": ("evals.eval", "Ask what the knowledge base should be able to answer."),
        "check": ("evals.history", "Test the newest stored run against gates, without running anything."),
    },
    "A team": {
        "share": ("privacy", "Share what agents of this machine miss with a team, without a transcript."),
        "secrets": ("privacy", "List secrets that lie in transcripts, and what to rotate."),
        "export": ("observe", "Write tables and verdicts for other programs."),
    },
    "Settings": {
        "model": ("evals.model", "Use a model that you already have: see, try and allow it."),
        "judge": ("evals.judge", "Measure how far judges can be trusted."),
        "trust": ("privacy", "Allow a project's config to run programs or to name where data go."),
        "forget": ("privacy", "Erase what is kept about sessions, and prove it."),
        "on": ("connect", "Switch all hooks on again."),
        "off": ("connect", "Switch all hooks off, in every agent and project."),
        "wrong": ("connect", "Say that the last interruption by a hook was wrong."),
        "uninstall": ("connect", "Remove knowbound from an agent's settings."),
        "report": ("observe", "Render the newest stored run in any format."),
        "explain": ("start", "Explain a code or an error."),
    },
    _CALLED: {
        "hook": ("connect", "Answer an agent's hook (called by the agent)."),
        "mcp": ("connect", "Serve the knowledge store to an agent (MCP, stdio)."),
        "statusline": ("connect", "Print a line for Claude Code's status line."),
    },
}
VERBS = {verb: found for group in _TABLE.values() for verb, found in group.items()}
GROUPS = {heading: tuple(verbs) for heading, verbs in _TABLE.items() if heading != _CALLED}
ONLY_FOR_CLIENTS = tuple(_TABLE[_CALLED])

# Verbs that speak Chinese, too: to start with, and what agents know.
BILINGUAL = (*"review fix serve demo install doctor observe learn lint rules rescue draft".split(),)

# Verbs and options of earlier versions, and the way to do the same now.
_JOBS = "Set KNOWBOUND_JOBS, or jobs in the config."
_SEARCH = "knowbound kms list shows the items by subject and flag."
_BY = "The log has the name of the user who runs the command."
_SESSION = "The tools of the MCP server log the session of an agent."
_CORRECTING = tuple(f"kms {verb}" for verb in ("add", "delete", "flag", "import", "reap", "supersede", "update"))
TAKEN_OUT: dict[str, str] = {
    "audit --jobs": _JOBS,
    "draft --from": "Proposals are read from eval-samples.draft.yaml in the root.",
    "draft --to": "Accepted samples go to the test set that eval runs (eval.samples in the config).",
    "eval --retries": "A sample whose agent crashed is tried once more.",
    "kms search --flag": _SEARCH,
    "kms search --type": _SEARCH,
    "kms search --user": _SEARCH,
    "observe --jobs": _JOBS,
    "quality replay": "knowbound quality rollout replays the next ranking by itself.",
    "quality rollup": "knowbound quality score --queue does the same, and quality status rolls up before it shows.",
    "quality simulate": "It measured knowbound, not your store. In the source tree: python -m bench.simulation",
    **{f"{verb} --by": _BY for verb in _CORRECTING},
    **{f"{verb} --session": _SESSION for verb in _CORRECTING},
}


class VerbGroup(click.Group):
    """A group whose unknown verbs end in an error that says what to use instead."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb of the first argument. Refuses a removed verb; suggests the nearest for a misspelt one."""
        verbs = self.list_commands(ctx)
        if args[0] not in verbs and not args[0].startswith("-"):
            import difflib

            refuse_taken_out(ctx, args[0])
            near = difflib.get_close_matches(args[0].lower(), verbs, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)


def refuse_taken_out(ctx: click.Context | None, name: str) -> None:
    """Raise an error for a verb or option that an earlier version had below the command of `ctx`."""
    words = [name]
    while ctx is not None and ctx.parent is not None:
        words.insert(0, ctx.info_name or "")
        ctx = ctx.parent
    command_line = " ".join(words)
    if command_line in TAKEN_OUT:
        raise InputError("taken-out", f"`knowbound {command_line}` was taken out. {TAKEN_OUT[command_line]}")


class HelpText(click.HelpFormatter):
    """Help in the chosen language: paragraph by paragraph, option by option."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the line of usage."""
        super().write_usage(prog, args, prefix or translated("Usage: "))

    def write_heading(self, heading: str) -> None:
        """Write a heading."""
        self.write(f"{'':{self.current_indent}}{translated(heading)}{translated(':')}\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs; a block of commands keeps its lines."""
        if is_english():
            super().write_text(text)
            return
        for number, paragraph in enumerate(text.split("\n\n")):
            lines = paragraph.strip().splitlines()
            if lines and lines[0].strip() == "\b":
                columns = (line.rpartition("   ") for line in lines[1:])  # commands, and words in a column
                shown = [f"{command}{gap}{translated(words)}" for command, gap, words in columns]
            else:
                shown = _wrapped(" ".join(paragraph.split()), self.width - self.current_indent)
            self.write("\n" * bool(number) + "".join(f"{'':{self.current_indent}}{line}\n" for line in shown))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write names, each with a text beside it."""
        if is_english():
            super().write_dl(rows, col_max, col_spacing)
            return
        listed = list(rows)
        first = min(max(len(name) for name, _ in listed), col_max) + col_spacing
        for name, text in listed:
            about, bracket, rest = text.partition("  [")  # `[default: …]`, which click adds
            lines = _wrapped(about, self.width - self.current_indent - first, bracket + rest)
            if len(name) > first - col_spacing:
                self.write(f"{'':{self.current_indent}}{name}\n")
                name = ""  # noqa: PLW2901  # the text begins on the next line
            self.write(f"{'':{self.current_indent}}{name:{first}}{lines[0]}\n")
            self.write("".join(f"{'':{self.current_indent + first}}{line}\n" for line in lines[1:]))


def _wrapped(english: str, width: int, more: str = "") -> list[str]:
    from knowbound.report.formats.plain import wrap

    return wrap(translated(english) + more, width, 99)


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
        command = getattr(import_module(f"knowbound.cli.{VERBS[cmd_name][0]}"), f"{cmd_name}_command")
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
    # Each word by the word before it: a value by its option.
    option_values = dict(pairwise([*(part for argument in args for part in argument.split("=", 1)), ""]))
    verb = next((argument for argument in args if argument in VERBS), "review")
    is_for_people = option_values.get("--format", "text") in FOR_PEOPLE
    language = option_values.get("--lang") or environ.get(VARIABLE, "en")
    return language if language in LANGUAGES and verb in BILINGUAL and is_for_people else "en"


def _run(args: list[str] | None) -> Any:
    try:
        return knowbound.main(args=args, standalone_mode=False)
    except click.NoSuchOption as error:  # perhaps one of an earlier version
        refuse_taken_out(error.ctx, error.option_name)
        raise
