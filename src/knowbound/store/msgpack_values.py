"""Reads a value in msgpack, for the hook: loading msgspec takes 25 ms, longer than reading all lessons of a project."""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = dict(zip((0xCA, 0xCB, *range(0xCC, 0xD4)), ">f >d >B >H >I >Q >b >h >i >q".split(), strict=True))
# Sign of what has its length before it: how many bytes that takes, and what it is.
_TEXT, _BYTES, _LIST, _MAP = range(4)
_SIZED = {
    0xD9: (1, _TEXT), 0xDA: (2, _TEXT), 0xDB: (4, _TEXT), 0xC4: (1, _BYTES), 0xC5: (2, _BYTES), 0xC6: (4, _BYTES),
    0xDC: (2, _LIST), 0xDD: (4, _LIST), 0xDE: (2, _MAP), 0xDF: (4, _MAP),
}  # fmt: skip


def read_value(data: bytes) -> Any:
    """The value; ValueError where the bytes are none, or one of an extension."""
    try:
        value, end = _value(data, 0)
    except (IndexError, KeyError, TypeError, RecursionError, struct.error, UnicodeDecodeError) as error:
        raise ValueError("no value in msgpack") from error
    if end != len(data):
        raise ValueError("no value in msgpack")
    return value


def _value(data: bytes, at: int) -> tuple[Any, int]:
    sign, at = data[at], at + 1
    if sign < 0x80 or sign >= 0xE0:
        return (sign if sign < 0x80 else sign - 0x100), at
    if sign < 0xC0:
        kind = _MAP if sign < 0x90 else _LIST if sign < 0xA0 else _TEXT
        return _sized(data, at, sign & (0x1F if kind == _TEXT else 0x0F), kind)
    if sign in _SIZED:
        width, kind = _SIZED[sign]
        return _sized(data, at + width, int.from_bytes(data[at : at + width], "big"), kind)
    if sign in _CONSTANTS:
        return _CONSTANTS[sign], at
    return struct.unpack_from(_NUMBERS[sign], data, at)[0], at + struct.calcsize(_NUMBERS[sign])


def _sized(data: bytes, at: int, size: int, kind: int) -> tuple[Any, int]:
    if kind in (_TEXT, _BYTES):
        part = data[at : at + size]
        if len(part) < size:
            raise IndexError
        return (part.decode() if kind == _TEXT else part), at + size
    found = []
    for _ in range(size * (2 if kind == _MAP else 1)):
        value, at = _value(data, at)
        found.append(value)
    return (dict(zip(found[::2], found[1::2], strict=True)) if kind == _MAP else found), at
