"""How a producer says what it found, or why it found nothing.

What tools print comes from strangers' files and commits: it is shown as one short line without control
characters, whatever it was.
"""

from __future__ import annotations

from knowbound.core.evidence import Evidence, EvidenceClass, Quality, Strength
from knowbound.text.redact import redact

LONGEST = 160  # characters of foreign text in a note


def nothing(cls: EvidenceClass, tool: str, target: str, why: str, query: str = "") -> list[Evidence]:
    """No evidence of this class could be collected, and why (specification 3: level None)."""
    return [Evidence(cls, tool, query, target, Quality.NONE, Strength.NONE, note=why)]


def one_line(text: str, longest: int = LONGEST) -> str:
    """Foreign text as one printable line, without the secrets that logs and error messages may hold."""
    head = redact(text[: longest * 8])
    line = " ".join("".join(char if char.isprintable() else " " for char in head).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def listed(names: list[str], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(one_line(name, 60) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 commit, 2 commits."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
