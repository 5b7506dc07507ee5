"""Choices that a model made while the agent worked, kept until the next tool event of the same turn.

    .knowbound/late/<context>~<checksum of the turn>    one choice at most per context: that of its last prompt

Whoever removes the file delivers the choice, so of several tool events at once one does. A turn that is over has no
further tool event: its choice is never delivered, and the choice of a later prompt replaces it. The hooks and the MCP
server load this module: it imports next to nothing.
"""

from __future__ import annotations

import binascii
import errno
import json
import os

from knowbound.injection.contexts import name_of
from knowbound.store.data_dir import LATE
from knowbound.user_files import make_file, make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BETWEEN = "~"  # in no name of a context
_CHECKSUM = 8  # hex digits; the name of a file that is being written is longer


class LateChoice:
    """The chosen items, and the record that they belong to."""

    def __init__(self, items: list[dict[str, Any]], budget: int, record: dict[str, Any], prompted: float) -> None:
        self.items = items  # as choosing.item_to_json makes them
        self.budget = budget  # tokens of their bundle
        self.record = record  # time, id and session of the prompt's record
        self.prompted = prompted  # seconds since 1970


def keep(home: str, context: str, turn: str, choice: LateChoice) -> None:
    """Keep a choice until it is claimed, unless a later prompt of the context has one already. Raises OSError."""
    folder = os.path.join(home, LATE)
    if os.path.islink(folder):
        raise OSError(errno.ELOOP, "the folder is a link", folder)
    make_folder(folder)
    for name in os.listdir(folder):
        of, _, checksum = name.partition(_BETWEEN)
        if of == name_of(context) and len(checksum) == _CHECKSUM:
            other = _read(os.path.join(folder, name))
            if other is not None and other.prompted > choice.prompted:
                return
            _remove(os.path.join(folder, name))
    make_file(_file(home, context, turn), json.dumps(vars(choice)).encode())


def is_kept(home: str, context: str, turn: str) -> bool:
    """Report whether a choice waits for this turn."""
    return not os.path.islink(os.path.join(home, LATE)) and os.path.exists(_file(home, context, turn))


def claim(home: str, context: str, turn: str) -> LateChoice | None:
    """Return the choice for this turn to the first caller, and None to all others."""
    path = _file(home, context, turn)
    found = _read(path)
    return found if found is not None and _remove(path) else None


def context_of_file(name: str) -> str:
    """Return the name of the context in the name of a file."""
    return name.partition(_BETWEEN)[0]


def _read(path: str) -> LateChoice | None:
    try:
        with open(path, encoding="utf-8") as file:
            return LateChoice(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _file(home: str, context: str, turn: str) -> str:
    checksum = binascii.crc32(turn.encode("utf-8", "surrogatepass"))
    return os.path.join(home, LATE, f"{name_of(context)}{_BETWEEN}{checksum:08x}")
