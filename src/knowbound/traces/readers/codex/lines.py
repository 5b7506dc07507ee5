"""Lines of a Codex rollout as typed values, with their calls and results.

A result is text under a header ("Exit code: 1", "Process exited with code 0", "Wall time: …"), JSON text
`{"output", "metadata": {"exit_code"}}`, a list of parts, or `{"content", "success"}`.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, field

from knowbound.core.trace import ToolCall
from knowbound.traces.calls import finish_call
from knowbound.traces.dialogue import as_input, as_text, text_in
from knowbound.traces.outcome import SUCCESS
from knowbound.traces.readers.codex import script
from knowbound.traces.steps import PendingCall
from knowbound.traces.values import NOTHING, line_decoder, object_of, token_count, value_of

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call"})
RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})

# Header that the client puts before the output of a shell or MCP call.
_HEADER = re.compile(
    r"\A(?=Chunk ID|Exit code|Wall time|Process )(?:Chunk ID: \w+\n)?(?:Exit code: (?P<code>-?\d{1,9})\n)?"
    r"(?:Wall time: [^\n]*\n)?"
    r"(?:Process exited with code (?P<exited>-?\d{1,9})\n|Process running with session ID (?P<running>\d+)\n)?"
    r"(?:Original token count: \d+\n)?(?:Total output lines: \d+\n)?Output:(?:\n|\Z)"
)
# Messages of the client in place of an output.
_CLIENT_ERROR = re.compile(
    r"\s*(?:aborted by user|rejected|unsupported (?:custom tool )?call|unable to |failed (?:to|in) |err(?:or)?:"
    r"|tool call (?:failed|error)|(?:exec_command|write_stdin|apply_patch|resources/\w+)\b[^\n]{0,40}\bfailed"
    r"|patch (?:rejected|failed)|execution error|sandbox (?:denied|error)|user (?:rejected|cancelled)|no such )",
    re.IGNORECASE,
)


class _TokenUsage(msgspec.Struct, gc=False):
    """Tokens of a response."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0


class _TokenInfo(msgspec.Struct, gc=False):
    """The `info` of a `token_count` event."""

    last_token_usage: _TokenUsage | None = None

    @property
    def new_tokens(self) -> int | None:
        """Tokens written, and read for the first time; None if these are no numbers of tokens."""
        last = self.last_token_usage
        return token_count(last.input_tokens - last.cached_input_tokens + last.output_tokens) if last else None


class Payload(msgspec.Struct, gc=False):
    """Payload of a line: the fields that the reader needs."""

    type: str = ""
    role: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    arguments: Raw = NOTHING
    input: Raw = NOTHING
    output: Raw = NOTHING
    content: Raw = NOTHING
    action: Raw = NOTHING
    tools: Raw = NOTHING
    status: str | None = None
    message: Raw = NOTHING
    reason: str | None = None
    error: Raw = NOTHING
    result: Raw = NOTHING
    session_id: str | None = None
    parent_thread_id: str | None = None
    source: Raw = NOTHING
    cwd: str | None = None
    cli_version: str | None = None
    git: Raw = NOTHING
    info: _TokenInfo | None = None
    turn_id: str | None = None
    model: str | None = None
    item: Raw = NOTHING
    metadata: Raw = field(default=NOTHING, name="internal_chat_message_metadata_passthrough")

    @property
    def branch(self) -> str:
        """The git branch of the working folder."""
        found = object_of(self.git).get("branch")
        return found if isinstance(found, str) else ""

    @property
    def part_kinds(self) -> list[str]:
        """Kinds of the parts of a message, if the client names them (0.166: `hooks.additional_context`, …)."""
        kinds = object_of(self.metadata).get("content_item_kinds")
        return [str(kind) for kind in kinds] if isinstance(kinds, list) else []


class RolloutLine(msgspec.Struct, gc=False):
    """A line. The oldest clients wrote items without a payload around them, and first `{id, timestamp, git}`."""

    type: str = ""
    timestamp: str | None = None
    payload: Payload | None = None
    id: str | None = None
    git: Raw = NOTHING
    instructions: Raw = NOTHING

    @property
    def is_bare_meta(self) -> bool:
        """True for the first line of a rollout of the oldest clients."""
        return bool(not self.type and self.id and self.timestamp and (self.git or self.instructions))


decode_line = line_decoder(RolloutLine)
decode_bare = line_decoder(Payload)


class CallOutput(NamedTuple):
    """The result of a call without the client's header."""

    text: str
    exit_code: int | None = None
    running: str = ""  # the shell or cell of a command that has not ended
    failed: bool = False


def whose(meta: Payload) -> tuple[str, str]:
    """Return the session and the sub-agent ("" for the main agent, whose session a sub-agent's rollout names)."""
    own = meta.id or meta.session_id or ""
    spawn = object_of(meta.source).get("subagent")
    spawned = spawn.get("thread_spawn") if isinstance(spawn, dict) else None
    parent = meta.parent_thread_id or (text_in(spawned, "parent_thread_id") if isinstance(spawned, dict) else "")
    if not parent:
        return own, ""
    return (meta.session_id if meta.session_id and meta.session_id != own else parent), own


def failure_of_turn(event: Payload) -> str:
    """Return the reason why the agent failed; "" if the turn ended normally or the user stopped it."""
    if event.type in ("error", "stream_error"):
        return as_text(value_of(event.message)) or event.type
    if event.type == "turn_aborted":
        return event.reason or "" if re.search(r"error|fail", event.reason or "", re.IGNORECASE) else ""
    return as_text(value_of(event.error))


def texts_of(message: Payload) -> list[str]:
    """Return the text parts of a message."""
    content = value_of(message.content)
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return [text for text in texts if isinstance(text, str)]


def request_of(item: Payload, number: int) -> PendingCall:
    """Return the call that an item asks for; the command of a shell call becomes one string."""
    name = item.name or item.type.removesuffix("_call")
    if item.namespace:
        name = f"{item.namespace}__{name.lstrip('_')}"
    if item.type == "custom_tool_call":
        text = as_text(value_of(item.input))
        if name == "exec" and (call := script.call_of(text)):
            return PendingCall(call.name, call.input, number)
        return PendingCall(name, {"input": text}, number)
    given = item.action if item.type in ("local_shell_call", "web_search_call") else item.arguments
    return PendingCall(name, _argv_joined(as_input(value_of(given))), number)


def _argv_joined(input_: dict[str, Any]) -> dict[str, Any]:
    """Join the command of an input: `["bash", "-lc", "rg x"]` becomes `rg x`, any other argv is quoted."""
    argv = input_.get("command")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        return input_
    wrapped = len(argv) == 3 and re.fullmatch(r"-l?c|-Command", argv[1])
    return {**input_, "command": argv[2] if wrapped else shlex.join(argv)}


def result_of(item: Payload) -> CallOutput:
    """Return the output of a call with its exit code, from any of the shapes of a result."""
    if item.type == "tool_search_output":
        return CallOutput(as_text(value_of(item.tools)))
    output = value_of(item.output)
    failed = isinstance(output, dict) and output.get("success") is False
    text = as_text(output.get("content") if isinstance(output, dict) else output)
    if printed := script.output_of(text):
        return CallOutput(*printed)
    if text.startswith('{"output":'):
        outer = object_of(text)
        metadata = outer.get("metadata")
        if isinstance(metadata, dict):
            code = metadata.get("exit_code")
            return CallOutput(as_text(outer.get("output")), code if isinstance(code, int) else None, "", failed)
    header = _HEADER.match(text)
    if header is None:
        return CallOutput(_parts_joined(text), None, "", failed or bool(_CLIENT_ERROR.match(text)))
    code = header["code"] or header["exited"]
    return CallOutput(_parts_joined(text[header.end() :]), int(code) if code else None, header["running"] or "", failed)


def _parts_joined(text: str) -> str:
    """Return the text of parts that some clients write as JSON text."""
    return as_text(value_of(text)) or text if text.startswith('[{"type":') else text


def mcp_ended(event: Payload) -> tuple[str, bool] | None:
    """Return the MCP call that an event ends, and whether it failed; None for other events."""
    if event.type == "mcp_tool_call_end":
        value = object_of(event.result)
        good = value.get("Ok")
        failed = "Err" in value or (isinstance(good, dict) and good.get("isError") is True)
        return event.call_id or "", failed
    item = object_of(event.item) if event.type == "item_completed" else {}
    return (text_in(item, "id"), item.get("status") == "failed") if item.get("type") == "McpToolCall" else None


def searched_web(id_: str, request: PendingCall, status: str | None) -> ToolCall:
    """Return a web search, which runs at the model's provider: the trace only shows that it ended."""
    queries = request.input.get("queries")
    input_ = request.input if request.input.get("query") or not queries else {**request.input, "query": queries}
    done = SUCCESS if status == "completed" else None
    return finish_call(id_, request.name, input_, None, outcome=done, line=request.line)
