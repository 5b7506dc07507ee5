"""Names of secrets, and the nets that tell quickly that a text has none: most texts load nothing else."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy

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
TELLING = lazy(
    r"k(?:e[ny]|ie)|p(?:ass|wd|at(?![a-z])|hrase)|c(?:re[td]|ontras|urestr)|uth|bearer|mnemon|g(?:in[ :]|natur| in as)"
    r"|words|fied by|/user:|qlplus|ha(?<=senha)"
)
_FOREIGN = sorted({name[0] for name in ALL if not name[0].isascii()})
_OPTION = lazy(r"-(?<=\s-)(?:[upawcPU]|\w*b|-(?:user|proxy-user|body))")


def may_name_secret(lowered: str) -> bool:
    """Report whether the text may have the name of a secret, or a command that takes a secret."""
    return TELLING.search(lowered) is not None or is_foreign(lowered)


def is_foreign(lowered: str) -> bool:
    """Report whether the text may have a name in another script."""
    return not lowered.isascii() and any(map(lowered.__contains__, _FOREIGN))


def may_have_option(text: str) -> bool:
    """Report whether the text may have a command with an option that takes a password."""
    return _OPTION.search(text) is not None


def may_have_parameter(text: str) -> bool:
    """Report whether the text may have an address with a signature, or one that is itself the permission to post."""
    return "=" in text or "hook" in text or "telegram.org/" in text or "maker.ifttt." in text
