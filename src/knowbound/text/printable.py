"""Text from files, commits and tools as one short printable line, without control characters and secrets."""

from __future__ import annotations

from knowbound.text.redact import excerpt

LONGEST = 160  # characters of foreign text in a note


def one_line(text: str, longest: int = LONGEST) -> str:
    """Foreign text as one printable line, without the secrets that logs and error messages may hold."""
    head = excerpt(text, longest * 8)
    line = " ".join("".join(char if char.isprintable() else " " for char in head).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def listed(names: list[str], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(one_line(name, 60) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 commit, 2 commits."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
