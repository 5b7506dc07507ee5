"""Where measured turns are kept: the one protocol of SQLite and MongoDB (specification 2, section 3).

`tests/kms/quality_log_conformance.py` is the protocol as tests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple, Protocol

from knowbound.core.answers import SuggestionAnswer
from knowbound.core.quality_log import DayRollup, Discovery, QualityTurn
from knowbound.errors import StoreError

# Tables, and collections.
LOG, ROLLUP, DISCOVERY, NOTE = "kms_quality_log", "kms_quality_rollup", "kms_quality_discovery", "kms_quality_note"
ANSWER = "kms_quality_answer"


class LoggedDay(NamedTuple):
    """A day of the log: how many turns it has, and when the last of them was written."""

    date: str
    turns: int
    newest: str


class KeptDocument(NamedTuple):
    """By what `forget` decides about a document of a log that others write to as well."""

    session: str  # "" where it says nothing about one
    time: str
    is_own: bool  # this data folder wrote it


class ErasedDocuments(NamedTuple):
    """What was removed, and the records that lost their words."""

    turns: list[QualityTurn]
    records: list[Discovery]


class QualityLog(Protocol):
    """Keeps turns, days, warranted corrections and notes. Every method is durable when it returns, and may be repeated.

    Raises StoreError with a slug where it cannot.
    """

    def put(self, turn: QualityTurn) -> bool:
        """Write the turn; whether it was written. One that is scored is not replaced by one that is not."""

    def get(self, id_: str) -> QualityTurn | None:
        """The turn of that id."""

    def known(self, ids: Collection[str]) -> set[str]:
        """Those of the ids that have a turn."""

    def unscored(self, most: int = 1000) -> list[QualityTurn]:
        """Turns whose judge failed, oldest first."""

    def days(self) -> list[LoggedDay]:
        """The days that have turns, oldest first."""

    def of_day(self, date: str) -> Iterator[QualityTurn]:
        """The turns of a day, in the order of their time."""

    def since(self, date: str) -> Iterator[QualityTurn]:
        """Yield the turns from a day on, day by day."""
        for day in self.days():
            if day.date >= date:
                yield from self.of_day(day.date)

    def prune(self, before: str) -> int:
        """Remove the turns of the days before this one; how many."""

    def put_rollups(self, days: Iterable[DayRollup]) -> None:
        """Write these days in place of what was known about them."""

    def rollups(self, since: str = "") -> list[DayRollup]:
        """The days from one on, oldest first."""

    def put_discoveries(self, records: Iterable[Discovery]) -> None:
        """Write these records in place of those with their ids."""

    def drop_discoveries(self, ids: Collection[str]) -> None:
        """Remove the records with these ids."""

    def discoveries(self) -> list[Discovery]:
        """Every record, in the order in which they were raised."""

    def put_answer(self, answer: SuggestionAnswer) -> bool:
        """Write it over its revision before, or where there is none as the first; whether it is there now.

        False: another answered meanwhile. The same again is no other.
        """

    def answers(self) -> list[SuggestionAnswer]:
        """Every answer, in the order of their time."""

    def put_note(self, name: str, document: bytes) -> None:
        """Keep a JSON document under a name, in place of what was there: for all who share the log. No session's words.

        Whoever writes last wins.
        """

    def note(self, name: str) -> bytes | None:
        """The document of that name; None where there is none."""

    def close(self) -> None:
        """Close files and connections."""


def note_text(document: bytes) -> str:
    """Return a note as text, or refuse what is not UTF-8."""
    try:
        return document.decode()
    except UnicodeDecodeError as error:
        raise StoreError("quality-invalid", f"A note is JSON in UTF-8: {error}. Nothing was changed.") from error
