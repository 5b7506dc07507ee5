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
from knowbound.text.secrets.names import may_have_option, may_have_parameter, may_name_secret, parts_with_runs

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
    if parts and _redact_shaped(parts) != parts:
        text = _redact_shaped(text)
    if may_have_parameter(text):
        from knowbound.text.secrets.forms import redact_parameters  # noqa: PLC0415

        text = redact_parameters(text)
    if "://" in text:
        from knowbound.text.secrets.forms import redact_addresses  # noqa: PLC0415

        text = redact_addresses(text)
    lowered = _lowered(text)
    names_secret = may_name_secret(lowered)
    without = text
    if names_secret or may_have_option(text) or ("|" in text and ("echo" in text or "printf" in text)):
        from knowbound.text.secrets.forms import redact_commands  # noqa: PLC0415

        without = redact_commands(text, names_secret=names_secret)
    if names_secret:
        from knowbound.text.secrets.named import redact_named  # noqa: PLC0415
        from knowbound.text.secrets.said import redact_tables  # noqa: PLC0415

        lowered = lowered if without == text else _lowered(without)
        text, without = without, redact_named(without, lowered)
        without = redact_tables(without, lowered if without == text else without.lower())
    return without


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
    from knowbound.text.secrets.looks import mark  # noqa: PLC0415
    from knowbound.text.secrets.shapes import find_tokens  # noqa: PLC0415

    text = redact_keys(text)
    kept, done = [], 0
    for start, end, kind in find_tokens(text):
        kept += [text[done:start], mark(kind)]
        done = end
    return "".join([*kept, text[done:]]) if kept else text
