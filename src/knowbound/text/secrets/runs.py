"""The few parts of a text that may have a secret with a shape of its own, and are worth searching.

A token has a long run of characters without a space, with a digit or with alternating capitals and small letters. Runs
are found in a copy of the text with one byte for each character, which says whether a token may have it.
"""

from __future__ import annotations

import re
import string

from knowbound.core.lazy_pattern import lazy

_SIGNS = frozenset((string.ascii_letters + string.digits + "_+=.%~-").encode())
_IN_RUN = bytes(ord("x") if byte in _SIGNS else ord(" ") for byte in range(256))
# A slash ends a run, or most long runs would be paths; a path is searched only beside a run that may be a token.
_IN_PATH = bytes(ord("x") if byte in _SIGNS or byte == ord("/") else ord(" ") for byte in range(256))
_LONG = b"x" * 15  # the shortest token is xoxb- and ten characters
_DIGIT = lazy(r"\d", re.ASCII)
_IN_TURNS = lazy(r"[a-z][^A-Za-z]*+[A-Z][^a-z]*+[a-z][^A-Z]*+[A-Z]")
_SIGN = lazy(r"[_+=%~-]")
_LONGEST_NAME = 23  # a name in source code has capitals too; a token of letters alone is longer
_LONGEST_WITHOUT_DIGIT = 500  # a longer random run has a digit
_LINE_END = lazy(r"[ \t\"'+]{0,12}[\\\r\n]")
_LINE_START = lazy(r"(?:\n|\\+r?\\*n?)[ \t>|+\"'#*]{0,12}\Z")
_BESIDE = 48
_NEXT_LINE = 240  # a token may be wrapped


def parts_with_runs(text: str) -> str:
    """Return the runs that may belong to a token with the text beside them, one part per line."""
    signs = text.encode("ascii", "replace")  # as long as the text
    runs = signs.translate(_IN_RUN)
    at = runs.find(_LONG)
    if at < 0:
        return ""
    parts: list[tuple[int, int]] = []
    paths, end_of_part = b"", -1
    while at >= 0:
        end = runs.find(b" ", at)
        end = len(text) if end < 0 else end
        if _may_be_token(text, at, end):
            paths = paths or signs.translate(_IN_PATH)
            start, end = paths.rfind(b" ", 0, at) + 1, paths.find(b" ", end)
            end = len(text) if end < 0 else end
            is_first, is_last = _LINE_START.search(text, max(0, start - 16), start), _LINE_END.match(text, end)
            start = max(0, start - (_NEXT_LINE if is_first else _BESIDE))
            if start <= end_of_part:
                start = parts.pop()[0]
            end_of_part = end + (_NEXT_LINE if is_last else _BESIDE)
            parts.append((start, end_of_part))
        at = runs.find(_LONG, end)
    return "\n".join([text[start:end] for start, end in parts])


def _may_be_token(text: str, start: int, end: int) -> bool:
    if _DIGIT.search(text, start, end):
        return True
    if end - start > _LONGEST_WITHOUT_DIGIT:
        return False
    is_name = end - start <= _LONGEST_NAME and not _SIGN.search(text, start, end)
    return not is_name and _IN_TURNS.search(text, start, end) is not None
