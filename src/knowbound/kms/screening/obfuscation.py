"""What a text says once its disguises are taken off: invisible, look-alike and spaced letters, encodings."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator

# Characters that show nothing. Joiners (U+200C, U+200D) are real letters' glue in emoji, Persian and Indic text.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff]"
)
_JOINED = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")
_TAG = re.compile("[\U000e0000-\U000e007f]")
_FLAG_EMOJI = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,7}\U000e007f")
_OVERRIDE = re.compile("[\u202d\u202e]")
_ESCAPE = re.compile("[\x1b\x9b]")
_TOO_MANY_INVISIBLE = 6  # more than a pasted web page brings along by accident

_LOOK_ALIKES = str.maketrans("аеорсухіјѕһԁοαενικ", "aeopcyxijshdoaevik")
_MIXED = re.compile(r"\w*(?:[a-zA-Z]\w*[\u0370-\u04ff\u0500-\u052f]|[\u0370-\u04ff\u0500-\u052f]\w*[a-zA-Z])\w*")
_DIGITS = str.maketrans("013457@$!", "oieastasi")
_LEET = re.compile(r"(?<![\w$@])(?=[\w$@!]*[a-zA-Z])[\w$@]*[013457@$!][\w$@!]*[a-zA-Z][\w$@!]*")
_SPACED = re.compile(r"(?<![^\W_])(?:[^\W\d_][ .*_\-]){4,}\W?(?:[^\W\d_][ .*_\-,;:'’]*)+(?![^\W_])")
_BASE64 = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/]{24,}={0,2}(?![\w+/=])")
_HIDDEN_HTML = re.compile(
    r"<!--(?P<comment>.{1,2000}?)(?:-->|--!>|\Z)"
    r"|(?:^|\n)\[//\]:\s*#\s*(?P<link>[^\n]{1,2000})"
    r"|<(?P<tag>\w{1,20})\b[^<>]{0,200}?(?:\shidden\b|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0"
    r"|color\s*[:=]\s*[\"']?(?:white|#fff))[^<>]{0,200}>(?P<text>[^<]{1,2000})</(?P=tag)",
    re.DOTALL | re.IGNORECASE,
)


def hidden_characters(text: str) -> str:
    """Which characters a reader cannot see carry a message, or an empty string."""
    if text.isascii():
        return "an escape sequence" if _ESCAPE.search(text) else ""
    if _ESCAPE.search(text):
        return "an escape sequence"
    if _TAG.search(_FLAG_EMOJI.sub("", text)):
        return "tag characters"
    if _OVERRIDE.search(text):
        return "a change of writing direction"
    if len(_INVISIBLE.findall(_JOINED.sub("", text))) > _TOO_MANY_INVISIBLE:
        return "invisible characters"
    return ""


def hidden_html(text: str) -> Iterator[str]:
    """Text that a browser would not show."""
    if "<" in text or "[//]:" in text:
        for found in _HIDDEN_HTML.finditer(text):
            yield (found["comment"] or found["link"] or found["text"] or "").strip()


def readings(text: str) -> Iterator[str]:
    """The text as plain letters, and what else it may be meant to say."""
    plain = _plain(text)
    yield plain
    leet = _LEET.sub(lambda word: word[0].translate(_DIGITS), plain)
    if leet != plain:
        yield leet
    if _SPACED.search(plain):
        yield _joined(plain)
    for encoded in _BASE64.findall(text):
        if decoded := _decoded(encoded):
            yield _plain(decoded)
    if "rot13" in plain.lower() or "rot-13" in plain.lower():
        yield codecs.decode(plain, "rot13")


def _plain(text: str) -> str:
    if text.isascii():
        return text
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return _MIXED.sub(lambda word: word[0].translate(_LOOK_ALIKES), text)


def _joined(text: str) -> str:
    """I g n o r e   a l l → ignore all."""
    return _SPACED.sub(lambda run: _join_letters(run[0]) + " ", text)


def _join_letters(run: str) -> str:
    separator = run[1]
    if separator != " ":
        return " ".join(re.sub(r"[^\w\s]", "", part) for part in run.split())
    words = re.split(r"\s{2,}", run)
    return " ".join(word.replace(" ", "") for word in words)


def _decoded(encoded: str) -> str:
    """The text in base64, if it is words."""
    try:
        text = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
    return text if text.isprintable() and " " in text else ""
