"""Redaction: secrets are replaced by `[redacted:<kind>]`, the rest of the text stays.

A secret is known by its shape (`ghp_…`, a private key block), or by its name (`password=…`); the patterns are in
`secrets/`.

All text that is stored, shown or sent is redacted, so the usual call ends after two searches: for a run of characters
that may be a token, and for the name of a secret. Shapes are tried on the parts around such runs first, and on the text
only if a part has a secret. Only what these searches find loads the patterns, so that a hook that says where a file is
loads none. Every pattern is linear: a repetition ends where the pattern may begin again, or has a largest length.
"""

from __future__ import annotations

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.features import mark, may_have_option, may_have_parameter, may_name_secret, parts_with_runs

_EDGE_CHARACTERS = 300  # characters beyond an excerpt
_LONG_RUN = lazy(r"[A-Za-z0-9]{20}")


def redact(text: str) -> str:
    """Return the text without its secrets. Redacting the result again changes nothing."""
    while text and (redacted := _redact_once(text)) != text:
        text = redacted
    return text


def excerpt(text: str, most: int) -> str:
    """Return the first characters of the redacted text. Half a secret is not recognised, so the text is redacted first.

    More is redacted than returned: by more than the part of a secret that is needed to recognise it.
    """
    length = most + _EDGE_CHARACTERS
    while (shown := redact(text[:length])) and length < len(text) and len(shown) < most + _EDGE_CHARACTERS // 2:
        length *= 2
    return shown[:most]


def cut(text: str, most: int) -> str:
    """Return the text as it is, or its excerpt if it is longer: for text that is redacted later."""
    return text if len(text) <= most else excerpt(text, most)


def excerpt_of_end(text: str, most: int) -> str:
    """Return the last characters of the redacted text."""
    length = most + _EDGE_CHARACTERS
    while (shown := redact(text[-length:])) and length < len(text) and len(shown) < most + _EDGE_CHARACTERS // 2:
        length *= 2
    return shown[-most:]


def _redact_once(text: str) -> str:
    """Redact by shape, then by form, then by name; each step only if a cheap search finds what it needs."""
    if "PRIVATE KEY" in text:
        from knowbound.text.secrets.forms import redact_keys  # noqa: PLC0415

        text = redact_keys(text)
    parts = parts_with_runs(text)
    if parts and _redact_shaped(parts) != parts:  # few parts are searched, not the whole text
        text = _redact_shaped(text)
    if may_have_parameter(text):
        from knowbound.text.secrets.forms import redact_parameters  # noqa: PLC0415

        text = redact_parameters(text)
    if "://" in text:
        from knowbound.text.secrets.forms import redact_addresses  # noqa: PLC0415

        text = redact_addresses(text)
    lowered = _lowered(text)
    names_secret = may_name_secret(lowered)
    redacted = text
    if names_secret or may_have_option(text) or ("|" in text and ("echo" in text or "printf" in text)):
        from knowbound.text.secrets.forms import redact_commands  # noqa: PLC0415

        redacted = redact_commands(text, names_secret=names_secret)
    if names_secret:
        from knowbound.text.secrets.named import redact_named, redact_tables  # noqa: PLC0415

        lowered = lowered if redacted == text else _lowered(redacted)
        without_named = redact_named(redacted, lowered)
        lowered = lowered if without_named == redacted else without_named.lower()
        redacted = redact_tables(without_named, lowered)
    return redacted


def _lowered(text: str) -> str:
    """Return the text in small letters, as long as the text: İ alone would grow."""
    return text.replace("İ", "I").lower()


def _redact_shaped(text: str) -> str:
    """Redact the secrets that have a shape of their own."""
    from knowbound.text.secrets.forms import redact_encoded  # noqa: PLC0415
    from knowbound.text.secrets.shapes import redact_shapes  # noqa: PLC0415

    is_long = _LONG_RUN.search(text) is not None
    text = redact_shapes(_redact_tokens(text), is_long=is_long)
    return redact_encoded(text, _redact_decoded) if is_long else text


def _redact_decoded(text: str) -> str:
    """Redact decoded text, without decoding base64 in it again."""
    from knowbound.text.secrets.named import redact_named  # noqa: PLC0415

    text = _redact_tokens(text)
    return redact_named(text, text.lower())


def _redact_tokens(text: str) -> str:
    """Redact private keys and the tokens with a vendor's prefix."""
    from knowbound.text.secrets.forms import redact_keys  # noqa: PLC0415
    from knowbound.text.secrets.shapes import find_tokens  # noqa: PLC0415

    text = redact_keys(text)
    kept, done = [], 0
    for start, end, kind in find_tokens(text):
        kept += [text[done:start], mark(kind)]
        done = end
    return "".join([*kept, text[done:]]) if kept else text


# Values and JSON: a secret may be known only by the name of its key


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
    import msgspec  # noqa: PLC0415  (a hook reads no JSON here)

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
