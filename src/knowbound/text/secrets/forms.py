"""Secrets in forms of their own: in addresses, in command lines, in private keys.

Addresses have passwords, tokens in place of a user, webhooks and signatures; programs take passwords as an argument or
on their input (`curl -u user:…`, `echo … | sudo -S`); keys are blocks, blocks that were cut, PuTTY's format and base64.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.features import is_placeholder, is_random, is_varied, mark, may_have_option

_PASSWORD = lazy(
    r"(://[^\s/:@\"'<>`\[]*+:)(?!/|\d{1,5}[/?#),;\]}])"  # after the host may come a port instead
    r"([^\s/\"'<>`]{1,300}|[^\s\"'<>`@]{1,100})(?=@)"
)
_NO_PASSWORD = lazy(
    r"(?:\[redacted:[a-z-]+\])+|\$\{?\w+\}?|\{+[\w. ]*\}+|%\w+%?|[*xX.•]+|[<(]?(?:(?:YOUR_?)?PASSWORD|PASS|PWD)[>)]?"
)
_USER = lazy(r"(://)([\w-]{16,256}+)(?=@)", re.ASCII)  # https://TOKEN@host
# Addresses that are themselves the permission to post.
_WEBHOOK = lazy(
    r"(hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?:[\w-]{6,16}/){2}"
    r"|discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{15,21}/"
    r"|webhook\.office(?:365)?\.com/webhookb2/[\w@-]{30,90}/IncomingWebhook/"
    r"|outlook\.office(?:365)?\.com/webhook/[\w@-]{30,90}/IncomingWebhook/"
    r"|hooks\.zapier\.com/hooks/catch/\d+/|hook\.(?:[a-z0-9]+\.)?make\.com/|hook\.integromat\.com/"
    r"|maker\.ifttt\.com/trigger/[\w-]{1,80}/(?:json/)?with/key/"
    r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key="
    r"|api\.telegram\.org/bot)([A-Za-z0-9][\w:/-]{7,200})"
)
_HOOK = lazy(r"(/(?:services/)?(?:web)?hooks?/(?:[\w-]{1,40}/){0,3})([A-Za-z0-9][\w-]{15,200})")  # of any host
_HOOKS = ("hook/", "hooks/", "hook.", "hooks.", "webhookb2/", "maker.ifttt.", "telegram.org/")
_SIGNATURE = lazy(
    r"([?&;#](?:amp;)?(?:sig|(?:x-(?:amz|goog)-)?signature|x-amz-security-token|oauth_signature|hmac|(code|pat|auth|"
    r"auth_?key|sas|ticket|invite|access_?key|sk|h))=)([\w%.~+/=-]{16,2000}+)",
    re.IGNORECASE | re.ASCII,
)
_AZURE_KEY = lazy(r"(?<=Key=)(?:(?<=AccountKey=)|(?<=SharedAccessKey=))[A-Za-z0-9+/]{20,}+={0,2}")


def redact_addresses(text: str) -> str:
    """Redact passwords and tokens before the host of an address."""
    if "@" in text:
        text = _redact_after_start(_PASSWORD, "url-password", text, lambda found: not _NO_PASSWORD.fullmatch(found[2]))
        text = _redact_after_start(_USER, "url-token", text, lambda found: is_random(found[2], 16))
    return text


def redact_parameters(text: str) -> str:
    """Redact webhooks and signatures, also in addresses that were cut at their beginning."""
    if "/" in text and any(map(text.__contains__, _HOOKS)):
        text = _WEBHOOK.sub(rf"\1{mark('webhook')}", text)
        text = _redact_after_start(_HOOK, "webhook", text, lambda found: is_random(found[2]))
    if "=" in text:
        if "?" in text or "&" in text or "#" in text:
            text = _redact_after_start(_SIGNATURE, "signature", text, _is_signature)
        if "Key=" in text:
            text = _AZURE_KEY.sub(mark("azure-key"), text)
    return text


def _redact_after_start(
    pattern: re.Pattern[str], kind: str, text: str, is_secret: Callable[[re.Match[str]], bool]
) -> str:
    """Redact what follows the first group of each match that is a secret."""
    return pattern.sub(lambda found: found[1] + mark(kind) if is_secret(found) else found[0], text)


def _is_signature(found: re.Match[str]) -> bool:
    value = found[3].replace("%2B", "+").replace("%2F", "/").replace("%3D", "=")
    return is_random(value) if found[2] else is_varied(value)


_VALUE = r"(\\?[\"']?)([^\s\"'$|;&<>()\\`（），。；、]{4,200})"
_CALL = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"  # a word begins, also behind Chinese or an escaped line break
_REST = r"[^\n|;]{0,300}?\s"
# The program and the option before each value. A password that is typed in or read from a file has no value here.
_COMMANDS = {
    "curl": rf"{_CALL}curl\b{_REST}(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'$]{{1,100}}:",
    "sshpass": rf"{_CALL}sshpass\s+-p\s*",
    "mysql": rf"{_CALL}mysql(?:dump|admin|import|sh)?\b{_REST}-p",
    "mongo": rf"{_CALL}mongo(?:sh|dump|restore|import|export)?\b{_REST}-p[ =]?",
    "redis-cli": rf"{_CALL}redis-cli\b{_REST}-a[ =]?",
    "ldap": rf"{_CALL}ldap\w+\b{_REST}-w[ =]?",
    "snmp": rf"{_CALL}snmp\w+\b{_REST}-c[ =]?",
    "openssl": r"-pass(?:in|out)?\s+pass:",
    "-pass": r"-(?:store|key|src|dest)pass\s+",
    "docker": rf"{_CALL}(?:docker|podman|helm)\b[^\n|;]{{0,100}}\blogin\b{_REST}-p[ =]?",
    "az ": rf"{_CALL}az\s+login\b{_REST}-p[ =]?",
    "sqlcmd": rf"{_CALL}(?:sqlcmd|bcp|osql)\b{_REST}-P[ =]?",
    "zip": rf"{_CALL}(?:un)?zip\b{_REST}-P[ =]?",
    "7z": rf"{_CALL}7za?\b{_REST}-p",
    "smbclient": rf"{_CALL}smbclient\b{_REST}-U[ =]?[\"']?[^\s%\"']{{1,60}}%",
    "htpasswd": rf"{_CALL}htpasswd\b{_REST}-\w*b\w*\s+\S+\s+\S+\s+",
    "net use": rf"{_CALL}net\s+use\b[^\n|;]{{0,200}}?/user:\S+\s+",
    "secret set": rf"{_CALL}secret\s+set\b{_REST}(?:--body|-b)[ =]?",
    "SecureString": r"ConvertTo-SecureString\s+(?:-String\s+)?",
    "vault login": rf"{_CALL}vault\s+login\s+(?:token=)?",
    "sqlplus": rf"{_CALL}sqlplus\b\s+(?:-\S+\s+)*[\w.]{{1,60}}/",
    "IDENTIFIED": r"(?i:identified\s+by\s+(?:values\s+)?)",
    "identified": r"(?i:identified\s+by\s+(?:values\s+)?)",
}
_WITHOUT_OPTION = [anchor for anchor, before in _COMMANDS.items() if _REST not in before and r"\s+-p" not in before]
_PIPED = lazy(
    rf"({_CALL}(?:echo|printf)\s+(?:-\w+\s+)?(?:\\?[\"'])?(?:%s\\*n?[\"']?\s+[\"']?)?)([^\s\"'$|\\]{{4,200}})((?:\\n)?(?:\\?[\"'])?\s*\|\s*"
    r"(?:sudo\s+(?:-\w+\s+){0,3}-S|su\b|(?:sudo\s+)?(?:ch)?passwd|(?:docker|podman|helm)\b[^\n|;]{0,80}\blogin|kinit|cryptsetup"
    r"|[^\n|;]{0,120}(?:--password-stdin|--with-token|--stdin|--passphrase-fd)|gh\s+(?:auth|secret)))"
)
_PATTERNS = {anchor: lazy(f"({before}){_VALUE}") for anchor, before in _COMMANDS.items()}


def redact_commands(text: str, *, names_secret: bool) -> str:
    """Redact the passwords of commands. `names_secret`: the text may have a command without an option."""
    anchors = _COMMANDS if may_have_option(text) else _WITHOUT_OPTION if names_secret else ()
    for anchor in filter(text.__contains__, anchors):
        text = _PATTERNS[anchor].sub(_redact_argument, text)
    if "|" in text and ("echo" in text or "printf" in text):
        text = _PIPED.sub(_redact_piped, text)
    return text


def _redact_argument(found: re.Match[str]) -> str:
    is_secret = not is_placeholder(found[3]) and not found[3].startswith("-")
    return f"{found[1]}{found[2]}{mark('password')}" if is_secret else found[0]


def _redact_piped(found: re.Match[str]) -> str:
    """Redact what `echo` writes to a program; of `user:password` the password alone."""
    value = found[2]
    if is_placeholder(value):
        return found[0]
    user, colon, _ = value.rpartition(":")
    return f"{found[1]}{user}{colon}{mark('password')}{found[3]}"


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
_ENCODED_RUN = lazy(r"[A-Za-z0-9+/_-]{24,}+={0,2}")
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
    return _ENCODED_RUN.sub(lambda found: mark("encoded") if _hides_secret(found[0], redact) else found[0], text)


def _hides_secret(run: str, redact: Callable[[str], str]) -> bool:
    """Report whether a run of base64 decodes to printable text that `redact` would change."""
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
    """Redact a private key between its first and its last line; the space after it stays."""
    block = found[0]
    if not _BASE64.search(block):  # code or prose that only names the lines around a key
        return block
    return mark("private-key") + block[len(block.rstrip()) :]


def _redact_cut(text: str) -> str:
    """Redact keys whose beginning is cut off: the lines of base64 before each end line, matched backwards."""
    kept, done = [], 0
    for end in _KEY_REST.finditer(text):
        before = text[max(done, end.start() - _LENGTH) : end.start()]
        lines = _LINES_BACKWARD.match(before[::-1])  # reversed: it must end where the end line begins
        if lines and _BASE64.search(lines[0]):
            kept += [text[done : end.start() - lines.end()], mark("private-key")]
            done = end.end()
    return "".join([*kept, text[done:]])
