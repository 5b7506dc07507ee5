"""Recordings of every agent: our own, and public ones where they are beside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from knowbound.demo import TRACES as DEMO
from tests.conftest import SHARED

_OWN = Path(__file__).parent
_AGENTS = (
    "claude-code",
    "codex",
    "copilot-cli",
    "gemini-cli",
    "swe-agent",
    "opencode",
    "goose",
    "qwen-code",
    "cline",
    "aider",
)


def _own() -> dict[str, list[Path]]:
    demo = sorted(DEMO.glob("*.jsonl"))
    codex = [path for path in demo if path.name.startswith("rollout-")]
    found = {agent: sorted((_OWN / agent).glob("*")) for agent in _AGENTS[2:]}
    return {"claude-code": [path for path in demo if path not in codex], "codex": codex, **found}


def _shared() -> dict[str, list[Path]]:
    folders = {agent: SHARED / "traces" / agent for agent in _AGENTS}
    return {agent: sorted(path for path in folder.rglob("*") if path.is_file()) for agent, folder in folders.items()}


# By source and agent: a test that takes `SOURCES` runs on our own recordings everywhere.
SOURCES = {"own": _own()} | ({"shared": _shared()} if SHARED.exists() else {})


def each_recording(agent: str) -> list[ParameterSet]:
    """Every recording of one agent as the case of a test; public ones are long."""
    return [
        pytest.param(path, id=path.stem, marks=[pytest.mark.long] * (source != "own"))
        for source, paths in SOURCES.items()
        for path in paths[agent]
    ]


def recordings(agent: str) -> list[Path]:
    """Every recording of one agent."""
    return [path for source in SOURCES.values() for path in source[agent]]


def recordings_of_others(agent: str) -> list[Path]:
    """Every recording that is not of this agent."""
    return [path for other in _AGENTS if other != agent for path in recordings(other)]
