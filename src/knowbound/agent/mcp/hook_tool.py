"""The tool that hooks call: it answers an event of the running agent, and no process starts for it.

    {"type": "mcp_tool", "server": "knowbound", "tool": "hook_event", "input": {…}}      in an agent's settings

Clients call it for every tool event, so most calls end after a look for two files. The tool is not listed: agents
cannot call it (tests/agents/test_late_injection.py). It delivers what a model answered meanwhile (injection/late.py):
the items that it chose for the turn's prompt, the place that a miss meant. Once, and only to the main agent, whose
events have no `agent_id`. Every failure means that nothing is said.
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
from knowbound.store.data_dir import RESCUES, data_folder
from knowbound.store.owner import is_usable
from knowbound.traces.tools import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowbound.agent.mcp.protocol import Json, Later
    from knowbound.injection.late import LateAnswer

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
    if kind_of(str(values.get("tool_name"))) is ToolKind.EDIT:
        edited[prompt.turn] = None
        if len(edited) > _MOST_TURNS:
            edited.pop(next(iter(edited)))
    home = next((one for one in _homes(prompt.cwd) if late.is_kept(one, prompt.context, prompt.turn)), "")
    if not home or not is_usable(home):  # the look for the file costs less
        return {}
    texts = [
        _rescue(home, prompt, one, later) if one.kind == late.RESCUE else _items(home, prompt, one, edited, later)
        for one in late.claim(home, prompt.context, prompt.turn)
    ]
    text = "\n\n".join(filter(None, texts))
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}} if text else {}


def _homes(cwd: str) -> Iterator[str]:
    """Yield the data folders of the agent's folder and of the server's: an agent may leave its project for a while."""
    found = data_folder(cwd)[1] if cwd else ""
    if found:
        yield found
    try:
        own = data_folder(os.getcwd())[1]
    except OSError:  # the folder was removed
        return
    if own and own != found:
        yield own


def _items(home: str, prompt: HookPrompt, choice: LateAnswer, edited: dict[str, None], later: Later) -> str:
    """Return the bundle of what is new to the context, "" for nothing. Raises OSError if it cannot be recorded.

    The delivery is recorded before the answer is sent, and again when it was.
    """
    from knowbound.injection.bundle import compose  # noqa: PLC0415  # most calls deliver nothing
    from knowbound.injection.choosing import item_from_json  # noqa: PLC0415

    items = contexts.new_to_context(home, prompt.context, [item_from_json(row) for row in choice.items])
    bundle = compose(items, budget=choice.budget)
    if not bundle.items:
        return ""
    ms = round((time.time() - choice.asked) * 1000)
    after_edit = {"late_after_edit": True} if prompt.turn in edited else {}
    add_to_record(home, choice.record, {"late_ms": ms} | after_edit)

    def sent() -> None:
        contexts.remember(home, prompt.context, [contexts.item_key(item) for item in bundle.items])
        add_to_record(home, choice.record, {"late_delivered": True})

    later.append(sent)
    return bundle.text


def _rescue(home: str, prompt: HookPrompt, answer: LateAnswer, later: Later) -> str:
    """Return the sentence about a miss, "" if the context has its places. Raises OSError if it cannot be recorded."""
    if set(answer.keys) <= contexts.keys_of(home, prompt.context):
        return ""
    now = time.time()
    at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03}Z"
    add_to_record(home, answer.record, {"late_at": at, "late_ms": round((now - answer.asked) * 1000)}, RESCUES)

    def sent() -> None:
        contexts.remember(home, prompt.context, answer.keys)
        add_to_record(home, answer.record, {"delivered": True}, RESCUES)

    later.append(sent)
    return answer.text
