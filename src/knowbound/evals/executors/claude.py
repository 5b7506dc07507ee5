"""The `claude` command line as an agent: headless, read-only unless the sample says otherwise, leaving no session."""

from __future__ import annotations

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
        if self.understands("--no-session-persistence"):  # a test is no session that `observe` should count
            options += ["--no-session-persistence"]
        if usd is not None and self.understands("--max-budget-usd"):
            options += ["--max-budget-usd", f"{usd:g}"]
        return options + (["--model", self.model] if self.model else [])
