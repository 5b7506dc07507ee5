"""Draws docs/trend.svg: `python -m bench.make_trend` evaluates an invented knowledge base after each of its commits.

The knowledge base, its history and its test set are those of `tests/knowledge_base.py`; the built-in executor answers.
"""

from __future__ import annotations

import tempfile
from os import chdir
from pathlib import Path

import pytest
from tests.knowledge_base import COMMITS, begin, commit

from knowbound.cli.main import main as knowbound

CHART = Path(__file__).parents[1] / "docs" / "trend.svg"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = begin(Path(folder) / "kb")
        chdir(base)
        for step in COMMITS:
            commit(base, step)
            _run("eval", "-o", f"{folder}/report.txt")
        _run("trend", "-o", str(CHART))


def _run(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        knowbound(list(arguments))
    assert not ended.value.code, arguments


if __name__ == "__main__":
    main()
