"""Groups of verbs whose unknown names lead to an error that helps."""

from __future__ import annotations

import click

from knowbound.errors import InputError

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
