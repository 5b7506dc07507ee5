"""Secrets known by the name they are given: `password = …`, `"token": "…"`, "the password is …", 密码是 ….

A long random string without a name is a hash, an id or an image, and stays.
"""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.headers import header_value, redact_cookie
from knowbound.text.secrets.looks import is_code, is_number, is_placeholder
from knowbound.text.secrets.mark import mark
from knowbound.text.secrets.said import NamedValue, app_password, pair, said_value, seed_phrase

_PASSWORDS = (
    "password passwords passwd passwort passphrase passcode kennwort pass pwd contraseña contrasena senha пароль "
    "パスワード 비밀번호 密码 密碼 口令 暗号 密匙 私钥 私鑰 金鑰 金钥 授权码 授權碼 访问码 密钥 密鑰 秘钥"
)
_OTHERS = "secret pat token 令牌 凭证 凭据 key authorization bearer cookie credential creds mnemonic"
_PHRASES = (
    "mot de passe",
    "seed phrase",
    "seed words",
    "recovery phrase",
    "助记词",
    "login with",
    "login:",
    "log in as",
    "signature",
    "_auth",
    '"auth',
)
_ALL = sorted((*_PASSWORDS.split(), *_OTHERS.split(), *_PHRASES), key=len, reverse=True)


def _any_of(names: list[str]) -> re.Pattern[str]:
    """A pattern for all of them, longest first, by their first letters: so that few are tried at a position."""
    firsts = dict.fromkeys(name[0] for name in names)
    rests = {first: "|".join(re.escape(name[1:]) for name in names if name[0] == first) for first in firsts}
    return lazy("|".join(f"{re.escape(first)}(?:{rest})" for first, rest in rests.items()))


_NAME = _any_of(_ALL)
# Parts of all names in ASCII, begun with rare letters, where a search stops seldom: ten times as quick as the names.
_TELLING = lazy(
    r"k(?:e[ny]|ie)|p(?:ass|wd|at(?![a-z])|hrase)|c(?:re[td]|ontras|urestr)|uth|bearer|mnemon|g(?:in[ :]|natur| in as)"
    r"|words|fied by|/user:|qlplus|ha(?<=senha)"
)
_FOREIGN = sorted({name[0] for name in _ALL if not name[0].isascii()})
_LONGEST = max(map(len, _ALL))
_KINDS = (
    dict.fromkeys((*_PASSWORDS.split(), "mot de passe"), "password")
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
# Where a name and its value are separated by a space alone: --password x, -storepass x, setx NAME x, set -gx NAME x.
_TAKES_VALUE = lazy(
    r"(?:--?[\w-]{0,30}|\b(?:setx|setenv|set -[a-zA-Z]{1,3}|config set|configure set)(?: --?\w+)? [\w./:-]{0,60})\Z"
)


def redact_named(text: str, lowered: str) -> str:
    """The text without the values that have the name of a secret; `lowered` is as long as the text."""
    kept, done, at = [], 0, 0
    next_name = _NAME.search if _is_foreign(lowered) else _next_name
    while name := next_name(lowered, at):
        at = name.end()
        if text.rfind("[redacted:", max(0, name.start() - 30), name.start()) >= 0 and text.startswith("]", at):
            continue  # the mark of an earlier one
        if name[0] == "cookie":
            end, cookies = redact_cookie(text, name.end())
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


def may_name_secret(lowered: str) -> bool:
    """Whether a name in the text, or a command that takes a secret, may tell of a secret."""
    return _TELLING.search(lowered) is not None or _is_foreign(lowered)


def _is_foreign(lowered: str) -> bool:
    return not lowered.isascii() and any(map(lowered.__contains__, _FOREIGN))


def _next_name(lowered: str, at: int) -> re.Match[str] | None:
    """The first name from there on, searched only around the part of it that is rare."""
    part = _TELLING.search(lowered, at)
    while part:
        start = part.start()
        if part[0] != "key":
            name = _NAME.search(lowered, max(at, start - _LONGEST), start + _LONGEST)
        elif _has_owner(lowered[max(0, start - _LONGEST_OWNER) : start]):
            name = _NAME.match(lowered, start)  # no other name has these letters
        else:
            name = None
        if name and name.start() <= start:
            return name
        part = _TELLING.search(lowered, part.start() + 1)
    return None


def _value_of(text: str, lowered: str, name: re.Match[str]) -> NamedValue | None:
    before = lowered[max(0, name.start() - _LONGEST_OWNER) : name.start()]
    match name[0]:
        case "authorization" | "bearer":
            header = header_value(text, name)
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
    """Whether a key is one that opens something, by the word before it."""
    return before.rstrip("_- ").endswith(_KEY_OWNERS)


def _assigned_value(text: str, name: re.Match[str], kind: str) -> NamedValue | None:
    """`password = "…"`, `"token": "…"`, `SECRET_KEY=…`, `--password …`."""
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
    """The value itself, and not a placeholder, a type, a label or code that gets the value."""
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
    """A bare word that may be a password where nothing else is expected, as in an environment file."""
    return len(value) >= 6 and value.replace("-", "").isalpha() and value.islower() and not is_placeholder(value)
