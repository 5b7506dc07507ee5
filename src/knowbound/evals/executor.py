"""A task for an executor, the trace that it leaves, and the executor of a name.

Whatever runs a sample (a command, an agent's command line, a model, the evidence engine), the rest of the
evaluation sees only that trace, and reads it like any other trace (specification 1, section 4).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from knowbound.core.signal import InjectedText
from knowbound.errors import ConfigError
from knowbound.stats.evaluation import RunEnding

if TYPE_CHECKING:
    from knowbound.judge.models.asking import Asker

__all__ = ["Execution", "Executor", "RunEnding", "Task"]
BUILT_IN = "investigate"
FORMS = (BUILT_IN, "claude", "codex", "model:NAME", "command:PROGRAM ARGS", "replay:FILE")


class Task(msgspec.Struct, frozen=True):
    """One sample to be run once."""

    sample: str  # its id
    prompt: str  # what the agent is asked, with the sample's context
    folder: Path  # the knowledge base: the agent's working folder
    output_dir: Path  # a folder of this task's own, outside the knowledge base: output, trace, exit status
    seconds: float  # after which the run is ended
    usd: float | None = None  # what it may cost
    question: str = ""  # the sample's own prompt, without its context
    base: Path | None = None  # the knowledge base, where the sample works in another folder
    tools: tuple[str, ...] = ()  # the tools the sample allows; none given: the executor's own
    inject: bool = False  # whether our hooks inject items of the store


class Execution(msgspec.Struct, frozen=True):
    """The result of a task. Unknown values are None."""

    ending: RunEnding
    trace: str = ""  # the file, which a reader recognises; "" where nothing was left
    answer: str = ""  # the agent's last words, whole
    problem: str = ""  # why it did not end well, in words
    seconds: float = 0.0
    usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    model: str = ""  # the model that answered, where it says so
    folder: str = ""  # where the knowledge base was then
    working: str = ""  # where the agent worked in it: relative paths of its trace start there
    shows_calls: bool = True  # whether its tool calls are in the trace; text alone does not show them
    injected: tuple[InjectedText, ...] = ()  # items of our store, where its trace does not show them


class Executor(Protocol):
    """Runs one task at a time per thread; several threads may call it at once."""

    name: str  # as it is chosen: investigate, claude, codex, model:NAME, command:PROGRAM
    costs: bool  # a run costs money, so that a budget has something to count
    # An identical run is taken from the store by default: a run costs, and its answer depends on nothing but the task,
    # the version and the knowledge base.
    remembers: bool
    injects: bool  # a task can be run with injection
    reads_freely: bool  # it may read any file of its folder: then it gets a copy without the test set

    @property
    def version(self) -> str:
        """Changes whenever the executor itself may answer the same task differently."""

    def check(self) -> None:
        """Raise an error that says what to do where it cannot run at all, before anything is begun."""

    def run(self, task: Task) -> Execution:
        """Run the task; never raises for what the agent does."""


def executor_named(
    name: str,
    *,
    model: str = "",
    globs: tuple[str, ...] = (),
    hidden: Sequence[Path] = (),
    hooks: Mapping[str, str] | None = None,
    asker: Asker | None = None,
) -> Executor:
    """Return the executor; `model` is the model that an agent's command line should use. Nothing is run yet.

    `hooks` are the commands of our hooks by event, for tasks with injection. `asker` reads for the built-in executor.
    """
    kind, colon, rest = (part.strip() for part in name.partition(":"))
    named = rest or model
    if kind != "command" and named.startswith("-"):  # a client would read it as an option
        raise ConfigError("unknown-executor", f"{named!r} is no model's name.")
    # Each executor imports modules that other executors do not need.
    if kind == BUILT_IN and not colon:
        from knowbound.evals.executors.without_agent import InvestigateExecutor  # noqa: PLC0415

        return InvestigateExecutor(globs, tuple(hidden), asker)
    if kind in ("claude", "codex"):
        from knowbound.evals.executors.clients import ClaudeExecutor, CodexExecutor  # noqa: PLC0415

        return ClaudeExecutor(named, hooks) if kind == "claude" else CodexExecutor(named, hooks)
    if kind == "command" and rest:
        from knowbound.evals.executors.clients import CommandExecutor  # noqa: PLC0415

        return CommandExecutor(rest)
    if kind == "replay" and rest:
        from knowbound.evals.executors.without_agent import ReplayExecutor  # noqa: PLC0415

        return ReplayExecutor(rest)
    if kind == "model" and named:
        from knowbound.evals.executors.model import ModelExecutor  # noqa: PLC0415

        return ModelExecutor(named, hidden)
    from knowbound.plugins import load_plugin, plugins  # noqa: PLC0415

    if kind in plugins("executors"):
        executor: Executor = load_plugin("executors", kind)(rest)
        return executor
    raise ConfigError("unknown-executor", f"There is no executor {name!r}. {_suggestion(kind, rest)}")


def _suggestion(kind: str, rest: str) -> str:
    """Return what to write instead of an unknown executor: its form, the nearest name, or all names."""
    known = [form.partition(":")[0] for form in FORMS]
    near = difflib.get_close_matches(kind.lower(), known, n=1, cutoff=0.6)
    if near and near[0] == kind:  # the right form, without what belongs after the colon
        return f"It takes a name: {next(form for form in FORMS if form.startswith(kind))}"
    if near:
        return f"Did you mean {near[0] + (':' + rest if rest else '')!r}?"
    return f"It is one of {', '.join(FORMS)}."
