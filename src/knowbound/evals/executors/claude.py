"""The `claude` command line as an agent: headless, read-only unless the sample says otherwise, leaving no session."""

from __future__ import annotations

import msgspec

from knowbound.evals.executor import Execution, Task
from knowbound.evals.executors.client import ClientExecutor

READ_ONLY = ("Read", "Grep", "Glob", "LS")  # LS: only older clients have it


class ClaudeExecutor(ClientExecutor):
    """Runs `claude -p`."""

    client = "claude"

    def options(self, tools: tuple[str, ...] = (), usd: float | None = None) -> list[str]:
        """The arguments, with what this version of the client understands."""
        tools = tools or READ_ONLY
        options = ["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "default"]
        options += ["--allowedTools", ",".join(tools)]
        if self.understands("--tools"):  # allowed tools run without asking; this removes all others
            kept = dict.fromkeys(tool.partition("(")[0] for tool in tools if tool != "LS")
            options += ["--tools", ",".join(kept)]
        if self.understands("--setting-sources"):  # the project's own settings are part of the knowledge base
            options += ["--setting-sources", "project"]
        if self.understands("--strict-mcp-config") and not any(tool.startswith("mcp__") for tool in tools):
            options += ["--strict-mcp-config"]  # without the user's servers
        if self.understands("--no-session-persistence"):  # a test is no session that `observe` should count
            options += ["--no-session-persistence"]
        if usd is not None and self.understands("--max-budget-usd"):
            options += ["--max-budget-usd", f"{usd:g}"]
        return options + (["--model", self.model] if self.model else [])

    def injecting(self) -> list[str]:
        """Our hooks as settings beside the project's, and their output in the stream, which is where items are read."""
        groups = {
            event: [{"hooks": [{"type": "command", "command": command, "timeout": 10}]}]
            for event, command in self.hooks.items()
        }
        shown = ["--include-hook-events"] if self.understands("--include-hook-events") else []
        return ["--settings", msgspec.json.encode({"hooks": groups}).decode(), *shown]

    def run(self, task: Task) -> Execution:
        """Run the client for the task, without what it remembers of earlier sessions in the folder."""
        return self.run_client(task, {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"})
