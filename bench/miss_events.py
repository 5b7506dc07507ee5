"""Recorded misses as the events that a client would send to its hooks, and the trees of their day.

The repository holds ids and labels alone (`miss_places.jsonl`): the calls come from transcripts, the shared ones and
those that public repositories keep in a branch (`bench.public_traces`); the trees come from clones of the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.labels import SHARED
from bench.measuring import rows
from knowbound.traces.calls.tools import COMMAND_KEYS, first_text
from knowbound.traces.turns import session_of, turns_in

LABELS = Path(__file__).with_name("miss_places.jsonl")
REPOSITORIES = {
    "packmind": "PackmindHub+context-evaluator", "context-evaluator": "PackmindHub+context-evaluator",
    "cipherbox": "FSM1+cipher-box", "cipher-box": "FSM1+cipher-box", "agentv": "EntityProcess+agentv",
    "session-bridge": "savekirk+session-bridge", "planetfall": "blackgirlbytes+planetfall-seed-signalkit",
    "planetfall-seed-signalkit": "blackgirlbytes+planetfall-seed-signalkit",
    "entire-bmad": "ShamsiievDmytro+entire-bmad", "pup-mcp": "codyborders+pup-mcp",
    "tan-mapper": "Ri5ha6h+tan-mapper-app", "tan-mapper-app": "Ri5ha6h+tan-mapper-app",
    "CyberVPN": "Beep206+CyberVPN", "leeson": "rommeld+leeson", "strato": "samcat116+strato",
    "safecast-map-MCP": "Safecast+safecast-map-MCP", "cc-backend": "ClusterCockpit+cc-backend",
    "oh-my-posh": "JanDeDobbeleer+oh-my-posh", "StarCar": "polecatspeaks+StarCar", "hk": "jdx+hk",
    "flutter-docker-image": "gmeligio+flutter-docker-image", "imessage-mail": "stat-guy+imessage-mail",
    "esdeveniments-frontend": "Esdeveniments+esdeveniments-frontend",
    "entirecontext": "teslamint+entirecontext", "cyspbot": "chikachow+cyspbot",
}  # fmt: skip
TRACES = SHARED / "traces"
PARTS = ("odd", "even", "new", "aside", "unseen", "fresh", "last")


def project_of(id_: str) -> str:
    return id_.rpartition("-")[0]


def labelled(part: str) -> list[dict[str, Any]]:
    """The labelled misses: `odd` and `new` ones were developed on, `even` and `aside` ones kept aside."""
    return [row for row in rows(LABELS) if part in ("all", _part(row))]


def _part(row: dict[str, Any]) -> str:
    return str(row.get("part") or ("even", "odd")[int(row["id"].rpartition("-")[2]) % 2])


def events(labels: list[dict[str, Any]], traces: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """The event of each miss whose transcript is there, by its id."""
    found: dict[str, dict[str, Any]] = {}
    ids = {row["call_id"]: row["id"] for row in labels}
    named = {row["session"] for row in labels}
    for path in sorted(path for folder in traces for path in folder.rglob("*.jsonl")):
        text = path.read_text("utf-8", "replace")
        if not any(session in text for session in named):
            continue
        for line in text.splitlines():
            if '"tool_' in line and any(id_ in line for id_ in ids):
                _take(json.loads(line), ids, found)
        if any(id_ in text for id_, own in ids.items() if own not in found):
            _take_commands(path, ids, found)
        for event in found.values():
            event.setdefault("transcript_path", str(path))
    return {id_: event for id_, event in found.items() if "tool_name" in event}


def _take_commands(path: Path, ids: dict[str, str], found: dict[str, dict[str, Any]]) -> None:
    """Calls of clients with other transcripts, as Codex tells a hook of them: a command, its folder, its output."""
    for turn in turns_in(session_of(path)):
        for call in turn.calls:
            id_ = ids.get(call.id)
            if id_ is None or id_ in found or not call.input:
                continue
            given = call.input
            command = first_text(given, COMMAND_KEYS)
            found[id_] = {
                "id": id_,
                "session_id": turn.session,
                "tool_use_id": call.id,
                "hook_event_name": "PostToolUse",
                "cwd": str(given.get("workdir") or turn.project),
                "tool_response": call.text,
                "tool_name": "Bash" if command else call.name,
                "tool_input": {"command": command} if command else given,
            }


def _take(line: dict[str, Any], ids: dict[str, str], found: dict[str, dict[str, Any]]) -> None:
    for block in _blocks(line):
        if block.get("type") == "tool_use" and block.get("id") in ids:
            event = found.setdefault(ids[block["id"]], {})
            event.update(
                id=ids[block["id"]], tool_name=block["name"], tool_input=block["input"], cwd=line.get("cwd", "")
            )
            event.update(session_id=line.get("sessionId", ""), tool_use_id=block["id"])
            event.setdefault("hook_event_name", "PostToolUse")
        elif block.get("type") == "tool_result" and block.get("tool_use_id") in ids:
            event = found.setdefault(ids[block["tool_use_id"]], {})
            content = block.get("content")
            text = content if isinstance(content, str) else "\n".join(one.get("text", "") for one in content or ())
            if block.get("is_error"):
                text = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
                event.update(hook_event_name="PostToolUseFailure", error=text)
            else:
                structured = line.get("toolUseResult")
                event["tool_response"] = structured if isinstance(structured, dict) else text


def _blocks(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if value.get("type") in ("tool_use", "tool_result"):
            yield value
        for inner in value.values():
            yield from _blocks(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _blocks(inner)
