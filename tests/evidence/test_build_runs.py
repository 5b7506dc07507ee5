"""Whole builds and test runs in a copy of a tree, with programs that print what a test gives."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from knowbound.core.evidence import Intent
from knowbound.evidence.producers.build_and_test import Build, Tests
from knowbound.evidence.producers.protocol import Ask, Context, Producer
from tests.evidence.test_build_systems import Programs
from tests.evidence.trees import lines
from tests.evidence_trees import plant


def test_a_run_in_a_copy_is_evidence_of_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[Producer, dict[str, str], dict[str, tuple[int | None, str]], str, Intent, bool, list[str]]] = [
        (
            Build(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make": (0, "cc\n")},
            "Does it build?",
            Intent.EXECUTE,
            True,
            [
                "project, query make, shows passes",
                "make strong: 1 found, 1 exact; make builds the default target",
                "Makefile:0 project",
            ],
        ),
        (
            Build(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make": (0, "cc\n")},
            "Does it build?",
            Intent.EXECUTE,
            False,
            [
                "project, query , shows nothing",
                ("build none: 0 found, 0 exact; needs --allow-run: builds and tests run the project's own code"),
            ],
        ),
        (
            Build(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make": (0, "cc\n")},
            "Add a flag",
            Intent.MODIFY,
            True,
            [
                "project, query , shows nothing",
                (
                    "build none: 0 found, 0 exact; nothing was changed: an investigation changes no "
                    "file, so no run can confirm a change"
                ),
            ],
        ),
        (
            Build(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make": (2, "a.c:3: error: bad\n")},
            "Does it build?",
            Intent.EXECUTE,
            True,
            [
                "project, query make, shows fails",
                "make strong: 0 found, 0 exact; fails: a.c:3: error: bad",
                "Makefile:0 project",
                "a.c:3 bad",
            ],
        ),
        (
            Build(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make": (0, "make: Nothing to be done for 'all'.\n")},
            "Does it build?",
            Intent.EXECUTE,
            True,
            [
                "project, query make, shows nothing",
                "make weak: 0 found, 0 exact; make had nothing to build",
                "Makefile:0 project",
            ],
        ),
        (
            Build(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make": (0, "cc\n")},
            "Build the target core",
            Intent.EXECUTE,
            True,
            [
                "core, query make core, shows passes",
                "make strong: 1 found, 1 exact; make core builds core",
                "Makefile:0 core",
            ],
        ),
        (
            Build(),
            {"a.c": ""},
            {},
            "Does it build?",
            Intent.EXECUTE,
            True,
            [
                "project, query , shows nothing",
                "build none: 0 found, 0 exact; no build system is recognised in the root",
            ],
        ),
        (
            Build(),
            {"Makefile": "all:\n", "a.c": ""},
            {},
            "Does it build?",
            Intent.EXECUTE,
            True,
            ["project, query , shows nothing", "build none: 0 found, 0 exact; make is not installed"],
        ),
        (
            Tests(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make -- test": (0, "3 passed in 1s\n")},
            "Do the tests pass?",
            Intent.EXECUTE,
            True,
            [
                "project, query make test, shows passes",
                "make test strong: 3 found, 3 exact; all 3 tests pass (make test)",
                "Makefile:0 project",
            ],
        ),
        (
            Tests(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make -- test": (1, "1 failed, 3 passed in 1s\n")},
            "Do the tests pass?",
            Intent.EXECUTE,
            True,
            [
                "project, query make test, shows fails",
                "make test strong: 4 found, 3 exact; fails: 1 of 4 tests: 1 failed, 3 passed in 1s",
                "Makefile:0 project",
            ],
        ),
        (
            Tests(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make -- test": (0, "fine\n")},
            "Do the tests pass?",
            Intent.EXECUTE,
            True,
            [
                "project, query make test, shows nothing",
                ("make test moderate: 0 found, 0 exact; make test passes, but does not say how many tests ran"),
                "Makefile:0 project",
            ],
        ),
        (
            Tests(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make -- test": (0, "0 passed in 1s\n")},
            "Do the tests pass?",
            Intent.EXECUTE,
            True,
            [
                "project, query make test, shows nothing",
                "make test weak: 0 found, 0 exact; 0 tests run by make test",
                "Makefile:0 project",
            ],
        ),
        (
            Tests(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make -- test": (1, "odd\n")},
            "Do the tests pass?",
            Intent.EXECUTE,
            True,
            [
                "project, query make test, shows fails",
                "make test moderate: 0 found, 0 exact; fails: odd, but does not say which tests",
                "Makefile:0 project",
            ],
        ),
        (
            Tests(),
            {"Makefile": "all:\n", "a.c": ""},
            {"make -- test": (0, "3 passed, 5 skipped in 1s\n")},
            "Do the tests of cart pass?",
            Intent.EXECUTE,
            True,
            [
                "cart, query make test, shows passes",
                (
                    "make test moderate: 3 found, 3 exact; 3 tests pass (make test), 5 skipped, but none "
                    "is known to be of 'cart'"
                ),
                "Makefile:0 cart",
            ],
        ),
    ]
    for tool, files, outputs, question, intent, allowed, found in cases:
        root = plant(Path(tempfile.mkdtemp(dir=tmp_path)), files)
        monkeypatch.setattr("knowbound.evidence.producers.system.run", Programs(outputs))
        entry = tool.produce(Ask(tool.cls, "", intent, question), Context(root, allow_run=allowed))
        head = f"{entry.target}, query {entry.query}, shows {entry.shows or 'nothing'}"
        assert [head, *lines(entry)] == found, (question, outputs)
