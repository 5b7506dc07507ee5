"""Secrets known by their name: `password = …`, `"token": "…"`, "the password is …", 密码是 …, `Authorization: …`.

Names are given values by `=` and its like, in words, and in the columns of tables. A long random string without such a
name is a hash, an id or an image, and stays.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.features import (
    ALL,
    NAME,
    PASSWORDS,
    RARE_PARTS,
    is_code,
    is_foreign,
    is_mixed,
    is_number,
    is_password,
    is_placeholder,
    is_random,
    is_strong,
    is_uuid,
    mark,
)

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
    next_name = NAME.search if is_foreign(lowered) else _next_name  # it has no rare part in another script
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
        if value.kind:  # else no secret, but searched
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
            name = None  # `key` alone names no secret
        if name and name.start() <= start:
            return name
        part = RARE_PARTS.search(lowered, part.start() + 1)
    return None


def _value_of(text: str, lowered: str, name: re.Match[str]) -> NamedValue | None:
    """Find the value of a name, as this name is usually given one; None if the word names no secret here."""
    before = lowered[max(0, name.start() - _LONGEST_OWNER) : name.start()]
    match name[0]:
        case "authorization" | "bearer":
            return _header_value(text, name)
        case "login with" | "login:" | "log in as":
            return pair(text, name)
        case "mnemonic" | "seed words" | "seed phrase" | "recovery phrase" | "助记词":
            return seed_phrase(text, name)
        case "pat":
            if before[-1:].isalpha() or lowered[name.end() : name.end() + 1].isalpha():  # a part of another word
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
        return None  # words of a sentence
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
    if kind == "password" and value.isdigit():  # a shorter number is a count
        return len(value) >= 6
    if is_number(value) or (not quoted and is_code(value)):  # code that reads the secret
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


def _header_value(text: str, name: re.Match[str]) -> NamedValue | None:
    """Find the value of `Authorization: Basic …` or `Bearer …`; it has no kind if it is no secret."""
    found = (_BEARER if name[0] == "bearer" else _HEADER).match(text, name.end())
    if found is None:
        return None
    value, scheme = found["value"], (found.groupdict().get("scheme") or "bearer").lower()
    if parameter := _HEADER_PARAMETERS.search(text, found.start("value"), found.start("value") + 1500):
        return NamedValue(*parameter.span(2), "signature")
    has_digit = any(map(str.isdigit, value))
    is_base64 = len(value) >= 12 and not value.islower() and not value[1:].islower() and not value.isupper()
    is_secret = (has_digit or (is_base64 and scheme in _SCHEMES)) and not is_placeholder(value) and not is_code(value)
    return NamedValue(*found.span("value"), scheme[:20] if is_secret else None)


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


_COMMA = lazy(
    rf"(?i:[_-]?(?:key|token|value|salt))?{_QUOTE}[ \t]{{0,4}},[ \t]{{0,8}}"
    rf"(?P<quote>{_QUOTE})(?P<value>[^\n]{{4,200}}?)(?<!\\)(?P=quote)"
)
_QUOTED_AFTER = lazy(rf"[ \t]{{1,4}}(?P<quote>{_QUOTE})(?P<value>[^\s]{{6,100}}?)(?P=quote)")  # PASSWORD '…'
_LOGIN = lazy(r"\b(?:login|user|machine)\s+\S{1,100}(?:\s|\\n)+\Z")  # .netrc
_VALUE = lazy(r"(?:\s)(?P<value>[^\s\\\"'`]{6,100})")
_SAYS = lazy(
    r"(?:\b(?:is|was|are|to|ist|lautet|es|est|be|as)\b[ \t]*[:=]?|[:：=＝]|是|为|為|は|に|->|→|[成为到]|['’]s\b)"
    r"\s{0,12}[\"'`“「（(*]{0,3}(?P<value>[^\s\"'`“”「」（）(),，。、；;<>|\\]{4,120})"
)
_VERB_WITHIN = 70  # characters from the name to the verb
_MOST_VERBS = 4  # verbs that are tried
_RUN = lazy(r"[\w.~+/=:%-]{16}", re.ASCII)  # a secret that is no password is random and long
_RUN_WITHIN = 240
_BARE = lazy(r"[ /](?P<value>[^\s\"'`“”，。；,;<>|\\]{8,100})")  # password X, /redis_passwd/X
_SENTENCE_END = lazy(r"[.!?。！？](?:\s|\Z)|\n")
_NEAR = lazy(
    r"(?P<gap>[^\n\"{}\[\];=\\&#]{0,40}?)(?<![\w+=.~%-])(?:\\{0,7}[\"'])?(?P<value>[\w+=~.-][\w+/=~.%-]{19,400}+)",
    re.ASCII,
)
_NOT_NEAR = lazy(
    r"commit|\bsha|hash|md5|digest|checksum|fingerprint|etag|public|\bids?\b|uuid|revision|version|cache|count|file|path"
    r"|branch|name|\bat\b|https?:|lookup|length|size|index|column|row|table"
)
_SEED = lazy(r"[^\n]{0,40}?(?:[:：\"'`]|is|are|是|为)[\s\"'`]{0,4}(?P<value>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})")
_PAIR = lazy(
    r"(?:[^\n]{0,24}?(?:is|are|[:=]|with|as)[ \t])?[ \t\"'`]{0,3}(?<![\w/])[\w.@+-]{2,60}?[ ]?[:/][ ]?"
    r"(?P<value>[^\s\"'`,，。;；（）()\\]{6,100})"
)


_APP_PASSWORD = lazy(
    r"[^\na-z]{0,4}(?:is |to |改成|是)?[^\na-z]{0,4}(?P<value>[a-z]{4}(?: [a-z]{4}){3})(?![a-z])"
)  # Gmail
_AS_PASSWORD = lazy(
    r"(?<![^\s\"'`“（(])(?P<value>[^\s\"'`“”，。]{6,100})[\"'`”]? as "
    r"(?:the |its |my |your |a |our )?(?:new |root |admin )?\Z"
    r"|[把用以](?P<chinese>[!-~]{6,100})(?:作为|当作?|做)[^\s]{0,6}\Z"
)


class NamedValue(NamedTuple):
    """The position of the value given to a name, and its kind if it is a secret."""

    start: int
    end: int
    kind: str | None


def said_value(text: str, lowered: str, name: re.Match[str], kind: str) -> NamedValue | None:
    """Find the value that is given to the name, is said to be its value, or follows the name directly."""
    if given := _given_directly(text, name, kind):
        return given
    is_any = kind == "password" or name[0].startswith("cred")
    if not is_any and not _RUN.search(text, name.end(), name.end() + _RUN_WITHIN):
        return None
    return _said_in_words(text, name, kind) or _right_after(text, lowered, name, kind)


def app_password(text: str, name: re.Match[str], kind: str) -> NamedValue | None:
    """Find an app password of Google: four groups of four letters, one of them without a vowel."""
    found = _APP_PASSWORD.match(text, name.end())
    is_app = found and any(not set("aeiouy") & set(group) for group in found["value"].split())
    return _matched(found, kind) if is_app else None


def seed_phrase(text: str, name: re.Match[str]) -> NamedValue | None:
    """Find the seed phrase of a wallet: 12 to 24 words."""
    return _matched(_SEED.match(text, name.end()), "seed-phrase")


def pair(text: str, name: re.Match[str]) -> NamedValue | None:
    """Find the password of `jenkins:…` or `maria/…` after "creds are" and "login with"."""
    found = _PAIR.match(text, name.end())
    if found is None or not is_password(found["value"].rstrip("."), 8) or "//" in found[0]:
        return None
    return _matched(found, "password")


def _matched(found: re.Match[str] | None, kind: str) -> NamedValue | None:
    return NamedValue(*found.span("value"), kind) if found else None


def _given_directly(text: str, name: re.Match[str], kind: str) -> NamedValue | None:
    """Find the value of `define('DB_PASSWORD', '…')`, `PASSWORD '…'`, `password …` in .netrc."""
    found = _COMMA.match(text, name.end())
    if found and (is_password(found["value"], 8) or is_random(found["value"]) or _is_noise(found["value"])):
        return _matched(found, kind)
    if kind != "password":
        return None
    found = _QUOTED_AFTER.match(text, name.end())
    if found and is_password(found["value"]):
        return _matched(found, kind)
    found = _VALUE.match(text, name.end())
    if found and is_password(found["value"]) and _LOGIN.search(text[max(0, name.start() - 160) : name.start()]):
        return _matched(found, kind)
    return None


def _is_noise(value: str) -> bool:
    """Report whether a value has many different signs, as the keys and salts of WordPress have."""
    signs = sum(not sign.isalnum() and not sign.isspace() for sign in value)
    return len(value) >= 32 and signs >= 6 and any(map(str.isdigit, value))


def _said_in_words(text: str, name: re.Match[str], kind: str) -> NamedValue | None:
    """Find the value in "the password is …", 密码是 …, "use … as the password"."""
    start = max(0, name.start() - 130)
    if kind == "password" and (before := _AS_PASSWORD.search(text[start : name.start()])):
        value, where = before["value"] or before["chinese"], "value" if before["value"] else "chinese"
        if is_strong(value):
            return NamedValue(start + before.start(where), start + before.end(where), kind)
    end = min(len(text), name.end() + _VERB_WITHIN)
    if stop := _SENTENCE_END.search(text, name.end(), end):
        end = stop.start() + 1
    for found in islice(_SAYS.finditer(text, name.end(), min(len(text), end + 120)), _MOST_VERBS):
        if found.start() > end:
            break
        value = found["value"].rstrip(".,:*")
        is_direct = found.start() - name.end() <= 2
        if (
            "\n" in found[0]
            and not text.startswith(("\n", "\r"), found.end("value"))
            and found.end("value") < len(text)
        ):
            break  # a value on the next line must be alone there
        if _is_plausible(kind, name[0], value, is_direct):
            return NamedValue(found.start("value"), found.start("value") + len(value), kind)
    if kind == "password" and (bare := _BARE.match(text, name.end())) and is_strong(bare["value"].rstrip(".")):
        return _matched(bare, kind)
    return pair(text, name) if name[0].startswith("cred") else None


def _is_plausible(kind: str, name: str, value: str, is_direct: bool) -> bool:
    """Report whether a value after a verb is a secret; farther from the name it has to be longer."""
    if kind == "password":
        if name == "passcode" and value.isdigit():
            return 4 <= len(value) <= 12
        return is_password(value, 6 if is_direct else 8)
    return is_random(value, 16 if is_direct else 20)


def _right_after(text: str, lowered: str, name: re.Match[str], kind: str) -> NamedValue | None:
    """Find a random value right after a name: set API_KEY to …, the client secret (…)."""
    found = _NEAR.match(text, name.end())
    if found is None or _NOT_NEAR.search(lowered, name.end(), found.start("value")):
        return None
    value = found["value"].rstrip(".")
    return NamedValue(found.start("value"), found.start("value") + len(value), kind) if is_random(value) else None


# Columns of tables whose heading names a secret: CSV and Markdown

_LINE = lazy(r"(\r?\n|\\+n)")  # also in JSON
_HEADING = lazy(r"(?i)(?:password|passwort|passwd|secret|token|密码|口令)s?")
_HEADINGS = ("password", "passwort", "passwd", "secret", "token", "密码", "口令")
_CELL_END = r"s?[ *`\"]{0,3}(?:[,|\n]|\\+n)"
_MOST_ROWS = 200


def redact_tables(text: str, lowered: str) -> str:
    """Redact the secrets in tables; `lowered` is the text in small letters."""
    if not any(re.search(heading + _CELL_END, lowered) for heading in filter(lowered.__contains__, _HEADINGS)):
        return text
    parts = _LINE.split(text)  # lines, and the line ends between them
    for at in range(0, len(parts) - 2, 2):
        heading = parts[at].rpartition('"')[2] if parts[at].startswith(("{", '"')) else parts[at]  # also in JSON
        if len(heading) > 400 or not _HEADING.search(heading):
            continue
        separator = "|" if "|" in heading else ","
        cells = [cell.strip(' *`"\t').lower() for cell in heading.split(separator)]
        for column, cell in enumerate(cells):
            if len(cells) > 1 and len(cell) < 30 and _HEADING.search(cell):
                _redact_column(parts, at, separator, column, len(cells))
    return "".join(parts)


def _redact_column(parts: list[str], heading: int, separator: str, column: int, columns: int) -> None:
    """Redact the secrets in one column of the rows below a heading, up to the first row of another form."""
    for at in range(heading + 2, min(len(parts), heading + 2 + 2 * _MOST_ROWS), 2):
        cells = parts[at].split(separator)
        if len(cells) != columns or _HEADING.search(cells[column]):
            break
        value = cells[column].strip(' *`"\\\t')
        if is_password(value) or is_random(value) or (len(value) >= 12 and is_mixed(value)):
            cells[column] = cells[column].replace(value, mark("password"))
            parts[at] = separator.join(cells)
