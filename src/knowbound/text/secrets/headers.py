"""Secrets in headers of requests: `Authorization` of any scheme, `Bearer …`, cookies."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.looks import is_code, is_number, is_placeholder, is_random, is_uuid
from knowbound.text.secrets.mark import mark

_HEADER = lazy(
    r"(?:\\{0,15}[\"'`]\]?[ \t]{0,8},|(?:\\{0,15}[\"'`]\]?)?[ \t]{0,8}(?:[:=]|%3[aA]))[ \t]{0,8}(?:\\{0,15}[\"'`])?"
    r"(?:(?P<scheme>[A-Za-z][\w-]{1,30})[ \t]{1,8})?(?:token=\\{0,15}[\"']?)?(?P<value>[\w.~+/=:%!-]{6,}+)",
    re.ASCII,
)
_PARAMETERS = lazy(  # of Digest, OAuth, Hawk, AWS4-HMAC-SHA256, Signature
    r"((?:response|signature|mac|oauth_token|token|cnonce)=\\{0,15}[\"']?)([\w.~+/=:%-]{16,}+)",
    re.ASCII | re.IGNORECASE,
)
_BEARER = lazy(r"[ \t]{1,8}(?P<value>[\w.~+/=:-]{16,}+)", re.ASCII)
_KNOWN = frozenset("bearer basic token digest apikey ssws negotiate ntlm key bot dpop geniekey splunk".split())
_COOKIES = lazy(r"s?(?:\\{0,15}[\"'`])?[ \t]{0,4}[:=,][ \t]{0,4}(?:\\{0,15}[\"'`])?[\w.-]{1,60}=[^\n\"'`]{4,4000}")
_COOKIE = lazy(r"([\w.-]{1,60})=([^\s;,\"'\\]{8,2000})")
_SESSION = lazy(r"sess|sid|token|auth|csrf|xsrf|jwt|remember|login|secret", re.IGNORECASE)


def header_value(text: str, name: re.Match[str]) -> tuple[int, int, str | None] | None:
    """Start, end and kind of the value of `Authorization: Basic …` or `Bearer …`; no kind where it is no secret."""
    found = (_BEARER if name[0] == "bearer" else _HEADER).match(text, name.end())
    if found is None:
        return None
    value, scheme = found["value"], (found.groupdict().get("scheme") or "bearer").lower()
    if parameter := _PARAMETERS.search(text, found.start("value"), found.start("value") + 1500):
        return (*parameter.span(2), "signature")
    has_digit = any(map(str.isdigit, value))
    is_base64 = len(value) >= 12 and not value.islower() and not value[1:].islower() and not value.isupper()
    is_secret = (has_digit or (is_base64 and scheme in _KNOWN)) and not is_placeholder(value) and not is_code(value)
    return found.start("value"), found.end("value"), scheme[:20] if is_secret else None


def redact_cookie(text: str, at: int) -> tuple[int, str]:
    """The end of the cookies behind the name of the header, and them without secrets."""
    found = _COOKIES.match(text, at)
    if found is None:
        return at, ""
    return found.end(), _COOKIE.sub(_redact_one, found[0])


def _redact_one(found: re.Match[str]) -> str:
    value = found[2].replace("%3A", ":").replace("%2F", "/").replace("%2B", "+").replace("%3D", "=").removeprefix("s:")
    is_session = _SESSION.search(found[1]) and not is_number(value) and not is_placeholder(value)
    return f"{found[1]}={mark('cookie')}" if is_session or (is_random(value) and not is_uuid(value)) else found[0]
