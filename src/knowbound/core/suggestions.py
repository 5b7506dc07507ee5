"""A suggested correction: what an agent contradicted and nobody has answered yet (specification 2, section 5)."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from knowbound.core.answers import SuggestionAnswer

ANSWER_DAYS = 14  # without an answer, the item is flagged UNVERIFIED


class Suggestion(msgspec.Struct, frozen=True):
    """A correction that waits for an answer."""

    item: str
    content: str  # of the item, now
    content_sha: str
    statement: str  # what the agent said instead; "" where that is kept back (kms/screening.py)
    draft: str  # that would supersede it; "" where nothing plausible was said
    missing: str  # why there is no draft
    raised: str
    session: str
    turn: str
    contradictions: int
    is_unverified: bool  # the item is flagged so
    record: str  # the id of the warranted correction
    answer: SuggestionAnswer | None = None  # that was taken back, or given by nobody

    def is_due(self, since: str, now: str) -> bool:
        """Whether it has waited for too long: from when it was raised, or could be shown first."""
        waited = datetime.fromisoformat(now) - datetime.fromisoformat(max(self.raised, since))
        return waited >= timedelta(days=ANSWER_DAYS)
