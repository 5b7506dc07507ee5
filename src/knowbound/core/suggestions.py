"""Suggested corrections and the answers to them (specification 2, section 5).

An answer is one document per warranted correction, in `kms_quality_answer`. It is written before its effect is carried
out and marked as done afterwards, so that a later process finishes what a killed one began. Each write counts up
`revision` and replaces exactly the revision before it: of two people who answer at once, the second is refused.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

ANSWER_DAYS = 14  # without an answer, the item is flagged UNVERIFIED


class SuggestionDecision(StrEnum):
    """What was answered."""

    ACCEPTED = "accepted"  # the item is superseded
    DISMISSED = "dismissed"  # the contradiction was none
    UNDONE = "undone"  # an answer was taken back: the suggestion is open again
    FLAGGED = "flagged"  # nobody answered in time: the item is flagged UNVERIFIED, the suggestion stays open
    NONE = "none"  # an answer that could not be carried out


class SuggestionAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to one suggestion."""

    record: str  # the id of the warranted correction
    item: str
    kind: SuggestionDecision
    time: str  # UTC; never before the correction was raised, whatever the clocks
    by: str = ""
    revision: int = 1
    done: bool = False  # whether the store is as the answer says
    note: str = ""
    content: str = ""  # that supersedes the item; only until that is done
    again: bool = False  # content that was withdrawn before is true again
    successor: str = ""  # the item that superseded it

    @property
    def id(self) -> str:
        """One per warranted correction."""
        return self.record

    @property
    def closes(self) -> bool:
        """Whether nobody is asked any more."""
        return self.kind in (SuggestionDecision.ACCEPTED, SuggestionDecision.DISMISSED)


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
