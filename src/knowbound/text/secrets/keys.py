"""Private keys: blocks, blocks that were cut, PuTTY's format, and base64 of keys."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.looks import mark

_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY = lazy(
    rf"{_BEGIN}(?:(?>(?:[^-]|-(?!----))*){_END}"
    # The end is cut off: lines of base64, of which the last may be short.
    r"|(?>(?:[\s\"'+,]|\\+[nrt]|(?:Proc-Type|DEK-Info|Version|Comment): ?[\w.,() -]{0,80}|[A-Za-z0-9+/=]{16,}+)*)"
    r"(?:[A-Za-z0-9+/=]{1,15}(?=\Z|…|\.\.\.|\[))?)"
)
_KEY_REST = lazy(_END)
_LINES_BACKWARD = lazy(r"(?>(?:[nrt]?\\|\s)*)[A-Za-z0-9+/=]++(?>(?:(?>(?:\\|\s)+)[A-Za-z0-9+/=]{16,}+)*)")
_LENGTH = 4096  # a 4096-bit RSA key has 3,300 characters
_BASE64 = lazy(r"[A-Za-z0-9+/=]{24}")
_PUTTY = lazy(r"(Private-Lines: ?\d{1,3})((?:(?:\s|\\+[nrt])+[A-Za-z0-9+/=]{4,}+)+)")

# Base64 lines of a key without the lines around it: the first bytes of the formats, and of "-----BEGIN … PRIVATE".
_ENCODED = lazy(
    r"(?<![A-Za-z0-9+/])(?:LS0tLS1CRUdJTi(?=[A-Za-z0-9+/]{0,40}(?:QUklWQVRF|BSSVZBVE|UFJJVkFUR|JJVkFUR))"
    r"|b3BlbnNzaC1rZXktdjE|MII[A-Z][A-Za-z0-9+/]{2}IBAAK|MII[A-Z][A-Za-z0-9+/]{2}IBADAN|MH[cg]CAQEE|MI[GH][A-Za-z0-9+/]AgEA"
    r"|MC4CAQAwBQYDK2V)[A-Za-z0-9+/]{16,}+=*(?:(?:\s|\\+[nr])+[A-Za-z0-9+/]{4,}+=*){0,100}"
)
_ENCODED_PARTS = ("LS0tLS1CRUdJTi", "b3BlbnNzaC1rZXktdjE", "IBAAK", "IBADAN", "CAQEE", "AgEA", "MC4CAQAwBQYDK2V")
_RUN = lazy(r"[A-Za-z0-9+/_-]{24,}+={0,2}")
_LONGEST_RUN = 4096


def redact_keys(text: str) -> str:
    """Redact whole blocks, and the rest of a block that was cut at its end or at its beginning."""
    if "PRIVATE KEY" in text:
        text = _redact_cut(_KEY.sub(_redact_block, text))
    if "Private-Lines" in text:
        text = _PUTTY.sub(lambda found: found[1] + "\n" + mark("private-key"), text)
    if any(map(text.__contains__, _ENCODED_PARTS)):
        text = _ENCODED.sub(mark("private-key"), text)
    return text


def redact_encoded(text: str, redact: Callable[[str], str]) -> str:
    """Redact base64 that `redact` would change in its decoded form."""
    return _RUN.sub(lambda found: mark("encoded") if _hides(found[0], redact) else found[0], text)


def _hides(run: str, redact: Callable[[str], str]) -> bool:
    if len(run) > _LONGEST_RUN:
        return False
    try:
        plain = binascii.a2b_base64(run.replace("-", "+").replace("_", "/").rstrip("=") + "==")
    except (ValueError, binascii.Error):
        return False
    if not plain.isascii():
        return False
    text = plain.decode("ascii")
    return text.replace("\n", "").isprintable() and redact(text) != text


def _redact_block(found: re.Match[str]) -> str:
    block = found[0]
    if not _BASE64.search(block):  # code or prose that only names the lines around a key
        return block
    return mark("private-key") + block[len(block.rstrip()) :]


def _redact_cut(text: str) -> str:
    kept, done = [], 0
    for end in _KEY_REST.finditer(text):
        before = text[max(done, end.start() - _LENGTH) : end.start()]
        lines = _LINES_BACKWARD.match(before[::-1])
        if lines and _BASE64.search(lines[0]):
            kept += [text[done : end.start() - lines.end()], mark("private-key")]
            done = end.end()
    return "".join([*kept, text[done:]])
