"""Outcome of a Claude Code tool call: from the structured `toolUseResult` first, then from the text."""

from __future__ import annotations

from functools import partial

import msgspec
from msgspec import Raw

from knowbound.core.trace import Outcome, ToolCall, ToolKind
from knowbound.traces.calls import finish_call
from knowbound.traces.outcome import SUCCESS
from knowbound.traces.readers.claude_code.lines import (
    ContentBlock,
    decode_agent,
    decode_grep,
    decode_shell,
    first_byte,
    text_of,
)
from knowbound.traces.steps import PendingCall
from knowbound.traces.tools import kind_of
from knowbound.traces.values import UNDECODABLE

_SHOWN_STDOUT = 100_000  # characters kept of a command's output


def plain(content: str | list[ContentBlock] | None) -> str:
    """Return the text blocks of a message, joined."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content or () if block.type == "text" and block.text)


def answered(id_: str, call: PendingCall, block: ContentBlock, result: Raw, folder: str) -> ToolCall:
    """Return a call with its result; `folder` is the agent's working folder."""
    is_error = bool(block.is_error)
    if first_byte(result) == b"{" and not is_error:
        try:
            return _from_structure(id_, call, block, result, folder)
        except UNDECODABLE:
            pass  # an unknown structure: the text decides
    text = text_of(block.content)
    if is_error:
        text = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    return finish_call(id_, call.name, call.input, text, is_error=is_error, folder=folder, line=call.line)


def _from_structure(id_: str, call: PendingCall, block: ContentBlock, result: Raw, folder: str) -> ToolCall:
    name, input_, line = call.name, call.input, call.line
    if name in ("Grep", "Glob"):
        return _search(id_, call, result, folder)
    if name == "Bash":
        return _shell(id_, call, result, folder)
    if name in ("Task", "Agent", "Skill"):
        agent = decode_agent(result)
        ended = finish_call(id_, name, input_, "", line=line, undecoded=partial(text_of, block.content))
        query = (agent.command_name or str(input_.get("skill") or "")) if name == "Skill" else ended.query
        failed = name == "Skill" and agent.success is False
        return msgspec.structs.replace(
            ended, agent_id=agent.agent_id or "", query=query, outcome=Outcome.ERROR if failed else Outcome.OK
        )
    kind = kind_of(name)
    if kind in (ToolKind.READ, ToolKind.EDIT):
        shown = partial(text_of, block.content) if kind is ToolKind.READ else None
        return finish_call(id_, name, input_, "", outcome=SUCCESS, kind=kind, line=line, undecoded=shown)
    return finish_call(id_, name, input_, text_of(block.content), kind=kind, line=line)


def _search(id_: str, call: PendingCall, result: Raw, folder: str) -> ToolCall:
    found = decode_grep(result)
    hits = bool(found.filenames or found.num_lines or found.num_matches or (found.content or "").strip())
    outcome = SUCCESS if hits else (Outcome.EMPTY, f"{call.name} matched nothing")
    output = "\n".join((*(found.filenames or ()), found.content or ""))
    return finish_call(id_, call.name, call.input, output, outcome=outcome, folder=folder, line=call.line)


def _shell(id_: str, call: PendingCall, result: Raw, folder: str) -> ToolCall:
    ran = decode_shell(result)
    outcome = None
    if ran.interrupted:
        outcome = (Outcome.CANCELLED, "interrupted")
    elif ran.background_task_id:
        outcome = (Outcome.UNKNOWN, "left to the background: its output is not in the call")
    output = f"{ran.stdout}\n{ran.stderr}" if ran.stderr else ran.stdout
    # "No matches found" is the client's reading of grep's exit status 1.
    exit_code = 1 if ran.return_code_interpretation == "No matches found" else 0
    shown = output[:_SHOWN_STDOUT]
    ended = finish_call(
        id_, call.name, call.input, shown, exit_code=exit_code, outcome=outcome, folder=folder, line=call.line
    )
    is_left = bool(ran.background_task_id) and not ran.interrupted
    return msgspec.structs.replace(ended, is_in_background=True) if is_left else ended
