"""The files that a CLAUDE.md includes: `@path` in its text, as Claude Code reads it.

A path is relative to the file it is in, absolute, or begins with `~/`. In code it is none. An included file may include
others, up to five hops. What names no file is text: people are mentioned with @ too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from knowbound.kms.importing.pieces import without_code

MOST_HOPS = 5
_INCLUDED = re.compile(r"(?:^|(?<=\s))@((?:[^\s\\]|\\ )+)", re.MULTILINE)
_BEGINS = re.compile(r"[A-Za-z0-9._~/-]")
_NAMES = ("claude.md", "claude.local.md")


def includes_files(path: Path) -> bool:
    """Whether Claude Code looks for included files in a file of this name."""
    return path.name.lower() in _NAMES


def included(text: str, folder: Path) -> Iterator[Path]:
    """The files that a text in this folder includes, in order; only those that are there."""
    for found in _INCLUDED.finditer(without_code(text)):
        name = found[1].replace("\\ ", " ").partition("#")[0]
        for spelled in dict.fromkeys((name, name.rstrip(".,;:!?)'\""))):
            path = folder / Path(spelled).expanduser() if _BEGINS.match(spelled) else None
            if path is not None and _is_file(path):
                yield path
                break


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError, RuntimeError):
        return False
