"""Executors without an agent: the built-in one, and recorded runs.

The built-in executor is the engine of `investigate`: the same question on the same files has the same outcome. With a
model (model.tasks.investigate) it answers from passages with verified quotations, and a gap is that no passage answers.
Without one it is retrieval only: what it cannot show ends as a search that came back empty, a gap (specification 1,
source 1); where a place is probable it is read after the search, so that the gap is not open.

`eval --record FILE` writes runs, `--executor replay:FILE` plays them. A replay costs nothing and is the same every
time: it tests the samples, their assertions and gates, and reads the traces anew. Whether the documents still answer,
only an agent shows.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import msgspec

from knowbound.codebase.tree_search import passage_at
from knowbound.core.evidence import SUCCESS, CitedSource, Investigation, NearPlace
from knowbound.errors import InputError
from knowbound.evals.executor import Execution, Task
from knowbound.evals.knowledge import files_of
from knowbound.evals.runner import Job
from knowbound.evidence.investigate import investigate
from knowbound.files import read_text, replacing
from knowbound.injection.bundle import fence_of
from knowbound.judge.models.asking import Asker
from knowbound.stats.evaluation import RunEnding, SampleRun
from knowbound.text.digest import digest_of
from knowbound.text.redact import redact
from knowbound.user_files import make_file

_NO_MATCHES = "No matches found"
_MOST_PASSAGES = 3
_RULES = "rules"
_QUOTE_CHARACTERS = 2400  # of a longer passage, ten lines from the place are quoted
_MOST_FILE_BYTES = 2_000_000
RETRIEVAL_ONLY = (
    "The built-in executor without a model is retrieval only: it measures what rules find, not what the documents say. "
    "Try: --executor claude, or knowbound model"
)
VERSION = 4  # raise it when the same question on the same knowledge gets another answer


class QuotedPassage(msgspec.Struct, frozen=True):
    """A passage that supports an answer, verbatim."""

    path: str  # relative to the folder
    line: int
    heading: str
    text: str


class InvestigateExecutor:
    """Answers from the knowledge files of a folder."""

    name = "investigate"
    injects = False
    reads_freely = False

    def __init__(self, globs: tuple[str, ...], hidden: tuple[Path, ...] = (), asker: Asker | None = None) -> None:
        self._asker = asker
        self.costs = self.remembers = asker is not None  # by rules asking again is as quick
        self._globs = globs
        self._hidden = hidden
        self._files: dict[Path, list[str]] = {}
        self._files_lock = threading.Lock()

    @property
    def version(self) -> str:
        """The version of the rules, and the model that reads: each is a series of its own."""
        return f"investigate/{VERSION}" + (f"+{self._asker.judge}" if self._asker else "")

    def check(self) -> None:
        """Do nothing: this executor can always run."""

    def run(self, task: Task) -> Execution:
        """Ask the knowledge of the task's folder."""
        began = time.monotonic()
        folder = task.base or task.folder  # all knowledge, also where the sample works in a folder of it
        usd_before = self._asker.usage.usd if self._asker else 0.0
        question = redact(task.question or task.prompt)
        found = investigate(
            question, folder, only=self._knowledge(folder), asker=self._asker, seconds=max(1.0, task.seconds)
        )
        usd_after = self._asker.usage.usd if self._asker else 0.0
        passages = quoted_passages(found, folder)
        answer = answer_of(found, passages)
        trace = task.output_dir / "trace.json"
        chat = json.dumps(_trace(task, found, passages, answer), ensure_ascii=False, indent=1)
        make_file(trace, chat.encode("utf-8", "replace"))
        return Execution(
            ending=RunEnding.DONE,
            trace=str(trace),
            answer=answer,
            seconds=time.monotonic() - began,
            usd=None if usd_after is None or usd_before is None else usd_after - usd_before,
            model=self._asker.judge if self._asker else "rules, retrieval only",
        )

    def _knowledge(self, folder: Path) -> list[str]:
        """Return the knowledge files of a folder, listed once for all threads."""
        with self._files_lock:
            if folder not in self._files:
                self._files[folder] = list(files_of(folder, self._globs, self._hidden))
            return self._files[folder]


def quoted_passages(found: Investigation, folder: Path) -> list[QuotedPassage]:
    """The passages around the first places of an answer, or around what is nearest, word for word."""
    places: tuple[CitedSource, ...] | tuple[NearPlace, ...] = found.sources or found.nearest
    quoted = []
    for place in places[:_MOST_PASSAGES]:
        line = max(1, place.line)  # a near place may name the file alone
        passage = passage_at(folder, place.path, line)
        lines = (read_text(folder, place.path, _MOST_FILE_BYTES) or "").split("\n")
        first, last = (passage.first, passage.last) if passage else (line, line)
        text = "\n".join(lines[first - 1 : last]).strip()
        if len(text) > _QUOTE_CHARACTERS:
            first, text = line, "\n".join(lines[line - 1 : line + 9])[:_QUOTE_CHARACTERS]  # ten lines
        heading = " › ".join(part for part in (passage.above, passage.name) if part) if passage else ""
        quoted.append(QuotedPassage(place.path, first, heading, text))
    return quoted


def answer_of(found: Investigation, passages: list[QuotedPassage]) -> str:
    """Return the answer with its passages, word for word. A refusal has no word that an assertion could look for."""
    if found.outcome == SUCCESS:  # rules have no words of their own
        by_model = [_quoted(found.answer.text)] if found.answer and found.by != _RULES else []
        headings = [f" ({passage.heading})" if passage.heading else "" for passage in passages]
        quoted = [
            f"{passage.path}:{passage.line}{heading}\n{_quoted(passage.text)}"
            for passage, heading in zip(passages, headings, strict=True)
        ]
        return "\n\n".join([*by_model, *quoted])
    if found.probable is not None:
        return f"Place found: `{found.probable.path}:{found.probable.line}`"  # probable, in words that are no hedge
    return "No passage answers this."


def _quoted(text: str) -> str:
    """Fence a text, so that "may" in a document or in an answer is not taken for a doubt of the agent."""
    fence = fence_of(text)
    return f"{fence}\n{text.strip()}\n{fence}"


def _trace(task: Task, found: Investigation, passages: list[QuotedPassage], answer: str) -> dict[str, object]:
    """Return the conversation of an agent with Search and Read; a probable place is read after the search missed."""
    base = task.base or task.folder
    messages: list[dict[str, object]] = [{"role": "user", "content": task.prompt}]
    searched = {"query": " ".join(found.terms) or found.question}
    hits, opened = _NO_MATCHES, passages[:1] if found.probable is not None else []
    if found.outcome == SUCCESS:
        hits = "\n".join(f"{base / passage.path}:{passage.line}: {passage.heading}" for passage in passages)
        opened = passages
    messages += _call_pair("search", "Search", searched, hits)
    for number, passage in enumerate(opened, 1):
        # A result is never empty: that would look like a missing file.
        text = passage.text or (passage.heading if found.outcome == SUCCESS else passage.path)
        messages += _call_pair(f"read-{number}", "Read", {"file_path": str(base / passage.path)}, text)
    messages.append({"role": "assistant", "content": answer})
    return {"cwd": str(base), "messages": messages}


def _call_pair(id_: str, tool: str, arguments: dict[str, str], result: str) -> list[dict[str, object]]:
    """Return the messages of a tool call and of its result, as OpenAI's chats have them."""
    function = {"name": tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": id_, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id_, "content": result},
    ]


# ---- recorded runs

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
            problem = f"the run in {self._path.name} is of another prompt: record it anew"
            return Execution(RunEnding.CRASHED, problem=problem, usd=0.0)
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
        """Return the recorded runs by sample. Raises InputError for a line that is none."""
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
            continue  # the budget was spent before it began
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
