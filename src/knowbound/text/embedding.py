"""A small static embedding: a text as 256 signed bytes, made in the standard library alone.

The vector of a text is the sum of the vectors of its word pieces, scaled to one length. The vectors of the pieces are
distilled from all-MiniLM-L6-v2 by `bench/make_embedding.py`; their length says how specific a piece is. The hook runs
this in every process, so the table is mapped, not loaded, and searched by bisection. All numbers are whole until the
last division: the same text has the same bytes on every machine.

`embedding_data/pieces.bin`, little-endian:

    8 bytes             magic, with the version of the format
    uint32 count        number of pieces
    uint32 size         bytes of the names
    count × 256 bytes   the vectors, each byte a value from -127 to 127 plus 128
    (count+1) × uint32  the start of each name, and the end of the last name
    size bytes          the names in UTF-8, sorted by their bytes; `##` marks a piece that continues a word
"""

from __future__ import annotations

import math
import mmap
import os
import re
import struct
import unicodedata
from bisect import bisect_left
from functools import lru_cache
from operator import mul
from zlib import crc32

from knowbound.text.printable import both_ends
from knowbound.text.terms import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

DIMENSIONS = 256
CODE_BYTES = DIMENSIONS // 8
VERSION = 1  # vectors and codes of different versions cannot be compared
MAGIC = b"kbembed1"
HEADER = struct.Struct("<8sII")

# Length of the vectors that `embed` makes: the largest at which a value of five standard deviations fits into a byte.
_VECTOR_LENGTH = 400
_TEXT_CHARACTERS = 20_000  # characters; a longer text is cut to its ends
_LONGEST_WORD = 64  # longer words are keys and hashes
_PIECES_OF_LANE = 256  # pieces whose sum of bytes fits into 16 bits
_WORD = re.compile(r"[^\W_]+")
_EVERY_OTHER_BYTE = int.from_bytes(b"\xff\x00" * (DIMENSIONS // 2), "little")
_SIGNS = bytes(0x31 if 0 < value < 128 else 0x30 for value in range(256))  # "1" for a positive signed byte, else "0"
_VALUES = struct.Struct(f"{DIMENSIONS}b")
_LANES = struct.Struct(f"<{DIMENSIONS // 2}H")


def embed(text: str) -> bytes:
    """Return the vector of a text: 256 signed bytes of one length, or all 0 for a text without a known word."""
    total = [0] * DIMENSIONS
    even = odd = pieces = 0
    for word in plain_words(text):
        word_even, word_odd, word_pieces = _word_sum(word)
        if pieces + word_pieces > _PIECES_OF_LANE:  # a lane of 16 bits would overflow
            _add_lanes(total, even, odd, pieces)
            even = odd = pieces = 0
        even, odd, pieces = even + word_even, odd + word_odd, pieces + word_pieces
    _add_lanes(total, even, odd, pieces)
    square = sum(map(mul, total, total))
    if not square:
        return bytes(DIMENSIONS)
    scale = _VECTOR_LENGTH / square**0.5
    values = [round(value * scale) for value in total]
    if max(values) > 127 or min(values) < -127:  # beyond five standard deviations
        values = [max(-127, min(127, value)) for value in values]
    return _VALUES.pack(*values)


def code_of(vector: bytes) -> bytes:
    """Return the signs of a vector in 32 bytes. The more bits two codes share, the more similar the vectors are."""
    return int(vector.translate(_SIGNS), 2).to_bytes(CODE_BYTES, "big")


class Unpacked:
    """The numbers of a vector, to compare it with many, and the square of its length."""

    def __init__(self, vector: bytes) -> None:
        self.numbers = _VALUES.unpack(vector)
        self.square = round(math.hypot(*self.numbers) ** 2)


def similarity(vector: bytes, other: bytes) -> float:
    """Return the cosine of two vectors made by `embed`: 1 for the same direction, 0 if a text has no known word."""
    return nearest_similarity([Unpacked(vector)], Unpacked(other))


def nearest_similarity(several: Sequence[Unpacked], other: Unpacked) -> float:
    """Return the cosine of a vector with the nearest of several vectors.

    2ab = a² + b² - (a - b)², and `math.dist` takes a fifth of the time of a sum of products. Squares are whole numbers,
    so rounding makes them exact.
    """
    numbers = other.numbers
    differences = [vector.square - round(math.dist(vector.numbers, numbers) ** 2) for vector in several]
    return cosine_of((max(differences) + other.square) / 2)


def cosine_of(product: float) -> float:
    """Return the cosine of two vectors made by `embed` from the sum of the products of their values."""
    return max(-1.0, min(1.0, product / (_VECTOR_LENGTH * _VECTOR_LENGTH)))


def plain_words(text: str) -> list[str]:
    """Return the words of a text as spelled, without accents; an ideograph is a word of one character."""
    text = both_ends(text, _TEXT_CHARACTERS)
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
        text = "".join([sign for sign in text if unicodedata.category(sign) != "Mn"])
        text = _ideograph().sub(r" \1 ", text)
    return _WORD.findall(text)


@lru_cache(maxsize=1)
def _ideograph() -> re.Pattern[str]:
    """Return the pattern of a character that is a word; compiling it takes milliseconds."""
    return re.compile("([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f])")


class _Table:
    """The mapped file of word pieces."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        magic, self.count, size = HEADER.unpack_from(self._file)
        self._offsets = HEADER.size + self.count * DIMENSIONS  # positions in the file: vectors, offsets, names
        self._names = self._offsets + 4 * (self.count + 1)
        if magic != MAGIC or len(self._file) != self._names + size:
            raise ValueError(f"{path} is not a table of word pieces of this version")
        self._known = range(self.count)  # the rows, sorted by name

    def vector(self, row: int) -> int:
        """Return the 256 biased bytes of a row as one number."""
        start = HEADER.size + row * DIMENSIONS
        return int.from_bytes(self._file[start : start + DIMENSIONS], "little")

    def name(self, row: int) -> bytes:
        start, end = struct.unpack_from("<II", self._file, self._offsets + 4 * row)
        return self._file[self._names + start : self._names + end]

    def find(self, piece: str) -> int | None:
        """Return the row of a piece, None if the table does not have it."""
        name = piece.encode()
        row = bisect_left(self._known, name, key=self.name)
        return row if row < self.count and self.name(row) == name else None


@lru_cache(maxsize=1)
def _table() -> _Table:
    return _Table(os.path.join(os.path.dirname(__file__), "embedding_data", "pieces.bin"))


@lru_cache(maxsize=20_000)
def _word_sum(word: str) -> tuple[int, int, int]:
    """Return the sum of a word's pieces as two numbers with 128 lanes of 16 bits, and the number of pieces.

    Adding two such numbers adds all lanes at once, which is fast without numpy.
    """
    table = _table()
    even = odd = 0
    vectors = [table.vector(row) for row in _rows(table, word)] or _arbitrary_vector(table, word)
    for vector in vectors:
        even += vector & _EVERY_OTHER_BYTE
        odd += vector >> 8 & _EVERY_OTHER_BYTE
    return even, odd, len(vectors)


def _arbitrary_vector(table: _Table, word: str) -> list[int]:
    """Return a vector for a word in a script that the table hardly has: any vector, reversed so that it means nothing.

    It makes texts similar that share the word, such as Chinese texts whose characters have no vector.
    """
    if word.isascii() or len(word) > _LONGEST_WORD:
        return []
    row = crc32(word.lower().encode()) % table.count
    return [int.from_bytes(table.vector(row).to_bytes(DIMENSIONS, "little"), "big")]


def _add_lanes(total: list[int], even: int, odd: int, pieces: int) -> None:
    """Add the lanes of the even and the odd bytes to the 256 values of `total`, without the bias of 128 a piece."""
    bias = 128 * pieces
    for first, lanes in ((0, even), (1, odd)):
        values = _LANES.unpack(lanes.to_bytes(DIMENSIONS, "little"))
        total[first::2] = [sum_ + value - bias for sum_, value in zip(total[first::2], values, strict=True)]


def _rows(table: _Table, word: str) -> list[int]:
    """Return the rows of a word: its own, or of the longest pieces of its parts (`getUserName` has three parts)."""
    if len(word) > _LONGEST_WORD:
        return []
    whole = table.find(word.lower())
    if whole is not None:
        return [whole]
    return [row for part in split_words(word) for row in _longest_pieces(table, part)]


def _longest_pieces(table: _Table, word: str) -> list[int]:
    """Return the rows by WordPiece: the longest piece that begins the word, then the longest that continues it.

    A word that pieces do not cover whole has no rows.
    """
    rows = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""  # how the table writes a piece inside a word
        for end in range(len(word), start, -1):
            row = table.find(mark + word[start:end])
            if row is not None:
                rows.append(row)
                start = end
                break
        else:
            return []
    return rows
