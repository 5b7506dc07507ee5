"""The report of `secrets`: what lies in transcripts, where (never its value), since when, and what to rotate."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from knowbound.language import say
from knowbound.report.formats.json import json_text, lines_or_rows
from knowbound.text.printable import counted

_SHOWN = 30
# By the end of the kind: what to do with the secret. The first that fits.
_ADVICE = (
    ("private-key", "make a new key pair, replace the public key wherever it is trusted, delete this one"),
    ("url-password", "change the password of that account or database"),
    ("password", "change the password"),
    ("webhook", "make a new webhook address and delete this one"),
    ("signature", "let the signed link expire, or rotate the key that signed it"),
    ("url-token", "revoke the token where it was made, and make a new one"),
    ("cookie", "end the session: sign out everywhere"),
    ("seed-phrase", "move what the wallet holds to a new one"),
    ("encoded", "decode it yourself, and rotate what it holds"),
    ("", "revoke it where it was made, and make a new one"),
)


class SecretPlace(msgspec.Struct, frozen=True):
    """A line of a transcript with a secret."""

    file: str
    line: int  # in a database, the number of the row


class LeakedSecret(msgspec.Struct):
    """One secret, wherever it lies."""

    kind: str
    first: str  # time of the first line that has it, or of its file: it has been there at least since then
    lines: int = 0
    places: list[SecretPlace] = []
    files: int = 0


class SecretScan(msgspec.Struct):
    """The secrets of some transcripts, and what was looked at."""

    secrets: list[LeakedSecret] = []
    files: int = 0
    lines: int = 0
    unreadable: list[str] = []


def advice(kind: str) -> str:
    """Return what to rotate, for a kind of secret."""
    return next(words for end, words in _ADVICE if kind.endswith(end))


def render_secrets(scan: SecretScan, format_: str) -> Iterator[str]:
    """Return the report: text, one JSON document, or a line of JSON for each secret."""
    rows = list(map(_row, scan.secrets))
    if format_ == "json":
        whole = {"files": scan.files, "lines": scan.lines, "unreadable": scan.unreadable, "secrets": rows}
        return iter([json_text({"format": "knowbound.secrets/1", **whole})])
    return lines_or_rows(format_, _lines(scan), rows)


def _row(secret: LeakedSecret) -> dict[str, object]:
    values = {"kind": secret.kind, "first": secret.first, "age_days": _age_in_days(secret.first), "lines": secret.lines}
    places = [{"file": place.file, "line": place.line} for place in secret.places]
    return {**values, "files": secret.files, "places": places, "rotate": advice(secret.kind)}


def _lines(scan: SecretScan) -> Iterator[str]:
    scanned = say("{} in {}", counted(scan.lines, "line"), counted(scan.files, "file"))
    if not scan.secrets:
        yield say("No secrets found: {}.", scanned)
    for number, secret in enumerate(scan.secrets[:_SHOWN], 1):
        days = _age_in_days(secret.first)
        age = say("age unknown") if days is None else counted(days, "day") + say(" old")
        where = counted(secret.lines, "line") + say(" of ") + counted(secret.files, "file")
        yield f"{number:>2}. {secret.kind} · {age} · {where}"
        yield f"    {secret.places[0].file}:{secret.places[0].line}"
        yield f"    {say('Rotate')}: {say(advice(secret.kind))}"
    if len(scan.secrets) > _SHOWN:
        yield f"    {say('{} more: --format jsonl', len(scan.secrets) - _SHOWN)}"
    if scan.secrets:
        yield ""
        yield say("{} found: {}. Values are never shown or kept.", counted(len(scan.secrets), "secret"), scanned)
        yield say("Rotate first: deleting a transcript takes nothing back that a model or a backup has seen.")
    for path in scan.unreadable:
        yield say("Not readable: {}", path)


def _age_in_days(time: str) -> int | None:
    """Return the days since a time; None if it is unknown."""
    try:
        then = datetime.fromisoformat(time)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0, (datetime.now(UTC) - then).days)
