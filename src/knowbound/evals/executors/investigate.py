"""The built-in executor: the evidence engine answers a sample from the knowledge folder. No model, no network.

Headings and sections are its symbols. Sufficient evidence is an answer that quotes the passages it rests on.
Insufficient evidence is a search that came back empty, named by what is missing: a gap (specification 1, source 1).
"""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path

from knowbound.core.evidence import Investigation
from knowbound.documents.answer import DocumentAnswer, Passage
from knowbound.documents.library import Library
from knowbound.evals.executor import Ending, Execution, Task
from knowbound.evals.knowledge import files_of
from knowbound.text.intent import read_question
from knowbound.text.redact import redact
from knowbound.user_files import make_file

_NO_MATCHES = "No matches found"
VERSION = 1  # raise it when the same question on the same knowledge gets another answer


class InvestigateExecutor:
    """Answers from the knowledge files of a folder; each folder is read once."""

    name = "investigate"
    version = f"investigate/{VERSION}"
    costs = False
    remembers = False  # asking again is as quick
    injects = False
    reads_freely = False

    def __init__(self, globs: tuple[str, ...], hidden: tuple[Path, ...] = ()) -> None:
        self._globs = globs
        self._hidden = hidden
        self._libraries: dict[Path, Library] = {}
        self._reading = threading.Lock()

    def check(self) -> None:
        """It can always run."""

    def run(self, task: Task) -> Execution:
        """Ask the library of the task's folder."""
        began = time.monotonic()
        said = self._library(task.base or task.folder).answer(read_question(redact(task.question or task.prompt)))
        answer = answer_of(said)
        trace = task.output_dir / "trace.json"
        chat = json.dumps(_trace(task, said, answer), ensure_ascii=False, indent=1)
        make_file(trace, chat.encode("utf-8", "replace"))
        return Execution(
            Ending.DONE, str(trace), answer, seconds=time.monotonic() - began, usd=0.0, model="evidence engine"
        )

    def _library(self, folder: Path) -> Library:
        with self._reading:
            if folder not in self._libraries:
                self._libraries[folder] = Library.of(folder, files_of(folder, self._globs, self._hidden))
            return self._libraries[folder]


def answer_of(said: DocumentAnswer) -> str:
    """The passages word for word, with the file and line of each; or what is missing, with the nearest passages."""
    found = said.investigation
    if found.outcome == "success":
        return "\n\n".join(f"{_location(passage)}\n{_quoted(passage.text)}" for passage in said.passages)
    nearest = "".join(f"\nNearest: `{_location(passage)}`" for passage in said.passages)
    return f"No passage answers this. Nothing was found on `{_searched_for(found, said.missing)}`.{nearest}"


def _location(passage: Passage) -> str:
    return f"{passage.path}:{passage.line} ({passage.heading})" if passage.heading else f"{passage.path}:{passage.line}"


def _quoted(text: str) -> str:
    """Fenced, so that a hedge in a document is not taken for one of the agent."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}\n{text.strip()}\n{fence}"


def _trace(task: Task, said: DocumentAnswer, answer: str) -> dict[str, object]:
    """The conversation that an agent with Search and Read would have left."""
    found = said.investigation
    base = task.base or task.folder
    messages: list[dict[str, object]] = [{"role": "user", "content": task.prompt}]
    if found.outcome == "success":
        hits = "\n".join(f"{base / passage.path}:{passage.line}: {passage.heading}" for passage in said.passages)
        messages += _call("search", "Search", {"query": _searched_for(found, said.missing)}, hits)
        for number, passage in enumerate(said.passages, 1):
            messages += _call(
                f"read-{number}", "Read", {"file_path": str(base / passage.path)}, passage.text or passage.heading
            )
    else:
        messages += _call("search", "Search", {"query": _searched_for(found, said.missing)}, _NO_MATCHES)
    messages.append({"role": "assistant", "content": answer})
    return {"cwd": str(base), "messages": messages}


def _searched_for(found: Investigation, missing: tuple[str, ...]) -> str:
    """What was searched for: the terms of the question, or of a gap those that were not found."""
    words = missing if found.outcome != "success" else ()
    return " ".join(words or found.terms) or found.question


def _call(id_: str, tool: str, arguments: dict[str, str], result: str) -> list[dict[str, object]]:
    function = {"name": tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": id_, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id_, "content": result},
    ]
