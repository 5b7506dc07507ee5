"""The `codex` command line as an agent: `codex exec`, in its read-only sandbox, with a home of its own."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

import msgspec

from knowbound.core.signal import Injected
from knowbound.core.trace import Injection
from knowbound.evals.executor import Execution, Task
from knowbound.evals.executors.client import ClientExecutor
from knowbound.evals.executors.codex_home import carried_config, home_for_run, user_home
from knowbound.text.digest import digest_of
from knowbound.text.redact import excerpt
from knowbound.traces.readers.codex.rollout import Codex
from knowbound.traces.source import Tally

_EXCERPT = 500  # code points of an item that are kept, as of every injection


class CodexExecutor(ClientExecutor):
    """Runs `codex exec --json`. Its tools are its own: a sample cannot choose them."""

    client = "codex"
    help_of = ("exec",)

    def options(self, tools: tuple[str, ...] = (), usd: float | None = None) -> list[str]:
        """The arguments, with what this version of the client understands."""
        options = ["exec", "--json", "--sandbox", "read-only", "--skip-git-repo-check"]
        return options + (["--model", self.model] if self.model else [])

    def injecting(self) -> list[str]:
        """Our hooks, and that they run: nobody is there who could trust them."""
        hooks = [f"hooks.{event}=[{_table(command)}]" for event, command in self.hooks.items()]
        return ["--dangerously-bypass-hook-trust", *(word for hook in hooks for word in ("-c", hook))]

    def arguments(self, task: Task) -> list[str]:
        """All arguments for a task; `-`: the prompt is on the input."""
        return [*super().arguments(task), "-C", os.path.abspath(task.folder), "-"]

    @cached_property
    def version(self) -> str:
        """Also what is carried over of the user's config."""
        return f"{super().version} {digest_of([self._config])[:12]}"

    def run(self, task: Task) -> Execution:
        """Run the client for the task. What hooks injected is not in its stream: it is in the session that it keeps."""
        with home_for_run(task.output_dir, user_home(os.environ), self._config) as home:
            execution = self.run_client(task, {"CODEX_HOME": str(home)})
            injected = _injected(home) if task.inject else ()
        return msgspec.structs.replace(execution, injected=injected)

    @cached_property
    def _config(self) -> str:
        return carried_config(user_home(os.environ))


def _table(command: str) -> str:
    """A hook as Codex's config has it. A JSON text is a TOML string, too."""
    quoted = msgspec.json.encode(command).decode()
    return f'{{hooks=[{{type="command", command={quoted}, timeout=10}}]}}'


def _injected(home: Path) -> tuple[Injected, ...]:
    """The items in the sessions that a client kept in its home."""
    files = sorted((home / "sessions").rglob("rollout-*.jsonl"))
    found = [event for event in Codex().read(files, {}, Tally()) if isinstance(event, Injection) and event.item]
    return tuple(
        Injected(one.source, "", excerpt(one.content, _EXCERPT), len(one.content), one.line, one.item) for one in found
    )
