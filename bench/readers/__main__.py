"""Compare what readers read with labels made by hand, and their totals with a count that knows no reader.

    python -m bench.readers [--public FOLDER]

FOLDER has the files that README.md names; the shared traces are used where they are.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.labels import SHARED
from knowbound.core.trace import Start, Step, ToolCall
from knowbound.traces.corpus import scan
from knowbound.traces.registry import reader_named, recognise
from knowbound.traces.source import Tally, read_head

LABELS = Path(__file__).with_name("labels.jsonl")
_ROO_CALL = re.compile(
    r"^<(?:read_file|search_files|use_mcp_tool|new_task|update_todo_list|switch_mode|attempt_completion"
    r"|ask_followup_question)>$",
    re.MULTILINE,
)
_AIDER_CALL = re.compile(r"^> (?:Applied edit to|Running) ", re.MULTILINE)


def values(path: Path) -> Iterator[Any]:
    """The JSON values of a file: one document, or one a line."""
    text = path.read_text("utf-8-sig", "replace")
    try:
        yield json.loads(text)
    except ValueError:
        for line in text.splitlines():
            if line.strip():
                yield json.loads(line)


def inside(value: Any, of: Callable[[dict[str, Any]], str]) -> Iterator[str]:
    """What `of` finds in every object of a value."""
    if isinstance(value, dict):
        if found := of(value):
            yield found
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from inside(part, of)


def _calls_of_messages(path: Path, of: Callable[[dict[str, Any]], str]) -> set[str]:
    return {f"{path}{one}" for value in values(path) for one in inside(value, of)}


def _tool_use(part: dict[str, Any]) -> str:
    return str(part.get("id", "")) if part.get("type") == "tool_use" and "input" in part else ""


def _codex(part: dict[str, Any]) -> str:
    if part.get("type") == "web_search_call":
        return json.dumps(part)
    kinds = ("function_call", "custom_tool_call", "local_shell_call")
    return str(part.get("call_id", "")) if part.get("type") in kinds else ""


def _copilot(part: dict[str, Any]) -> str:
    return str(part.get("toolCallId", "")) if "arguments" in part and "name" in part else ""


def _gemini(path: Path) -> set[str]:
    return {f"{path}{call['id']}" for one in values(path) for m in one["messages"] for call in m.get("toolCalls") or ()}


def _swe(path: Path) -> set[str]:
    (value,) = values(path)
    steps = value.get("trajectory") or [one for one in value["history"] if one["role"] == "assistant"]
    return {f"{path}{number}" for number, step in enumerate(steps) if (step.get("action") or "").strip()}


def _in_text(pattern: re.Pattern[str]) -> Callable[[Path], set[str]]:
    def count(path: Path) -> set[str]:
        text = path.read_text("utf-8-sig")
        if path.suffix == ".json":
            said = [one for one in json.loads(text) if one["role"] == "assistant" and not one.get("isSummary")]
            parts = [part.get("text", "") for one in said for part in _parts(one["content"])]
            return {f"{path}{number}" for number, _ in enumerate(m for part in parts for m in pattern.finditer(part))}
        return {f"{path}{one.start()}" for one in pattern.finditer(text)}

    return count


def _parts(content: Any) -> Iterable[dict[str, Any]]:
    return [{"text": content}] if isinstance(content, str) else content


COUNTS: dict[str, Callable[[Path], set[str]]] = {
    "codex": lambda path: {one.removeprefix(str(path)) for one in _calls_of_messages(path, _codex)},
    "copilot-cli": lambda path: {one.removeprefix(str(path)) for one in _calls_of_messages(path, _copilot)},
    "gemini-cli": _gemini,
    "swe-agent": _swe,
    "claude-code": lambda path: {one.removeprefix(str(path)) for one in _calls_of_messages(path, _tool_use)},
    "cline": lambda path: _calls_of_messages(path, _tool_use),
    "roo-code": _in_text(_ROO_CALL),
    "aider": _in_text(_AIDER_CALL),
}


def files_of(agent: str, public: Path | None) -> list[Path]:
    """The recordings of an agent: shared ones, or those of the public folder."""
    shared = SHARED / "traces" / agent / ("newer" if agent == "claude-code" else "")
    if shared.exists():
        return [Path(one.path) for one in scan([shared])[0]]
    return sorted(public.glob(f"{agent.removesuffix('-code')}-*")) if public else []


def read(paths: list[Path]) -> tuple[dict[tuple[str, str], ToolCall], int, int]:
    """Calls by file and id, sessions and lines."""
    found: dict[tuple[str, str], ToolCall] = {}
    sessions, tally = 0, Tally(skipped=[])
    for path in paths:
        known = recognise(read_head(path))
        for event in reader_named(known[0].name).read([path], {}, tally) if known else ():
            sessions += isinstance(event, Start)
            if isinstance(event, Step):
                found |= {(path.stem, call.id): call for call in event.calls}
    return found, sessions, tally.lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.readers")
    parser.add_argument("--public", type=Path, help="the folder with the public files that README.md names")
    given = parser.parse_args()
    labels: dict[str, list[dict[str, str]]] = defaultdict(list)
    for line in LABELS.read_text().splitlines():
        label = json.loads(line)
        labels[label["agent"]].append(label)
    print("| reader | files | sessions | lines | calls | counted apart | outcome as by hand | failed as by hand |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for agent, count in COUNTS.items():
        paths = files_of(agent, given.public)
        if not paths:
            continue
        calls, sessions, lines = read(paths)
        apart = len(set[str]().union(*map(count, paths)))
        ours = len({id_ for _, id_ in calls}) if agent in ("codex", "copilot-cli", "claude-code") else len(calls)
        rows = [(one, calls.get((one["file"], one["call"]))) for one in labels[agent]]
        wrong = [one for one, call in rows if call is None or call.outcome.value != one["outcome"]]
        failed = [one for one, call in rows if call is not None and call.failed == (one["failed"] == "yes")]
        right = f"{len(rows) - len(wrong)} of {len(rows)} | {len(failed)} of {len(rows)}"
        print(f"| {agent} | {len(paths)} | {sessions} | {lines:,} | {ours:,} | {apart:,} | {right} |")
        for one in wrong:
            call = calls.get((one["file"], one["call"]))
            print(f"    {one['file']} {one['call']}: {call and call.outcome.value}, by hand {one['outcome']}")


if __name__ == "__main__":
    main()
