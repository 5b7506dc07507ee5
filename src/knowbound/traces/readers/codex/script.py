"""Scripts of the tool `exec`, clients 0.144 and later: JavaScript that calls the other tools.

    const r = await tools.exec_command({cmd: "git status", "workdir": "/work"}); text(r.output);

A script is never run: its calls are read off its text. A script with one call is that call; several shell commands are
one call with all of them; any other script stays a call of `exec`. A result has the script's own header, then the
output of each command, or JSON with its output and exit code. A script that goes on has a cell, which `wait` looks at.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from knowbound.traces.dialogue import as_text
from knowbound.traces.values import object_of

SHELL = "exec_command"
_MAX_SCRIPT = 400_000  # characters
_HEADER = re.compile(
    r"\AScript (?:completed|(?P<failed>failed)|running with cell ID (?P<cell>\w+))[^\n]*\n"
    r"Wall time[^\n]*\nOutput:(?:\n|\Z)"
)
_SHELL_ID = re.compile(r"(?i)\bsession_?id\W{1,3}(\d+)\s*\Z")  # scripts print it for a command that goes on
# Comments and strings; strings become numbers between NUL characters, so that braces are the script's own.
_TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)""",
    re.S,
)
_KEPT = re.compile("\0(\\d+)\0")
_CALL = re.compile(r"\btools\.(\w+)\s*\(\s*(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\w+|" + "\0\\d+\0" + r")?")
_BARE_KEY = re.compile(r"([{,]\s*)([A-Za-z_$][\w$]*)(\s*:)")
_VARIABLE = re.compile(r"\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*" + "(\0\\d+\0)")
_NAMED_VALUE = re.compile(r"(:\s*)([A-Za-z_$][\w$]*)(?=\s*[,}])")
_TRAILING = re.compile(r",(\s*[}\]])")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "v": "\v", "\n": ""}


class ScriptCall(NamedTuple):
    """A call of a tool in a script."""

    name: str
    input: dict[str, Any]


class ScriptOutput(NamedTuple):
    """Output of a script without its header."""

    text: str
    exit_code: int | None
    running: str  # the shell or cell in which it goes on; "" if it has ended
    failed: bool


def call_of(script: str) -> ScriptCall | None:
    """Return the one call that a script stands for; None if there is none."""
    found = _calls(script[:_MAX_SCRIPT])
    if len(found) == 1:
        return found[0]
    commands = [as_text(one.input.get("cmd")) for one in found if one.name == SHELL]
    if len(commands) < 2 or len(commands) < len(found) or not all(commands):
        return None
    return ScriptCall(SHELL, found[0].input | {"cmd": "\n".join(commands)})


def output_of(text: str) -> ScriptOutput | None:
    """Return the output of a script; None for a text without its header."""
    header = _HEADER.match(text)
    if header is None:
        return None
    body, failed = text[header.end() :].removeprefix("\n"), bool(header["failed"])
    if header["cell"]:
        return ScriptOutput(body, None, cell(header["cell"]), failed)
    results = [object_of(line) for line in body.splitlines() if line.startswith("{")]
    if not results or len(results) < len(body.splitlines()) or not all("output" in one for one in results):
        shell = _SHELL_ID.search(body)
        return ScriptOutput(body, None, shell[1] if shell else "", failed)
    codes = [code for one in results if isinstance(code := one.get("exit_code"), int)]
    running = next((str(one["session_id"]) for one in results if one.get("session_id") is not None), "")
    whole = "\n".join(as_text(one["output"]) for one in results)
    return ScriptOutput(whole, next(filter(None, codes), 0) if codes else None, running, failed)


def cell(id_: object) -> str:
    """Return the name under which a running script is remembered."""
    return f"cell {id_}"


def _calls(script: str) -> list[ScriptCall]:
    kept: list[str] = []

    def keep(match: re.Match[str]) -> str:
        if match[1] is None:
            return " "  # a comment
        kept.append(_string(match[1]))
        return f"\0{len(kept) - 1}\0"

    plain = _TOKENS.sub(keep, script.replace("\0", ""))
    known = dict(_VARIABLE.findall(plain))
    return [ScriptCall(one[1], _input(one[2] or "", known, kept)) for one in _CALL.finditer(plain)]


def _string(literal: str) -> str:
    """Return the text of a string literal."""
    if literal[0] == '"':
        try:
            return str(json.loads(literal, strict=False))
        except ValueError:
            pass
    return re.sub(r"\\(.)", lambda one: _ESCAPES.get(one[1], one[1]), literal[1:-1], flags=re.S)


def _input(argument: str, known: dict[str, str], kept: list[str]) -> dict[str, Any]:
    """Return the argument of a call; a text alone, as of `apply_patch`, is its `input`."""
    value = known.get(argument, argument)
    if alone := _KEPT.fullmatch(value):
        return {"input": kept[int(alone[1])]}
    value = _NAMED_VALUE.sub(lambda one: one[1] + known.get(one[2], one[2]), value)
    value = _TRAILING.sub(r"\1", _BARE_KEY.sub(r'\1"\2"\3', value))
    value = _KEPT.sub(lambda one: json.dumps(kept[int(one[1])]), value)
    return object_of(value)
