"""All recordings: each session, turn and call counted again without our code."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from knowbound.config import Settings
from knowbound.gaps import observe
from tests.recordings import SOURCES

NOT_WORDS = re.compile(
    r"\s*(<(local-command|command-name|task-notification|bash-(input|stdout|stderr))|\[Request interrupted"
    r"|This session is being continued)"
)
ADDED = re.compile(r"<(system-reminder|ide_opened_file|ide_selection)>.*?</\1>", re.DOTALL)
# Our own recordings are small; a collection of real ones beside the repository takes a quarter of a minute.
EVERY_SOURCE = [pytest.param(name, marks=[pytest.mark.long] * (name != "own")) for name in SOURCES]


def objects(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The JSON objects of a file, also where two are on one line, and the number of broken lines."""
    found, broken, decoder = [], 0, json.JSONDecoder()
    for line in path.read_text("utf-8").splitlines():
        at = 0
        while at < len(line.rstrip()):
            try:
                value, at = decoder.raw_decode(line, at)
            except json.JSONDecodeError:
                broken += 1
                break
            found.append(value)
    return found, broken


def blocks(message: Any) -> list[dict[str, Any]]:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def is_turn(line: dict[str, Any]) -> bool:
    """The user's own words in a user line."""
    if line["type"] != "user" or any(line.get(key) for key in ("isMeta", "isCompactSummary", "isSidechain")):
        return False
    parts = blocks(line["message"])
    text = "\n".join(part["text"] for part in parts if part["type"] == "text")
    return bool(ADDED.sub("", text).strip()) and not NOT_WORDS.match(text)


@pytest.mark.parametrize("source", EVERY_SOURCE)
def test_claude_code_totals_agree_with_an_independent_count(source: str, tmp_path: Path) -> None:
    files = SOURCES[source]["claude-code"]
    turns: dict[str, set[str]] = defaultdict(set)
    calls: dict[str, set[str]] = defaultdict(set)
    lines = broken = 0
    for path in files:
        whole, cut = objects(path)
        broken += cut
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
    report, _ = observe.observe(files, Settings(root=tmp_path, home=tmp_path / "home"))
    totals = report.totals
    assert totals.files == len(files)
    assert totals.sessions == len(calls)
    assert totals.turns == sum(map(len, turns.values()))
    assert totals.tool_calls == sum(map(len, calls.values()))
    assert totals.lines == lines
    assert sum(report.skipped.values()) == broken
    assert report.unrecognised == []


@pytest.mark.parametrize("source", EVERY_SOURCE)
def test_every_recording_is_read_and_no_valid_line_is_skipped(source: str, tmp_path: Path) -> None:
    files = [path for paths in SOURCES[source].values() for path in paths]
    report, _ = observe.observe(files, Settings(root=tmp_path, home=tmp_path / "home"))
    assert report.totals.files == len(files)
    assert report.unrecognised == []
    assert report.skipped == ({"truncated": 1} if source == "own" else {})
    assert set(report.agents) == {agent for agent, paths in SOURCES[source].items() if paths}
    accounted = report.gap.rate.n + len(report.incomplete)
    assert accounted == report.totals.samples
