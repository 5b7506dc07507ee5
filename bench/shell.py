"""How the Bash rows of the labelled calls come out: `python -m bench.shell [--aside]`."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.labels import SHARED, labels
from knowbound.core.trace import LOOKUPS, MISSES
from knowbound.traces.shell.lookup import CallReading, read_shell, split_exit_code

# Results that the reader of Claude Code's transcripts settles before it asks about the command.
NOT_RUN = ("<tool_use_error>", "Permission to use", "The user doesn't want", "[Request interrupted")


def main() -> None:
    """Print the outcome of every label class, and the rows that come out wrong."""
    aside = "--aside" in sys.argv[1:]
    wanted = {row["call_id"]: row for row in labels("calls", aside=aside) if row["tool"] == "Bash"}
    calls = {call["id"]: call for call in bash_calls() if call["id"] in wanted}
    table: Counter[tuple[str, str]] = Counter()
    good = Counter[str]()
    for call_id, row in wanted.items():
        reading = settle(calls[call_id]) if call_id in calls else None
        verdict = "not run" if reading is None else verdict_of(reading)
        table[row["label"], verdict] += 1
        # It looked, and it was not there: what for is its intent.
        is_miss, is_called = row["label"] in ("miss", "verify_absent"), verdict.startswith("miss")
        good["tp" if is_called and is_miss else "fp" if is_called else "fn" if is_miss else "tn"] += 1
        if not aside and is_called != is_miss:
            print(f"{call_id}  label {row['label']} (sure: {row['sure']})  read as {verdict}: {reading}")
    for (label, verdict), count in sorted(table.items()):
        print(f"{label:14} {verdict:16} {count}")
    print(f"precision {good['tp']}/{good['tp'] + good['fp']}  recall {good['tp']}/{good['tp'] + good['fn']}")
    print(f"{time_of(list(calls.values())):.0f} µs per call")


def verdict_of(reading: CallReading) -> str:
    """A miss with its intent, or kind and outcome."""
    if reading.kind in LOOKUPS and reading.outcome in MISSES:
        return f"miss, {reading.intent}"
    return f"{reading.kind} {reading.outcome}"


def settle(call: dict[str, Any]) -> CallReading | None:
    """Read one call; None where the client never ran it."""
    text, result = call.get("text", ""), call.get("result")
    if text.startswith(NOT_RUN) or "[Request interrupted by user" in text:
        return None
    purpose = call["purpose"]
    if isinstance(result, dict):
        stdout, stderr = result.get("stdout") or "", result.get("stderr") or ""
        return read_shell(call["command"], stdout, stderr, None, bool(call["failed"]), purpose)
    code, rest = split_exit_code(text)
    return read_shell(call["command"], rest, "", code, bool(call["failed"]), purpose)


def bash_calls() -> Iterator[dict[str, Any]]:
    """Every Bash call of the Claude Code traces with its result."""
    for path in sorted((SHARED / "traces" / "claude-code").rglob("*.jsonl")):
        yield from _calls_of(path)


def _calls_of(path: Path) -> Iterator[dict[str, Any]]:
    calls: dict[str, dict[str, Any]] = {}
    for line in path.read_text(errors="replace").splitlines():
        if '"tool_use' not in line and '"tool_result' not in line:
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        data = entry.get("data")
        outer = data["message"] if isinstance(data, dict) and data.get("type") == "agent_progress" else entry
        message = outer.get("message") or {}
        blocks = message.get("content") if isinstance(message, dict) else None
        for block in blocks if isinstance(blocks, list) else ():
            if block.get("type") == "tool_use" and block.get("name") == "Bash":
                given = block["input"]
                calls.setdefault(
                    block["id"],
                    {
                        "id": block["id"],
                        "command": given.get("command", ""),
                        "purpose": given.get("description") or "",
                    },
                )
            elif block.get("type") == "tool_result" and block.get("tool_use_id") in calls:
                call = calls[block["tool_use_id"]]
                call["text"] = _text(block.get("content"))
                call["failed"] = block.get("is_error")
                call["result"] = outer.get("toolUseResult") or call.get("result")
    yield from (call for call in calls.values() if "text" in call)


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return content if isinstance(content, str) else ""


def time_of(calls: list[dict[str, Any]]) -> float:
    """Microseconds that reading one call takes, commands not remembered from before."""
    started = time.perf_counter()
    for call in calls:
        call["command"] += " "  # a text that no cache has seen
        settle(call)
    return (time.perf_counter() - started) / max(len(calls), 1) * 1e6


if __name__ == "__main__":
    main()
