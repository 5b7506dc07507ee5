"""Bytes of a trace file: plain, .gz or .zst; line by line or whole, each up to a limit. Tables of a SQLite file.

Memory stays small for every file: a line over the limit is skipped in pieces and counted. A SQLite file is somebody
else's data: it is opened for reading only, its schema is not trusted, and only real tables are read, never a view.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import sqlite3
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from knowbound.core.signal import SkippedLine
from knowbound.distribution import extra_command
from knowbound.errors import InputError

if TYPE_CHECKING:
    from datetime import datetime

    from _typeshed import WriteableBuffer

MAX_LINE_BYTES = 16 * 1024 * 1024  # a longer line is counted as oversized, never held
MAX_DOCUMENT_BYTES = 128 * 1024 * 1024  # largest file that is one JSON document
SHOWN_SKIPPED = 20  # skipped lines that a session keeps; further ones are only counted
MOST_NESTED = 2_000_000  # lists and objects of a line or a document: about 130 MB
_LONG_LINE = 2 * MOST_NESTED  # bytes; a shorter line cannot have more than MOST_NESTED
ALWAYS_DECOMPRESSED = 64 * 1024 * 1024  # bytes that every compressed file may decompress to
MOST_RATIO = 100  # times its size that a file may decompress to; 121 real transcripts have at most 18
HEAD_BYTES = 128 * 1024  # enough to recognise a format
_MOST_SKIPPED = 50_000  # skipped lines; a file with more is only read on while it has as many good lines
_CHECKED_AFTER = 1_000  # lines between two checks of that
_CHUNK = 1024 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

GZIP_MAGIC = b"\x1f\x8b"
SQLITE_SIGNATURE = b"SQLite format 3\0"
WRITE_AHEAD = "-wal"  # beside a database: what was written last, until SQLite moves it into the file
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Tally(msgspec.Struct):
    """Counts of lines of one session's files."""

    lines: int = 0
    skipped: list[SkippedLine] = []  # the first SHOWN_SKIPPED
    skipped_by_reason: dict[str, int] = {}
    duplicates: int = 0  # messages with the id of an earlier one

    @property
    def skipped_lines(self) -> int:
        """Number of lines that could not be used."""
        return sum(self.skipped_by_reason.values())

    @property
    def unread_lines(self) -> int:
        """Number of lines that no rule knows: without those that a killed client cut short."""
        return self.skipped_lines - self.skipped_by_reason.get("truncated", 0)

    def skip(self, path: str, line: int, reason: str) -> None:
        """Count a line that could not be used: broken, truncated, oversized, foreign, unreadable."""
        self.skipped_by_reason[reason] = self.skipped_by_reason.get(reason, 0) + 1
        if len(self.skipped) < SHOWN_SKIPPED:
            self.skipped.append(SkippedLine(path, line, reason))


class RefusedFileError(OSError):
    """A file that is not read, or not read on, with the reason."""


def open_bytes(path: Path, buffer: int = _CHUNK) -> IO[bytes]:
    """Open a file, decompressed by its first bytes (never by its name)."""
    if address := address_of(path):
        raw = open_address(address)
    else:
        raw = cast("io.BufferedReader", open(path, "rb", buffering=buffer, opener=_regular_file))  # noqa: SIM115
    magic = raw.peek(4)[:4]
    if magic.startswith(GZIP_MAGIC):
        return _bounded(cast("IO[bytes]", gzip.GzipFile(fileobj=raw)), raw)
    if magic == ZSTD_MAGIC:
        return _bounded(_zstd().ZstdFile(raw), raw)
    return raw


def _regular_file(path: str, flags: int) -> int:
    """Open a regular file only: a pipe may block, a device has no end.

    No link is followed: the path had none, so a link that is there now may lead anywhere.
    """
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise RefusedFileError("it is no regular file")
    return descriptor


def _bounded(content: IO[bytes], raw: io.BufferedReader) -> IO[bytes]:
    """Return decompressed content that ends with an error at the limit for a file of this size."""
    compressed = size_of(raw) or os.fstat(raw.fileno()).st_size
    return io.BufferedReader(_Archive(content, raw, max(ALWAYS_DECOMPRESSED, MOST_RATIO * compressed)), _CHUNK)


class _Archive(io.RawIOBase):
    """The content of a compressed file, up to `most` bytes: a file that goes on is made to fill the memory."""

    def __init__(self, content: IO[bytes], raw: io.BufferedReader, most: int) -> None:
        self._content, self._raw, self._left = content, raw, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer)
        part = self._content.read(min(len(room), _CHUNK))
        self._left -= len(part)
        if self._left < 0:
            raise RefusedFileError(f"it decompresses to more than {MOST_RATIO} times its size")
        room[: len(part)] = part
        return len(part)

    def close(self) -> None:
        if not self.closed:
            self._content.close()
            self._raw.close()
        super().close()


def read_head(path: Path) -> bytes:
    """Return the first bytes of a file, by which its format is recognised."""
    head = b""
    with open_bytes(path, HEAD_BYTES) as stream:
        try:
            while piece := cast("io.BufferedReader", stream).read1(HEAD_BYTES - len(head)):
                head += piece
        except (EOFError, zlib.error, _zstd_error()):
            if not head:
                raise  # else the beginning of a cut archive is enough to recognise it
    if head.startswith(SQLITE_SIGNATURE) and not address_of(path):  # tables may still be in the write-ahead file
        with suppress(OSError), open(f"{path}{WRITE_AHEAD}", "rb", opener=_regular_file) as ahead:
            head += ahead.read(HEAD_BYTES)
    return head.removeprefix(BYTE_ORDER_MARK)


def read_lines(path: Path, tally: Tally) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, numbered. An oversized line is counted and skipped in pieces."""
    number = blank = 0
    skipped_before = tally.skipped_lines
    try:
        with open_bytes(path) as stream:
            readline = stream.readline
            while line := readline(MAX_LINE_BYTES):
                number += 1
                is_cut = len(line) == MAX_LINE_BYTES and not line.endswith(b"\n")
                if len(line) >= _LONG_LINE and (is_cut or _holds_too_many(line)):
                    while not line.endswith(b"\n") and (line := readline(_CHUNK)):
                        pass
                    tally.skip(str(path), number, "oversized")
                    continue
                if number == 1:
                    line = line.removeprefix(BYTE_ORDER_MARK)
                if line.isspace():
                    blank += 1
                    continue
                yield number, line
                if not number % _CHECKED_AFTER and tally.skipped_lines - skipped_before > max(
                    _MOST_SKIPPED, number // 2
                ):
                    raise RefusedFileError("most of its lines are no trace")
    except (OSError, EOFError, ValueError, zlib.error, _zstd_error()) as error:
        # A damaged archive or a vanished file ends this file, not the run.
        tally.skip(str(path), number + 1, why_unreadable(error))
    finally:
        tally.lines += number - blank


def read_document(path: Path, tally: Tally) -> bytes | None:
    """Return the whole content; None, counted, if it is larger than a document may be."""
    try:
        with open_bytes(path) as stream:
            content = stream.read(MAX_DOCUMENT_BYTES + 1)
    except (OSError, EOFError, ValueError, zlib.error, _zstd_error()) as error:
        tally.skip(str(path), 1, why_unreadable(error))
        return None
    tally.lines += 1
    if len(content) > MAX_DOCUMENT_BYTES or _holds_too_many(content):
        tally.skip(str(path), 1, "oversized")
        return None
    return content


def _holds_too_many(content: bytes) -> bool:
    """Report whether content would fill the memory: an empty list has two bytes in a file and 64 in memory."""
    return content.count(b"[") + content.count(b"{") > MOST_NESTED


def why_unreadable(error: Exception) -> str:
    """Return the reason why a file was not read to its end, for a report."""
    return f"unreadable: {error if isinstance(error, RefusedFileError) else type(error).__name__}"


def _zstd() -> ModuleType:
    """Load the standard library's module (since Python 3.14) or its backport, at the first .zst file."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return import_module(name)


def _zstd_error() -> type[Exception]:
    """Return Zstandard's error class, or a class that is never raised while the library is not loaded."""
    module = sys.modules.get("compression.zstd") or sys.modules.get("backports.zstd")
    return cast("type[Exception]", module.ZstdError) if module else NotImplementedError


def has_table(head: bytes, name: str) -> bool:
    """Report whether the head of a file is that of a SQLite file with a table of this name."""
    if not head.startswith(SQLITE_SIGNATURE):
        return False
    statements = (f"CREATE TABLE {quote}{name}{quote}".encode() for quote in ("", "`", '"'))
    return any(statement in head for statement in statements)


@contextmanager
def tables_of(path: Path, tally: Tally) -> Iterator[Tables | None]:
    """Open the tables of a file; None, counted, if it cannot be read."""
    try:
        db = _opened(path)
    except (OSError, sqlite3.Error) as error:
        tally.skip(str(path), 1, f"unreadable: {type(error).__name__}")
        yield None
        return
    with closing(db):
        yield Tables(db, str(path), tally)


class Tables:
    """The tables of one file."""

    def __init__(self, db: sqlite3.Connection, path: str, tally: Tally) -> None:
        self._db, self._path, self._tally = db, path, tally
        self._columns: dict[str, frozenset[str]] = {}

    def rows(self, table: str, columns: str, where: str = "", *given: object) -> Iterator[dict[str, Any]]:
        """Yield rows of a table, by the names of those columns that it has; counted as lines."""
        names = [name for name in columns.split() if name in self._columns_of(table)]
        if not names:
            return
        sizes = " + ".join(f"COALESCE(LENGTH(CAST({name} AS BLOB)), 0)" for name in names)
        query = f"SELECT {sizes} > {MAX_LINE_BYTES}, {', '.join(names)} FROM {table} {where}"
        try:
            for number, row in enumerate(self._db.execute(query, given), 1):
                self._tally.lines += 1
                if row[0]:  # larger than a line may be
                    self._tally.skip(self._path, number, "oversized")
                else:
                    yield dict(zip(names, row[1:], strict=True))
        except (sqlite3.Error, UnicodeError) as error:
            self._tally.skip(self._path, 1, f"unreadable: {type(error).__name__}")

    def _columns_of(self, table: str) -> frozenset[str]:
        if table not in self._columns:
            is_table = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
            try:
                is_known = self._db.execute(is_table, (table,)).fetchone()[0]
                named = self._db.execute(f"PRAGMA table_info({table})") if is_known else ()
                self._columns[table] = frozenset(row[1] for row in named)  # 1: the name of the column
            except (sqlite3.Error, UnicodeError) as error:
                self._tally.skip(self._path, 1, f"unreadable: {type(error).__name__}")
                return frozenset()
        return self._columns[table]


def _opened(path: Path) -> sqlite3.Connection:
    """Open the file for reading. Without a write-ahead file beside it nothing is created there."""
    if address_of(path):
        raise OSError("a SQLite file at an address")
    quoted = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    is_live = os.path.exists(f"{path}{WRITE_AHEAD}") and os.path.getsize(f"{path}{WRITE_AHEAD}") > 0
    db = sqlite3.connect(f"file:{quoted}?mode=ro{'' if is_live else '&immutable=1'}", uri=True, timeout=2.0)
    db.execute("PRAGMA trusted_schema = OFF")
    return db


# Chained addresses (`zip::s3://…`) and those that run programs or log in are refused. `pathlib` makes one slash of two.
_ADDRESS = re.compile(r"(file|s3|gs|gcs|az|abfs|http|https|memory):/{1,3}(?=[^/])")
_PART = 8 * 1024 * 1024  # bytes that are read at once


class RemoteFile(NamedTuple):
    """A file, with the size and the time or mark that show a change."""

    path: str
    size: int
    stamp: int


def address_of(path: str | Path) -> str:
    """Return the address in a path, with the slashes that `Path` removed; "" for a path of this machine."""
    found = _ADDRESS.match(str(path))
    if found is None or "::" in str(path):  # `zip::s3://…` reaches files inside others
        return ""
    path_in_address = str(path)[found.end() :]
    return f"file:///{path_in_address}" if found[1] == "file" else f"{found[1]}://{path_in_address}"


def list_address(address: str) -> list[RemoteFile]:
    """Return every file at or below an address. Raises InputError."""
    with _explained(address) as (files, path):
        found = files.find(path, detail=True) or {path: files.info(path)}
        return [
            RemoteFile(files.unstrip_protocol(name), int(info.get("size") or 0), _stamp(info))
            for name, info in sorted(found.items())
            if info.get("type") == "file"
        ]


def open_address(address: str) -> io.BufferedReader:
    """Open a file at an address for reading in parts. Raises OSError."""
    try:
        with _explained(address) as (files, path):
            return io.BufferedReader(cast("Any", files.open(path, "rb", block_size=_PART)), _PART)
    except InputError as error:
        raise OSError(str(error)) from error


def size_of(stream: IO[bytes]) -> int:
    """Return the size of a file that `open_address` opened."""
    return int(getattr(getattr(stream, "raw", None), "size", 0) or 0)


def write_address(address: str, data: bytes) -> None:
    """Write a file at an address. Raises InputError."""
    with _explained(address) as (files, path):
        files.pipe_file(path, data)


def _stamp(info: dict[str, Any]) -> int:
    """Return the time of the last change in ns, or a number made of the ETag (below any time since 2001), or 0."""
    time: datetime | float | None = info.get("LastModified") or info.get("mtime") or info.get("created")
    if time is not None:
        return int((time if isinstance(time, int | float) else time.timestamp()) * 1e9)
    mark = str(info.get("ETag") or info.get("etag") or "")
    return int.from_bytes(hashlib.sha256(mark.encode()).digest()[:7], "big") if mark else 0


@contextmanager
def _explained(address: str) -> Iterator[tuple[Any, str]]:
    """Give the file system and the path in it. Whatever a driver raises becomes InputError."""
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415
    except ImportError as error:
        raise InputError(
            "no-such-path", f"{address} needs a driver that is not installed. Try: {extra_command('cluster')}"
        ) from error
    try:
        yield url_to_fs(address, use_listings_cache=False)
    except ImportError as error:  # of the driver for this kind of address
        raise InputError("no-such-path", f"Cannot read {address}: {error}.") from error
    except Exception as error:  # each driver has errors of its own
        reason = str(error) or type(error).__name__
        raise InputError("no-such-path", f"Cannot read {address}: {reason[:200].rstrip('.')}.") from error
