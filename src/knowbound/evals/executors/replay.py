"""Recorded runs in place of an agent: `eval --record FILE` writes them, `--executor replay:FILE` plays them.

A replay costs nothing and is the same every time: it tests the samples, their assertions and gates, and reads the
traces anew. It does not read the knowledge base: whether the documents still answer, only an agent shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import msgspec

from knowbound.errors import InputError
from knowbound.evals.executor import Execution, RunEnding, Task
from knowbound.evals.runner import Job
from knowbound.files import replacing
from knowbound.stats.evaluation import SampleRun
from knowbound.text.digest import digest_of
from knowbound.text.redact import redact
from knowbound.user_files import make_file

_FOLDER_MARK = "{knowledge base}"  # placeholder of the folder in a recorded trace
_LARGEST_TRACE = 20_000_000  # bytes of one trace


class RecordedRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run of a sample with its trace."""

    sample: str
    asked: str  # hash of what the agent was asked
    ending: RunEnding
    answer: str = ""
    problem: str = ""
    trace: str = ""
    suffix: str = ""  # of the trace's file
    repeat: int = 1
    model: str = ""
    shows_calls: bool = True


class ReplayExecutor:
    """Replays the recorded run of each sample: the run of the same repeat, or else the first run."""

    costs = remembers = injects = reads_freely = False

    def __init__(self, file: str) -> None:
        self._path = Path(file)
        self.name = f"replay:{self._path.name}"

    @cached_property
    def version(self) -> str:
        """Changes with the file."""
        return f"replay/{hashlib.sha256(self._content()).hexdigest()[:16]}"

    def check(self) -> None:
        """The file has to hold recorded runs."""
        if not self._runs:
            raise InputError("no-recording", f"{self._path} holds no recorded run. Try: knowbound eval --record FILE")

    def run(self, task: Task) -> Execution:
        """Lay the recorded trace where the agent's own would be."""
        runs = self._runs.get(task.sample, [])
        name = task.output_dir.parent.name  # NUMBER-REPEAT, as the runner names it
        repeat = int(name.rpartition("-")[2] or 1) if name else 1
        found = next((run for run in runs if run.repeat == repeat), runs[0] if runs else None)
        if found is None:
            return Execution(RunEnding.CRASHED, problem=f"{self._path.name} has no run of this sample", usd=0.0)
        if found.asked != asked_hash(task.prompt):
            return Execution(
                RunEnding.CRASHED, problem=f"the run in {self._path.name} is of another prompt: record it anew", usd=0.0
            )
        trace = task.output_dir / f"trace{found.suffix}"
        make_file(trace, found.trace.replace(_FOLDER_MARK, str(task.base or task.folder)).encode())
        return Execution(
            ending=found.ending,
            trace=str(trace) if found.trace else "",
            answer=found.answer,
            problem=found.problem,
            usd=0.0,
            model=found.model,
            shows_calls=found.shows_calls,
        )

    @cached_property
    def _runs(self) -> dict[str, list[RecordedRun]]:
        runs: dict[str, list[RecordedRun]] = {}
        for number, line in enumerate(self._content().splitlines(), 1):
            if not line.strip():
                continue
            try:
                run = msgspec.json.decode(line, type=RecordedRun)
            except msgspec.MsgspecError as error:
                raise InputError("no-recording", f"{self._path}:{number} is no recorded run: {error}") from error
            runs.setdefault(run.sample, []).append(run)
        return runs

    def _content(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError as error:
            raise InputError(
                "no-recording",
                f"Cannot read {self._path}: {error.strerror or error}. Try: knowbound eval --record FILE",
            ) from error


def asked_hash(prompt: str) -> str:
    """Return a hash of what an agent is asked."""
    return digest_of([prompt])[:16]


def recorded(jobs: Iterable[Job], runs: dict[str, SampleRun]) -> list[RecordedRun]:
    """Return the ended runs with their traces, without secrets and without paths of this machine."""
    found = []
    for job in jobs:
        run = runs[job.name]
        if run.was_left:
            continue
        path = Path(run.trace)
        text = ""
        if run.trace and path.is_file() and path.stat().st_size <= _LARGEST_TRACE:
            text = redact(path.read_text("utf-8", "replace")).replace(str(job.version.folder), _FOLDER_MARK)
        found.append(
            RecordedRun(
                sample=run.sample,
                asked=asked_hash(job.sample.asked),
                ending=run.ending,
                answer="" if text else run.answer,  # the trace has it
                problem=run.problem,
                trace=text,
                suffix=path.suffix,
                repeat=run.repeat,
                model=run.model,
                shows_calls=run.shows_calls,
            )
        )
    return found


def write_recording(runs: Iterable[RecordedRun], path: Path) -> None:
    """Write a line per run; the file is replaced as a whole."""
    with replacing(path) as file:
        file.writelines(msgspec.json.encode(run) + b"\n" for run in runs)
