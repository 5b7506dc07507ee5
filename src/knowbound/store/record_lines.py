"""Files with one JSON record a line: the sessions that a line names, and lines that are overwritten in place."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

_SESSION = re.compile(r'"session":\s*("[^"\\\x00-\x1f]*")')


def blank_lines(path: Path, is_gone: Callable[[bytes], bool], *, preview: bool) -> list[bytes]:
    """Overwrite lines with spaces in place; return their former content.

    Others append to the file meanwhile and store their reading position, so no byte moves.
    """
    gone: list[bytes] = []
    try:
        with path.open("rb" if preview else "r+b") as file:
            at = 0
            for line in file.read().splitlines(keepends=True):
                said = line.rstrip(b"\r\n")
                if said.strip() and is_gone(said):
                    gone.append(said)
                    if not preview:
                        os.pwrite(file.fileno(), b" " * len(said), at)
                at += len(line)
            if not preview:
                os.fsync(file.fileno())
    except FileNotFoundError:
        pass
    return gone


def sessions_in(line: bytes) -> list[str]:
    """Return the sessions named in a line of JSON, even if the line is cut or two records share it."""
    try:
        row = json.loads(line)
        named = row.get("session") if isinstance(row, dict) else None
        return [named] if isinstance(named, str) else []
    except (ValueError, RecursionError):
        return [json.loads(name) for name in _SESSION.findall(line.decode("utf-8", "replace"))]
