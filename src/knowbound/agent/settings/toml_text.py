"""Adds a table to the end of a TOML file of others, and removes it again; nothing else is touched.

Not with tomlkit: it takes a comment before a table for the end of the table above, and would remove it with ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_HEADER = re.compile(r"[ \t]*\[")
_IDLE = re.compile(r"[ \t]*(?:#.*)?\r?\n?")  # a blank line or a comment


def with_table(text: str, keys: tuple[str, ...], values: Mapping[str, str | list[str]]) -> str:
    """The text with one more table at its end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(keys)}]", *(f"{key} = {_written(value)}" for key, value in values.items())]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return text + gap + newline.join(lines) + newline


def without_table(text: str, keys: tuple[str, ...]) -> str:
    """The text without the table and its sub-tables; comments before the next table belong to that one."""
    ours = re.compile(r"[ \t]*\[\s*" + r"\s*\.\s*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in keys) + r"\s*[.\]]")
    kept: list[str] = []
    cut: list[str] = []  # the lines of ours
    is_ours = False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line):
            was_ours, is_ours = is_ours, bool(ours.match(line))
            if was_ours and not is_ours:
                kept += _idle_end(cut)
        (cut if is_ours else kept).append(line)
        if is_ours and len(cut) == 1 and kept and not kept[-1].strip():
            kept.pop()  # the blank line that set ours apart
    if is_ours:
        kept += [line for line in _idle_end(cut) if line.strip()]
    return "".join(kept)


def _idle_end(lines: list[str]) -> list[str]:
    """The blank lines and comments that the lines end with."""
    start = len(lines)
    while start > 0 and _IDLE.fullmatch(lines[start - 1]):
        start -= 1
    return lines[start:]


def _written(value: str | list[str]) -> str:
    """A string or a list of strings; JSON's are TOML's, where nothing above the BMP is escaped."""
    return json.dumps(value, ensure_ascii=False)
