"""Quotations of a model: what an answer rests on has to be verbatim in the material that the model was shown.

White space and the signs of Markdown do not count, nor do the numbers and signs before a line. An ellipsis inside a
quotation stands for any text: its parts have to follow each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_ELLIPSIS = re.compile(r"\s*(?:\[?…\]?|\[?\.{3}\]?)\s*")
_SIGNS = re.compile(r"[\s*_`#>|~\\]+")
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " ", "–": "-", "—": "-"})
_OUTER = "\"'«»「」『』.,;:"
_SHORTEST = 4  # characters of a quotation, or of one of its parts; two of them if they are ideographs
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def is_quoted(quotation: str, texts: Iterable[str]) -> bool:
    """Report whether the quotation is verbatim in one of the texts."""
    parts = [part for part in (_plain(part) for part in _ELLIPSIS.split(quotation.strip())) if part]
    if not parts or any(map(_is_short, parts)):
        return False
    return any(_in_order(parts, _plain_material(text)) for text in texts)


def _is_short(part: str) -> bool:
    return len(part) + len(_IDEOGRAPH.findall(part)) < _SHORTEST


def _in_order(parts: list[str], text: str) -> bool:
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _plain(text: str) -> str:
    return _stripped(text).strip(_OUTER)


@lru_cache(maxsize=256)
def _plain_material(text: str) -> str:
    return _stripped(text)


def _stripped(text: str) -> str:
    """Return the text without white space and signs of Markdown; JSON escapes of line ends and quotes are undone."""
    text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    return _SIGNS.sub("", text.translate(_QUOTES))
