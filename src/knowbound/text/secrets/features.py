"""Signs of a secret: its name, a run of characters that may be a token, and the features of its value.

A hook loads this module whenever it shows text, so it imports the standard library alone.
"""

from __future__ import annotations

import re
import string
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


PASSWORDS = (
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
ALL = sorted((*PASSWORDS.split(), *_OTHERS.split(), *_PHRASES), key=len, reverse=True)


def _any_of(names: list[str]) -> re.Pattern[str]:
    """Return a pattern of all names, longest first, grouped by first letter so that few are tried at a position."""
    firsts = dict.fromkeys(name[0] for name in names)
    rests = {first: "|".join(re.escape(name[1:]) for name in names if name[0] == first) for first in firsts}
    return lazy("|".join(f"{re.escape(first)}(?:{rest})" for first, rest in rests.items()))


NAME = _any_of(ALL)
# Parts of all ASCII names that begin with rare letters: searching for them is ten times as fast as for the names.
RARE_PARTS = lazy(
    r"k(?:e[ny]|ie)|p(?:ass|wd|at(?![a-z])|hrase)|c(?:re[td]|ontras|urestr)|uth|bearer|mnemon|g(?:in[ :]|natur| in as)"
    r"|words|fied by|/user:|qlplus|ha(?<=senha)"
)
_FOREIGN = sorted({name[0] for name in ALL if not name[0].isascii()})
_OPTION = lazy(r"-(?<=\s-)(?:[upawcPU]|\w*b|-(?:user|proxy-user|body))")


def may_name_secret(lowered: str) -> bool:
    """Report whether the text may have the name of a secret, or a command that takes a secret."""
    return RARE_PARTS.search(lowered) is not None or is_foreign(lowered)


def is_foreign(lowered: str) -> bool:
    """Report whether the text may have a name in another script."""
    return not lowered.isascii() and any(map(lowered.__contains__, _FOREIGN))


def may_have_option(text: str) -> bool:
    """Report whether the text may have a command with an option that takes a password."""
    return _OPTION.search(text) is not None


def may_have_parameter(text: str) -> bool:
    """Report whether the text may have an address with a signature, or one that is itself the permission to post."""
    return "=" in text or "hook" in text or "telegram.org/" in text or "maker.ifttt." in text


_SIGNS = frozenset((string.ascii_letters + string.digits + "_+=.%~-").encode())
_IN_RUN = bytes(ord("x") if byte in _SIGNS else ord(" ") for byte in range(256))
# A slash ends a run, or most long runs would be paths; a path is searched only beside a run that may be a token.
_IN_PATH = bytes(ord("x") if byte in _SIGNS or byte == ord("/") else ord(" ") for byte in range(256))
_LONG = b"x" * 15  # the shortest token is xoxb- and ten characters
_DIGIT = lazy(r"\d", re.ASCII)
_IN_TURNS = lazy(r"[a-z][^A-Za-z]*+[A-Z][^a-z]*+[a-z][^A-Z]*+[A-Z]")
_SIGN = lazy(r"[_+=%~-]")
_LONGEST_NAME = 23  # a name in source code has capitals too; a token of letters alone is longer
_LONGEST_WITHOUT_DIGIT = 500  # a longer random run has a digit
_LINE_END = lazy(r"[ \t\"'+]{0,12}[\\\r\n]")
_LINE_START = lazy(r"(?:\n|\\+r?\\*n?)[ \t>|+\"'#*]{0,12}\Z")
_CHARACTERS_BESIDE = 48
_CHARACTERS_TO_NEXT_LINE = 240  # a token may be wrapped


def parts_with_runs(text: str) -> str:
    """Return the runs that may belong to a token with the text beside them, one part per line."""
    signs = text.encode("ascii", "replace")  # as long as the text
    runs = signs.translate(_IN_RUN)
    at = runs.find(_LONG)
    if at < 0:
        return ""
    parts: list[tuple[int, int]] = []
    paths, end_of_part = b"", -1
    while at >= 0:
        end = runs.find(b" ", at)
        end = len(text) if end < 0 else end
        if _may_be_token(text, at, end):
            paths = paths or signs.translate(_IN_PATH)  # made once, if it is needed
            start, end = paths.rfind(b" ", 0, at) + 1, paths.find(b" ", end)
            end = len(text) if end < 0 else end
            is_first, is_last = _LINE_START.search(text, max(0, start - 16), start), _LINE_END.match(text, end)
            start = max(0, start - (_CHARACTERS_TO_NEXT_LINE if is_first else _CHARACTERS_BESIDE))
            if start <= end_of_part:
                start = parts.pop()[0]  # they overlap: one part
            end_of_part = end + (_CHARACTERS_TO_NEXT_LINE if is_last else _CHARACTERS_BESIDE)
            parts.append((start, end_of_part))
        at = runs.find(_LONG, end)
    return "\n".join([text[start:end] for start, end in parts])


def _may_be_token(text: str, start: int, end: int) -> bool:
    """Report whether a run of characters may be a token: it has a digit, or alternates between capitals and small."""
    if _DIGIT.search(text, start, end):
        return True
    if end - start > _LONGEST_WITHOUT_DIGIT:
        return False
    is_name = end - start <= _LONGEST_NAME and not _SIGN.search(text, start, end)
    return not is_name and _IN_TURNS.search(text, start, end) is not None
