"""Starts the background sync of a data folder, from hooks, verbs and the MCP server."""

from __future__ import annotations

from knowbound.agent.background import Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.config import Settings

SYNC = Worker("knowbound.agent.sync_worker", "sync.lock", again_seconds=10)


def ensure_running(root: str, home: str) -> bool:
    """Start it unless it runs; whether it was started."""
    return SYNC.ensure_running(root, home)


def keep_current(settings: Settings) -> list[str]:
    """Where other machines write too: have the index brought up to date; a sentence for each that is late."""
    if not settings.shared_backends:
        return []
    from knowbound.kms.freshness import lateness  # noqa: PLC0415  # the hook does without

    ensure_running(str(settings.root), str(settings.home))
    return lateness(settings)
