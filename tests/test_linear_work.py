"""Input that once took time beyond linear ends at once: each case took minutes before, and has 20 s of CPU here.

bench/shapes.py measures the growth of all shapes; this holds those that were mended.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys

import pytest
from bench.hostile import Shape, shapes

_SHAPES = {shape.name: shape for shape in shapes()}
_SECONDS = 20
# By size: characters of a text, or entries.
_ONCE_SUPERLINEAR = {
    "grep prints: one token": 400_000,
    "grep prints: brackets and letters": 400_000,
    "Bash prints: dotted": 400_000,
    "Codex: output": 400_000,
    "SWE-agent: one token": 400_000,
    "agent says: opening quotes": 1_000_000,
    "agent says: corner quotes": 1_000_000,
    "user says: unclosed reminders": 2_000_000,
    "user says: commands": 2_000_000,
    "user says: contents": 1_000_000,
    "user says: contents with notes": 2_000_000,
    "Copilot: instructions": 1_000_000,
    "Copilot: instructions of spaces": 100_000,
    "SWE-agent: prompt lines": 1_000_000,
    "Codex: skill": 1_000_000,
    "calls of one message by different tools": 20_000,
    "failed greps for one thing": 60_000,
    "skills of a session": 15_000,
    "Copilot: calls of one message": 60_000,
    "chat: results by id": 40_000,
    "chat: results by name": 40_000,
    "import of markdown: comments": 2_000_000,
    "bundle: tabs": 400_000,
    "screening: documented attacks": 400_000,
    "reworded items of one heading": 2_000,
    "one reworded item": 10_000,
    "knowledge path": 100_000,
}

_SLOW_TO_MAKE = (  # 2 to 9 s each
    "chat: results by id",
    "chat: results by name",
    "failed greps for one thing",
    "skills of a session",
    "Copilot: calls of one message",
    "calls of one message by different tools",
)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a child")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in _SLOW_TO_MAKE)) for name in _ONCE_SUPERLINEAR]
)
def test_pathological_input_ends_at_once(name: str) -> None:
    child = multiprocessing.get_context("fork").Process(target=_run, args=(_SHAPES[name], _ONCE_SUPERLINEAR[name]))
    child.start()
    child.join()
    assert child.exitcode == 0


def _run(shape: Shape, size: int) -> None:
    made = shape.make(size)
    spent = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(spent.ru_utime + spent.ru_stime) + _SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    shape.run(made)
