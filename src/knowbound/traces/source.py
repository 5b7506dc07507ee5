"""Reads the bytes of a trace file: plain, .gz or .zst; line by line within a stated size, or whole up to one.

Memory stays small whatever the file: a line over the limit is skipped in pieces and counted.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, cast

import msgspec

from knowbound.core.signal import SkippedLine

MAX_LINE_BYTES = 16 * 1024 * 1024  # a longer line is counted as oversized, never held
MAX_DOCUMENT_BYTES = 128 * 1024 * 1024  # formats that are one JSON document are read up to here
SHOWN_SKIPPED = 20  # lines that a session shows of those it skipped; the others are counted
HEAD_BYTES = 128 * 1024  # enough to recognise a format by
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

    def skip(self, path: str, line: int, reason: str) -> None:
        """Count a line that could not be used: broken, truncated, oversized, foreign, unreadable."""
        self.skipped_by_reason[reason] = self.skipped_by_reason.get(reason, 0) + 1
        if len(self.skipped) < SHOWN_SKIPPED:
            self.skipped.append(SkippedLine(path, line, reason))


def open_bytes(path: Path, buffer: int = _CHUNK) -> IO[bytes]:
    """The file's content, decompressed where its first bytes say so (never its name)."""
    raw = cast("io.BufferedReader", open(path, "rb", buffering=buffer, opener=_without_links))  # noqa: SIM115
    magic = raw.peek(4)[:4]
    if magic.startswith(GZIP_MAGIC):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if magic == ZSTD_MAGIC:
        return cast("IO[bytes]", _zstd().ZstdFile(raw))
    return raw


def _without_links(path: str, flags: int) -> int:
    """What was found is neither a link nor a pipe: one that is there now was put there since."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


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
    try:
        with open_bytes(path) as stream:
            readline = stream.readline
            while line := readline(MAX_LINE_BYTES):
                number += 1
                if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                    while (rest := readline(_CHUNK)) and not rest.endswith(b"\n"):
                        pass
                    tally.skip(str(path), number, "oversized")
                    continue
                if number == 1:
                    line = line.removeprefix(BYTE_ORDER_MARK)
                if line.isspace():
                    blank += 1
                    continue
                yield number, line
    except (OSError, EOFError, ValueError, zlib.error, _zstd_error()) as error:
        # A damaged archive or a vanished file ends this file, not the run.
        tally.skip(str(path), number + 1, f"unreadable: {type(error).__name__}")
    finally:
        tally.lines += number - blank


def read_document(path: Path, tally: Tally) -> bytes | None:
    """The whole content, or None (counted) when it is larger than a document may be."""
    try:
        with open_bytes(path) as stream:
            content = stream.read(MAX_DOCUMENT_BYTES + 1)
    except (OSError, EOFError, ValueError, zlib.error, _zstd_error()) as error:
        tally.skip(str(path), 1, f"unreadable: {type(error).__name__}")
        return None
    tally.lines += 1
    if len(content) > MAX_DOCUMENT_BYTES:
        tally.skip(str(path), 1, "oversized")
        return None
    return content


def _zstd() -> ModuleType:
    """The standard library's module since Python 3.14, before that its backport; loaded where a .zst file is met."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return import_module(name)


def _zstd_error() -> type[Exception]:
    """Zstandard's error class, or one that is never raised while the library is not loaded."""
    module = sys.modules.get("compression.zstd") or sys.modules.get("backports.zstd")
    return cast("type[Exception]", module.ZstdError) if module else NotImplementedError
