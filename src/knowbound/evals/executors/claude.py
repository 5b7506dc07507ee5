"""The `claude` command line as an agent: headless, read-only unless the sample says otherwise, leaving no session."""

from __future__ import annotations

import shlex

from knowbound.evals.executor import Execution, Task
from knowbound.evals.executors.command import agent_environment
from knowbound.evals.executors.command_line import CommandLine
from knowbound.evals.executors.output import execution_of
from knowbound.evals.executors.process import run_process

READ_ONLY = ("Read", "Grep", "Glob", "LS")  # LS: only older clients have it


class ClaudeExecutor:
    """Runs `claude -p`; the prompt goes in on its input."""

    costs = True
    remembers = True
    reads_freely = True

    def __init__(self, model: str = "") -> None:
        self.name = f"claude:{model}" if model else "claude"
        self._model = model
        self._client = CommandLine("claude")

    @property
    def version(self) -> str:
        """The client's version and our options."""
        return f"{self._client.version} {shlex.join(self._options(READ_ONLY, None))}"

    def check(self) -> None:
        """The client has to be there."""
        self._client.path()

    def run(self, task: Task) -> Execution:
        """Run the client for the task."""
        argv = [self._client.path(), *self._options(task.tools or READ_ONLY, task.usd)]
        stdin = task.prompt.encode("utf-8", "replace")
        return execution_of(task, run_process(task, argv, stdin=stdin, env=agent_environment()))

    def _options(self, tools: tuple[str, ...], usd: float | None) -> list[str]:
        options = ["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "default"]
        options += ["--allowedTools", ",".join(tools)]
        if self._client.understands("--tools"):  # what is allowed runs without asking; this leaves only that
            kept = dict.fromkeys(tool.partition("(")[0] for tool in tools if tool != "LS")
            options += ["--tools", ",".join(kept)]
        if self._client.understands("--setting-sources"):  # the project's own settings are part of the knowledge base
            options += ["--setting-sources", "project"]
        if self._client.understands("--no-session-persistence"):  # a test is no session that `observe` should count
            options += ["--no-session-persistence"]
        if usd is not None and self._client.understands("--max-budget-usd"):
            options += ["--max-budget-usd", f"{usd:g}"]
        return options + (["--model", self._model] if self._model else [])
