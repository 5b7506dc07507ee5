"""Reads the bytes of a trace file: plain, .gz or .zst; line by line within a stated size, or whole up to one.

Memory stays small whatever the file: a line over the limit is skipped in pieces and counted.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, cast

import msgspec

from knowbound.core.signal import SkippedLine

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_LINE_BYTES = 16 * 1024 * 1024  # a longer line is counted as oversized, never held
MAX_DOCUMENT_BYTES = 128 * 1024 * 1024  # formats that are one JSON document are read up to here
SHOWN_SKIPPED = 20  # lines that a session shows of those it skipped; the others are counted
MOST_NESTED = 2_000_000  # lists and objects of a line or a document: about 130 MB
_LONG_LINE = 2 * MOST_NESTED  # bytes; a shorter line cannot hold so many
ALWAYS_DECOMPRESSED = 64 * 1024 * 1024  # bytes of a compressed file that are read whatever its size
MOST_RATIO = 100  # times its size that a larger one may decompress to; of 121 real transcripts none has more than 18
HEAD_BYTES = 128 * 1024  # enough to recognise a format by
_MOST_SKIPPED = 50_000  # lines of a file; it is read on only where it has as many good ones
_LOOKED_AT = 1_000  # lines, after which that is looked at
_CHUNK = 1024 * 1024
_PIECE = 8 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Tally(msgspec.Struct):
    """What a reader met in one session's files besides events."""

    lines: int = 0
    skipped: list[SkippedLine] = []  # the first few
    skipped_by_reason: dict[str, int] = {}
    duplicates: int = 0  # messages met again under an id already read

    @property
    def skipped_lines(self) -> int:
        """How many lines could not be used."""
        return sum(self.skipped_by_reason.values())

    def skip(self, path: str, line: int, reason: str) -> None:
        """Count a line that could not be used: broken, truncated, oversized, foreign, unreadable."""
        self.skipped_by_reason[reason] = self.skipped_by_reason.get(reason, 0) + 1
        if len(self.skipped) < SHOWN_SKIPPED:
            self.skipped.append(SkippedLine(path, line, reason))


class RefusedFileError(OSError):
    """A file that is not read, or not read on; the text says why."""


def open_bytes(path: Path, buffer: int = _CHUNK) -> IO[bytes]:
    """The file's content, decompressed where its first bytes say so (never its name)."""
    raw = cast("io.BufferedReader", open(path, "rb", buffering=buffer, opener=_regular_file))  # noqa: SIM115
    magic = raw.peek(4)[:4]
    if magic.startswith(GZIP_MAGIC):
        return _bounded(cast("IO[bytes]", gzip.GzipFile(fileobj=raw)), raw)
    if magic == ZSTD_MAGIC:
        return _bounded(_zstd().ZstdFile(raw), raw)
    return raw


def _regular_file(path: str, flags: int) -> int:
    """Open a regular file and nothing else: a pipe makes us wait, a device has no end.

    What was found is no link: one that is there now was put there since, and may lead anywhere.
    """
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise RefusedFileError("it is no regular file")
    return descriptor


def _bounded(content: IO[bytes], raw: io.BufferedReader) -> IO[bytes]:
    compressed = os.fstat(raw.fileno()).st_size
    return io.BufferedReader(_Archive(content, raw, max(ALWAYS_DECOMPRESSED, MOST_RATIO * compressed)), _CHUNK)


class _Archive(io.RawIOBase):
    """The content of a compressed file, as far as transcripts compress: what goes on is made to fill the memory."""

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
    """The first bytes of a file, for recognising its format."""
    head = b""
    with open_bytes(path, HEAD_BYTES) as stream:
        try:
            while len(head) < HEAD_BYTES and (piece := stream.read(_PIECE)):
                head += piece
        except (EOFError, zlib.error, _zstd_error()):
            if not head:
                raise  # else: a cut archive, whose beginning is enough to recognise it
    return head.removeprefix(BYTE_ORDER_MARK)


def read_lines(path: Path, tally: Tally) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank. An oversized line is counted and passed over in pieces."""
    number = blank = 0
    skipped_before = tally.skipped_lines
    try:
        with open_bytes(path) as stream:
            readline = stream.readline
            while line := readline(MAX_LINE_BYTES):
                number += 1
                if len(line) >= _LONG_LINE and _is_too_large(line):
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
                if not number % _LOOKED_AT and tally.skipped_lines - skipped_before > max(_MOST_SKIPPED, number // 2):
                    raise RefusedFileError("most of its lines are no trace")
    except (OSError, EOFError, ValueError, zlib.error, _zstd_error()) as error:
        # A damaged archive or a vanished file ends this file, not the run.
        tally.skip(str(path), number + 1, why_unreadable(error))
    finally:
        tally.lines += number - blank


def read_document(path: Path, tally: Tally) -> bytes | None:
    """The whole content, or None (counted) when it is larger than a document may be."""
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


def _is_too_large(line: bytes) -> bool:
    """Whether a long line is not decoded."""
    return (len(line) == MAX_LINE_BYTES and not line.endswith(b"\n")) or _holds_too_many(line)


def _holds_too_many(content: bytes) -> bool:
    """An empty list has two bytes in a file and 64 in memory: what has so many of them is made to fill it."""
    return content.count(b"[") + content.count(b"{") > MOST_NESTED


def why_unreadable(error: Exception) -> str:
    """Why a file was not read, or not to its end, in words for a report."""
    return f"unreadable: {error if isinstance(error, RefusedFileError) else type(error).__name__}"


def _zstd() -> ModuleType:
    """The standard library's module since Python 3.14, before that its backport; loaded where a .zst file is met."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return import_module(name)


def _zstd_error() -> type[Exception]:
    """Zstandard's error class, or one that is never raised while the library is not loaded."""
    module = sys.modules.get("compression.zstd") or sys.modules.get("backports.zstd")
    return cast("type[Exception]", module.ZstdError) if module else NotImplementedError
