"""What people and agents answered to a suggested correction (specification 2, section 5).

One document per warranted correction, in `kms_quality_answer`. It is written before what it asks for is done, and
marked as done after it: whoever comes next finishes what a killed process left. Each write counts up `revision` and is
made only over the one before it, so of two who answer at once the second is refused.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


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
