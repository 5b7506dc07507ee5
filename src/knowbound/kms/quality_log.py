"""The log of measured turns: its protocol, and the log in `.knowbound/items.db` (specification 2, section 3).

`tests/kms/quality_log_conformance.py` is the protocol as tests. The log of a team in MongoDB is in team_log.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from knowbound.core.quality import Counts, DayRollup, Discovery, QualityTurn, SuggestionAnswer
from knowbound.errors import StoreError
from knowbound.kms.backends.protocol import pages
from knowbound.store.data_dir import ITEMS
from knowbound.store.database import Database, as_store_errors

# Names of tables and of collections.
LOG, ROLLUP, DISCOVERY, NOTE = "kms_quality_log", "kms_quality_rollup", "kms_quality_discovery", "kms_quality_note"
ANSWER, ITEM = "kms_quality_answer", "kms_quality_item"
COUNTS = Counts.__struct_fields__
Logged = TypeVar("Logged", QualityTurn, DayRollup, Discovery, SuggestionAnswer)


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

    def corrective(self, date: str) -> Iterator[QualityTurn]:
        """Yield the turns from a day on that contradict or correct an item: only these can warrant a correction."""

    def verdicts_on(self, ids: Collection[str]) -> dict[str, Counts]:
        """Return the verdicts of all days on these items, without those that were never injected."""

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
        return sorted(self._values(DISCOVERY, Discovery), key=lambda record: (record.raised, record.id))

    def put_answer(self, answer: SuggestionAnswer) -> bool:
        """Write the answer over its previous revision, or as the first, and report whether it is stored now.

        False: another answer came first. Writing the same answer again succeeds.
        """

    def answers(self) -> list[SuggestionAnswer]:
        """Return every answer, in the order of their time."""
        return sorted(self._values(ANSWER, SuggestionAnswer), key=lambda answer: (answer.time, answer.id))

    def put_note(self, name: str, document: bytes) -> None:
        """Keep a JSON document under a name, in place of an earlier one, for all who share the log.

        The last writer wins. The document must not contain words of a session.
        """

    def note(self, name: str) -> bytes | None:
        """Return the document of this name, or None."""

    def close(self) -> None:
        """Close files and connections."""

    def _values(self, name: str, kind: type[Logged]) -> Iterable[Logged]:
        """Return every value of a table or collection."""


def note_text(document: bytes) -> str:
    """Return a note as text, or refuse what is not UTF-8."""
    try:
        return document.decode()
    except UnicodeDecodeError as error:
        raise StoreError("quality-invalid", f"A note is JSON in UTF-8: {error}. Nothing was changed.") from error


_PAGE_IDS = 200
_PUT_TURN = """
    INSERT INTO kms_quality_log (id, date, session_id, scored_at, problem, document) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET date = excluded.date, scored_at = excluded.scored_at, problem = excluded.problem,
        document = excluded.document
    WHERE excluded.problem = '' OR problem <> ''
"""
CORRECTIVE = (
    "SELECT document FROM kms_quality_log INDEXED BY kms_quality_log_telling WHERE date >= ? "
    """AND (instr(document, '"contradicted":true') OR instr(document, '"corrected":["'))"""
)
_SUM_DAYS = (
    f"INSERT INTO kms_quality_item SELECT item, {', '.join(f'sum({name})' for name in COUNTS)}, max(date) "
    "FROM kms_quality_item_day WHERE item = ? GROUP BY item"
)
_COUNT_COLUMNS = ", ".join(COUNTS)  # columns of `kms_quality_item`


class SqliteQualityLog(QualityLog):
    """Turns, days and records in the file of the embedded backend. Threads may share it; processes open their own."""

    def __init__(self, home: Path) -> None:
        self.path = home / ITEMS
        # FULL: an acknowledged write survives a power cut, not only a kill.
        self._db = Database(self.path, synchronous="FULL")

    def put(self, turn: QualityTurn) -> bool:
        """Write the turn in one statement: a newer turn is never overwritten."""
        row = (turn.id, turn.date, turn.session_id, turn.scored_at, turn.problem, _encoded(turn))
        return self._db.write(_PUT_TURN, *row).rowcount > 0

    def get(self, id_: str) -> QualityTurn | None:
        found = self._db.row("SELECT document FROM kms_quality_log WHERE id = ?", id_)
        return self._decoded(found[0], QualityTurn) if found else None

    def known(self, ids: Collection[str]) -> set[str]:
        """Return those of the ids that the log has."""
        found = set[str]()
        for page in pages(ids, _PAGE_IDS):
            query = f"SELECT id FROM kms_quality_log WHERE id IN ({', '.join('?' * len(page))})"
            found |= {row[0] for row in self._db.rows(query, *page)}
        return found

    def unscored(self, most: int = 1000) -> list[QualityTurn]:
        query = "SELECT document FROM kms_quality_log WHERE problem <> '' ORDER BY date, scored_at, id LIMIT ?"
        return [self._decoded(row[0], QualityTurn) for row in self._db.rows(query, most)]

    def days(self) -> list[LoggedDay]:
        query = "SELECT date, count(*), max(scored_at) FROM kms_quality_log GROUP BY date ORDER BY date"
        return [LoggedDay(*row) for row in self._db.rows(query)]

    def of_day(self, date: str) -> Iterator[QualityTurn]:
        rows = self._db.rows("SELECT document FROM kms_quality_log WHERE date = ?", date)
        turns = (self._decoded(row[0], QualityTurn) for row in rows)
        yield from sorted(turns, key=lambda turn: (turn.timestamp, turn.id))

    def corrective(self, date: str) -> Iterator[QualityTurn]:
        turns = (self._decoded(row[0], QualityTurn) for row in self._db.rows(CORRECTIVE, date))
        yield from sorted(turns, key=lambda turn: (turn.date, turn.timestamp, turn.id))

    def verdicts_on(self, ids: Collection[str]) -> dict[str, Counts]:
        """Return the verdicts on these items, summed over all days."""
        self._sum_unlisted_days()
        found: dict[str, Counts] = {}
        for page in pages(ids, _PAGE_IDS):
            query = f"SELECT item, {_COUNT_COLUMNS} FROM kms_quality_item WHERE item IN ({', '.join('?' * len(page))})"
            found |= {id_: Counts(*counts) for id_, *counts in self._db.rows(query, *page)}
        return found

    def _sum_unlisted_days(self) -> None:
        """Sum the verdicts of items again for the days written since the last sum, a day in a transaction."""
        for (date,) in self._db.rows("SELECT date FROM unlisted_day ORDER BY date"):
            with self._db.writing() as db:
                query = "SELECT document FROM kms_quality_rollup WHERE date = ?"
                document = db.execute(query, (date,)).fetchone()
                day = self._decoded(document[0], DayRollup) if document else DayRollup(date)
                items_before = {
                    row[0] for row in db.execute("SELECT item FROM kms_quality_item_day WHERE date = ?", (date,))
                }
                db.execute("DELETE FROM kms_quality_item_day WHERE date = ?", (date,))
                rows = ((item, date, *msgspec.structs.astuple(counts)) for item, counts in day.by_item.items())
                db.executemany("INSERT INTO kms_quality_item_day VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
                changed = [(item,) for item in items_before | set(day.by_item)]
                db.executemany("DELETE FROM kms_quality_item WHERE item = ?", changed)
                db.executemany(_SUM_DAYS, changed)
                db.execute("DELETE FROM unlisted_day WHERE date = ?", (date,))

    def prune(self, before: str) -> int:
        return self._db.write("DELETE FROM kms_quality_log WHERE date < ?", before).rowcount

    def put_rollups(self, days: Iterable[DayRollup]) -> None:
        """Write all days in one transaction."""
        rows = [(day.date, _encoded(day)) for day in days]
        with self._db.writing() as db:
            db.executemany("INSERT OR REPLACE INTO kms_quality_rollup (date, document) VALUES (?, ?)", rows)

    def rollups(self, since: str = "") -> list[DayRollup]:
        query = "SELECT document FROM kms_quality_rollup WHERE date >= ? ORDER BY date"
        return [self._decoded(row[0], DayRollup) for row in self._db.rows(query, since)]

    def put_discoveries(self, records: Iterable[Discovery]) -> None:
        """Write all records in one transaction."""
        rows = [(record.id, record.item, _encoded(record)) for record in records]
        with self._db.writing() as db:
            db.executemany("INSERT OR REPLACE INTO kms_quality_discovery (id, item, document) VALUES (?, ?, ?)", rows)

    def drop_discoveries(self, ids: Collection[str]) -> None:
        """Remove all records in one transaction."""
        if ids:
            with self._db.writing() as db:
                db.executemany("DELETE FROM kms_quality_discovery WHERE id = ?", ((id_,) for id_ in ids))

    def put_answer(self, answer: SuggestionAnswer) -> bool:
        """Read and write the answer in one transaction."""
        query = "SELECT document FROM kms_quality_answer WHERE id = ?"
        with self._db.writing() as db:
            row = db.execute(query, (answer.id,)).fetchone()
            stored = self._decoded(row[0], SuggestionAnswer) if row else None
            if stored == answer:
                return True
            if (stored.revision if stored else 0) != answer.revision - 1:  # another answer came first
                return False
            insert = "INSERT OR REPLACE INTO kms_quality_answer (id, document) VALUES (?, ?)"
            db.execute(insert, (answer.id, _encoded(answer)))
            return True

    def put_note(self, name: str, document: bytes) -> None:
        query = "INSERT OR REPLACE INTO kms_quality_note (name, document) VALUES (?, ?)"
        self._db.write(query, name, note_text(document))

    def note(self, name: str) -> bytes | None:
        found = self._db.row("SELECT document FROM kms_quality_note WHERE name = ?", name)
        return found[0].encode() if found else None

    def close(self) -> None:
        self._db.close()

    def _values(self, name: str, kind: type[Logged]) -> Iterable[Logged]:
        return [self._decoded(row[0], kind) for row in self._db.rows(f"SELECT document FROM {name}")]

    def _decoded(self, document: str, kind: type[Logged]) -> Logged:
        with as_store_errors(self.path):
            return msgspec.json.decode(document, type=kind)


def _encoded(value: QualityTurn | DayRollup | Discovery | SuggestionAnswer) -> str:
    """Return the value as JSON; refuse what JSON in UTF-8 cannot hold."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError) as error:
        raise StoreError(
            "quality-invalid", f"The quality log cannot store this: {error}. Nothing was changed."
        ) from error
