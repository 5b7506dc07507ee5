"""What the executors of agents' command lines share: the client is looked up, and asked for its options, once.

Clients differ in what they understand, so options beyond the basic ones are given only where `--help` names them.
"""

from __future__ import annotations

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from knowbound.evals.executor import Execution, Task
from knowbound.evals.executors.agent_process import run_process
from knowbound.evals.executors.command import program
from knowbound.evals.executors.output import execution_of
from knowbound.process import agent_environment, run

_SECONDS = 60.0  # to say its version or its options
_LONGEST_VERSION = 100


class ClientExecutor(ABC):
    """Runs an agent's command line; the prompt goes in on its standard input."""

    costs = True
    remembers = True
    reads_freely = True
    client: str  # the program
    help_of: tuple[str, ...] = ()  # the sub-command whose options are meant

    def __init__(self, model: str = "", hooks: Mapping[str, str] | None = None) -> None:
        self.name = f"{self.client}:{model}" if model else self.client
        self.model = model
        self.hooks = dict(hooks or {})  # event → the command of our hook, for tasks with injection

    @abstractmethod
    def options(self, tools: tuple[str, ...] = (), usd: float | None = None) -> list[str]:
        """The arguments for a task that may use these tools and spend this much."""

    @abstractmethod
    def injecting(self) -> list[str]:
        """The arguments that add our hooks to a task with injection."""

    def arguments(self, task: Task) -> list[str]:
        """All arguments for a task."""
        return [*self.options(task.tools, task.usd), *(self.injecting() if task.inject else [])]

    @property
    def injects(self) -> bool:
        """A client has hooks."""
        return True

    @cached_property
    def version(self) -> str:
        """The client's version and our options."""
        said = self._output("--version").strip()[:_LONGEST_VERSION] or "unknown version"
        return f"{said} {shlex.join(self.options())}"

    def check(self) -> None:
        """The client has to be installed."""
        program(self.client)

    def run(self, task: Task) -> Execution:
        """Run the client for the task."""
        return self.run_client(task, {})

    def run_client(self, task: Task, environ: Mapping[str, str]) -> Execution:
        """Run the client with these variables, too. Our installed hooks are off: only those of the task run."""
        argv = [self._path, *self.arguments(task)]
        stdin = task.prompt.encode("utf-8", "replace")
        return execution_of(task, run_process(task, argv, stdin=stdin, env={**agent_environment(), **environ}))

    def understands(self, option: str) -> bool:
        """Whether its help names the option."""
        return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", self._help) is not None

    @cached_property
    def _path(self) -> str:
        return program(self.client)

    @cached_property
    def _help(self) -> str:
        return self._output(*self.help_of, "--help")

    def _output(self, *arguments: str) -> str:
        ran = run([self._path, *arguments], Path(), _SECONDS, environment=agent_environment())
        return "" if ran.timed_out else ran.text
