"""The `codex` command line as an agent: `codex exec`, in its read-only sandbox, leaving no session."""

from __future__ import annotations

import os

from knowbound.evals.executor import Task
from knowbound.evals.executors.client import ClientExecutor


class CodexExecutor(ClientExecutor):
    """Runs `codex exec --json`. Its tools are its own: a sample cannot choose them."""

    client = "codex"
    help_of = ("exec",)

    def options(self, tools: tuple[str, ...] = (), usd: float | None = None) -> list[str]:
        """The arguments, with what this version of the client understands."""
        options = ["exec", "--json", "--sandbox", "read-only", "--skip-git-repo-check"]
        if self.understands("--ephemeral"):  # a test is no session that `observe` should count
            options += ["--ephemeral"]
        return options + (["--model", self.model] if self.model else [])

    def arguments(self, task: Task) -> list[str]:
        """All arguments for a task; `-`: the prompt is on the input."""
        return [*self.options(), "-C", os.path.abspath(task.folder), "-"]
