r"""Replaces secrets by `[redacted:<kind>]`; the rest of the text stays as it is.

There are two ways to know a secret: its own shape (`ghp_…`, a private key block), or the name it is given
(`password=…`). What secrets look like is in `secrets/`.

Text comes through here wherever it is stored, shown or sent, so the usual call ends after two searches: for a run of
characters as long as a token, and for a telling name. Every pattern is linear: what may repeat ends where the pattern
may begin again, or has a largest length.
"""

from __future__ import annotations

import re

from knowbound.text.secrets.addresses import redact_addresses, redact_parameters
from knowbound.text.secrets.commands import redact_commands
from knowbound.text.secrets.keys import redact_encoded, redact_keys
from knowbound.text.secrets.mark import mark
from knowbound.text.secrets.named import redact_named
from knowbound.text.secrets.shapes import redact_shapes
from knowbound.text.secrets.tables import redact_tables
from knowbound.text.secrets.tokens import find_tokens

_EDGE = 300  # characters beyond an excerpt
# A token has a digit beside a letter or a sign, in a run of characters; most text has no such thing.
_DIGIT = re.compile(r"\d(?:(?<=[A-Za-z_.=:/%-]\d)|(?=[A-Za-z]))")
_RUN = re.compile(r"\b[\w+/=.%~-]{12}", re.ASCII)
_LONG_WORD = re.compile(r"\b\w{20}", re.ASCII)  # three times as quick as the next one
_LONG_RUN = re.compile(r"[A-Za-z0-9]{20}")
# Parts of all telling names, and of commands that take a secret; begun with rare letters, where a search stops seldom.
_TELLING = re.compile(
    r"k(?:e[ny]|ie|enn)|p(?:ass|wd|at(?![a-z])|hrase)|c(?:re[td]|ontras|urestr)|uth|bearer|mnemon|g(?:in[ :]|natur)"
    r"|words|fied by|/user:|qlplus"
)


def redact(text: str) -> str:
    """The text without its secrets. Redacting it again changes nothing."""
    while text and (redacted := _redact_once(text)) != text:
        text = redacted
    return text


def excerpt(text: str, most: int) -> str:
    """The first characters of the text without its secrets: half a secret looks like none, so it is redacted, then cut.

    What is redacted is longer than what is shown, by more than the part of a secret by which it is recognised.
    """
    length = most + _EDGE
    while (shown := redact(text[:length])) and length < len(text) and len(shown) < most + _EDGE // 2:
        length *= 2
    return shown[:most]


def cut(text: str, most: int) -> str:
    """The text as it is, unless it is longer than that: then its excerpt, for text that is redacted later."""
    return text if len(text) <= most else excerpt(text, most)


def excerpt_of_end(text: str, most: int) -> str:
    """The last characters of the text without its secrets."""
    length = most + _EDGE
    while (shown := redact(text[-length:])) and length < len(text) and len(shown) < most + _EDGE // 2:
        length *= 2
    return shown[-most:]


def _redact_once(text: str) -> str:
    is_long = _LONG_WORD.search(text) is not None and _LONG_RUN.search(text) is not None
    if is_long or (_DIGIT.search(text) and _RUN.search(text)):
        text = redact_keys(text) if is_long or "PRIVATE KEY" in text else text
        text = _redact_tokens(text)
        text = redact_shapes(text, is_long=is_long)
        if is_long:
            text = redact_encoded(text, _redact_decoded)
        text = redact_parameters(text)
    if "://" in text:
        text = redact_addresses(text)
    lowered = text.replace("İ", "I").lower()  # as long as the text: only İ grows when lowered
    is_telling = not text.isascii() or _TELLING.search(lowered) is not None
    if is_telling or " -" in text or "|" in text:
        text = redact_commands(text)
    if is_telling:
        text = redact_named(text, text.replace("İ", "I").lower())
        text = redact_tables(text, text.lower())
    return text


def _redact_decoded(text: str) -> str:
    """What is decoded is not decoded again."""
    text = _redact_tokens(redact_keys(text))
    return redact_named(text, text.lower())


def _redact_tokens(text: str) -> str:
    kept, done = [], 0
    for start, end, kind in find_tokens(text):
        kept += [text[done:start], mark(kind)]
        done = end
    return "".join([*kept, text[done:]]) if kept else text
