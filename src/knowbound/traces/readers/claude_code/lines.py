"""Lines of a Claude Code transcript as typed values, with the results of its calls.

Typed decoding skips unneeded fields; a line that does not fit the types is read field by field.
The outcome of a call comes from the structured `toolUseResult` first, then from the text.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from knowbound.core.trace import Author, Outcome, ToolCall, ToolKind
from knowbound.traces.calls.finish import finish_call
from knowbound.traces.calls.outcome import SUCCESS
from knowbound.traces.calls.tools import kind_of
from knowbound.traces.dialogue import PendingCall
from knowbound.traces.values import NOTHING, UNDECODABLE, concatenated, decode, lenient, token_count

_KEPT_STDOUT = 100_000  # characters kept of a command's output


class ContentBlock(msgspec.Struct, gc=False):
    """One content block: text, tool_use, tool_result, thinking, image."""

    type: str = ""
    text: str | None = None
    id: str = ""
    name: str = ""
    input: Raw = NOTHING
    tool_use_id: str = ""
    content: Raw = NOTHING
    is_error: bool | None = None


class Usage(msgspec.Struct, gc=False):
    """Tokens of a message; `cache_read_input_tokens` were read before."""

    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    output_tokens: int = 0

    @property
    def new_tokens(self) -> int | None:
        """Tokens written, and read for the first time; None if these are no numbers of tokens."""
        return token_count(self.input_tokens + self.cache_creation_input_tokens + self.output_tokens)


class ApiMessage(msgspec.Struct, gc=False):
    """The API message inside a line; one message is often spread over several lines."""

    content: str | list[ContentBlock] | None = None
    id: str | None = None
    model: str | None = None
    usage: Usage | None = None


class TranscriptLine(msgspec.Struct, gc=False, rename="camel"):
    """A line: the fields that the reader needs, in the order of the clients, which decodes fastest."""

    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    prompt_id: str | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    git_branch: str | None = None
    agent_id: str | None = None
    type: str = ""
    message: ApiMessage | None = None
    data: Raw = NOTHING
    attachment: Raw = NOTHING
    is_meta: bool | None = None
    is_api_error_message: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_compact_summary: bool | None = None
    uuid: str | None = None
    timestamp: str | None = None
    tool_use_result: Raw = NOTHING
    prompt_source: str | None = None  # typed, queued; system, sdk
    session_kind: str | None = None  # bg: handed off to the background
    entrypoint: str | None = None  # cli, claude-vscode; sdk-cli, sdk-py, …

    @property
    def author(self) -> Author:
        """Whoever wrote the prompt of this line, as far as the client says so."""
        if self.session_kind == "bg" or self.prompt_source in ("system", "sdk"):  # "bg": in the background
            return Author.PROGRAM
        if self.prompt_source in ("typed", "queued"):
            return Author.PERSON
        return Author.PROGRAM if (self.entrypoint or "").startswith("sdk") else Author.UNKNOWN


class Progress(msgspec.Struct, gc=False, rename="camel"):
    """The `data` of an `agent_progress` line."""

    type: str = ""
    agent_id: str | None = None
    message: TranscriptLine | None = None  # of the sub-agent


class _GrepResult(msgspec.Struct, gc=False, rename="camel"):
    """`toolUseResult` of Grep and Glob. In content mode `numFiles` may be 0 although lines matched."""

    filenames: list[str] | None = None
    num_lines: int | None = None
    num_matches: int | None = None
    content: str | None = None


class _ShellResult(msgspec.Struct, gc=False, rename="camel"):
    """`toolUseResult` of Bash."""

    stdout: str = ""
    stderr: str = ""
    interrupted: bool = False
    background_task_id: str | None = None
    return_code_interpretation: str | None = None


class _AgentResult(msgspec.Struct, gc=False, rename="camel"):
    """`toolUseResult` of Task, Agent and Skill."""

    agent_id: str | None = None
    command_name: str | None = None
    success: bool | None = None


_decode_grep = msgspec.json.Decoder(_GrepResult).decode
_decode_shell = msgspec.json.Decoder(_ShellResult).decode
_decode_agent = msgspec.json.Decoder(_AgentResult).decode
decode_progress = msgspec.json.Decoder(Progress).decode
decode_line = msgspec.json.Decoder(TranscriptLine).decode  # for ordinary lines; `decode_lines` is for any line


def decode_lines(raw: bytes) -> list[TranscriptLine]:
    """Decode a line, or several that a client wrote onto one; ValueError with the reason if there is none."""
    try:
        return [decode_line(raw)]  # as nearly every line
    except UNDECODABLE:  # several lines, or fields of other types
        pass
    try:
        values = [decode(raw.strip())]
    except ValueError as reason:
        try:
            values = list(concatenated(raw.decode("utf-8", "replace")))
        except ValueError:
            raise reason from None
    lines = [lenient(TranscriptLine, value) for value in values if isinstance(value, dict)]
    if not lines:
        raise ValueError("foreign")
    return lines


def _first_byte(raw: Raw) -> bytes:
    """Return the first byte of an undecoded value, which shows its JSON type without a copy."""
    return memoryview(raw)[:1].tobytes()


def text_of(raw: Raw) -> str:
    """Return the text of a result: a string, or the text parts of a list."""
    if not _first_byte(raw):
        return ""
    try:
        value = msgspec.json.decode(raw)
    except UNDECODABLE:
        return bytes(raw).decode("utf-8", "replace")
    return flat_text(value)


def flat_text(value: Any) -> str:
    """Return the text of a JSON value: of lists joined, of objects their `text`, or else JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(part for part in map(flat_text, value) if part)
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            return str(value["text"])
        if value.get("type") in ("image", "document", "tool_reference"):
            return f"[{value['type']}]"
        return msgspec.json.encode(value).decode()
    return str(value)


# ---- results of calls


def joined_text_blocks(content: str | list[ContentBlock] | None) -> str:
    """Return the text blocks of a message, joined."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content or () if block.type == "text" and block.text)


def call_with_result(id_: str, call: PendingCall, block: ContentBlock, result: Raw, folder: str) -> ToolCall:
    """Return a call with its result; `folder` is the agent's working folder."""
    is_error = bool(block.is_error)
    if _first_byte(result) == b"{" and not is_error:
        try:
            return _from_structure(id_, call, block, result, folder)
        except UNDECODABLE:
            pass  # an unknown structure: the text decides
    text = text_of(block.content)
    if is_error:
        text = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    return finish_call(id_, call.name, call.input, text, is_error=is_error, folder=folder, line=call.line)


def _from_structure(id_: str, call: PendingCall, block: ContentBlock, result: Raw, folder: str) -> ToolCall:
    """Return a call that did not fail, by its `toolUseResult`; the text decides for tools without a known structure."""
    name, input_, line = call.name, call.input, call.line
    if name in ("Grep", "Glob"):
        return _search(id_, call, result, folder)
    if name == "Bash":
        return _shell(id_, call, result, folder)
    if name in ("Task", "Agent", "Skill"):
        agent = _decode_agent(result)
        ended = finish_call(id_, name, input_, "", line=line, undecoded=partial(text_of, block.content))
        query = (agent.command_name or str(input_.get("skill") or "")) if name == "Skill" else ended.query
        failed = name == "Skill" and agent.success is False  # a sub-agent has no such flag
        return msgspec.structs.replace(
            ended, agent_id=agent.agent_id or "", query=query, outcome=Outcome.ERROR if failed else Outcome.OK
        )
    kind = kind_of(name)
    if kind in (ToolKind.READ, ToolKind.EDIT):
        shown = partial(text_of, block.content) if kind is ToolKind.READ else None
        return finish_call(id_, name, input_, "", outcome=SUCCESS, kind=kind, line=line, undecoded=shown)
    return finish_call(id_, name, input_, text_of(block.content), kind=kind, line=line)


def _search(id_: str, call: PendingCall, result: Raw, folder: str) -> ToolCall:
    """Return a call of Grep or Glob by its `toolUseResult`."""
    result_fields = _decode_grep(result)
    has_hits = bool(
        result_fields.filenames
        or result_fields.num_lines
        or result_fields.num_matches
        or (result_fields.content or "").strip()
    )
    outcome = SUCCESS if has_hits else (Outcome.EMPTY, f"{call.name} matched nothing")
    output = "\n".join((*(result_fields.filenames or ()), result_fields.content or ""))
    return finish_call(id_, call.name, call.input, output, outcome=outcome, folder=folder, line=call.line)


def _shell(id_: str, call: PendingCall, result: Raw, folder: str) -> ToolCall:
    """Return a call of Bash by its `toolUseResult`."""
    ran = _decode_shell(result)
    outcome = None
    if ran.interrupted:
        outcome = (Outcome.CANCELLED, "interrupted")
    elif ran.background_task_id:
        outcome = (Outcome.UNKNOWN, "left to the background: its output is not in the call")
    output = f"{ran.stdout}\n{ran.stderr}" if ran.stderr else ran.stdout
    # "No matches found" is the client's reading of grep's exit status 1.
    exit_code = 1 if ran.return_code_interpretation == "No matches found" else 0
    shown = output[:_KEPT_STDOUT]
    ended = finish_call(
        id_, call.name, call.input, shown, exit_code=exit_code, outcome=outcome, folder=folder, line=call.line
    )
    is_in_background = bool(ran.background_task_id) and not ran.interrupted
    return msgspec.structs.replace(ended, is_in_background=True) if is_in_background else ended
