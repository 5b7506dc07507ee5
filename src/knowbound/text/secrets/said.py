"""Secrets given to a name otherwise than by `=`: "the password is …", 密码是 …, `PASSWORD …`, a column of a table."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.looks import is_mixed, is_password, is_random, is_strong, mark

_QUOTE = r"\\{0,15}[\"'`]"
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
    return NamedValue(found.start("value"), found.end("value"), "password")


def _matched(found: re.Match[str] | None, kind: str) -> NamedValue | None:
    return NamedValue(found.start("value"), found.end("value"), kind) if found else None


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
        sign = "|" if "|" in heading else ","
        cells = [cell.strip(' *`"\t').lower() for cell in heading.split(sign)]
        for column, cell in enumerate(cells):
            if len(cells) > 1 and len(cell) < 30 and _HEADING.search(cell):
                _redact_column(parts, at, sign, column, len(cells))
    return "".join(parts)


def _redact_column(parts: list[str], heading: int, sign: str, column: int, columns: int) -> None:
    """Redact the secrets in one column of the rows below a heading, up to the first row of another form."""
    for at in range(heading + 2, min(len(parts), heading + 2 + 2 * _MOST_ROWS), 2):
        cells = parts[at].split(sign)
        if len(cells) != columns or _HEADING.search(cells[column]):
            break
        value = cells[column].strip(' *`"\\\t')
        if is_password(value) or is_random(value) or (len(value) >= 12 and is_mixed(value)):
            cells[column] = cells[column].replace(value, mark("password"))
            parts[at] = sign.join(cells)
