"""Groups of verbs whose unknown names lead to an error that helps; help in the chosen language."""

from __future__ import annotations

from collections.abc import Iterable

import click

from knowbound.errors import InputError
from knowbound.language import is_english, translated

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
    asked = " ".join(words)
    if asked in TAKEN_OUT:
        raise InputError("taken-out", f"`knowbound {asked}` was taken out. {TAKEN_OUT[asked]}")


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
                shown = [_in_column(line) for line in lines[1:]]
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
            about, bracket, rest = text.partition("  [")
            lines = _wrapped(about, self.width - self.current_indent - first, bracket + rest)
            if len(name) > first - col_spacing:
                self.write(f"{'':{self.current_indent}}{name}\n")
                name = ""  # noqa: PLW2901
            self.write(f"{'':{self.current_indent}}{name:{first}}{lines[0]}\n")
            self.write("".join(f"{'':{self.current_indent + first}}{line}\n" for line in lines[1:]))


def _wrapped(english: str, width: int, more: str = "") -> list[str]:
    from knowbound.report.formats.plain import wrap

    return wrap(translated(english) + more, width, 99)


def _in_column(line: str) -> str:
    """Return a line of a block, its words behind the column of commands in the chosen language."""
    command, gap, words = line.rpartition("   ")
    return f"{command}{gap}{translated(words)}"
