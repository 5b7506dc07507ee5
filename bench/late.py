"""How many late choices arrive in time: `python -m bench.late [--traces DIR]`, from the timing of recorded turns.

A choice that a model makes so many seconds after a prompt is delivered with the next tool event of the main agent, and
reaches the step after it. The time of an event is that of the message with the call, which is early: tools take time,
so the shares are lower bounds. In time means before the first edit, or, in turns without an edit, before the answer.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from bench.labels import SHARED
from knowbound.core.trace import Step, ToolKind
from knowbound.stats.rate import Rate
from knowbound.traces.turns import TraceTurn, session_of, turns_in

LATENCIES = (1.5, 3.0, 6.0, 12.0, 24.0)  # seconds


def turns_of(folder: Path) -> Iterator[TraceTurn]:
    """The turns with tool calls of every transcript of Claude Code and Codex below a folder."""
    for agent in ("claude-code", "codex"):
        for path in sorted((folder / agent).rglob("*.jsonl")):
            yield from (turn for turn in turns_in(session_of(path)) if turn.prompt.time and _calling(turn))


def is_in_time(turn: TraceTurn, seconds: float) -> bool:
    """Whether a choice after so many seconds reaches the agent before its first edit, or before its answer."""
    due = datetime.fromisoformat(turn.prompt.time).timestamp() + seconds
    steps = _main(turn)
    for step in steps[:-1]:  # after the last step nothing is said to the agent
        if _edits(step):
            return False
        if step.calls and datetime.fromisoformat(step.time).timestamp() >= due:
            return True
    return False


def edits(turn: TraceTurn) -> bool:
    return any(map(_edits, _main(turn)))


def _main(turn: TraceTurn) -> list[Step]:
    return [step for step in turn.steps if not step.agent_id and step.time]


def _calling(turn: TraceTurn) -> bool:
    return any(step.calls for step in _main(turn))


def _edits(step: Step) -> bool:
    return any(call.kind is ToolKind.EDIT for call in step.calls)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--traces", type=Path, default=SHARED / "traces")
    turns = list(turns_of(parser.parse_args().traces))
    for agent in ("claude-code", "codex"):
        for name, wanted in (("before the first edit", True), ("no edit: before the answer", False)):
            some = [turn for turn in turns if turn.agent == agent and edits(turn) is wanted]
            shares = [Rate(sum(is_in_time(turn, seconds) for turn in some), len(some)) for seconds in LATENCIES]
            print(f"{agent}, {name}:")
            for seconds, share in zip(LATENCIES, shares, strict=True):
                print(f"  {seconds:>5g} s  {share}")


if __name__ == "__main__":
    main()
