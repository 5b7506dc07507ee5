"""Plain chat message lists, in OpenAI's and Anthropic's forms.

- A file is a JSON list of messages, a mapping with `messages` (or `input`, of the Responses API), or JSON lines. Each
  line is one message of one conversation, or a whole conversation, which is a session of its own.
- `dialogue` reads the tool calls and results of messages.
- `system` (Anthropic) and `instructions` (Responses) are beside the messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from knowbound.core.trace import Event, Injection, Start
from knowbound.traces.dialogue import (
    REQUEST_ITEMS,
    RESULT_ITEMS,
    ROLES,
    Message,
    as_text,
    follow,
    message_of,
    text_in,
)
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally
from knowbound.traces.values import first_value, read_values

_LISTS = ("messages", "input")
_RECOGNISED_BY = 5  # messages by which a list is recognised
_SESSION_KEYS = ("session_id", "conversation_id", "thread_id", "id")


class Chat:
    """The reader of plain chat message lists."""

    name = "chat"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise messages with a known role and content: alone, in a list, or under `messages`."""
        value = first_value(head)
        listed = _listed(value)
        if listed is None:
            return Identity("") if _is_message(value) else None
        shown = (listed[:-1] or listed)[:_RECOGNISED_BY]  # the last may be cut by the end of the head
        return Identity("") if shown and all(map(_is_message, shown)) else None

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of each conversation in the files, a Start before each."""
        for path in files:
            yield from _read_file(path, tally)


def _read_file(path: Path, tally: Tally) -> Iterator[Event]:
    """Yield the events of whole conversations; loose messages are the lines of one conversation."""
    values = read_values(path, tally)
    for number, value in values:
        listed = _listed(value)
        if listed is not None:
            yield from _conversation(value, listed, path, number, tally)
        elif _is_message(value):
            yield Start(path.stem, Chat.name)  # the first loose message; the rest is read with it
            rest = chain([(number, value)], values)
            yield from follow(_messages(rest, path, "L", tally), str(path))
        else:
            tally.skip(str(path), number, "foreign")


def _conversation(value: object, listed: list[Any], path: Path, number: int, tally: Tally) -> Iterator[Event]:
    """Yield the events of a whole conversation; the first of a file has the file's name if it has no id."""
    document = value if isinstance(value, dict) else {}
    default_id = path.stem if number == 1 else f"{path.stem}:{number}"
    yield Start(text_in(document, *_SESSION_KEYS) or default_id, Chat.name, text_in(document, "cwd"))
    for key in ("system", "instructions"):
        if text := as_text(document.get(key)):
            yield Injection("system", text, line=number)
    yield from follow(_messages(enumerate(listed), path, "M", tally, number), str(path))


def _messages(
    numbered: Iterator[tuple[int, Any]], path: Path, letter: str, tally: Tally, line: int = 0
) -> Iterator[Message]:
    """Yield the messages among these values; other items are reasoning or searches of the provider."""
    for number, raw in numbered:
        message = message_of(raw, f"{letter}{number}", line or number)
        if message is not None:
            yield message
        elif not isinstance(raw, dict) or not text_in(raw, "type"):
            tally.skip(str(path), line or number, "foreign")


def _listed(value: object) -> list[Any] | None:
    """Return the messages that are a list, or in a mapping."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        for key in _LISTS:
            if isinstance(listed := value.get(key), list):
                return listed
    return None


def _is_message(value: object) -> bool:
    """Report whether a value is a message: a known role with content, or an item of the Responses API."""
    if not isinstance(value, dict):
        return False
    kind = text_in(value, "type")
    if kind in REQUEST_ITEMS or kind in RESULT_ITEMS:
        return "call_id" in value
    if kind == "reasoning":
        return "summary" in value or "encrypted_content" in value
    if text_in(value, "role") not in ROLES:
        return False
    content = value.get("content")
    return isinstance(content, str | list) or "tool_calls" in value or "function_call" in value
