"""Sessions in which Claude Code's `/insights` saw friction: a reason to look at them, never a verdict.

`usage-data/facets/SESSION.json` is a model's opinion of a part of the sessions; only its counts of friction are read,
no words. Keys as of Claude Code 2.1.328.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

_MOST_FILES = 5_000
_MOST_BYTES = 100_000


class _Facet(msgspec.Struct):
    session_id: str = ""
    friction_counts: dict[str, float] = {}


def sessions_with_friction(environ: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the ids of the sessions in which `/insights` saw friction; none where it never ran."""
    given = os.environ if environ is None else environ
    moved = given.get("CLAUDE_CONFIG_DIR")
    folder = (Path(moved) if moved else Path.home() / ".claude") / "usage-data" / "facets"
    found = set[str]()
    decode = msgspec.json.Decoder(_Facet).decode
    try:
        for entry, _ in zip(os.scandir(folder), range(_MOST_FILES), strict=False):
            if entry.name.endswith(".json") and entry.is_file() and entry.stat().st_size <= _MOST_BYTES:
                try:
                    facet = decode(Path(entry.path).read_bytes())
                except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
                    continue
                if any(count > 0 for count in facet.friction_counts.values()):
                    found.add(facet.session_id or entry.name.removesuffix(".json"))
    except OSError:
        pass
    return frozenset(found)
