"""One turn in full: what was injected, searched, found and claimed. It is read from the trace again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from knowbound import __version__
from knowbound.audit.reading import ReadTurn, audited_turn, read_turns
from knowbound.core.evidence import REQUIREMENTS, derive_confidence
from knowbound.core.trace import ToolCall
from knowbound.errors import InputError
from knowbound.report.audit.model import TurnPage
from knowbound.text.redact import excerpt
from knowbound.traces.registry import default_folders
from knowbound.traces.turns import sessions_in

_PROMPT, _INJECTED, _WHAT, _ANSWER = 2_000, 400, 160, 8_000  # characters that are shown


def turn_page(paths: Sequence[Path], session: str, turn: int) -> TurnPage:
    """The turn of that number of the session whose id begins so. Raises InputError where there is none."""
    looked_in = paths or [path for path in default_folders(os.environ, Path.home()) if path.exists()]
    found = [one for one in sessions_in(looked_in) if one.session.startswith(session)]
    last = 0
    for files in found:
        for read, _ in read_turns(files):
            if not read.turn.session.startswith(session):
                continue
            last = read.turn.index
            if last == turn:
                return _page(read)
    if not found or not last:
        raise InputError("no-sessions", f"No session whose id begins with {session!r}. Try: knowbound audit --all")
    raise InputError("no-sessions", f"Session {session!r} has {last} turns, and no turn {turn}.")


def _page(read: ReadTurn) -> TurnPage:
    turn, evidence = read.turn, read.evidence
    found = [
        (one.cls.value, one.quality.value, one.strength.value, _cut(f"{one.tool} {one.query}"))
        for one in evidence.entries
    ]
    found += [(one.cls.value, one.quality.value, "", _cut(f"{one.tool} {one.query}")) for one in evidence.others]
    return TurnPage(
        turn=audited_turn(read),
        prompt=excerpt(turn.prompt.text, _PROMPT),
        injected=[(one.item or one.path or one.source, excerpt(one.content, _INJECTED)) for one in turn.injections],
        calls=[(call.kind.value, _what(call), call.outcome.value, call.line) for call in turn.calls],
        evidence=found,
        answer=excerpt(read.answer.text, _ANSWER) if read.answer else "",
        explanation=derive_confidence(REQUIREMENTS.get(read.intent, ()), (), evidence.entries)[1],
        version=__version__,
    )


def _what(call: ToolCall) -> str:
    return _cut(f"{call.name} {call.query}")


def _cut(text: str) -> str:
    return excerpt(" ".join(text.split()), _WHAT)
