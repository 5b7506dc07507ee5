"""Codes and vectors of items compared by numpy (extra `vectors`): for a process that stays, such as the MCP server.

What is found is the same as without numpy, bit by bit (codes.py, text/embedding.py), in a fifth of the time and less.
Importing numpy takes as long as a whole hook, so a process that answers one event never does.
"""

from __future__ import annotations

from bisect import bisect_left
from zlib import crc32

import numpy as np

from knowbound.text.embedding import DIMENSIONS, cosine_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from numpy.typing import NDArray

CAN_COUNT = hasattr(np, "bitwise_count")  # numpy 2
_WORDS = DIMENSIONS // 64


class CodeArrays:
    """The codes of every served item: four numbers of 64 bits for each row."""

    def __init__(self, connection: sqlite3.Connection, slots: int, before: object = None) -> None:
        """Read the index; the chunks that are as they were before are taken from there."""
        of_before = before._chunks if isinstance(before, CodeArrays) else {}
        self._chunks: dict[int, tuple[int, NDArray[np.int64], NDArray[np.uint64]]] = {}
        for chunk, planes in connection.execute("SELECT chunk, planes FROM code_chunk"):
            known = of_before.get(chunk)
            check = crc32(planes)
            if known is None or known[0] != check:
                known = (check, *_unpacked(planes, chunk * slots))
            self._chunks[chunk] = known
        pending = connection.execute("SELECT row, code FROM code_pending").fetchall()
        added = [(row, code) for row, code in pending if code is not None]
        rows = [rows for _, rows, _ in self._chunks.values()] + [np.array([row for row, _ in added], np.int64)]
        codes = [codes for _, _, codes in self._chunks.values()] + [_as_words(b"".join(code for _, code in added))]
        self._rows, words = np.concatenate(rows), np.concatenate(codes)
        if pending:
            of_chunks = len(self._rows) - len(added)
            is_current = ~np.isin(self._rows, [row for row, _ in pending])
            is_current[of_chunks:] = True
            self._rows, words = self._rows[is_current], words[is_current]
        self._words = np.ascontiguousarray(words.T)

    def nearest(self, code: bytes, most: int) -> list[int]:
        """Return the row ids of the items with the most similar codes, nearest first."""
        distances = np.zeros(len(self._rows), np.uint16)
        for words, asked in zip(self._words, _as_words(code)[0], strict=True):
            distances += np.bitwise_count(words ^ asked)
        # Counting is a tenth of the work of np.partition.
        limit = bisect_left(range(DIMENSIONS), most, key=lambda least: int(np.count_nonzero(distances <= least)))
        near = np.flatnonzero(distances <= limit)
        order = np.lexsort((self._rows[near], distances[near]))[:most]
        found: list[int] = self._rows[near[order]].tolist()
        return found


def meanings(whole: bytes, parts: Sequence[bytes], vectors: Sequence[bytes]) -> list[float]:
    """Return, for each vector, the mean of its cosines with the whole query and with its nearest part."""
    if not vectors:
        return []
    asked, items = _as_numbers([whole, *parts]), _as_numbers(vectors)
    products = asked @ items.T  # whole numbers below 2^24: exact
    if not parts:
        return [cosine_of(product) for product in products[0].tolist()]
    pairs = zip(products[0].tolist(), products[1:].max(axis=0).tolist(), strict=True)
    return [(cosine_of(one) + cosine_of(nearest)) / 2 for one, nearest in pairs]


def _unpacked(planes: bytes, first: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return the row ids and the codes of a chunk."""
    bits = np.unpackbits(np.frombuffer(planes, np.uint8).reshape(DIMENSIONS + 1, -1), axis=1, bitorder="little")
    used = np.flatnonzero(bits[0])
    codes = np.packbits(bits[1:, used].T, axis=1, bitorder="little")
    return used + first, _as_words(codes.tobytes())


def _as_words(codes: bytes) -> NDArray[np.uint64]:
    return np.frombuffer(codes, "<u8").reshape(-1, _WORDS)


def _as_numbers(vectors: Sequence[bytes]) -> NDArray[np.float32]:
    return np.frombuffer(b"".join(vectors), np.int8).reshape(-1, DIMENSIONS).astype(np.float32)
