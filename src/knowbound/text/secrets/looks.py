"""Features of a secret value: random, or made up as a password; no placeholder, word or code. And its mark."""

from __future__ import annotations

import re
from itertools import pairwise

from knowbound.core.lazy_pattern import lazy

_PLACEHOLDER = lazy(
    r"your|example|change.?me|#\{|placeholder|replace|dummy|redacted|x{4}|\*{3}|\.{3}|…|[<>]|\$\{|\{\{|process\.env|environ|getenv"
    r"|\A(?:[$%@*/~\\]|\./|env[.:]|secrets?\.|vars?\.|vault:|op:|arn:|https?:|todo|test\Z|fake|sample|insert|enter)"
    r"|\A(?:none|null|nil|undefined|true|false|yes|no|str|string|bytes|text|number|int|integer|bool|boolean|any|object"
    r"|unknown|never|optional|required|missing|empty|invalid|valid|expired|hidden|value|default|include|bearer)\Z"
    # the name of a secret is not its value
    r"|\A(?:\w{0,12}[_.-])?(?:password|passwd|passphrase|pass|pwd|secret|token|(?:api)?[_-]?key)[_-]?\w?\Z"
)
_CODE = lazy(
    r"[A-Za-z_]\w{0,23}(?:(?:\.|->|::)[A-Za-z_]\w{0,23})+"  # request.headers
    r"|[A-Za-z_]{1,12}\d{1,3}[A-Z_][A-Za-z_]{0,12}"  # Uint8Array
)
_NUMBERS = lazy(r"[\d.:/,+-]+")
_TOKEN = lazy(r"[\w.~+/=:%-]+", re.ASCII)
_UUID = lazy(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = lazy(r"(?:0x)?(?:[0-9a-f]{32,}|[0-9A-F]{32,})")
_DIGIT_INSIDE = lazy(r"[A-Za-z]\d(?=[A-Za-z])")
_TURN = lazy(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])")  # from a letter to a digit, or back, with nothing between
_PIECES = lazy(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_SYMBOLS = frozenset("!@#%^*+~=?$&")


def mark(kind: str) -> str:
    """Return the text in place of a secret of this kind."""
    return f"[redacted:{kind}]"


def is_placeholder(value: str) -> bool:
    """Report whether a value is a placeholder: `your-token`, `${TOKEN}`, `xxxx`, a type, the name of a secret."""
    return bool(_PLACEHOLDER.search(value.lower())) or value == value[:1] * len(value)


def is_code(value: str) -> bool:
    """Report whether a value is an expression that reads the secret, such as `request.headers`."""
    return _CODE.fullmatch(value) is not None and (len(_DIGIT_INSIDE.findall(value)) < 2 or not is_mixed(value))


def is_number(value: str) -> bool:
    """Report whether a value is a number, a date or an IP address."""
    return _NUMBERS.fullmatch(value) is not None


def is_uuid(value: str) -> bool:
    """Report whether a value is a UUID, which is mostly no secret."""
    return _UUID.fullmatch(value) is not None


def is_varied(body: str) -> bool:
    """Report whether the text after a vendor's prefix is random: no `xxxx`, no `your_token_here`, no word."""
    return len(set(body)) >= 4 and (any(map(str.isdigit, body)) or is_mixed(body)) and not is_placeholder(body)


def is_random(value: str, fewest: int = 20) -> bool:
    """Report whether letters and digits alone show that a value is random: a long token, hexadecimal digits, a UUID."""
    if len(value) < fewest or not _TOKEN.fullmatch(value) or is_placeholder(value) or is_number(value):
        return False
    if _HEX.fullmatch(value) or is_uuid(value):
        return True
    if not any(map(str.isdigit, value)) or is_code(value) or value.count("/") > len(value) // 12:
        return False
    # Names are words with few turns between letters and digits; a token turns every few characters.
    if len(_TURN.findall(value)) >= max(4, len(value) // 12):
        return True
    longest = max(map(len, _PIECES.findall(value)), default=0)
    return is_mixed(value) and longest <= max(6, len(value) // 5)


def is_password(value: str, fewest: int = 6) -> bool:
    """Report whether a value may be a password: letters with digits or signs, and no name, number, path or code."""
    if not fewest <= len(value) <= 200 or any(map(str.isspace, value)) or is_placeholder(value) or is_number(value):
        return False
    has_letter = any(map(str.isalpha, value))
    return has_letter and (any(map(str.isdigit, value)) or bool(_SYMBOLS & set(value))) and not is_code(value)


def is_strong(value: str) -> bool:
    """Report whether a value can only be a password: it has signs, or many turns between letters and digits."""
    if not is_password(value, 8) or not any(map(str.isdigit, value)):
        return False
    return bool(set("!#$^&*?~") & set(value)) or len(_PIECES.findall(value)) >= 5


def is_mixed(value: str) -> bool:
    """Report whether capitals and small letters alternate more often than in words and names."""
    letters = [letter for letter in value if letter.isalpha()]
    turns = sum(a.isupper() != b.isupper() for a, b in pairwise(letters))
    return turns >= max(4, len(letters) // 5)
