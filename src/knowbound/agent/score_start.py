"""The worker that scores ended turns, as hooks and verbs start it."""

from __future__ import annotations

from knowbound.agent.background import Worker

SCORING = Worker("knowbound.agent.score_worker", "score.lock")
