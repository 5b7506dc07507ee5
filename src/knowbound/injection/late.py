"""Choices that a model made while the agent worked, kept until the next tool event of the same turn.

    .knowbound/late/<context>~<checksum of the turn>    one choice at most per context: that of its last prompt

Whoever removes the file delivers the choice, so of several tool events at once one does. A turn that is over has no
further tool event: its choice is never delivered, and the next choice of the context replaces it. The hooks and the MCP
server load this module: it imports next to nothing.
"""

from __future__ import annotations

import binascii
import json
import os

from knowbound.injection.contexts import name_of
from knowbound.store.data_dir import LATE
from knowbound.user_files import make_file, make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_BETWEEN = "~"  # in no name of a context


class LateChoice:
    """A bundle to deliver, and the record and the context that it belongs to."""

    def __init__(self, text: str, tokens: int, keys: list[str], record: dict[str, Any], prompted: float) -> None:
        self.text, self.tokens = text, tokens
        self.keys = keys  # of the items, for the context that gets them
        self.record = record  # time, id and session of the prompt's record
        self.prompted = prompted  # seconds since 1970


def keep(home: str, context: str, turn: str, choice: LateChoice) -> None:
    """Keep a choice until it is claimed, in place of earlier ones of the context. Raises OSError."""
    folder = os.path.join(home, LATE)
    make_folder(folder)
    for name in _names(folder, context):
        _remove(os.path.join(folder, name))
    make_file(_file(home, context, turn), json.dumps(vars(choice)).encode())


def claim(home: str, context: str, turn: str) -> LateChoice | None:
    """Return the choice for this turn to the first caller, and None to all others."""
    path = _file(home, context, turn)
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return LateChoice(**found) if _remove(path) else None
    except (OSError, ValueError, TypeError):
        return None


def context_of_file(name: str) -> str:
    """Return the name of the context in the name of a file."""
    return name.partition(_BETWEEN)[0]


def _names(folder: str, context: str) -> Iterator[str]:
    return (name for name in os.listdir(folder) if context_of_file(name) == name_of(context))


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _file(home: str, context: str, turn: str) -> str:
    checksum = binascii.crc32(turn.encode("utf-8", "surrogatepass"))
    return os.path.join(home, LATE, f"{name_of(context)}{_BETWEEN}{checksum:08x}")
