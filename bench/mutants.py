"""Mutation testing: small faults put into the rooms of rules and values, and whether a test notices.

    python -m bench.mutants [--count 200] [--seed 1] [--rooms core,stats,gaps,knowledge,evidence] [--jobs 2]

First every test of these rooms runs once with a profiler that notes which functions it calls. Then each mutant is
written into a copy of the tree, and the tests that call its function run until one fails. A mutant that no test calls
has survived. Those that only the time limit ended are counted apart: on a busy machine it may end any run.

Faults: a comparison, an operator, a condition, a number or a truth value is another, or nothing is returned. Survivors
are printed with their line, for a person to look at: some change nothing that anybody could see.
"""

from __future__ import annotations

import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from bench.measuring import options

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "knowbound"
_NOTES = "KNOWBOUND_MUTANT_NOTES"
_MOST_TESTS = 60  # tests of one function, those that call the fewest functions first
_SECONDS = 180
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A fault: the file, the line of its function and its own, and both texts."""

    path: str
    function: int
    line: int
    before: str
    after: str
    source: str


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    raw = path.read_bytes()
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function in ast.walk(ast.parse(raw)):
        if not isinstance(function, ast.FunctionDef):
            continue
        first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
        for node in _nodes(function.body):
            at = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            for changed in _faults(node):
                before, after = raw[at:end].decode(), ast.unparse(changed)
                after = f"({after})" if isinstance(changed, ast.expr) else after
                source = (raw[:at] + after.encode() + raw[end:]).decode()
                yield Mutant(path.relative_to(ROOT).as_posix(), first, node.lineno, before, after, source)


def _nodes(body: Sequence[ast.AST]) -> Iterator[ast.expr | ast.stmt]:
    """Yield the nodes of a function's body, without functions in it, texts and what is raised."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.JoinedStr | ast.Raise):
            continue
        if isinstance(node, ast.expr | ast.stmt):
            yield node
        yield from _nodes(list(ast.iter_child_nodes(node)))


def _faults(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the node with one fault."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=right) if type(operator) in _COMPARISONS:
            yield ast.Compare(left, [_COMPARISONS[type(operator)]()], right)
        case ast.BoolOp(op=ast.And(), values=values):
            yield ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(values=values):
            yield ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            yield ast.BinOp(left, _OPERATORS[type(operator)](), right)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.IfExp(test=test, body=body, orelse=other):
            yield ast.IfExp(test, other, body)


class _Calls:
    """The plugin of pytest that notes the functions of ours that each test calls."""

    def __init__(self, file: str) -> None:
        self._file = Path(file)
        self._own = f"{SOURCE}{os.sep}"

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        called: set[tuple[str, int]] = set()

        def follow(frame: Any, event: str, argument: object) -> None:
            code = frame.f_code
            if event == "call" and code.co_filename.startswith(self._own):
                called.add((code.co_filename, code.co_firstlineno))

        sys.setprofile(follow)
        try:
            yield
        finally:
            sys.setprofile(None)
            with self._file.open("a", encoding="utf-8") as notes:
                group = "_".join(sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")}))
                notes.write(json.dumps([item.nodeid.removesuffix(f"@{group}"), sorted(called)]) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin in the run that notes calls."""
    if file := os.environ.get(_NOTES):
        config.pluginmanager.register(_Calls(file))


def called_by_tests(rooms: list[str]) -> dict[tuple[str, int], list[str]]:
    """Return the tests that call each function, by its file and first line."""
    with tempfile.TemporaryDirectory() as name:
        notes = Path(name, "notes")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "bench.mutants", "-n", "2", "--dist", "loadgroup"]
        tests = [f"tests/{room}" for room in [*rooms, "specification"]]
        subprocess.run(
            [*command, *tests], cwd=ROOT, env=os.environ | {_NOTES: str(notes)}, check=False, capture_output=True
        )
        found: dict[tuple[str, int], list[tuple[int, str]]] = defaultdict(list)
        for line in notes.read_text("utf-8").splitlines():
            test, called = json.loads(line)
            for file, first in called:
                found[Path(file).relative_to(ROOT).as_posix(), first].append((len(called), test))
    return {key: [test for _, test in sorted(tests)] for key, tests in found.items()}


def refuse_unknown(tests: list[str]) -> None:
    """Exit if pytest does not find the tests: a run that finds none would count as one that fails."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(tests))
        file.flush()
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-n", "0", f"@{file.name}"]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"pytest does not find all tests:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")


def survives(mutant: Mutant, tests: list[str], tree: Path) -> bool | None:
    """Return whether no test notices the mutant in a copy of the tree; None when the time limit ended them."""
    target = tree / mutant.path
    target.write_text(mutant.source, "utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0"]
        command += tests[:_MOST_TESTS]
        environment = os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=_SECONDS, check=False)
        return ran.returncode == 0
    except subprocess.TimeoutExpired:
        return None
    finally:
        shutil.copy(ROOT / mutant.path, target)


def main() -> None:
    given = options(__doc__, count=200, seed=1, jobs=2, rooms="core,stats,gaps,knowledge,evidence")
    rooms = given.rooms.split(",")
    dice = random.Random(given.seed)
    tests = called_by_tests(rooms)
    drawn: list[tuple[str, Mutant]] = []
    for room in rooms:
        every = [one for path in sorted((SOURCE / room).rglob("*.py")) for one in mutants(path)]
        drawn += [(room, one) for one in dice.sample(every, min(len(every), given.count // len(rooms)))]
    refuse_unknown(sorted({test for _, one in drawn for test in tests.get((one.path, one.function), [])[:_MOST_TESTS]}))
    trees: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory() as name:
        for number in range(given.jobs):
            tree = Path(name, str(number))
            shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".venv*", ".git", ".mypy_cache", "dist"))
            trees.put(tree)

        def tried(one: tuple[str, Mutant]) -> bool | None:
            chosen = tests.get((one[1].path, one[1].function), [])
            if not chosen:
                return True
            tree = trees.get()
            try:
                return survives(one[1], chosen, tree)
            finally:
                trees.put(tree)

        with ThreadPoolExecutor(given.jobs) as pool:
            left = list(pool.map(tried, drawn))
    killed: Counter[str] = Counter()
    for (room, mutant), is_left in zip(drawn, left, strict=True):
        killed[room] += not is_left
        if is_left:
            called = "" if (mutant.path, mutant.function) in tests else "  (no test calls it)"
            print(f"{mutant.path}:{mutant.line}: {mutant.before[:70]!r} → {mutant.after[:70]!r}{called}")
    for room, count in Counter(room for room, _ in drawn).items():
        print(f"{room:12} {killed[room]:4} of {count:4} killed")
    print(f"{'together':12} {killed.total():4} of {len(drawn):4} killed, {left.count(None)} of them by the time limit")


if __name__ == "__main__":
    main()
