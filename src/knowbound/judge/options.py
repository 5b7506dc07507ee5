"""Limits for a judge that is a model: time, retries, concurrency, cost."""

from __future__ import annotations

import msgspec

from knowbound.config import Settings


class JudgeOptions(msgspec.Struct, frozen=True):
    """Limits of asking. One question takes at most `seconds` times one more than `retries`, waits included."""

    seconds: float = 60.0  # for one call
    retries: int = 2  # further calls for one question after a failed one
    concurrency: int = 4  # calls at once
    usd: float | None = None  # no further call is made once the known costs have reached it

    @classmethod
    def of(cls, settings: Settings) -> JudgeOptions:
        """The limits that are configured."""
        return cls(settings.judge_seconds)
