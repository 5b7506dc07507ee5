"""A search of files and documents for many texts in one pass: the proof of `forget`.

A long text is searched by pieces of its beginning, middle and end, plain and as JSON escapes them, because a database
splits it over several pages. A file is read in steps of 8 bytes, and any piece of 15 bytes or more has a window of 8
bytes that begins at such a step; so the time does not depend on the number of texts.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from knowbound.files import Walk

_STEP = 8
_SHORTEST = 2 * _STEP - 1  # bytes; a shorter text may occur by chance
_PIECE = 48  # bytes


class FileOccurrences(msgspec.Struct, frozen=True):
    """A file that still has some of the texts, and their number."""

    file: str
    texts: int


class SharedDocument(NamedTuple):
    """A document of a store that other machines write to."""

    collection: str
    content: bytes
    is_gone: bool  # it was to be erased


class Searched(msgspec.Struct, frozen=True):
    """The extent of a search, and what it found."""

    texts: int
    files: int
    bytes: int
    left: list[FileOccurrences] = []
    unreadable: list[str] = []
    documents: int = 0


def search_for(
    texts: Iterable[str], places: Iterable[Path], kept: Iterable[bytes], documents: Iterable[SharedDocument] = ()
) -> Searched:
    """Search the names and bytes of all files below the places, and the documents.

    A text that `kept` records have too is no occurrence.
    """
    wanted = _Pieces(texts)
    found: dict[str, set[bytes]] = {}
    unreadable: list[str] = []
    shared: set[bytes] = set()
    files = size = count = 0
    for place, path in _files(places):
        try:
            content = _content(path)
        except FileNotFoundError:
            continue
        except OSError:
            unreadable.append(path)
            continue
        files, size = files + 1, size + len(content)
        name = os.fsencode(os.path.relpath(path, place))
        if here := {*wanted.found_in(content), *wanted.found_in(name)}:
            found[path] = here
    for document in documents:
        count, size = count + 1, size + len(document.content)
        if here := set(wanted.found_in(document.content)):
            (found.setdefault(document.collection, set()) if document.is_gone else shared).update(here)
    shared.update(piece for record in (kept if found else ()) for piece in wanted.found_in(record))
    left = [FileOccurrences(path, len(here - shared)) for path, here in sorted(found.items()) if here - shared]
    return Searched(len(wanted.pieces), files, size, left, unreadable, count)


def files_with(texts: Iterable[str], places: Iterable[Path]) -> Iterator[str]:
    """Yield the files that have one of the texts."""
    wanted = _Pieces(texts)
    for _, path in _files(places) if wanted.pieces else ():
        try:
            content = _content(path)
        except OSError:
            continue
        if any(True for _ in wanted.found_in(content)):
            yield path


def _files(places: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    for place in places:
        yield from ((place, entry.path) for entry in Walk(place))


def _content(path: str) -> bytes | mmap.mmap:
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class _Pieces:
    """The pieces of texts, found by windows of 8 bytes with their places in the pieces and the pieces' lengths."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.pieces: set[bytes] = set()
        self._windows: dict[bytes, set[tuple[int, int]]] = {}
        for text in texts:
            for form in {text, json.dumps(text)[1:-1]}:
                self.pieces.update(piece for piece in _pieces(form) if len(piece) >= _SHORTEST)
        for piece in self.pieces:
            for at in range(_STEP):
                self._windows.setdefault(piece[at : at + _STEP], set()).add((at, len(piece)))

    def found_in(self, content: bytes | mmap.mmap) -> Iterator[bytes]:
        """Yield each piece as often as it occurs."""
        for start in range(0, len(content), _STEP):
            for at, length in self._windows.get(content[start : start + _STEP], ()):
                if start >= at and (piece := content[start - at : start - at + length]) in self.pieces:
                    yield piece


def _pieces(text: str) -> tuple[bytes, ...]:
    data = text.encode("utf-8", "replace")
    middle = (len(data) - _PIECE) // 2
    return (data,) if len(data) <= _PIECE else (data[:_PIECE], data[middle : middle + _PIECE], data[-_PIECE:])
