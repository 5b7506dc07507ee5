"""The lines of a Claude Code transcript as typed values.

Typed decoding skips what is not needed. Real lines vary: one that does not fit the types is decoded
untyped and taken over field by field, and counts as broken only when it is no JSON at all.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

_NOTHING = Raw()
L = TypeVar("L", bound=msgspec.Struct)


class Block(msgspec.Struct, gc=False):
    """One content block: text, tool_use, tool_result, thinking, image."""

    type: str = ""
    text: str | None = None
    id: str = ""
    name: str = ""
    input: Raw = _NOTHING
    tool_use_id: str = ""
    content: Raw = _NOTHING
    is_error: bool | None = None


class Message(msgspec.Struct, gc=False):
    """The API message inside a line; one message is often spread over several lines."""

    content: str | list[Block] | None = None
    id: str | None = None
    model: str | None = None


class Line(msgspec.Struct, gc=False, rename="camel"):
    """What is needed of any line, in the order in which clients write it: that is the quickest to decode."""

    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    agent_id: str | None = None
    type: str = ""
    message: Message | None = None
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
    message: Message | None = None
    tool_use_result: Raw = _NOTHING


class Progress(msgspec.Struct, gc=False, rename="camel"):
    """The `data` of an `agent_progress` line."""

    type: str = ""
    agent_id: str | None = None
    message: AgentMessage | None = None


class SearchResult(msgspec.Struct, gc=False, rename="camel"):
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


decode_search = msgspec.json.Decoder(SearchResult).decode
decode_shell = msgspec.json.Decoder(ShellResult).decode
decode_agent = msgspec.json.Decoder(AgentResult).decode
decode_progress = msgspec.json.Decoder(Progress).decode
decode_line = msgspec.json.Decoder(Line).decode  # the usual line; `decode_lines` takes any
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_decode_any = msgspec.json.Decoder().decode


class NotALineError(Exception):
    """Content that is no transcript line; the message is the reason it is counted under."""


def decode_lines(raw: bytes) -> list[Line]:
    """The line, or the lines where a client glued several onto one. Raises NotALineError with the reason."""
    try:
        return [decode_line(raw)]
    except UNDECODABLE:
        pass
    values = untyped(raw)
    lines = [lenient(Line, value) for value in values if isinstance(value, dict)]
    if not lines:
        raise NotALineError("foreign")
    return lines


def untyped(raw: bytes) -> list[Any]:
    """Every JSON value on the line, whatever its shape. Raises NotALineError when there is no whole one."""
    try:
        return [_decode_any(raw)]
    except RecursionError:
        raise NotALineError("broken") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    text = raw.decode("utf-8", "replace").strip()
    decoder, values, at = json.JSONDecoder(), [], 0
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            values.append(value)
            while at < len(text) and text[at].isspace():
                at += 1
    except (ValueError, RecursionError) as error:
        cut = (isinstance(error, json.JSONDecodeError) and error.pos >= len(text) - 1) or not text.endswith(("}", "]"))
        raise NotALineError("truncated" if cut and text[:1] in "{[" else "broken") from None
    return values


def lenient(kind: type[L], value: dict[str, Any]) -> L:
    """A line taken over field by field: what has the wrong type is left out, not the line."""
    line = kind()
    for spec in msgspec.structs.fields(kind):
        if spec.encode_name not in value:
            continue
        given = value[spec.encode_name]
        if spec.name == "message":
            setattr(line, spec.name, _lenient_message(given))
        elif spec.type is Raw:
            setattr(line, spec.name, _raw(given))
        elif isinstance(given, bool) if spec.name.startswith("is_") else isinstance(given, str):
            setattr(line, spec.name, given)
    return line


def _lenient_message(value: Any) -> Message | None:
    if not isinstance(value, dict):
        return None
    content = value.get("content")
    if isinstance(content, list):
        content = [_lenient_block(block) for block in content if isinstance(block, dict)]
    elif not isinstance(content, str):
        content = None
    return Message(content=content, id=_text(value.get("id")) or None, model=_text(value.get("model")) or None)


def _lenient_block(value: dict[str, Any]) -> Block:
    error = value.get("is_error")
    return Block(
        type=_text(value.get("type")),
        text=_text(value.get("text")),
        id=_text(value.get("id")),
        name=_text(value.get("name")),
        input=_raw(value.get("input")),
        tool_use_id=_text(value.get("tool_use_id")),
        content=_raw(value.get("content")),
        is_error=error if isinstance(error, bool) else None,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _raw(value: Any) -> Raw:
    try:
        return Raw(msgspec.json.encode(value))
    except UnicodeEncodeError:  # lone surrogates become "?"
        return Raw(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def first_byte(raw: Raw) -> bytes:
    """The first byte of a value that was not decoded: tells its JSON type without copying it."""
    return memoryview(raw)[:1].tobytes()


def text_of(raw: Raw) -> str:
    """The text of a result: a string, or the text parts of a list."""
    if not first_byte(raw):
        return ""
    try:
        value = _decode_any(raw)
    except UNDECODABLE:
        return bytes(raw).decode("utf-8", "replace")
    return flat_text(value)


def flat_text(value: Any) -> str:
    """Text out of a JSON value: strings as they are, lists joined, `text` of objects, else JSON."""
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


def object_of(raw: Raw) -> dict[str, Any]:
    """The JSON object, or an empty one when it is something else."""
    try:
        value = _decode_any(raw)
    except UNDECODABLE:
        return {}
    return value if isinstance(value, dict) else {}
