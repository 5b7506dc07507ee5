"""The tool that hooks call, and its input in an agent's settings. An event is answered by hook_events.py.

    {"type": "mcp_tool", "server": "knowbound", "tool": "hook_event", "input": {…}}

The tool is not listed: agents cannot call it (tests/agents/test_late_injection.py).
"""

from __future__ import annotations

import _thread

from knowbound.agent.mcp.protocol import McpTool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.agent.mcp.hook_events import HookServer
    from knowbound.agent.mcp.protocol import Json, Later

NAME = "hook_event"
LAYOUT = 1  # of the input; another is of another version, whose process answers
# The fields of an event that each client fills in. Codex drops a hook with a field that it does not know.
_ALWAYS = {
    "claude-code": ("session_id", "transcript_path", "cwd", "prompt_id", "agent_id"),
    "codex": ("session_id", "transcript_path", "cwd", "turn_id"),
}
_FIELDS: dict[str, tuple[str, ...]] = {
    "UserPromptSubmit": ("prompt",),
    "PostToolUse": ("tool_name", "tool_input", "tool_response", "tool_use_id"),
    "PostToolUseFailure": ("tool_name", "tool_input", "error", "tool_use_id"),
    "Stop": ("stop_hook_active", "last_assistant_message"),
}
_ONLY_IN = {("claude-code", "Stop"): ("background_tasks",)}


def input_of(agent: str, event: str) -> Json:
    """Return the input of a hook in an agent's settings."""
    names = (*_ALWAYS[agent], *_FIELDS[event], *_ONLY_IN.get((agent, event), ()))
    return {"layout": LAYOUT, "agent": agent, "event": event} | {name: f"${{{name}}}" for name in names}


class HookTool(McpTool):
    """The tool of one server, which serves the sessions of one client."""

    def __init__(self) -> None:
        super().__init__(NAME, "", {"type": "object"}, {}, self._answered, prepare=lambda: self._server().warm_up())
        self._servers: list[HookServer] = []
        self._making = _thread.allocate_lock()

    def end(self) -> None:
        """Answer no more events, and do what is left of the answered ones."""
        if self._servers:
            self._servers[0].end()

    def _server(self) -> HookServer:
        from knowbound.agent.mcp.hook_events import HookServer  # noqa: PLC0415  # after the client has its tools

        with self._making:
            if not self._servers:
                self._servers.append(HookServer())
        return self._servers[0]

    def _answered(self, values: Json, meta: Json, later: Later) -> Json:
        try:
            return self._server().answered(values, meta, later)
        except Exception:  # a hook says nothing rather than an error
            return {}
