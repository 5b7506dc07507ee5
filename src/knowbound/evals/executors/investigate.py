"""The built-in executor: the evidence engine answers a sample from the knowledge folder. No model, no network.

It is the engine of `investigate`: the same question on the same files has the same outcome. Sufficient evidence is an
answer that quotes the passages it rests on. Insufficient evidence is a search that came back empty, named by what is
missing: a gap (specification 1, source 1).
"""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path

import msgspec

from knowbound.codebase.tree_search import passage_at
from knowbound.core.evidence import SUCCESS, CitedSource, Investigation, NearPlace
from knowbound.evals.executor import Execution, RunEnding, Task
from knowbound.evals.knowledge import files_of
from knowbound.evidence.investigate import investigate
from knowbound.files import read_text
from knowbound.text.redact import redact
from knowbound.user_files import make_file

_NO_MATCHES = "No matches found"
_PASSAGES = 3
_LONGEST_QUOTE = 2400
_FILE_BYTES = 2_000_000
VERSION = 2  # raise it when the same question on the same knowledge gets another answer


class QuotedPassage(msgspec.Struct, frozen=True):
    """What an answer rests on, as it is written."""

    path: str  # relative to the folder
    line: int
    heading: str
    text: str


class InvestigateExecutor:
    """Answers from the knowledge files of a folder."""

    name = "investigate"
    version = f"investigate/{VERSION}"
    costs = False
    remembers = False  # asking again is as quick
    injects = False
    reads_freely = False

    def __init__(self, globs: tuple[str, ...], hidden: tuple[Path, ...] = ()) -> None:
        self._globs = globs
        self._hidden = hidden
        self._files: dict[Path, list[str]] = {}
        self._reading = threading.Lock()

    def check(self) -> None:
        """It can always run."""

    def run(self, task: Task) -> Execution:
        """Ask the knowledge of the task's folder."""
        began = time.monotonic()
        folder = task.base or task.folder
        found = investigate(redact(task.question or task.prompt), folder, only=self._knowledge(folder))
        passages = quoted_passages(found, folder)
        answer = answer_of(found, passages)
        trace = task.output_dir / "trace.json"
        chat = json.dumps(_trace(task, found, passages, answer), ensure_ascii=False, indent=1)
        make_file(trace, chat.encode("utf-8", "replace"))
        return Execution(
            RunEnding.DONE, str(trace), answer, seconds=time.monotonic() - began, usd=0.0, model="evidence engine"
        )

    def _knowledge(self, folder: Path) -> list[str]:
        with self._reading:
            if folder not in self._files:
                self._files[folder] = list(files_of(folder, self._globs, self._hidden))
            return self._files[folder]


def quoted_passages(found: Investigation, folder: Path) -> list[QuotedPassage]:
    """The passages around the first places of an answer, or around what is nearest, word for word."""
    places: tuple[CitedSource, ...] | tuple[NearPlace, ...] = found.sources or found.nearest
    quoted = []
    for place in places[:_PASSAGES]:
        passage = passage_at(folder, place.path, max(1, place.line))
        lines = (read_text(folder, place.path, _FILE_BYTES) or "").split("\n")
        first, last = (passage.first, passage.last) if passage else (max(1, place.line), max(1, place.line))
        text = "\n".join(lines[first - 1 : last]).strip()
        if len(text) > _LONGEST_QUOTE:
            first, text = place.line, "\n".join(lines[place.line - 1 : place.line + 9])[:_LONGEST_QUOTE]
        heading = " › ".join(part for part in (passage.above, passage.name) if part) if passage else ""
        quoted.append(QuotedPassage(place.path, first, heading, text))
    return quoted


def answer_of(found: Investigation, passages: list[QuotedPassage]) -> str:
    """The passages word for word, with the file and line of each; or what is missing, with the nearest passages."""
    if found.outcome == SUCCESS:
        return "\n\n".join(f"{_location(passage)}\n{_quoted(passage.text)}" for passage in passages)
    nearest = "".join(f"\nNearest: `{_location(passage)}`" for passage in passages)
    return f"No passage answers this. Nothing was found on `{_searched_for(found)}`.{nearest}"


def _location(passage: QuotedPassage) -> str:
    return f"{passage.path}:{passage.line} ({passage.heading})" if passage.heading else f"{passage.path}:{passage.line}"


def _quoted(text: str) -> str:
    """Fenced, so that a hedge in a document is not taken for one of the agent."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}\n{text.strip()}\n{fence}"


def _trace(task: Task, found: Investigation, passages: list[QuotedPassage], answer: str) -> dict[str, object]:
    """The conversation that an agent with Search and Read would have left."""
    base = task.base or task.folder
    messages: list[dict[str, object]] = [{"role": "user", "content": task.prompt}]
    searched = {"query": _searched_for(found)}
    if found.outcome == SUCCESS:
        hits = "\n".join(f"{base / passage.path}:{passage.line}: {passage.heading}" for passage in passages)
        messages += _call("search", "Search", searched, hits)
        for number, passage in enumerate(passages, 1):
            messages += _call(
                f"read-{number}", "Read", {"file_path": str(base / passage.path)}, passage.text or passage.heading
            )
    else:
        messages += _call("search", "Search", searched, _NO_MATCHES)
    messages.append({"role": "assistant", "content": answer})
    return {"cwd": str(base), "messages": messages}


def _searched_for(found: Investigation) -> str:
    """What was searched for: the terms of the question."""
    return " ".join(found.terms) or found.question


def _call(id_: str, tool: str, arguments: dict[str, str], result: str) -> list[dict[str, object]]:
    function = {"name": tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": id_, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id_, "content": result},
    ]
