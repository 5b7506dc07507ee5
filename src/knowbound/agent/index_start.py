"""The worker that keeps the index of a source tree current, as hooks start it."""

from __future__ import annotations

from knowbound.agent.background import Worker

INDEXING = Worker("knowbound.agent.index_worker", "codebase.lock", again_seconds=5)
