"""The lines of a file that a user gives: events, questions, turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from knowbound.errors import InputError


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number and content of each line that is not empty. Raises InputError where the file cannot be read."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
    return ((number, line) for number, line in enumerate(lines, 1) if line.strip())
