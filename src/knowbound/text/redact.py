r"""Replaces secrets by `[redacted:<kind>]`; the rest of the text stays as it is.

There are two ways to know a secret: its own shape (`ghp_…`, a private key block), or the name it is given
(`password=…`). A long random string with neither is a hash, an id or an image, and stays.

Text comes through here wherever it is stored, shown or sent, so the usual call ends after a few substring tests.
Every pattern is linear: what may repeat ends where the pattern may begin again, or has a largest length.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_MARK = "[redacted:{}]"
_EDGE = 512  # characters beyond an excerpt


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
    if any(map(text.__contains__, _ANCHORS)):
        for shape in [shape for shape in _SHAPES if shape.anchor in text]:
            text = shape.redact(text)
    return _redact_named(text)


# Secrets with a shape of their own


class _Shape(NamedTuple):
    """A secret known by how it looks; searched only in text that holds its anchor."""

    anchor: str
    redact: Callable[[str], str]


def _token(kind: str, prefix: str, body: str, *, not_after: str = "") -> _Shape:
    r"""A prefix and a body; a prefix that is found in base64 or in words must not follow these characters.

    The pattern begins with the literal prefix, which the regex engine finds quickly, and looks back from there.
    What follows an escape begins anew: in JSON inside JSON a line break is the two characters `\n`.
    """
    start = re.escape(prefix)
    alone = rf"(?:(?<![{not_after}]{start})|(?<=\\[nrt]{start}))" if not_after else ""
    pattern = re.compile(start + alone + body, re.ASCII)
    mark = _MARK.format(kind)
    return _Shape(prefix, lambda text: pattern.sub(mark, text))


_KEY_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY = re.compile(
    rf"{_KEY_BEGIN}(?:(?:[^-]|-(?!----))*+{_KEY_END}"
    # the end is cut off: lines of base64 as far as they go, the last one may be short
    r"|(?:[\s\"'+,]|\\+[nrt]|(?:Proc-Type|DEK-Info|Version|Comment): ?[\w.,() -]{0,80}|[A-Za-z0-9+/=]{16,}+)*+"
    r"(?:[A-Za-z0-9+/=]{1,15}(?=\Z|…|\.\.\.|\[))?)"
)
_KEY_REST = re.compile(_KEY_END)
_KEY_LINES_BACKWARD = re.compile(r"(?:[nrt]?\\|\s)*+[A-Za-z0-9+/=]++(?:(?:\\|\s)++[A-Za-z0-9+/=]{16,}+)*+")
_KEY_LENGTH = 4096  # a 4096-bit RSA key has 3,300 characters
_BASE64 = re.compile(r"[A-Za-z0-9+/=]{24}")


def _redact_private_keys(text: str) -> str:
    """Whole blocks, and what is left of a block that was cut at its end or at its beginning."""
    return _redact_cut_keys(_KEY.sub(_redact_key, text))


def _redact_key(match: re.Match[str]) -> str:
    block = match[0]
    if not _BASE64.search(block):  # code or prose that only names the lines around a key
        return block
    return _MARK.format("private-key") + block[len(block.rstrip()) :]


def _redact_cut_keys(text: str) -> str:
    kept, done = [], 0
    for end in _KEY_REST.finditer(text):
        before = text[max(done, end.start() - _KEY_LENGTH) : end.start()]
        lines = _KEY_LINES_BACKWARD.match(before[::-1])
        if lines and _BASE64.search(lines[0]):
            kept += [text[done : end.start() - lines.end()], _MARK.format("private-key")]
            done = end.end()
    return "".join([*kept, text[done:]])


_AZURE_KEY = re.compile(r"(?<=Key=)(?:(?<=AccountKey=)|(?<=SharedAccessKey=))[A-Za-z0-9+/]{20,}+={0,2}")
_URL_PASSWORD = re.compile(
    r"(://[^\s/:@\"'<>`\[]*+:)(?!/|\d{1,5}[/?#),;\]}])"  # after the host may come a port instead
    r"([^\s/\"'<>`]+|[^\s\"'<>`@]{1,100})(?=@)"
)
_NO_URL_PASSWORD = re.compile(r"(?:\[redacted:[a-z-]+\])+|\$\{?\w+\}?|\{+[\w. ]*\}+|%\w+%?|[*xX.•]+")


def _redact_url_password(match: re.Match[str]) -> str:
    if _NO_URL_PASSWORD.fullmatch(match[2]):
        return match[0]
    return match[1] + _MARK.format("url-password")


# Passwords that programs take as an argument: curl -u user:…, sshpass -p …, mysql -p….
_ARGUMENT = re.compile(
    r"(\bcurl\b[^\n|;]{0,300}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"'$]{1,100}:)([^\s\"'$]+)"
    r"|(\bsshpass\s+-p\s*[\"']?)([^\s\"'$]+)|(\bmysql(?:dump|admin)?\b[^\n|;]{0,300}?\s-p)([^\s\"'$]+)"
)


def _redact_argument(text: str) -> str:
    return _ARGUMENT.sub(lambda match: (match[1] or match[3] or match[5]) + _MARK.format("password"), text)


_WORD = "A-Za-z0-9"
_AWS_ID = "(?![A-Z0-9]*EXAMPLE)[A-Z0-9]{16}(?![A-Za-z0-9])"
_SHAPES = (
    _Shape("PRIVATE KEY", _redact_private_keys),
    *(_token("github-token", f"gh{letter}_", "[A-Za-z0-9]{30,}+") for letter in "pousr"),
    _token("github-token", "github_pat_", r"\w{30,}+"),
    _token("docker-token", "dckr_pat_", r"[\w-]{20,}+"),
    _token("gitlab-token", "glpat-", r"[\w-]{20,}+"),
    _token("slack-token", "xox", r"[a-z]-[A-Za-z0-9-]{10,}+"),
    _token("anthropic-key", "sk-ant-", r"[\w-]{20,}+"),
    _token("openai-key", "sk-proj-", r"[\w-]{20,}+"),
    _token("openai-key", "sk-svcacct-", r"[\w-]{20,}+"),
    _token("openai-key", "sk-", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}+", not_after=_WORD),
    _token("google-key", "AIza", r"[\w-]{35,}+", not_after=_WORD),
    _token("stripe-key", "sk_live_", "[A-Za-z0-9]{16,}+"),
    _token("stripe-key", "rk_live_", "[A-Za-z0-9]{16,}+"),
    _token("npm-token", "npm_", "[A-Za-z0-9]{36,}+"),
    _token("pypi-token", "pypi-", r"[\w-]{50,}+"),
    _token("huggingface-token", "hf_", "[A-Za-z0-9]{30,}+"),
    _token("sendgrid-key", "SG.", r"[\w-]{16,}+\.[\w-]{16,}+", not_after=_WORD),
    _token("twilio-key", "SK", "[0-9a-f]{32}(?![A-Za-z0-9])", not_after=_WORD),
    _token("twilio-key", "AC", "[0-9a-f]{32}(?![A-Za-z0-9])", not_after=_WORD),
    _token("aws-key", "AKIA", _AWS_ID, not_after=_WORD),
    _token("aws-key", "ASIA", _AWS_ID, not_after=_WORD),
    _token("jwt", "eyJ", r"[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?", not_after=r"\w-"),
    *(_Shape(program, _redact_argument) for program in ("curl", "sshpass", "mysql")),
    _Shape("Key=", lambda text: _AZURE_KEY.sub(_MARK.format("azure-key"), text)),
    _Shape("://", lambda text: _URL_PASSWORD.sub(_redact_url_password, text)),
)


# Looked for first; an anchor with another one in it (`sk-ant-`, `sk-`) need not be.
_ALL_ANCHORS = {shape.anchor for shape in _SHAPES}
_ANCHORS = tuple(one for one in sorted(_ALL_ANCHORS) if not any(other in one for other in _ALL_ANCHORS - {one}))


# Secrets known by their name

_NAME = re.compile("password|passwd|passphrase|passcode|pass|pwd|secret|token|key|authorization|bearer")
_NAME_ANCHORS = ("pass", "pwd", "secret", "token", "key", "authorization", "bearer")
_KEY_OWNERS = ("api", "access", "account", "auth", "client", "encryption", "master", "private", "service", "signing")
_LONGEST_OWNER = 12

_ASSIGNED = re.compile(
    r"(?i:[_-]?(?:access[_-]?)?(?:key|token|value))?(?:_?\d{1,2})?"
    r"(?:\\{0,3}[\"'`]\]?)?"
    # name: type = value
    r"(?P<by>[ \t]{0,8}(?::[ \t]{0,8}&?[A-Za-z_][\w.]{0,40}(?:\[[\w,. |]{0,40}\])?[ \t]{0,8}=(?!=)"
    r"|:=|=>|={1,3}|:(?!:)|>(?=[^<>\s]{1,200}</))[ \t]{0,8}|[ \t])"
    r"(?:[rbu]{0,2}(?P<quote>\\{0,3}[\"'`])(?P<quoted>.{0,2000}?)(?<!\\)(?P=quote)"
    r"|(?P<bare>[^\s\"'`,;&()<>{}\[\]|\\]++))"
)
_FLAG = re.compile(r"--[\w-]{0,30}\Z")
_HEADER = re.compile(
    r"(?:\\{0,3}[\"'`]\]?)?[ \t]{0,8}[:=,][ \t]{0,8}(?:\\{0,3}[\"'`])?"
    r"(?:(?P<scheme>(?i:bearer|basic|token|digest))[ \t]{1,8})?(?P<value>[\w.~+/=:-]{6,}+)",
    re.ASCII,
)
_BEARER = re.compile(r"[ \t]{1,8}(?P<value>[\w.~+/=:-]{16,}+)", re.ASCII)

_PLACEHOLDER = re.compile(
    r"your|example|change.?me|placeholder|replace|dummy|redacted|x{4}|\*{3}|\.{3}|…|[<>]|\$\{|\{\{|process\.env|environ|getenv"
    r"|\A(?:[$%@*/~\\]|\./|env[.:]|secrets?\.|vars?\.|vault:|op:|arn:|https?:|todo|test\Z|fake|sample|insert|enter)"
    r"|\A(?:none|null|nil|undefined|true|false|yes|no|str|string|bytes|text|number|int|integer|bool|boolean|any|object"
    r"|unknown|never|optional|required|missing|empty|invalid|valid|expired|hidden|value|default|include|required|bearer)\Z"
    # the name of a secret is not its value
    r"|\A(?:\w{0,12}[_.-])?(?:password|passwd|passphrase|pass|pwd|secret|token|(?:api)?[_-]?key)[_-]?\w?\Z"
)
_NUMBERS = re.compile(r"[\d.:/,+-]+")
_CODE = re.compile(
    r"[A-Za-z_]\w{0,23}(?:(?:\.|->|::)[A-Za-z_]\w{0,23})+"  # request.headers
    r"|[A-Za-z_]+\d+[A-Z_][A-Za-z_]*"  # Uint8Array
)
_IDENTIFIER = re.compile(r"[A-Za-z_]+\d{0,2}")
_TOKEN_SHAPED = re.compile(r"(?=[^a-zA-Z]*[a-zA-Z])(?=[^\d]*\d)[\w.~+/=:-]{8,}")


class _Value(NamedTuple):
    """The position of the value given to a name, and its kind if it is a secret."""

    start: int
    end: int
    kind: str | None


def _redact_named(text: str) -> str:
    lowered = text.replace("İ", "I").lower()  # as long as the text: only İ grows when lowered
    if not any(map(lowered.__contains__, _NAME_ANCHORS)):
        return text
    kept, done, at = [], 0, 0
    while name := _NAME.search(lowered, at):
        at = name.end()
        value = _value_of(text, lowered, name)
        if value is None:
            continue
        at = max(at, value.end)
        if value.kind:
            kept += [text[done : value.start], _MARK.format(value.kind)]
            done = value.end
    return "".join([*kept, text[done:]]) if kept else text


def _value_of(text: str, lowered: str, name: re.Match[str]) -> _Value | None:
    match name[0]:
        case "authorization" | "bearer":
            return _header_value(text, name)
        case "key":
            before = lowered[max(0, name.start() - _LONGEST_OWNER) : name.start()]
            if not before.rstrip("_- ").endswith(_KEY_OWNERS):
                return None
        case "pass" | "pwd":  # bypass, compass; but dbPass
            before = text[max(0, name.start() - 1) : name.start()]
            if before.isalpha() and not (before.islower() and text[name.start()].isupper()):
                return None
    return _assigned_value(text, name)


def _header_value(text: str, name: re.Match[str]) -> _Value | None:
    """`Authorization: Basic …`, `Bearer …`."""
    found = (_BEARER if name[0] == "bearer" else _HEADER).match(text, name.end())
    if found is None:
        return None
    value, scheme = found["value"], (found.groupdict().get("scheme") or "bearer").lower()
    has_digit = any(map(str.isdigit, value))
    is_base64 = scheme == "basic" and not value.islower() and not value[1:].islower()
    is_secret = (has_digit or is_base64) and not _PLACEHOLDER.search(value.lower()) and not _CODE.fullmatch(value)
    return _Value(found.start("value"), found.end("value"), scheme if is_secret else None)


def _assigned_value(text: str, name: re.Match[str]) -> _Value | None:
    """`password = "…"`, `"token": "…"`, `SECRET_KEY=…`, `--password …`."""
    found = _ASSIGNED.match(text, name.end())
    if found is None:
        return None
    by = found["by"]
    if by in (" ", "\t") and not _FLAG.search(text[max(0, name.start() - 32) : name.start()]):
        return None
    kind = {"token": "token", "key": "key", "secret": "secret"}.get(name[0], "password")
    if found["quote"]:
        start, end = found.span("quoted")
        is_secret = _is_secret(kind, found["quoted"], quoted=True)
        return _Value(start, end, kind) if is_secret else _Value(start, start, None)  # look inside for more
    start, end = found.span("bare")
    value = found["bare"].rstrip(".:*")
    after = text[end : end + 10]
    if after.startswith("(") or (after.startswith("[") and after != _MARK[:10]):  # a call, an index
        return _Value(start, end, None)
    if kind == "password" and name[0] == "pass" and ":" in by:  # PASS: TestName
        return _Value(start, end, None)
    is_alone = by in ("=", " ") or (":" in by and after[:1] in ("", "\n", "\r"))
    is_secret = _is_secret(kind, value, quoted=False) or (
        kind in ("password", "secret") and is_alone and not after.startswith((",", ")")) and _is_word(value)
    )
    return _Value(start, start + len(value) if is_secret else end, kind if is_secret else None)


def _is_secret(kind: str, value: str, *, quoted: bool) -> bool:
    """The value itself, and not a placeholder, a type, a label or code that gets the value."""
    if len(value) < 4 or any(map(str.isspace, value)) or _is_placeholder(value):
        return False
    if kind == "password" and value.isdigit():
        return len(value) >= 6
    if _NUMBERS.fullmatch(value) or (not quoted and _CODE.fullmatch(value)):
        return False
    if kind in ("token", "key"):
        if not quoted and _IDENTIFIER.fullmatch(value):
            return False
        return bool(_TOKEN_SHAPED.fullmatch(value)) or (quoted and len(value) >= 20 and _is_mixed(value))
    if quoted:
        return True
    return len(value) >= 5 and (any(map(str.isdigit, value)) or bool(set(value) & set("!@#%^*+~=?$")))


def _is_word(value: str) -> bool:
    """A bare word that may be a password where nothing else is expected, as in an environment file."""
    return len(value) >= 6 and value.replace("-", "").isalpha() and value.islower() and not _is_placeholder(value)


def _is_mixed(value: str) -> bool:
    return value.isalnum() and not value.islower() and not value.isupper()


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value.lower())) or value == value[:1] * len(value)
