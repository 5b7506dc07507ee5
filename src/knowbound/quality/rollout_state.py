"""Whether the leg of the rollout that brings the corrective loop is on (specification 2, section 6).

.knowbound/rollout.json    {"corrective_loop": "2026-11-16T10:00:00Z"}: since then; absent or empty: off
"""

from __future__ import annotations

import json

from knowbound.config import Settings

STATE = "rollout.json"


def is_loop_on(settings: Settings) -> bool:
    """Whether suggestions are shown to agents, and unanswered ones flag their item."""
    return bool(loop_since(settings))


def loop_since(settings: Settings) -> str:
    """When it was switched on, UTC; "" while it is off."""
    try:
        known = json.loads((settings.home / STATE).read_bytes())
    except (OSError, ValueError):
        return ""
    since = known.get("corrective_loop") if isinstance(known, dict) else None
    return since if isinstance(since, str) else ""
