"""A project whose turns end and are scored: real hooks, real workers, real files; and the look at what came of it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from knowbound.agent.background import SCORING, settings_for
from knowbound.agent.hook import log as hook_log
from knowbound.core.quality import DayRollup, ItemVerdict, JudgedTurn, QualityTurn
from knowbound.judge.turns import TurnVerdicts
from knowbound.kms.opening import open_quality_log
from knowbound.quality.rollup import day_of
from knowbound.quality.scoring import QueueScored, score_queue
from knowbound.store.data_dir import ENDED, INJECTIONS
from knowbound.user_files import append
from tests.hook_project import PORT, PROMPT, Project
from tests.transcripts import Transcript

ANSWER = "The orders service listens on port 8080."
WORKER = [sys.executable, "-P", "-m", SCORING.module]
HOOK_CODE = "from knowbound.agent.hook_entry import main; main()"


class ScoredProject(Project):
    """Sessions of one turn each: its prompt got the item, the trace has the answer, and a hook says that it ended."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        root.mkdir(parents=True, exist_ok=True)
        [self.item] = self.store(PORT)
        self.traces = root / "traces"
        self.traces.mkdir(exist_ok=True)

    def prompted(self, session: str, turn: str = "t-1", *, answer: str = ANSWER, at: float | None = None) -> None:
        """The prompt hook has injected the item, and the client has written the turn."""
        moment = time.gmtime(at)
        key = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", moment), "id": os.urandom(8).hex(), "session": session}
        item = {"item": self.item, "backend": "sqlite", "excerpt": PORT, "content_length": len(PORT), "rank": 1}
        told = {"event": "user-prompt-submit", "agent": "claude-code", "prompt_id": turn, "items": [item]}
        ended = {"outcome": "injected", "delivered": True, "ms": 50.0, "tokens": 20, "prompt": PROMPT}
        path = self.home / INJECTIONS / time.strftime("%Y-%m-%d.jsonl", moment)
        transcript = {"transcript": str(self.trace(session))}
        append(str(path), json.dumps(key | told | transcript | ended, separators=(",", ":")).encode() + b"\n")
        self.write_trace(session, turn, answer)

    def trace(self, session: str) -> Path:
        return self.traces / f"{session}.jsonl"

    def write_trace(self, session: str, turn: str = "t-1", answer: str = ANSWER) -> None:
        lines = Transcript(session, str(self.root)).user(PROMPT, promptId=turn, uuid=os.urandom(8).hex())
        if answer:
            lines.says(answer, promptId=turn, uuid=os.urandom(8).hex(), message=os.urandom(8).hex())
        with self.trace(session).open("a") as file:
            file.writelines(f"{line}\n" for line in lines.lines)

    def stopped(self, session: str, turn: str = "t-1", **more: Any) -> bytes:
        """What the client says when a turn has ended."""
        given = {
            "session_id": session,
            "prompt_id": turn,
            "cwd": str(self.root),
            "transcript_path": str(self.trace(session)),
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": ANSWER,
        }
        return json.dumps({name: value for name, value in (given | more).items() if value is not None}).encode()

    def stop(self, session: str, turn: str = "t-1", event: str = "stop", **more: Any) -> None:
        """The hook, and what it does later, are over when this returns; a worker may run."""
        self.run(event, self.stopped(session, turn, **more))

    def queue_lines(self) -> list[dict[str, Any]]:
        paths = sorted((self.home / ENDED).glob("*.jsonl"))
        return [json.loads(line) for path in paths for line in path.read_bytes().splitlines() if line]

    def queue_line(self, session: str, turn: str = "t-1", **more: Any) -> bytes:
        """A record as a hook writes it, with its answer."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = {"time": now, "id": os.urandom(8).hex(), "session": session, "event": "stop", "prompt_id": turn}
        line |= {"transcript": str(self.trace(session)), "answer": ANSWER}
        return json.dumps(line | more, separators=(",", ":")).encode() + b"\n"

    def queue_file(self, days_ago: float = 0) -> Path:
        path = self.home / ENDED / time.strftime("%Y-%m-%d.jsonl", time.gmtime(time.time() - days_ago * 86400))
        path.parent.mkdir(exist_ok=True)
        return path

    @contextmanager
    def without_worker(self) -> Iterator[None]:
        """Hooks find that a worker runs, and start none."""
        with (self.home / SCORING.lock).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def score(self, *, again: bool = False) -> QueueScored:
        """What a worker does, in this process."""
        return score_queue(settings_for(self.root, self.home), again=again)

    def work(self, code: str = "", **environ: str) -> int:
        """A worker, as a process of its own; its exit code."""
        command = [*WORKER] if not code else [sys.executable, "-P", "-c", code]
        done = subprocess.run(
            [*command, str(self.root), str(self.home), SCORING.kind], env=self.environ | environ, check=False
        )
        return done.returncode

    def turns(self) -> list[QualityTurn]:
        with closing(open_quality_log(settings_for(self.root, self.home))) as log:
            return list(log.since(""))

    def days(self) -> list[DayRollup]:
        with closing(open_quality_log(settings_for(self.root, self.home))) as log:
            return log.rollups()

    def problems(self, acknowledged: Iterable[tuple[str, str]]) -> list[str]:
        """What speaks against every acknowledged turn being scored exactly once, and each day being its turns."""
        turns, found = self.turns(), []
        counts = Counter((turn.session_id, turn.turn_id) for turn in turns)
        found += [f"{key} is logged {counts[key]} times" for key in set(acknowledged) if counts[key] != 1]
        found += [f"{key} is logged {count} times" for key, count in counts.items() if count > 1]
        for turn in turns:
            if turn.problem or any(item.verdict is None for item in turn.items):
                found.append(f"{turn.id} has no verdicts: {turn.problem}")
            elif [item.id for item in turn.injected_items] != [self.item]:
                found.append(f"{turn.id} has lost its item")
        by_day: dict[str, list[QualityTurn]] = {}
        for turn in turns:
            by_day.setdefault(turn.date, []).append(turn)
        wanted = {date: _counts(day_of(date, those)) for date, those in by_day.items()}
        rolled = {day.date: _counts(day) for day in self.days()}
        found += [
            f"the rollup of {date} is not that of its turns" for date in wanted if wanted[date] != rolled.get(date)
        ]
        return found

    def outcomes(self) -> list[str]:
        """How the hooks that queue turns ended, by the hook log."""
        return [run["outcome"] for run in hook_log.runs(str(self.home)) if run["event"] != "user-prompt-submit"]


def _counts(day: DayRollup) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(day)
    for name in ("made_at", "scores", "gamma", "scores_by_day"):
        fields.pop(name, None)
    return fields


class FailingJudge:
    """Judges like nobody: every item is on topic. It fails for the turns that it is told to."""

    version, costs = "failing 1", False

    def __init__(self, fails: Callable[[JudgedTurn], bool], error: type[Exception] = RuntimeError) -> None:
        self.fails, self.error = fails, error

    def judge(self, turns: Iterable[JudgedTurn]) -> list[TurnVerdicts]:
        given = list(turns)
        if any(map(self.fails, given)):
            raise self.error("the judge is ill")
        return [
            TurnVerdicts(
                tuple(ItemVerdict(item.id, on_topic=True, used=False, contradicted=False) for item in one.items)
            )
            for one in given
        ]
