"""How a Claude Code tool call ended: from the structured `toolUseResult` first, from the text otherwise."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from knowbound.core.trace import Outcome, ToolCall, ToolKind
from knowbound.traces.calls import finish_call
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

_SHOWN_STDOUT = 100_000  # characters of a command's output that are looked at


def plain(content: str | list[ContentBlock] | None) -> str:
    """The text blocks of a message, joined."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content or () if block.type == "text" and block.text)


def answered(id_: str, call: PendingCall, block: ContentBlock, result: Raw, folder: str) -> ToolCall:
    """A call with its result; `folder` is where the agent works."""
    name, input_, line = call.name, call.input, call.line
    is_error = bool(block.is_error)
    structured = first_byte(result) == b"{" and not is_error
    if structured:
        try:
            return _from_structure(id_, name, input_, line, result, block, folder)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass  # a shape we do not know: the text decides
    text = text_of(block.content)
    if is_error:
        text = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    return finish_call(id_, name, input_, text, is_error=is_error, folder=folder, line=line)


def _from_structure(
    id_: str, name: str, input_: dict[str, Any], line: int, result: Raw, block: ContentBlock, folder: str
) -> ToolCall:
    if name in ("Grep", "Glob"):
        return _search(id_, name, input_, line, result, folder)
    if name == "Bash":
        return _shell(id_, name, input_, line, result, folder)
    if name in ("Task", "Agent", "Skill"):
        agent = decode_agent(result)
        call = finish_call(id_, name, input_, "", line=line, undecoded=partial(text_of, block.content))
        query = (agent.command_name or str(input_.get("skill") or "")) if name == "Skill" else call.query
        failed = name == "Skill" and agent.success is False
        return msgspec.structs.replace(
            call, agent_id=agent.agent_id or "", query=query, outcome=Outcome.ERROR if failed else Outcome.OK
        )
    kind = kind_of(name)
    if kind in (ToolKind.READ, ToolKind.EDIT):
        shown = partial(text_of, block.content) if kind is ToolKind.READ else None
        return finish_call(id_, name, input_, "", outcome=(Outcome.OK, ""), kind=kind, line=line, undecoded=shown)
    return finish_call(id_, name, input_, text_of(block.content), kind=kind, line=line)


def _search(id_: str, name: str, input_: dict[str, Any], line: int, result: Raw, folder: str) -> ToolCall:
    found = decode_grep(result)
    hits = bool(found.filenames or found.num_lines or found.num_matches or (found.content or "").strip())
    outcome = (Outcome.OK, "") if hits else (Outcome.EMPTY, f"{name} matched nothing")
    output = "\n".join((*(found.filenames or ()), found.content or ""))
    return finish_call(id_, name, input_, output, outcome=outcome, folder=folder, line=line)


def _shell(id_: str, name: str, input_: dict[str, Any], line: int, result: Raw, folder: str) -> ToolCall:
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
    call = finish_call(id_, name, input_, shown, exit_code=exit_code, outcome=outcome, folder=folder, line=line)
    is_left = bool(ran.background_task_id) and not ran.interrupted
    return msgspec.structs.replace(call, is_in_background=True) if is_left else call
