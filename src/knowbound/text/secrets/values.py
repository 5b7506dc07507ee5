"""Redaction of values and JSON: every text in them, also a secret that is known only by the name of its key."""

from __future__ import annotations

import msgspec

from knowbound.text.redact import redact


def redact_value(value: object, name: str = "") -> object:
    """Return a value of JSON's types with every text redacted; `name` is the key of the value."""
    if isinstance(value, str):
        return _redact_named(name, value) if name else redact(value)
    if isinstance(value, list | tuple):
        return type(value)([redact_value(part, name) for part in value])
    if isinstance(value, dict):
        return {
            redact(key) if isinstance(key, str) else key: redact_value(part, str(key)) for key, part in value.items()
        }
    return value


def redact_stream(text: str) -> str:
    """Redact an agent's output: a JSON document, lines of JSON, plain text, or lines of both; JSON stays JSON."""
    if (redacted := _redact_json(text)) is not None:
        return redacted
    parts: list[str] = []
    plain: list[str] = []  # lines in a row that are no JSON: a secret may span several lines
    for line in text.splitlines(keepends=True):
        redacted = _redact_json(line)
        if redacted is None:
            plain.append(line)
        else:
            parts += [redact("".join(plain)), redacted]
            plain.clear()
    return "".join([*parts, redact("".join(plain))])


def _redact_json(text: str) -> str | None:
    """Redact every text in JSON and keep the rest as written; None if the text is no JSON."""
    body = text.strip()
    if body[:1] not in ("{", "["):
        return None
    try:
        value = msgspec.json.decode(body.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    redacted = redact_value(value)
    return text if redacted == value else text.replace(body, msgspec.json.encode(redacted).decode())


def _redact_named(name: str, value: str) -> str:
    """Redact a value as `name: "value"` would be."""
    before, after = f'{name}: "', '"'
    whole = redact(before + value + after)
    if whole.startswith(before) and whole.endswith(after):
        value = whole[len(before) : -len(after)]
    return redact(value)
