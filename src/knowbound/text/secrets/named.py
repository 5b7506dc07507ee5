"""Secrets known by their name: `password = …`, `"token": "…"`, "the password is …", 密码是 …, `Authorization: …`.

A long random string without such a name is a hash, an id or an image, and stays.
"""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.looks import is_code, is_number, is_placeholder, is_random, is_uuid, mark
from knowbound.text.secrets.names import ALL, NAME, PASSWORDS, RARE_PARTS, is_foreign
from knowbound.text.secrets.said import NamedValue, app_password, pair, said_value, seed_phrase

_LONGEST = max(map(len, ALL))
_KINDS = (
    dict.fromkeys((*PASSWORDS.split(), "mot de passe"), "password")
    | dict.fromkeys("secret 凭证 凭据 credential creds".split(), "secret")
    | dict.fromkeys('token pat 令牌 _auth "auth signature'.split(), "token")
    | {"key": "key"}
)
_KEY_OWNERS = tuple(
    "api access account auth client encryption master private service signing secret shared subscription storage "
    "deploy license ingest hmac consumer admin app session webhook integration write root functions jwt crypto".split()
)
_LONGEST_OWNER = 14
_NO_TOKEN = lazy(r"(?:page|next|prev|cursor|continuation|sync|max|min|num|count|total|input|output|cached?)[_ -]?\Z")

_QUOTE = r"\\{0,15}[\"'`]"
_ASSIGNED = lazy(
    r"(?i:[_-]?(?:access[_-]?)?(?:key|token|value|data))?(?:_?\d{1,2})?"
    rf"(?:{_QUOTE}\]?)?"
    # name: type = value
    r"(?P<by>[ \t]{0,8}(?::[ \t]{0,8}&?[A-Za-z_][\w.]{0,40}(?:\[[\w,. |]{0,40}\])?[ \t]{0,8}=(?!=)"
    r"|:=|:-|=>|={1,3}|[:：](?!:)|%3[aAdD]|>(?=[^<>\s]{1,200}</))[ \t]{0,8}|[ \t]"
    r"|\\{1,4}s[*+]?[:=](?:\\{1,4}s[*+]?)?(?:\[[\"'\\]{1,6}\]\??)?)"  # in a pattern to search for it
    rf"(?:[rbu]{{0,2}}(?P<quote>{_QUOTE})(?P<quoted>[^\n]{{0,400}}?)(?<!\\)(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;&()<>{}\[\]|\\，。；、（）“”]++))"
)
# Before a name that only a space separates from its value: --password x, -storepass x, setx NAME x, set -gx NAME x.
_TAKES_VALUE = lazy(
    r"(?:--?[\w-]{0,30}|\b(?:setx|setenv|set -[a-zA-Z]{1,3}|config set|configure set)(?: --?\w+)? [\w./:-]{0,60})\Z"
)


def redact_named(text: str, lowered: str) -> str:
    """Redact the values that have the name of a secret; `lowered` is the text in small letters, and as long."""
    kept, done, at = [], 0, 0
    next_name = NAME.search if is_foreign(lowered) else _next_name
    while name := next_name(lowered, at):
        at = name.end()
        if text.rfind("[redacted:", max(0, name.start() - 30), name.start()) >= 0 and text.startswith("]", at):
            continue  # the mark of an earlier one
        if name[0] == "cookie":
            end, cookies = _redact_cookies(text, name.end())
            kept += [text[done : name.end()], cookies]
            done = at = end
            continue
        value = _value_of(text, lowered, name)
        if value is None:
            continue
        at = max(at, value.end)
        if value.kind:
            kept += [text[done : value.start], mark(value.kind)]
            done = value.end
    return "".join([*kept, text[done:]]) if kept else text


def _next_name(lowered: str, at: int) -> re.Match[str] | None:
    """Return the first name from a position on, searched only around its rare part."""
    part = RARE_PARTS.search(lowered, at)
    while part:
        start = part.start()
        if part[0] != "key":
            name = NAME.search(lowered, max(at, start - _LONGEST), start + _LONGEST)
        elif _has_owner(lowered[max(0, start - _LONGEST_OWNER) : start]):
            name = NAME.match(lowered, start)  # no other name has these letters
        else:
            name = None
        if name and name.start() <= start:
            return name
        part = RARE_PARTS.search(lowered, part.start() + 1)
    return None


def _value_of(text: str, lowered: str, name: re.Match[str]) -> NamedValue | None:
    """Find the value of a name, as this name is usually given one; None if the word names no secret here."""
    before = lowered[max(0, name.start() - _LONGEST_OWNER) : name.start()]
    match name[0]:
        case "authorization" | "bearer":
            header = _header_value(text, name)
            return NamedValue(*header) if header else None
        case "login with" | "login:" | "log in as":
            return pair(text, name)
        case "mnemonic" | "seed words" | "seed phrase" | "recovery phrase" | "助记词":
            return seed_phrase(text, name)
        case "pat":
            if before[-1:].isalpha() or lowered[name.end() : name.end() + 1].isalpha():
                return None
        case "key":
            if not _has_owner(before):
                return None
        case "token":
            if _NO_TOKEN.search(before):
                return None
        case "pass" | "pwd":  # bypass, compass; but dbPass
            letter = text[max(0, name.start() - 1) : name.start()]
            if letter.isalpha() and not (letter.islower() and text[name.start()].isupper()):
                return None
    kind = _KINDS[name[0]]
    if before.rstrip("_- ").endswith("app") and (value := app_password(text, name, kind)):
        return value
    assigned = _assigned_value(text, name, kind)
    if name[0] == "pass" or (assigned is not None and (assigned.kind or assigned.end > name.end() + 60)):
        return assigned
    return said_value(text, lowered, name, kind) or assigned


def _has_owner(before: str) -> bool:
    """Report whether the word before "key" makes it a secret: an API key, not a key of a dictionary."""
    return before.rstrip("_- ").endswith(_KEY_OWNERS)


def _assigned_value(text: str, name: re.Match[str], kind: str) -> NamedValue | None:
    """Find the value of `password = "…"`, `"token": "…"`, `SECRET_KEY=…`, `--password …`."""
    found = _ASSIGNED.match(text, name.end())
    if found is None:
        return None
    by = found["by"]
    if by in (" ", "\t") and not _TAKES_VALUE.search(text[max(0, name.start() - 90) : name.start()]):
        return None
    if found["quote"]:
        start, end = found.span("quoted")
        is_secret = _is_secret(kind, found["quoted"], quoted=True)
        return NamedValue(start, end, kind) if is_secret else NamedValue(start, start, None)  # look inside for more
    start, end = found.span("bare")
    value = found["bare"].rstrip(".:*$")
    after = text[end : end + 10]
    if after.startswith("(") or (after.startswith("[") and after != mark("")[:10]):  # a call, an index
        return NamedValue(start, end, None)
    if kind == "password" and name[0] == "pass" and ":" in by:  # PASS: TestName
        return NamedValue(start, end, None)
    is_alone = by in ("=", " ") or (":" in by and after[:1] in ("", "\n", "\r"))
    is_secret = _is_secret(kind, value, quoted=False) or (
        kind in ("password", "secret") and is_alone and not after.startswith((",", ")")) and _is_word(value)
    )
    return NamedValue(start, start + len(value) if is_secret else end, kind if is_secret else None)


_IDENTIFIER = lazy(r"[A-Za-z_]+\d{0,2}")
_TOKEN_SHAPED = lazy(r"(?=[^a-zA-Z]*[a-zA-Z])(?=[^\d]*\d)[\w.~+/=:%-]{8,}", re.ASCII)


def _is_secret(kind: str, value: str, *, quoted: bool) -> bool:
    """Report whether a value is the secret itself: no placeholder, type, label or code that reads the secret."""
    if len(value) < 4 or is_placeholder(value):
        return False
    if any(map(str.isspace, value)):
        return False
    if kind == "password" and value.isdigit():
        return len(value) >= 6
    if is_number(value) or (not quoted and is_code(value)):
        return False
    if kind in ("token", "key"):
        if not quoted and _IDENTIFIER.fullmatch(value):
            return False
        is_mixed = value.isalnum() and not value.islower() and not value.isupper()
        return bool(_TOKEN_SHAPED.fullmatch(value)) or (quoted and len(value) >= 20 and is_mixed)
    if quoted:
        return True
    return len(value) >= 5 and (any(map(str.isdigit, value)) or bool(set(value) & set("!@#%^*+~=?$")))


def _is_word(value: str) -> bool:
    """Report whether a bare word may be a password in a place for values, such as an environment file."""
    return len(value) >= 6 and value.replace("-", "").isalpha() and value.islower() and not is_placeholder(value)


# Headers of requests: `Authorization` of any scheme, `Bearer …`, cookies

_HEADER = lazy(
    r"(?:\\{0,15}[\"'`]\]?[ \t]{0,8},|(?:\\{0,15}[\"'`]\]?)?[ \t]{0,8}(?:[:=]|%3[aA]))[ \t]{0,8}(?:\\{0,15}[\"'`])?"
    r"(?:(?P<scheme>[A-Za-z][\w-]{1,30})[ \t]{1,8})?(?:token=\\{0,15}[\"']?)?(?P<value>[\w.~+/=:%!-]{6,}+)",
    re.ASCII,
)
_HEADER_PARAMETERS = lazy(  # of Digest, OAuth, Hawk, AWS4-HMAC-SHA256, Signature
    r"((?:response|signature|mac|oauth_token|token|cnonce)=\\{0,15}[\"']?)([\w.~+/=:%-]{16,}+)",
    re.ASCII | re.IGNORECASE,
)
_BEARER = lazy(r"[ \t]{1,8}(?P<value>[\w.~+/=:-]{16,}+)", re.ASCII)
_SCHEMES = frozenset("bearer basic token digest apikey ssws negotiate ntlm key bot dpop geniekey splunk".split())
_COOKIES = lazy(r"s?(?:\\{0,15}[\"'`])?[ \t]{0,4}[:=,][ \t]{0,4}(?:\\{0,15}[\"'`])?[\w.-]{1,60}=[^\n\"'`]{4,4000}")
_COOKIE = lazy(r"([\w.-]{1,60})=([^\s;,\"'\\]{8,2000})")
_SESSION_COOKIE = lazy(r"sess|sid|token|auth|csrf|xsrf|jwt|remember|login|secret", re.IGNORECASE)


def _header_value(text: str, name: re.Match[str]) -> tuple[int, int, str | None] | None:
    """Return start, end and kind of the value of `Authorization: Basic …` or `Bearer …`; no kind if it is no secret."""
    found = (_BEARER if name[0] == "bearer" else _HEADER).match(text, name.end())
    if found is None:
        return None
    value, scheme = found["value"], (found.groupdict().get("scheme") or "bearer").lower()
    if parameter := _HEADER_PARAMETERS.search(text, found.start("value"), found.start("value") + 1500):
        return (*parameter.span(2), "signature")
    has_digit = any(map(str.isdigit, value))
    is_base64 = len(value) >= 12 and not value.islower() and not value[1:].islower() and not value.isupper()
    is_secret = (has_digit or (is_base64 and scheme in _SCHEMES)) and not is_placeholder(value) and not is_code(value)
    return found.start("value"), found.end("value"), scheme[:20] if is_secret else None


def _redact_cookies(text: str, at: int) -> tuple[int, str]:
    """Return the end of the cookies after the name of the header, and the redacted cookies."""
    found = _COOKIES.match(text, at)
    if found is None:
        return at, ""
    return found.end(), _COOKIE.sub(_redact_cookie_value, found[0])


def _redact_cookie_value(found: re.Match[str]) -> str:
    value = found[2].replace("%3A", ":").replace("%2F", "/").replace("%2B", "+").replace("%3D", "=").removeprefix("s:")
    is_session = _SESSION_COOKIE.search(found[1]) and not is_number(value) and not is_placeholder(value)
    return f"{found[1]}={mark('cookie')}" if is_session or (is_random(value) and not is_uuid(value)) else found[0]
