"""The time and the tokens that hooks take, as `doctor` shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from knowbound.agent.doctor import NOTE, OK
from knowbound.agent.doctor.activity import check_budget, hook_time
from knowbound.injection.log import read_log


def written(path: Path, *lines: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def turn(home: Path, *, seconds: int, ms: float, calls: int = 0, tool_ms: float = 0.0, tokens: int = 0) -> None:
    """One turn of a session that read 2,000 tokens for the first time, one message of it twice."""
    transcript = home.parent / "session.jsonl"
    usage = {"input_tokens": 500, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 90_000}
    message = {"type": "assistant", "message": {"id": "m1", "usage": usage}}
    written(transcript, message, message, {"type": "assistant", "message": {"id": "m2", "usage": usage}})
    key = {"session": "s", "prompt_id": "p"}
    prompt = {"time": "2026-11-18T10:00:00Z", "id": "1", "event": "user-prompt-submit", "delivered": True, "ms": ms}
    written(home / "injections" / "2026-11-18.jsonl", prompt | key | {"tokens": tokens, "transcript": str(transcript)})
    end = {"time": f"2026-11-18T10:{seconds // 60:02}:{seconds % 60:02}Z", "id": "e", "event": "stop"} | key
    told = {"id": "e", "ms": ms, "tool_calls": calls, "tool_ms": tool_ms}
    written(home / "ended" / "2026-11-18.jsonl", end, told)


def test_hooks_within_their_budget_are_fine(tmp_path: Path) -> None:
    home = tmp_path / ".knowbound"
    turn(home, seconds=100, ms=50, calls=50, tool_ms=250, tokens=10)
    time, tokens = check_budget(home)
    assert (time.state, tokens.state) == (OK, OK)
    assert "0.35% of 1 turns' time (100 s" in time.found
    assert "0.50 s for 100 tool calls" in time.found
    assert "10 of 2000 input tokens" in tokens.found


@pytest.mark.parametrize("over", [{"ms": 600.0}, {"calls": 10, "tool_ms": 200.0}])
def test_time_over_the_budget_is_noted(tmp_path: Path, over: dict[str, Any]) -> None:
    home = tmp_path / ".knowbound"
    turn(home, **{"seconds": 100, "ms": 10.0} | over)
    [time, _] = check_budget(home)
    assert time.state == NOTE


def test_tokens_over_the_budget_are_noted(tmp_path: Path) -> None:
    home = tmp_path / ".knowbound"
    turn(home, seconds=100, ms=1, tokens=21)
    [_, tokens] = check_budget(home)
    assert tokens.state == NOTE


def test_a_turn_without_an_end_counts_for_nothing(tmp_path: Path) -> None:
    home = tmp_path / ".knowbound"
    turn(home, seconds=100, ms=1)
    (home / "ended" / "2026-11-18.jsonl").unlink()
    assert hook_time(home, read_log(home).records).turns == 0
    assert list(check_budget(home / "nowhere")) == []
