"""The built-in executor: the evidence engine answers a sample from the knowledge folder.

It is the engine of `investigate`: the same question on the same files has the same outcome. With a model
(model.tasks.investigate) it answers from passages with verified quotations, and a gap is that no passage answers.
Without one it is retrieval only: what it cannot show ends as a search that came back empty, a gap (specification 1,
source 1); where a place is probable it is read after the search, so that the gap is not open.
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
from knowbound.judge.models.asking import Asker
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
        folder = task.base or task.folder
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
        with self._files_lock:
            if folder not in self._files:
                self._files[folder] = list(files_of(folder, self._globs, self._hidden))
            return self._files[folder]


def quoted_passages(found: Investigation, folder: Path) -> list[QuotedPassage]:
    """The passages around the first places of an answer, or around what is nearest, word for word."""
    places: tuple[CitedSource, ...] | tuple[NearPlace, ...] = found.sources or found.nearest
    quoted = []
    for place in places[:_MOST_PASSAGES]:
        passage = passage_at(folder, place.path, max(1, place.line))
        lines = (read_text(folder, place.path, _MOST_FILE_BYTES) or "").split("\n")
        first, last = (passage.first, passage.last) if passage else (max(1, place.line), max(1, place.line))
        text = "\n".join(lines[first - 1 : last]).strip()
        if len(text) > _QUOTE_CHARACTERS:
            first, text = place.line, "\n".join(lines[place.line - 1 : place.line + 9])[:_QUOTE_CHARACTERS]
        heading = " › ".join(part for part in (passage.above, passage.name) if part) if passage else ""
        quoted.append(QuotedPassage(place.path, first, heading, text))
    return quoted


def answer_of(found: Investigation, passages: list[QuotedPassage]) -> str:
    """The answer with the passages it rests on, word for word. A refusal has no word of the question."""
    if found.outcome == SUCCESS:
        by_model = [_quoted(found.answer.text)] if found.answer and found.by != _RULES else []
        return "\n\n".join([*by_model, *(f"{_location(passage)}\n{_quoted(passage.text)}" for passage in passages)])
    if found.probable is not None:
        return f"Place found: `{found.probable.path}:{found.probable.line}`"  # probable, in words that are no hedge
    return "No passage answers this."


def _location(passage: QuotedPassage) -> str:
    return f"{passage.path}:{passage.line} ({passage.heading})" if passage.heading else f"{passage.path}:{passage.line}"


def _quoted(text: str) -> str:
    """Fence a text, so that "may" in a document or in an answer is not taken for a doubt of the agent."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}\n{text.strip()}\n{fence}"


def _trace(task: Task, found: Investigation, passages: list[QuotedPassage], answer: str) -> dict[str, object]:
    """The conversation that an agent with Search and Read would have left."""
    base = task.base or task.folder
    messages: list[dict[str, object]] = [{"role": "user", "content": task.prompt}]
    searched = {"query": " ".join(found.terms) or found.question}
    if found.outcome == SUCCESS:
        hits = "\n".join(f"{base / passage.path}:{passage.line}: {passage.heading}" for passage in passages)
        messages += _call_pair("search", "Search", searched, hits)
        for number, passage in enumerate(passages, 1):
            messages += _call_pair(
                f"read-{number}", "Read", {"file_path": str(base / passage.path)}, passage.text or passage.heading
            )
    else:
        messages += _call_pair("search", "Search", searched, _NO_MATCHES)
        for passage in passages[:1] if found.probable is not None else ():
            messages += _call_pair(
                "read-1", "Read", {"file_path": str(base / passage.path)}, passage.text or passage.path
            )
    messages.append({"role": "assistant", "content": answer})
    return {"cwd": str(base), "messages": messages}


def _call_pair(id_: str, tool: str, arguments: dict[str, str], result: str) -> list[dict[str, object]]:
    function = {"name": tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": id_, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id_, "content": result},
    ]
