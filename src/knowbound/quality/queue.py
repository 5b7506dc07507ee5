"""Reads the queue of ended turns that hooks write (ended.py), and remembers how far it was worked off.

The mark of how far is written after the work, so a worker that is killed does some of it again; the log of turns makes
that harmless, because a turn is one document however often it is written. The queue is read in pieces: memory does not
grow with it, and a worker that is killed again and again still gets on.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from knowbound.quality.ended import STOP, SUBAGENT_STOP
from knowbound.store.data_dir import ENDED, day_files
from knowbound.user_files import make_file

LATE_SECONDS = 5.0  # what is not there so long after the end of a turn is not waited for
_MARK = "done.json"
_LINE_BEGINNING = b'{"time":'  # of every line; inside one its quotes are escaped
_KEPT_DAYS = 2  # files that are worked off and so old are removed: no hook writes to them any more
_PIECE_BYTES = 4 * 1024 * 1024  # bytes that are read at once; a line has at most 600 KB
_CHECKSUM_BYTES = 256  # bytes before the mark, whose checksum shows whether the file is unchanged


class EndedRecord(msgspec.Struct, frozen=True):
    """A turn that ended, as a hook queued it."""

    time: str
    id: str
    event: str
    session: str = ""
    agent: str = "unknown"
    agent_id: str = ""
    prompt_id: str = ""
    turn_id: str = ""
    transcript: str = ""
    answer_sum: str = ""  # of the last message; "" where it has none
    answer: str | None = None  # without secrets; None: not written, or not yet
    answer_length: int = 0
    ms: float | None = None  # that the hook took
    tool_calls: int = 0  # of the turn, as far as the MCP server answered their hooks
    tool_ms: float = 0.0  # that these took together

    @property
    def key(self) -> str:
        """The id of the turn by which it is found in the trace and in the log of injections."""
        return self.prompt_id or self.turn_id

    @property
    def is_recent(self) -> bool:
        """Report whether the turn ended so shortly ago that its answer or trace may still be on the way.

        False for a time in the future (the clock was set back since): else workers would wait until it comes.
        """
        return 0 <= (datetime.now(UTC) - datetime.fromisoformat(self.time)).total_seconds() < LATE_SECONDS

    @property
    def lacks_answer(self) -> bool:
        """Report whether the line with its last message is still to come."""
        return self.event in (STOP, SUBAGENT_STOP) and bool(self.answer_sum) and self.answer is None


class _Mark(NamedTuple):
    """The end of the part of a file that was worked off, and a checksum of the last bytes before it."""

    size: int
    sum: int


class _Line(NamedTuple):
    start: int  # in its piece
    fields: dict[str, Any]


class Queue:
    """The queue of one data folder. One worker at a time reads it."""

    def __init__(self, home: Path) -> None:
        self._home, self._folder = home, home / ENDED
        self._last_read: dict[str, _Mark] = {}  # how far the last reading went
        self.is_waiting = False  # for the answer of a turn that has just ended; nothing before it is left

    def pending(self) -> list[EndedRecord] | None:
        """Return the next records that are not worked off, oldest first; None where nothing is left.

        It may be empty, because lines of turns that were worked off before, and torn ones, have to be marked, too.
        """
        marks, self._last_read, self.is_waiting = self._marks(), {}, False
        for path in self._files():
            start = _unread_start(path, marks)
            piece = _bytes_of(path, start, _PIECE_BYTES)
            whole = piece[: piece.rfind(b"\n") + 1]  # a line that is being written is for the next reading
            if not whole and len(piece) == _PIECE_BYTES:
                whole = piece  # no line is so long
            if whole:
                found, size = self._records(whole, _bytes_of(path, start + len(whole), _PIECE_BYTES))
                self.is_waiting = not size  # already the first record lacks its answer
                self._last_read[path.name] = _Mark(start + size, _checksum(path, start + size))
                return found
        return None

    def mark_done(self) -> None:
        """Mark the records of `pending` as worked off; remove files that are worked off and closed."""
        done = self._marks() | self._last_read
        oldest = (datetime.now(UTC) - timedelta(days=_KEPT_DAYS)).date().isoformat()
        kept = {}
        for path in self._files():
            if path.name[:10] < oldest and not _has_line(path, _unread_start(path, done)):
                path.unlink(missing_ok=True)
            elif path.name in done:
                kept[path.name] = done[path.name]
        make_file(self._folder / _MARK, msgspec.json.encode(kept))

    def has_more(self) -> bool:
        """Report whether more is queued than `pending` gave."""
        return self._has_unread_line(self._marks() | self._last_read)

    def is_empty(self) -> bool:
        """Report whether no whole line was queued since the last `mark_done`."""
        return not self._has_unread_line(self._marks())

    def _has_unread_line(self, done: dict[str, _Mark]) -> bool:
        return any(_has_line(path, _unread_start(path, done)) for path in self._files())

    def _files(self) -> list[Path]:
        return [path for path in day_files(self._home, ENDED) if path.is_file()]

    def _marks(self) -> dict[str, _Mark]:
        try:
            return msgspec.json.decode((self._folder / _MARK).read_bytes(), type=dict[str, _Mark])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return {}

    def _records(self, piece: bytes, ahead: bytes) -> tuple[list[EndedRecord], int]:
        """Return the records that begin in a piece, and how many of its bytes they are; `ahead` may have their answers.

        The records end before the first one whose answer is still to come.
        """
        joined: dict[str, _Line] = {}
        for line in _lines(piece):
            joined.setdefault(line.fields["id"], line).fields.update(line.fields)
        found = [(line.start, record) for line in joined.values() if (record := _record(line.fields))]
        if any(record.lacks_answer for _, record in found):
            for line in _lines(ahead):
                if line.fields["id"] in joined:
                    joined[line.fields["id"]].fields.update(line.fields)
            found = [(start, _record(joined[record.id].fields) or record) for start, record in found]
        for number, (start, record) in enumerate(found):
            if record.lacks_answer and record.is_recent:
                return [complete for _, complete in found[:number]], start
        return [record for _, record in found], len(piece)


def _lines(data: bytes) -> Iterator[_Line]:
    """Return the whole lines. A line that a full disk cut short is left out: its hook reported an error."""
    offset = 0
    for line in data.splitlines(keepends=True):
        start = max(0, line.rfind(_LINE_BEGINNING))  # behind one that was cut short
        try:
            fields = msgspec.json.decode(line[start:], type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            fields = {}
        if isinstance(fields.get("id"), str):
            yield _Line(offset, fields)
        offset += len(line)


def _record(fields: dict[str, Any]) -> EndedRecord | None:
    """Return the record of joined lines; None if it has no first line, or a bad field."""
    if "event" not in fields:  # its first line was worked off before
        return None
    with suppress(msgspec.ValidationError, ValueError):
        record = msgspec.convert(fields, EndedRecord)
        if datetime.fromisoformat(record.time).tzinfo is not None:
            return record
    return None


def _unread_start(path: Path, done: dict[str, _Mark]) -> int:
    """Return the end of the worked-off part; 0 if the file was replaced since (by a backup)."""
    mark = done.get(path.name)
    with suppress(FileNotFoundError):
        if mark is not None and 0 < mark.size <= path.stat().st_size and mark.sum == _checksum(path, mark.size):
            return mark.size
    return 0


def _has_line(path: Path, start: int) -> bool:
    """Report whether a whole line begins at `start` or after it."""
    while piece := _bytes_of(path, start, _PIECE_BYTES):
        if b"\n" in piece:
            return True
        start += len(piece)
    return False


def _checksum(path: Path, end: int) -> int:
    start = max(0, end - _CHECKSUM_BYTES)
    return binascii.crc32(_bytes_of(path, start, end - start))


def _bytes_of(path: Path, start: int, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(most)
    except FileNotFoundError:
        return b""
