"""The `codex` command line as an agent: `codex exec`, in its read-only sandbox, leaving no session."""

from __future__ import annotations

import os
import shlex

from knowbound.evals.executor import Execution, Task
from knowbound.evals.executors.command import agent_environment
from knowbound.evals.executors.command_line import CommandLine
from knowbound.evals.executors.output import execution_of
from knowbound.evals.executors.process import run_process


class CodexExecutor:
    """Runs `codex exec --json`; the prompt goes in on its input. Its tools are its own: a sample cannot choose them."""

    costs = True
    remembers = True
    reads_freely = True

    def __init__(self, model: str = "") -> None:
        self.name = f"codex:{model}" if model else "codex"
        self._model = model
        self._client = CommandLine("codex", ("exec",))

    @property
    def version(self) -> str:
        """The client's version and our options."""
        return f"{self._client.version} {shlex.join(self._options())}"

    def check(self) -> None:
        """The client has to be there."""
        self._client.path()

    def run(self, task: Task) -> Execution:
        """Run the client for the task."""
        folder = os.path.abspath(task.folder)
        argv = [self._client.path(), *self._options(), "-C", folder, "-"]  # "-": the prompt is on the input
        stdin = task.prompt.encode("utf-8", "replace")
        return execution_of(task, run_process(task, argv, stdin=stdin, env=agent_environment()))

    def _options(self) -> list[str]:
        options = ["exec", "--json", "--sandbox", "read-only", "--skip-git-repo-check"]
        if self._client.understands("--ephemeral"):  # a test is no session that `observe` should count
            options += ["--ephemeral"]
        return options + (["--model", self._model] if self._model else [])
