"""Passwords in a column of a table whose heading names it: CSV, and tables of Markdown."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.looks import is_mixed, is_password, is_random
from knowbound.text.secrets.mark import mark

_LINE = lazy(r"(\r?\n|\\+n)")  # also in JSON
_HEADING = lazy(r"(?i)(?:password|passwort|passwd|secret|token|密码|口令)s?")
_HEADINGS = ("password", "passwort", "passwd", "secret", "token", "密码", "口令")
_CELL_END = r"s?[ *`\"]{0,3}(?:[,|\n]|\\+n)"
_MOST_ROWS = 200


def redact_tables(text: str, lowered: str) -> str:
    """The text without the secrets in its tables; `lowered` is the text in small letters."""
    if not any(re.search(heading + _CELL_END, lowered) for heading in filter(lowered.__contains__, _HEADINGS)):
        return text
    parts = _LINE.split(text)  # lines, and what is between them
    for at in range(0, len(parts) - 2, 2):
        heading = parts[at].rpartition('"')[2] if parts[at].startswith(("{", '"')) else parts[at]  # also in JSON
        if len(heading) > 400 or not _HEADING.search(heading):
            continue
        sign = "|" if "|" in heading else ","
        cells = [cell.strip(' *`"\t').lower() for cell in heading.split(sign)]
        for column, cell in enumerate(cells):
            if len(cells) > 1 and len(cell) < 30 and _HEADING.search(cell):
                _redact_column(parts, at, sign, column, len(cells))
    return "".join(parts)


def _redact_column(parts: list[str], heading: int, sign: str, column: int, columns: int) -> None:
    for at in range(heading + 2, min(len(parts), heading + 2 + 2 * _MOST_ROWS), 2):
        cells = parts[at].split(sign)
        if len(cells) != columns or _HEADING.search(cells[column]):
            break
        value = cells[column].strip(' *`"\\\t')
        if is_password(value) or is_random(value) or (len(value) >= 12 and is_mixed(value)):
            cells[column] = cells[column].replace(value, mark("password"))
            parts[at] = sign.join(cells)
