"""Suggested corrections and the answers to them (specification 2, section 5).

An answer is one document per warranted correction, in `kms_quality_answer`. It is written before its effect is carried
out and marked as done afterwards, so that a later process finishes what a killed one began. Each write counts up
`revision` and replaces exactly the revision before it: of two people who answer at once, the second is refused.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

ANSWER_DAYS = 14  # without an answer, an item that is injected is flagged UNVERIFIED


class SuggestionDecision(StrEnum):
    """Kind of answer."""

    ACCEPTED = "accepted"  # the item is superseded
    DISMISSED = "dismissed"  # the item was not contradicted
    UNDONE = "undone"  # the answer was taken back: the suggestion is open again
    FLAGGED = "flagged"  # nobody answered in time: the item is flagged UNVERIFIED, the suggestion stays open
    NONE = "none"  # an answer that could not be carried out


class SuggestionAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to one suggestion."""

    record: str  # id of the warranted correction
    item: str
    kind: SuggestionDecision
    time: str  # UTC; never before the time at which the correction was raised
    by: str = ""
    revision: int = 1
    done: bool = False  # the store matches the answer
    note: str = ""
    content: str = ""  # text that supersedes the item; erased once done
    again: bool = False  # content that was withdrawn earlier is true again
    successor: str = ""  # id of the item that superseded it

    @property
    def id(self) -> str:
        """Key of the answer: one per warranted correction."""
        return self.record

    @property
    def closes(self) -> bool:
        """Report whether the answer closes the suggestion."""
        return self.kind in (SuggestionDecision.ACCEPTED, SuggestionDecision.DISMISSED)


class Suggestion(msgspec.Struct, frozen=True):
    """A correction that waits for an answer."""

    item: str
    content: str  # of the item, now
    content_sha: str
    statement: str  # statement of the agent instead; "" if screening withholds it (kms/screening.py)
    draft: str  # proposed replacement; "" if the agent said nothing plausible
    missing: str  # reason for a missing draft
    raised: str
    session: str
    turn: str
    contradictions: int
    is_unverified: bool  # the item is flagged UNVERIFIED
    record: str  # id of the warranted correction
    needs_person: bool = False  # the draft's value is neither in the tree nor in the user's words: no agent accepts it
    judge: str = ""  # version of the judge that found the contradiction
    answer: SuggestionAnswer | None = None  # an answer that was taken back, or FLAGGED
    held_by: str = ""  # party that holds the item back from injection; "" if it may be injected

    @property
    def is_unanswered(self) -> bool:
        """Report whether nobody ever answered, and its item was not flagged for that."""
        return self.answer is None or self.answer.kind is SuggestionDecision.NONE

    def is_due(self, since: str, now: str) -> bool:
        """Report whether the suggestion has waited too long since it could first be shown."""
        waited = datetime.fromisoformat(now) - datetime.fromisoformat(since)
        return waited >= timedelta(days=ANSWER_DAYS)
