"""The labelled development sets, split by session: folds to develop on and a part kept aside."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def is_aside(session: str) -> bool:
    """A quarter of the sessions is kept aside: looked at only to report, never to tune."""
    return hashlib.sha256(session.encode()).digest()[0] % 4 == 0


def labels(name: str, *, aside: bool | None = None) -> list[dict[str, Any]]:
    """The rows of `gaps/NAME.jsonl`: all, those kept aside, or those to develop on."""
    rows = [json.loads(line) for line in (SHARED / "gaps" / f"{name}.jsonl").read_text().splitlines()]
    return [row for row in rows if aside is None or is_aside(row["session"]) == aside]
