"""`quality score --input`: judges given turns, one verdict per item (docs/json.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from knowbound.core.quality import JudgedTurn
from knowbound.errors import InputError
from knowbound.files import numbered_lines
from knowbound.judge.turns.verdict import TurnJudge

_EXAMPLE = '{"id": "t1", "prompt": "…", "items": [{"id": "i1", "content": "…"}], "response": "…", "tool_calls": []}'


def read_turns(path: Path) -> list[JudgedTurn]:
    """The turns of a file. A line that is none is an error: one lost in silence would change what is counted."""
    turns = [_turn(line, path, number) for number, line in numbered_lines(path)]
    if not turns:
        raise InputError("bad-turns", f"{path} has no turn. Try a line such as {_EXAMPLE}")
    return turns


def _turn(line: bytes, path: Path, number: int) -> JudgedTurn:
    try:
        return msgspec.json.decode(line, type=JudgedTurn)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError("bad-turns", f"{path}:{number} is no turn: {error}. Try: {_EXAMPLE}") from None


def judged_lines(judge: TurnJudge, turns: list[JudgedTurn]) -> Iterator[str]:
    """One JSON line per item, in the order of the file; where the judge failed, why."""
    for turn in turns:
        (given,) = judge.judge([turn])
        by_item = {verdict.item: verdict for verdict in given.verdicts}
        for item in turn.items:
            verdict = by_item.get(item.id)
            row: dict[str, object] = {"turn": turn.id, "item": item.id}
            if verdict is None:
                row |= {"on_topic": None, "used": None, "contradicted": None, "correction": ""}
                row |= {"judge": judge.version, "problem": given.problem or "no verdict"}
            else:
                row |= {name: getattr(verdict, name) for name in ("on_topic", "used", "contradicted", "correction")}
                row |= {"judge": verdict.judge, "reason": verdict.reason}
            yield msgspec.json.encode(row).decode() + "\n"
