"""The tool that hooks call: it answers an event of the running agent, and no process starts for it.

    {"type": "mcp_tool", "server": "knowbound", "tool": "hook_event", "input": {…}}      in an agent's settings

Clients call it for every tool event, so most calls end after a look for one file. The tool is not listed: agents cannot
call it (tests/agents/test_late_injection.py). It delivers what a model chose for the turn's prompt meanwhile: once, and
only to the main agent, whose events have no `agent_id`. Every failure means that nothing is said.
"""

from __future__ import annotations

import os
import time

from knowbound.agent.mcp.protocol import McpTool
from knowbound.agent.switch import is_off
from knowbound.core.tool_kinds import ToolKind
from knowbound.injection import contexts, late
from knowbound.injection.prompt import HookPrompt
from knowbound.injection.record import add_to_record
from knowbound.store.data_dir import data_folder
from knowbound.store.owner import is_usable
from knowbound.traces.tools import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.agent.mcp.protocol import Json, Later
    from knowbound.injection.late import LateChoice

NAME = "hook_event"
# The events that take context, as both clients name them, and the fields that each client fills in. Codex drops a hook
# with a field that it does not know, and gives sub-agents turns of their own.
EVENTS = {"claude-code": ("PostToolUse", "PostToolUseFailure"), "codex": ("PostToolUse",)}
FIELDS = {
    "claude-code": ("session_id", "prompt_id", "agent_id", "cwd", "tool_name"),
    "codex": ("session_id", "turn_id", "cwd", "tool_name"),
}
_MOST_TURNS = 1_000  # with edits, that are remembered


def hook_tool() -> McpTool:
    """Return the tool for one server, which serves the sessions of one client."""
    edited: dict[str, None] = {}  # turns in which the agent has edited a file

    def run(values: Json, _meta: Json, later: Later) -> Json:
        try:
            return _answer(values, edited, later)
        except Exception:  # a hook says nothing rather than an error
            return {}

    return McpTool(NAME, "", {"type": "object"}, {}, run, is_for_hooks=True)


def _answer(values: Json, edited: dict[str, None], later: Later) -> Json:
    event, prompt = values.get("event"), HookPrompt(values)
    if is_off() or prompt.agent_id or not (event and prompt.context and prompt.turn):
        return {}
    answer = {}
    for folder in dict.fromkeys((prompt.cwd, os.getcwd())):  # an agent may work outside its project for a while
        _, home = data_folder(folder) if folder else ("", "")
        if home and is_usable(home) and (choice := late.claim(home, prompt.context, prompt.turn)):
            _deliver(home, prompt, choice, prompt.turn in edited, later)
            answer = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": choice.text}}
            break
    if kind_of(str(values.get("tool_name"))) is ToolKind.EDIT:
        edited[prompt.turn] = None
        if len(edited) > _MOST_TURNS:
            edited.pop(next(iter(edited)))
    return answer


def _deliver(home: str, prompt: HookPrompt, choice: LateChoice, is_after_edit: bool, later: Later) -> None:
    """Record the delivery: before the answer is sent, and again when it was. Raises OSError."""
    ms = round((time.time() - choice.prompted) * 1000)
    add_to_record(home, choice.record, {"late_ms": ms} | ({"late_after_edit": True} if is_after_edit else {}))

    def sent() -> None:
        contexts.remember(home, prompt.context, choice.keys)
        add_to_record(home, choice.record, {"late_delivered": True})

    later.append(sent)
