"""Passwords given to programs as an argument or on their input: `curl -u user:…`, `echo … | sudo -S`."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.looks import is_placeholder, mark
from knowbound.text.secrets.names import may_have_option

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
_MADE: dict[str, re.Pattern[str]] = {}


def redact_commands(text: str, *, names_secret: bool) -> str:
    """Redact the passwords of commands. `names_secret`: the text may have a command without an option."""
    anchors = _COMMANDS if may_have_option(text) else _WITHOUT_OPTION if names_secret else ()
    for anchor in filter(text.__contains__, anchors):
        if anchor not in _MADE:
            _MADE[anchor] = re.compile(f"({_COMMANDS[anchor]}){_VALUE}")
        text = _MADE[anchor].sub(_redact, text)
    if "|" in text and ("echo" in text or "printf" in text):
        text = _PIPED.sub(_redact_piped, text)
    return text


def _redact(found: re.Match[str]) -> str:
    value = found[3]
    if is_placeholder(value) or value.startswith("-"):
        return found[0]
    return f"{found[1]}{found[2]}{mark('password')}"


def _redact_piped(found: re.Match[str]) -> str:
    value = found[2]
    if is_placeholder(value):
        return found[0]
    user, colon, _ = value.rpartition(":")
    return f"{found[1]}{user}{colon}{mark('password')}{found[3]}"
