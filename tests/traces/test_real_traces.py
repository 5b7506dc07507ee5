"""All the shared recordings: each session, turn and call counted again without our code."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from knowbound.config import Settings
from knowbound.gaps import observe
from tests.conftest import SHARED

TRACES = SHARED / "traces"
pytestmark = pytest.mark.skipif(not TRACES.exists(), reason="the shared recordings are not on this machine")

NOT_WORDS = re.compile(
    r"\s*(<(local-command|command-name|task-notification|bash-(input|stdout|stderr))|\[Request interrupted"
    r"|This session is being continued)"
)
ADDED = re.compile(r"<(system-reminder|ide_opened_file|ide_selection)>.*?</\1>", re.DOTALL)


def objects(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a file, also where two stand on one line."""
    found, decoder = [], json.JSONDecoder()
    for line in path.read_text("utf-8").splitlines():
        at = 0
        while at < len(line.rstrip()):
            value, at = decoder.raw_decode(line, at)
            found.append(value)
    return found


def blocks(message: Any) -> list[dict[str, Any]]:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def is_turn(line: dict[str, Any]) -> bool:
    """The user's own words in a user line."""
    if line["type"] != "user" or line.get("isMeta") or line.get("isCompactSummary"):
        return False
    parts = blocks(line["message"])
    text = "\n".join(part["text"] for part in parts if part["type"] == "text")
    return bool(ADDED.sub("", text).strip()) and not NOT_WORDS.match(text)


def test_claude_code_totals_agree_with_an_independent_count(tmp_path: Path) -> None:
    turns: dict[str, set[str]] = defaultdict(set)
    calls: dict[str, set[str]] = defaultdict(set)
    lines = 0
    for path in (TRACES / "claude-code").rglob("*.jsonl"):
        whole = objects(path)
        lines += sum(1 for line in path.read_text("utf-8").splitlines() if line.strip())
        session = next(line["sessionId"] for line in whole if line.get("sessionId"))
        turns[session] |= {line["uuid"] for line in whole if is_turn(line)}
        for line in whole:
            message = line.get("message")
            if line["type"] == "progress" and line["data"].get("type") == "agent_progress":
                message = line["data"]["message"].get("message")
            if line["type"] in ("assistant", "progress"):
                calls[session] |= {block["id"] for block in blocks(message) if block.get("type") == "tool_use"}
            else:
                calls[session] |= set()
    report, _ = observe.observe([TRACES / "claude-code"], Settings(root=tmp_path, home=tmp_path / "home"))
    totals = report.totals
    assert totals.files == len(list((TRACES / "claude-code").rglob("*.jsonl")))
    assert totals.sessions == len(calls)
    assert totals.turns == sum(map(len, turns.values()))
    assert totals.tool_calls == sum(map(len, calls.values()))
    assert totals.lines == lines
    assert report.skipped == {}
    assert report.unrecognised == []


def test_every_recording_is_read_and_no_valid_line_is_skipped(tmp_path: Path) -> None:
    report, _ = observe.observe([TRACES], Settings(root=tmp_path, home=tmp_path / "home"))
    assert report.totals.files == sum(1 for path in TRACES.rglob("*") if path.is_file())
    assert report.unrecognised == []
    assert report.skipped == {}
    assert set(report.agents) == {"claude-code", "codex", "copilot-cli", "gemini-cli", "swe-agent"}
    accounted = report.gap.rate.n + len(report.incomplete)
    assert accounted == report.totals.samples
