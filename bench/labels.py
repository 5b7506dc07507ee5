"""The labelled development sets, split by session: folds to develop on and a part kept aside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.measuring import hashed, rows

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def is_aside(session: str) -> bool:
    """A quarter of the sessions is kept aside: looked at only to report, never to tune."""
    return hashed(session, 4) == 0


def labels(name: str, *, aside: bool | None = None) -> list[dict[str, Any]]:
    """The rows of `gaps/NAME.jsonl`: all, those kept aside, or those to develop on."""
    found = rows(SHARED / "gaps" / f"{name}.jsonl")
    return [row for row in found if aside is None or is_aside(row["session"]) == aside]


def injected_turns() -> list[dict[str, Any]]:
    """The shared turns with the items that were injected into them."""
    return rows(SHARED / "injection" / "turns.jsonl")


def injected_items() -> list[str]:
    """The different contents of the items in the shared turns."""
    return sorted({item["content"] for turn in injected_turns() for item in turn["items"]})
