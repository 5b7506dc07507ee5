"""How each client is started headless, and where it keeps what it writes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.namespace import PORT
from tests.agents.scripted_model import Call, Reply, Request, Say, Script

_CODEX_CONFIG = f"""\
model = "gpt-5.5"
model_provider = "standin"

[model_providers.standin]
name = "standin"
base_url = "http://127.0.0.1:{PORT}/v1"
wire_api = "responses"
env_key = "STANDIN_KEY"
stream_max_retries = 0
request_max_retries = 0

[analytics]
enabled = false

[features]
plugins = false  # their catalogue is on the network: without one Codex waits 5 s for a name to resolve
"""


@dataclass(frozen=True)
class ClaudeCode:
    """Claude Code, `claude -p`."""

    name: str = "claude-code"
    injected_role: str = "system"  # of the message that holds what a hook adds

    def environ(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{PORT}",
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    def prepare(self, home: Path) -> None:
        """Nothing: the environment says it all."""

    def arguments(self, prompt: str, resume: str, options: Sequence[str]) -> list[str]:
        allowed = "Read,Grep,Glob,Bash,mcp__knowbound,WaitForMcpServers"
        output = ["--output-format", "stream-json", "--verbose", "--include-hook-events"]
        return ["-p", prompt, *output, "--allowedTools", allowed, *(["--resume", resume] if resume else []), *options]

    def session(self, events: Sequence[dict[str, Any]]) -> str:
        return next((str(event["session_id"]) for event in events if event.get("session_id")), "")

    def answer(self, events: Sequence[dict[str, Any]]) -> str:
        return next((str(event.get("result")) for event in events if event.get("type") == "result"), "")

    def transcripts(self, home: Path) -> list[Path]:
        return sorted((home / ".claude" / "projects").glob("*/*.jsonl"), key=os.path.getmtime)

    def calls(self, tool: str, **arguments: Any) -> list[Reply]:
        """What the model replies with to call a tool of our MCP server."""
        return [Call(f"mcp__knowbound__{tool}", arguments)]

    def reads(self, path: Path) -> Reply:
        """What the model replies with to read a file."""
        return Call("Read", {"file_path": str(path)})

    def runs(self, command: str) -> Reply:
        """What the model replies with to run a command."""
        return Call("Bash", {"command": command})

    def misses(self, path: Path) -> list[Reply]:
        """What the model replies with to read a file that is not there, and to search for it."""
        return [self.reads(path), Call("Glob", {"pattern": f"**/{path.name}"})]

    def delegates(self, task: str, request: Request) -> Reply | None:
        """What the model replies with, request by request, to have a sub-agent do a task; None when that is done."""
        # Newer versions run a sub-agent in the background unless they are told not to.
        arguments = {"description": "Look it up", "prompt": task, "run_in_background": False}
        return None if request.results else Call("Agent", arguments)

    def settings(self, home: Path, project: Path) -> list[Path]:
        """The files that `install` writes to, by default."""
        return [home / ".claude" / "settings.json", home / ".claude.json"]


@dataclass(frozen=True)
class Codex:
    """Codex, `codex exec`."""

    name: str = "codex"
    injected_role: str = "developer"
    bypasses_trust: bool = True  # hooks run only when they are trusted, and nobody is there to trust them

    def environ(self) -> dict[str, str]:
        return {"STANDIN_KEY": "dummy"}

    def prepare(self, home: Path) -> None:
        """The scripted model as Codex's provider."""
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text(_CODEX_CONFIG, "utf-8")

    def arguments(self, prompt: str, resume: str, options: Sequence[str]) -> list[str]:
        common = ["--json", *(["--dangerously-bypass-hook-trust"] if self.bypasses_trust else []), *options]
        return ["exec", "resume", *common, resume, prompt] if resume else ["exec", *common, prompt]

    def session(self, events: Sequence[dict[str, Any]]) -> str:
        return next((str(event["thread_id"]) for event in events if event.get("type") == "thread.started"), "")

    def answer(self, events: Sequence[dict[str, Any]]) -> str:
        said = [event["item"] for event in events if event.get("type") == "item.completed"]
        return next((str(item["text"]) for item in reversed(said) if item.get("type") == "agent_message"), "")

    def transcripts(self, home: Path) -> list[Path]:
        return sorted((home / ".codex" / "sessions").rglob("rollout-*.jsonl"), key=os.path.getmtime)

    def calls(self, tool: str, **arguments: Any) -> list[Reply]:
        """What the model replies with: the tools of MCP servers are searched before they are called."""
        return [
            Call("tool_search", {"query": f"knowbound {tool}", "limit": 20}),
            Call(tool, arguments, "mcp__knowbound"),
        ]

    def reads(self, path: Path) -> Reply:
        """What the model replies with to read a file."""
        return Call("exec_command", {"cmd": f"cat {path}"})

    def runs(self, command: str) -> Reply:
        """What the model replies with to run a command."""
        # On a busy machine the command takes longer than the second that Codex waits for its output by itself.
        return Call("exec_command", {"cmd": command, "yield_time_ms": 30_000})

    def misses(self, path: Path) -> list[Reply]:
        """What the model replies with to read a file that is not there."""
        return [self.reads(path)]

    def delegates(self, task: str, request: Request) -> Reply | None:
        """What the model replies with, request by request, to have a sub-agent do a task; None when that is done."""
        if not request.results:
            return Call("tool_search", {"query": "spawn an agent, wait for an agent", "limit": 20})
        if len(request.results) == 1:
            return Call("spawn_agent", {"message": task}, "multi_agent_v1")
        if len(request.results) == 2:
            started = json.loads(request.results[1])["agent_id"]
            return Call("wait_agent", {"targets": [started], "timeout_ms": 60_000}, "multi_agent_v1")
        return None

    def settings(self, home: Path, project: Path) -> list[Path]:
        """The files that `install` writes to, by default."""
        return [home / ".codex" / "hooks.json", home / ".codex" / "config.toml"]


Client = ClaudeCode | Codex


def delegating(client: Client, prompt: str, task: str, found: str, answer: str) -> Script:
    """A model that has a sub-agent do a task for a prompt: the sub-agent says what it found, the model answers."""

    def script(request: Request) -> Reply:
        if not any(part.role == "user" and prompt in part.text for part in request.parts):
            return Say(found)
        return client.delegates(task, request) or Say(answer)

    return script


CLIENTS: tuple[Client, ...] = (ClaudeCode(), Codex())
