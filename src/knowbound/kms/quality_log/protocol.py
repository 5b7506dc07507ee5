"""The one protocol of the quality logs in SQLite and MongoDB, which keep measured turns (specification 2, section 3).

`tests/kms/quality_log_conformance.py` is the protocol as tests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple, Protocol

from knowbound.core.quality import Counts, DayRollup, Discovery, QualityTurn, SuggestionAnswer
from knowbound.errors import StoreError
from knowbound.store.listing import PAGE, ResultPage

# Names of tables and of collections.
LOG, ROLLUP, DISCOVERY, NOTE = "kms_quality_log", "kms_quality_rollup", "kms_quality_discovery", "kms_quality_note"
ANSWER, ITEM = "kms_quality_answer", "kms_quality_item"
COUNTS = Counts.__struct_fields__


class LoggedDay(NamedTuple):
    """A day of the log: the number of its turns, and the time of the last write."""

    date: str
    turns: int
    newest: str


class KeptDocument(NamedTuple):
    """The fields by which `forget` selects documents in a log that other data folders write to."""

    session: str  # "" for a document that is about no session
    time: str
    is_own: bool  # this data folder wrote it


class ErasedDocuments(NamedTuple):
    """The turns that were removed, and the records that lost their words."""

    turns: list[QualityTurn]
    records: list[Discovery]


class ItemOrder(StrEnum):
    """Orders of measured items, largest first."""

    CONTRADICTED = "contradicted"
    JUDGED = "judged"
    LAST = "last"  # the day of the newest verdict


class MeasuredItem(NamedTuple):
    """An item with the verdicts of all days on it."""

    id: str
    counts: Counts
    last: str  # day


class QualityLog(Protocol):
    """Turns, days, warranted corrections and notes. Every method is durable when it returns, and may be repeated.

    Raises StoreError with a slug on failure.
    """

    def put(self, turn: QualityTurn) -> bool:
        """Write the turn, and report whether it was written. An unscored turn never replaces a scored one."""

    def get(self, id_: str) -> QualityTurn | None:
        """Return the turn with this id."""

    def known(self, ids: Collection[str]) -> set[str]:
        """Return those of the ids that have a turn."""

    def unscored(self, most: int = 1000) -> list[QualityTurn]:
        """Return turns whose judge failed, oldest first."""

    def days(self) -> list[LoggedDay]:
        """Return the days that have turns, oldest first."""

    def of_day(self, date: str) -> Iterator[QualityTurn]:
        """Yield the turns of a day, in the order of their time."""

    def since(self, date: str) -> Iterator[QualityTurn]:
        """Yield the turns from a day on, day by day."""
        for day in self.days():
            if day.date >= date:
                yield from self.of_day(day.date)

    def telling(self, date: str) -> Iterator[QualityTurn]:
        """Yield the turns from a day on that contradict an item or correct one: warranted corrections need no other."""

    def items(
        self, order: ItemOrder = ItemOrder.CONTRADICTED, *, after: str = "", most: int = PAGE
    ) -> ResultPage[MeasuredItem]:
        """Return a page of the items that were ever judged."""

    def verdicts_on(self, ids: Collection[str]) -> dict[str, MeasuredItem]:
        """Return the verdicts on these items."""

    def prune(self, before: str) -> int:
        """Remove the turns of the days before this day, and return their number."""

    def put_rollups(self, days: Iterable[DayRollup]) -> None:
        """Write these days in place of earlier figures."""

    def rollups(self, since: str = "") -> list[DayRollup]:
        """Return the days from a day on, oldest first."""

    def put_discoveries(self, records: Iterable[Discovery]) -> None:
        """Write these records in place of those with their ids."""

    def drop_discoveries(self, ids: Collection[str]) -> None:
        """Remove the records with these ids."""

    def discoveries(self) -> list[Discovery]:
        """Return every record, in the order in which they were raised."""

    def put_answer(self, answer: SuggestionAnswer) -> bool:
        """Write the answer over its previous revision, or as the first, and report whether it is stored now.

        False: another answer came first. Writing the same answer again succeeds.
        """

    def answers(self) -> list[SuggestionAnswer]:
        """Return every answer, in the order of their time."""

    def put_note(self, name: str, document: bytes) -> None:
        """Keep a JSON document under a name, in place of an earlier one, for all who share the log.

        The last writer wins. The document must not contain words of a session.
        """

    def note(self, name: str) -> bytes | None:
        """Return the document of this name, or None."""

    def close(self) -> None:
        """Close files and connections."""


def note_text(document: bytes) -> str:
    """Return a note as text, or refuse what is not UTF-8."""
    try:
        return document.decode()
    except UnicodeDecodeError as error:
        raise StoreError("quality-invalid", f"A note is JSON in UTF-8: {error}. Nothing was changed.") from error
