"""Whether causes of failed samples are right: over documents of other projects, with causes known by construction.

    python -m bench.causes CASES.jsonl TREES JUDGE [KEY.jsonl]

Each line of CASES is a failed sample: its question, what is expected, what was done to the documents (lines removed, a
contradicting passage added), what a stand-in agent searched, read and answered, and so the true `kind`. TREES has a
folder per tree. `rules` as JUDGE is the baseline. Cases and trees are not part of this repository.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from knowbound.config import load
from knowbound.evals.evaluate import EvalPlan, evaluate
from knowbound.evals.executor import Execution, Task
from knowbound.evals.samples.values import Assertion, EvalSample, SampleSet
from knowbound.stats.evaluation import Cause, RunEnding, SampleCause

_SUFFIXES = (".md", ".rst")


class Insertion(msgspec.Struct, array_like=True):
    """A passage that is put before a line, or at the end where no line is named."""

    path: str
    before: str
    text: str


class Reading(msgspec.Struct, array_like=True):
    """Lines of a file that the stand-in reads, from the first one with a text on."""

    path: str
    at: str
    lines: int


class Case(msgspec.Struct):
    """One failed sample, and why it fails."""

    id: str
    kind: Cause
    tree: str
    question: str
    want: str
    answer: str
    grep: str = ""
    read: list[Reading] = []
    remove: list[str] = []
    insert: list[Insertion] = []
    ending: str = ""

    @property
    def sample(self) -> EvalSample:
        """The sample as a test set has it."""
        return EvalSample(id=self.id, prompt=self.question, assertions=(Assertion(type="contains", value=self.want),))


class StandIn:
    """An agent that searches, reads and answers as its case says."""

    name, version = "stand-in", "1"
    costs = remembers = injects = reads_freely = False

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = {one.id: one for one in cases}

    def check(self) -> None:
        """It can always run."""

    def run(self, task: Task) -> Execution:
        """Leave the trace of a chat with tools."""
        case = self._cases[task.sample]
        if case.ending:
            return Execution(RunEnding(case.ending), problem="the agent's process ended", usd=0.0)
        messages: list[dict[str, object]] = [{"role": "user", "content": task.prompt}]
        if case.grep:
            messages += _call("g", "Grep", {"pattern": case.grep}, _found(task.folder, case.grep))
        for number, one in enumerate(case.read):
            path = str(task.folder / one.path)
            messages += _call(f"r{number}", "Read", {"file_path": path}, _read(task.folder, one))
        messages.append({"role": "assistant", "content": case.answer})
        trace = task.output_dir / "trace.json"
        trace.write_text(json.dumps({"cwd": str(task.folder), "messages": messages}), "utf-8")
        return Execution(RunEnding.DONE, str(trace), case.answer, usd=0.0)


def _call(id_: str, tool: str, arguments: dict[str, str], result: str) -> list[dict[str, object]]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": id_, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id_, "content": result},
    ]


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES)


def _found(folder: Path, pattern: str) -> str:
    hits = [
        f"{path.relative_to(folder)}:{number}:{line}"
        for path in _files(folder)
        for number, line in enumerate(path.read_text("utf-8").split("\n"), 1)
        if re.search(pattern, line, re.IGNORECASE)
    ]
    return "\n".join(hits[:12]) or "No matches found"


def _read(folder: Path, one: Reading) -> str:
    lines = (folder / one.path).read_text("utf-8").split("\n")
    first = next((number for number, line in enumerate(lines) if one.at in line), 0)
    return "\n".join(lines[first : first + one.lines])


def prepare(tree: Path, cases: Sequence[Case]) -> None:
    """Do to the documents what the cases say."""
    for path in _files(tree):
        relative = str(path.relative_to(tree))
        lines = path.read_text("utf-8").split("\n")
        gone = [pattern for case in cases for pattern in case.remove]
        text = "\n".join(line for line in lines if not any(re.search(pattern, line) for pattern in gone))
        for one in (one for case in cases for one in case.insert if one.path == relative):
            text = text.replace(one.before, one.text + one.before, 1) if one.before else text + one.text
        path.write_text(text, "utf-8")


def diagnosed(cases: Sequence[Case], trees: Path, judge: str) -> dict[str, SampleCause]:
    """The cause of every case, as `eval` finds it."""
    by_tree: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_tree[case.tree].append(case)
    found: dict[str, SampleCause] = {}
    for name, own in by_tree.items():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / name
            shutil.copytree(trees / name, root)
            prepare(root, own)
            settings = load(root, environ={"KNOWBOUND_HOME": str(Path(folder) / "data")})
            settings = dataclasses.replace(settings, model_tasks_causes=judge, model_budget_calls=10**6)
            plan = EvalPlan(SampleSet(f"{name}.yaml", tuple(one.sample for one in own), "0" * 64))
            done = evaluate(plan, settings, StandIn(own))
            found |= {one.sample: one for one in done.evaluation.causes}
    return found


def main(arguments: Sequence[str]) -> None:
    """Print how many causes are right, by kind."""
    cases = [msgspec.json.decode(line, type=Case) for line in Path(arguments[0]).read_bytes().splitlines()]
    found = diagnosed(cases, Path(arguments[1]), arguments[2])
    right, of = Counter[Cause](), Counter(one.kind for one in cases)
    for case in cases:
        one = found.get(case.id)
        is_right = one is not None and one.cause is case.kind
        right[case.kind] += is_right
        if not is_right:
            said = "not among the failed samples" if one is None else f"{one.cause}: {one.why} {one.problem}"
            print(f"  {case.id} {case.kind}: {said[:150]}")
    for kind in of:
        print(f"{kind}: {right[kind]} of {of[kind]}")
    print(f"in all: {right.total()} of {of.total()}")
    if len(arguments) > 3:
        lines = [{"id": one.id, "kind": one.kind, "question": one.question} for one in cases]
        Path(arguments[3]).write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
