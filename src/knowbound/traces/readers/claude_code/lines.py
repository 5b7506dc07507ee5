"""Lines of a Claude Code transcript as typed values."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from knowbound.traces.values import UNDECODABLE, concatenated, decode, lenient, token_count

_NOTHING = Raw()


class ContentBlock(msgspec.Struct, gc=False):
    """One content block: text, tool_use, tool_result, thinking, image."""

    type: str = ""
    text: str | None = None
    id: str = ""
    name: str = ""
    input: Raw = _NOTHING
    tool_use_id: str = ""
    content: Raw = _NOTHING
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
    agent_id: str | None = None
    type: str = ""
    message: ApiMessage | None = None
    data: Raw = _NOTHING
    attachment: Raw = _NOTHING
    is_meta: bool | None = None
    is_api_error_message: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_compact_summary: bool | None = None
    uuid: str | None = None
    timestamp: str | None = None
    tool_use_result: Raw = _NOTHING


class AgentMessage(msgspec.Struct, gc=False, rename="camel"):
    """A sub-agent's message inside an `agent_progress` line."""

    type: str = ""
    uuid: str | None = None
    timestamp: str | None = None
    message: ApiMessage | None = None
    tool_use_result: Raw = _NOTHING


class Progress(msgspec.Struct, gc=False, rename="camel"):
    """The `data` of an `agent_progress` line."""

    type: str = ""
    agent_id: str | None = None
    message: AgentMessage | None = None


class GrepResult(msgspec.Struct, gc=False, rename="camel"):
    """`toolUseResult` of Grep and Glob. In content mode `numFiles` may be 0 although lines matched."""

    filenames: list[str] | None = None
    num_lines: int | None = None
    num_matches: int | None = None
    content: str | None = None


class ShellResult(msgspec.Struct, gc=False, rename="camel"):
    """`toolUseResult` of Bash."""

    stdout: str = ""
    stderr: str = ""
    interrupted: bool = False
    background_task_id: str | None = None
    return_code_interpretation: str | None = None


class AgentResult(msgspec.Struct, gc=False, rename="camel"):
    """`toolUseResult` of Task, Agent and Skill."""

    agent_id: str | None = None
    command_name: str | None = None
    success: bool | None = None


decode_grep = msgspec.json.Decoder(GrepResult).decode
decode_shell = msgspec.json.Decoder(ShellResult).decode
decode_agent = msgspec.json.Decoder(AgentResult).decode
decode_progress = msgspec.json.Decoder(Progress).decode
decode_line = msgspec.json.Decoder(TranscriptLine).decode  # for ordinary lines; `decode_lines` is for any line


def decode_lines(raw: bytes) -> list[TranscriptLine]:
    """Decode a line, or several that a client wrote onto one; ValueError with the reason if there is none."""
    try:
        return [decode_line(raw)]
    except UNDECODABLE:
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


def first_byte(raw: Raw) -> bytes:
    """Return the first byte of an undecoded value, which shows its JSON type without a copy."""
    return memoryview(raw)[:1].tobytes()


def text_of(raw: Raw) -> str:
    """Return the text of a result: a string, or the text parts of a list."""
    if not first_byte(raw):
        return ""
    try:
        value = msgspec.json.decode(raw)
    except UNDECODABLE:
        return bytes(raw).decode("utf-8", "replace")
    return _flat_text(value)


def _flat_text(value: Any) -> str:
    """Return the text of a JSON value: of lists joined, of objects their `text`, or else JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(part for part in map(_flat_text, value) if part)
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            return str(value["text"])
        if value.get("type") in ("image", "document", "tool_reference"):
            return f"[{value['type']}]"
        return msgspec.json.encode(value).decode()
    return str(value)
