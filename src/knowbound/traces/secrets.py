"""Secrets that lie in transcripts: which kind, in which files and lines, and since when; never the value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from knowbound.report.secrets import LeakedSecret, SecretPlace, SecretScan
from knowbound.text.clock import comparable_time, iso_time
from knowbound.text.redact import redact
from knowbound.traces.corpus import FoundFile
from knowbound.traces.source import SQLITE_SIGNATURE, Tally, read_head, read_lines, tables_of
from knowbound.traces.values import decode

_MOST_PLACES = 20  # of one secret that are listed
_DEEPEST = 60  # levels of a value that are looked at
# Tables in which agents keep what was said, and the columns that hold it.
_TABLES = (("message", "data"), ("part", "data"), ("messages", "content_json"))
_TIME = re.compile(rb'"(?:timestamp|created_at|time)"\s*:\s*"(\d{4}-\d\d-\d\dT[^"]{5,40})"')


def scan_for_secrets(files: Sequence[FoundFile], progress: Callable[[int, int], None] | None = None) -> SecretScan:
    """Look for secrets in every file, oldest secret first."""
    found: dict[tuple[str, bytes], LeakedSecret] = {}
    seen_in: dict[tuple[str, bytes], set[str]] = {}
    scan, tally = SecretScan(), Tally()
    total, done = sum(file.size for file in files), 0
    for file in files:
        written = iso_time(file.mtime_ns, 1_000_000_000)
        for line, time, text in _texts(Path(file.path), tally):
            for secret in secrets_in(text):
                leaked = found.setdefault(secret, LeakedSecret(secret.kind, time or written))
                leaked.first = min(leaked.first, time or written)
                place = SecretPlace(file.path, line)
                if place not in leaked.places[-1:]:  # twice in a line counts once
                    leaked.lines += 1
                    leaked.places += [place][: _MOST_PLACES - len(leaked.places)]  # none beyond the limit
                    seen_in.setdefault(secret, set()).add(file.path)
        done += file.size
        if progress is not None:
            progress(done, total)
    for key, leaked in found.items():
        leaked.files = len(seen_in[key])
    scan.secrets = sorted(
        found.values(), key=lambda leaked: (leaked.first, leaked.kind, leaked.places[0].file, leaked.places[0].line)
    )
    scan.files, scan.lines = len(files), tally.lines
    scan.unreadable = sorted({skip.path for skip in tally.skipped if skip.reason.startswith("unreadable")})
    return scan


def _texts(path: Path, tally: Tally) -> Iterator[tuple[int, str, str]]:
    """Yield the texts of a file with their line and the time of the line, "" if it has none."""
    try:
        head = read_head(path)
    except Exception:  # a damaged archive raises any error of its library
        tally.skip(str(path), 1, "unreadable")
        return
    if head.startswith(SQLITE_SIGNATURE):
        yield from _texts_of_tables(path, tally)
        return
    for number, raw in read_lines(path, tally):
        found = _TIME.search(raw)
        time = comparable_time(found[1].decode()) if found else ""
        for text in _texts_of_line(raw):
            yield number, time, text


def _texts_of_tables(path: Path, tally: Tally) -> Iterator[tuple[int, str, str]]:
    """Yield the texts in the known columns of a database, with the number of the row; rows have no time."""
    with tables_of(path, tally) as tables:
        for table, column in _TABLES if tables else ():
            assert tables is not None
            for number, row in enumerate(tables.rows(table, column), 1):
                value = row[column]
                for text in _texts_of_line(value.encode("utf-8", "replace") if isinstance(value, str) else b""):
                    yield number, "", text


def _texts_of_line(raw: bytes) -> Iterator[str]:
    """Yield the texts of a line: of JSON its values with their names, else the line."""
    if raw.lstrip()[:1] in (b"{", b"["):
        try:
            yield from _texts_of_value(decode(raw.rstrip()), 0)
            return
        except ValueError:
            pass  # a line of a document over several lines
    yield raw.decode("utf-8", "replace")


def _texts_of_value(value: Any, depth: int) -> Iterator[str]:
    """Yield the texts of a JSON value; a short one with its name before it."""
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, dict):
        for name, part in value.items():
            if isinstance(part, str):  # `"password": "…"`: the name says what the value is
                yield f"{name}: {part}" if len(part) < 200 and " " not in part else part
            else:
                yield from _texts_of_value(part, depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for part in value:
            yield from _texts_of_value(part, depth + 1)


_MARK = re.compile(r"\[redacted:([a-z0-9-]+)\]")


class FoundSecret(NamedTuple):
    """One secret of a text."""

    kind: str
    fingerprint: bytes  # equal for equal secrets; for this process alone


def secrets_in(text: str) -> Iterator[FoundSecret]:
    """Yield the secrets of a text, as `redact` finds them: what stood between two texts that it kept."""
    if (redacted := redact(text)) == text:
        return
    kinds = _MARK.findall(redacted)
    position = 0
    for number, part in enumerate(_MARK.split(redacted)[::2]):
        start = text.find(part, position) if part else (position if number < len(kinds) else len(text))
        start = position if start < 0 else start
        if number:
            value = text[position:start]
            if _MARK.fullmatch(value) is None:  # else the text had the mark before
                yield FoundSecret(kinds[number - 1], sha256(value.encode("utf-8", "replace")).digest())
        position = start + len(part)
