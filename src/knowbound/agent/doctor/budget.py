"""The share of a turn's time and of a session's input that hooks take, from the logs of hooks and the transcripts.

A turn runs from its prompt to its end, and its hooks took what the records of the prompt, of rescues and of the end
say; the tool events in between are counted by the MCP server. Processes that end after a look at a tool's output leave
no record. Injected tokens are compared with the input that a session read for the first time: what its cache gave
again counts on neither side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from knowbound.agent.doctor import NOTE, OK, HealthCheck
from knowbound.agent.hook_log import json_lines
from knowbound.injection.log import InjectionRecord, read_log
from knowbound.quality.ended import STOP
from knowbound.store.data_dir import ENDED, RESCUES, day_files

_MOST_SHARE = 0.01  # of a turn's wall time, and of a session's input
_MOST_PER_100_CALLS = 1.0  # seconds
_SESSIONS = 20  # the newest, whose transcripts are read
_LARGEST = 64 * 1024 * 1024  # bytes of a transcript that is read


class HookTime(NamedTuple):
    """The time of finished turns, and what hooks took of it."""

    turns: int
    wall_seconds: float
    hook_seconds: float
    tool_calls: int
    tool_seconds: float


def check_budget(home: Path) -> Iterator[HealthCheck]:
    """Check that hooks take at most 1% of the time and of the input, and a second for 100 tool calls."""
    records = read_log(home).records
    time = hook_time(home, records)
    if time.turns and time.wall_seconds:
        share = time.hook_seconds / time.wall_seconds
        found = f"{share:.2%} of {time.turns} turns' time ({time.wall_seconds:.0f} s; at most {_MOST_SHARE:.0%})"
        is_over = share > _MOST_SHARE
        if time.tool_calls:
            per_100 = 100 * time.tool_seconds / time.tool_calls
            found += f", {per_100:.2f} s for 100 tool calls (of {time.tool_calls}; at most {_MOST_PER_100_CALLS:.0f})"
            is_over |= per_100 > _MOST_PER_100_CALLS
        yield HealthCheck("hook time", NOTE if is_over else OK, f"hooks took {found}")
    injected, read, sessions = injected_tokens(records)
    if read:
        found = f"{injected} of {read} input tokens in {sessions} sessions, {injected / read:.2%}"
        state = NOTE if injected > _MOST_SHARE * read else OK
        yield HealthCheck("injected tokens", state, f"{found} (at most {_MOST_SHARE:.0%})")


def hook_time(home: Path, records: list[InjectionRecord]) -> HookTime:
    """Add up the turns that have both a prompt and an end in the logs."""
    prompts = {
        (one.session, one.turn_key): one for one in records if one.event == "user-prompt-submit" and one.turn_key
    }
    rescues: dict[tuple[str, str], float] = defaultdict(float)
    for rescue in _joined(home, RESCUES):
        rescues[_turn_of(rescue)] += float(rescue.get("ms", 0.0))
    total = HookTime(0, 0.0, 0.0, 0, 0.0)
    for end in _joined(home, ENDED):
        key = _turn_of(end)
        prompt = prompts.get(key)
        if end.get("event") != STOP or prompt is None:
            continue
        wall = (_moment(end["time"]) - _moment(prompt.time)).total_seconds()
        calls, of_tools = int(end.get("tool_calls", 0)), float(end.get("tool_ms", 0.0))
        spent = (prompt.ms or 0.0) + float(end.get("ms", 0.0)) + (of_tools or rescues[key])
        total = HookTime(
            total.turns + 1, total.wall_seconds + max(0.0, wall), total.hook_seconds + spent / 1000,
            total.tool_calls + calls, total.tool_seconds + of_tools / 1000,
        )  # fmt: skip
    return total


def _joined(home: Path, folder: str) -> Iterable[dict[str, Any]]:
    """Return the records of a log, each joined from its lines."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for path in day_files(home, folder):
        for line in json_lines(str(path)):
            found[str(line.get("id"))].update(line)
    return found.values()


def _turn_of(record: dict[str, Any]) -> tuple[str, str]:
    return str(record.get("session")), str(record.get("prompt_id") or record.get("turn_id") or "")


def injected_tokens(records: list[InjectionRecord]) -> tuple[int, int, int]:
    """Return the injected tokens, the new input tokens, and the number of the newest sessions that have both."""
    sessions: dict[str, list[InjectionRecord]] = defaultdict(list)
    for one in records:
        sessions[one.session].append(one)
    injected = read = counted = 0
    for of_session in list(sessions.values())[-_SESSIONS:]:
        transcript = next((one.transcript for one in reversed(of_session) if one.transcript), "")
        new = _input_tokens(Path(transcript)) if transcript else 0
        if new:
            delivered = sum(one.tokens for one in of_session if one.delivered)
            injected += delivered + sum(one.late_tokens for one in of_session if one.late_delivered)
            read, counted = read + new, counted + 1
    return injected, read, counted


def _input_tokens(transcript: Path) -> int:
    """Return the input tokens of a session that no cache gave; 0 if they are unknown."""
    try:
        if transcript.stat().st_size > _LARGEST:
            return 0
        lines = json_lines(str(transcript))
    except OSError:
        return 0
    by_message: dict[str, int] = {}
    for number, line in enumerate(lines):
        message, payload = line.get("message"), line.get("payload")
        if isinstance(message, dict) and isinstance(usage := message.get("usage"), dict):  # Claude Code
            tokens = [usage.get(name) for name in ("input_tokens", "cache_creation_input_tokens")]
            by_message[str(message.get("id"))] = sum(one for one in tokens if isinstance(one, int))
        elif isinstance(payload, dict) and payload.get("type") == "token_count":  # Codex
            last = (payload.get("info") or {}).get("last_token_usage") or {}
            by_message[str(number)] = int(last.get("input_tokens", 0)) - int(last.get("cached_input_tokens", 0))
    return sum(by_message.values())


def _moment(text: object) -> datetime:
    return datetime.fromisoformat(str(text))
