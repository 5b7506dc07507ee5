"""The executor of a name, as `--executor` and the config give it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from knowbound.errors import ConfigError
from knowbound.evals.executor import Executor

BUILT_IN = "investigate"
FORMS = (BUILT_IN, "claude", "codex", "model:NAME", "command:PROGRAM ARGS")


def executor_named(
    name: str,
    *,
    model: str = "",
    globs: tuple[str, ...] = (),
    hidden: Sequence[Path] = (),
    hooks: Mapping[str, str] | None = None,
) -> Executor:
    """The executor; `model` is the one that an agent's command line should use. Nothing is run yet.

    `hooks` are the commands of our hooks by event, for tasks with injection.
    """
    kind, colon, rest = (part.strip() for part in name.partition(":"))
    named = rest or model
    if kind != "command" and named.startswith("-"):
        raise ConfigError("unknown-executor", f"{named!r} is no model's name.")
    # Each brings modules that the others do not need.
    if kind == BUILT_IN and not colon:
        from knowbound.evals.executors.investigate import InvestigateExecutor  # noqa: PLC0415

        return InvestigateExecutor(globs, tuple(hidden))
    if kind == "claude":
        from knowbound.evals.executors.clients import ClaudeExecutor  # noqa: PLC0415

        return ClaudeExecutor(named, hooks)
    if kind == "codex":
        from knowbound.evals.executors.clients import CodexExecutor  # noqa: PLC0415

        return CodexExecutor(named, hooks)
    if kind == "command" and rest:
        from knowbound.evals.executors.command import CommandExecutor  # noqa: PLC0415

        return CommandExecutor(rest)
    if kind == "model" and named:
        from knowbound.evals.executors.model import ModelExecutor  # noqa: PLC0415

        return ModelExecutor(named, hidden)
    raise ConfigError("unknown-executor", f"There is no executor {name!r}. {_suggestion(kind, rest)}")


def _suggestion(kind: str, rest: str) -> str:
    known = [form.partition(":")[0] for form in FORMS]
    near = difflib.get_close_matches(kind.lower(), known, n=1, cutoff=0.6)
    if near and near[0] == kind:
        return f"It takes a name: {next(form for form in FORMS if form.startswith(kind))}"
    if near:
        return f"Did you mean {near[0] + (':' + rest if rest else '')!r}?"
    return f"It is one of {', '.join(FORMS)}."
