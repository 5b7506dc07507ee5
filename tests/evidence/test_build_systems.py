"""Builds and tests by every system, with programs that print what a test gives; and the reading of their output."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from knowbound.evidence.producers.build_and_test import grade_build, grade_tests
from knowbound.evidence.producers.compiled import Cargo, CMake, Make
from knowbound.evidence.producers.protocol import Context
from knowbound.evidence.producers.scripted import Npm, Python
from knowbound.evidence.producers.system import (
    Built,
    OutcomeCounts,
    System,
    UnableError,
    Workspace,
    first_error,
    read_counts,
)
from knowbound.evidence.producers.system import (
    Tested as RanTests,
)
from knowbound.process import Ran
from tests.evidence_trees import plant

Files: TypeAlias = dict[str, str]
Outputs: TypeAlias = dict[str, tuple[int | None, str]]


class Programs:
    """Programs that print what a test gives, by the beginning of their command line; others are not installed."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs
        self.ran: list[str] = []

    def __call__(
        self,
        argv: Sequence[str],
        cwd: Path,
        seconds: float,
        output_bytes: int = 0,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> Ran:
        command = " ".join(argv)
        self.ran.append(command)
        for start, (code, text) in self._outputs.items():
            if command.startswith(start):
                return Ran(code, text.replace("ROOT", str(cwd)).encode(), b"")
        return Ran(None, b"", b"", missing=True)


def outcome(
    system: System, files: Files, outputs: Outputs, named: str, patch: pytest.MonkeyPatch, folder: Path, *, test: bool
) -> list[str]:
    """What building or testing files gives, as lines, with the programs that ran."""
    root = plant(Path(tempfile.mkdtemp(dir=folder)), files)
    programs = Programs(outputs)
    patch.setattr("knowbound.evidence.producers.system.run", programs)
    patch.setattr("knowbound.evidence.producers.scripted.interpreters", lambda work: iter(["py1", "py2"]))
    patch.setattr("shutil.which", lambda name: None)
    work = Workspace(root, root, root, Context(root))
    try:
        done = system.test(work, named) if test else system.build(work, named)
    except UnableError as reason:
        return [f"unable: {reason}", *programs.ran]
    places = [f"at {place.path}:{place.line} {place.symbol}".strip() for place in done.failures]
    what: object
    if isinstance(done, RanTests):
        passed, what, partial = done.passed_all, done.counts and tuple(done.counts), ""
    else:
        passed, what, partial = done.passed, f"made {' '.join(done.made)}", f"; {done.partial}"
    head = f"{done.tool} {done.command}: passed {passed}, {what}, named {done.has_named}; {done.says}{partial}"
    return [head, *places, *programs.ran]


def test_a_system_runs_its_programs_and_reads_what_they_print(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cases: list[tuple[System, Files, Outputs, str, bool, list[str]]] = [
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {"cargo build": (0, "   Compiling core v1\n   Compiling web v1\n   Compiling core v1\n")},
            "",
            False,
            [
                "cargo cargo build --offline --workspace: passed True, made core web, named False; ; ",
                "cargo build --offline --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {"cargo build": (0, "")},
            "",
            False,
            [
                "cargo cargo build --offline --workspace: passed True, made , named False; ; ",
                "cargo build --offline --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {"cargo build": (101, "error[E0308]: mismatched types\n  --> src/lib.rs:3:5\nerror: could not compile\n")},
            "",
            False,
            [
                (
                    "cargo cargo build --offline --workspace: passed False, made , named False; "
                    "error[E0308]: mismatched types; "
                ),
                "at src/lib.rs:3 error[E0308]: mismatched types",
                "cargo build --offline --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {"cargo build": (101, "error: no matching package named `x` found\n")},
            "",
            False,
            [
                (
                    "unable: cargo needs packages that are not on this machine: error: no matching "
                    "package named `x` found"
                ),
                "cargo build --offline --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {
                "cargo metadata": (
                    0,
                    (
                        '{"packages": [{"name": "core", "targets": [{"name": "tool", "kind": ["bin"]}, '
                        '{"name": "odd", "kind": ["lib"]}]}]}'
                    ),
                ),
                "cargo build": (0, ""),
            },
            "core",
            False,
            [
                "cargo cargo build --offline --package core: passed True, made , named True; ; ",
                "cargo metadata --offline --no-deps --format-version 1",
                "cargo build --offline --package core",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {
                "cargo metadata": (
                    0,
                    (
                        '{"packages": [{"name": "core", "targets": [{"name": "tool", "kind": ["bin"]}, '
                        '{"name": "odd", "kind": ["lib"]}]}]}'
                    ),
                ),
                "cargo build": (0, ""),
            },
            "tool",
            False,
            [
                ("cargo cargo build --offline --workspace --bin tool: passed True, made , named True; ; "),
                "cargo metadata --offline --no-deps --format-version 1",
                "cargo build --offline --workspace --bin tool",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {
                "cargo metadata": (
                    0,
                    (
                        '{"packages": [{"name": "core", "targets": [{"name": "tool", "kind": ["bin"]}, '
                        '{"name": "odd", "kind": ["lib"]}]}]}'
                    ),
                ),
                "cargo build": (0, ""),
            },
            "odd",
            False,
            [
                "cargo cargo build --offline --workspace: passed True, made , named False; ; ",
                "cargo metadata --offline --no-deps --format-version 1",
                "cargo build --offline --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {"cargo metadata": (0, "no"), "cargo build": (0, "")},
            "x",
            False,
            [
                "cargo cargo build --offline --workspace: passed True, made , named False; ; ",
                "cargo metadata --offline --no-deps --format-version 1",
                "cargo build --offline --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {"cargo test": (0, "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n")},
            "",
            True,
            [
                ("cargo test cargo test --offline --no-fail-fast --workspace: passed True, (2, 0, 1), named False; "),
                "cargo test --offline --no-fail-fast --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {
                "cargo test": (
                    101,
                    (
                        "running 2 tests\ntest a::works ... ok\ntest a::breaks ... FAILED\n\nthread "
                        "'a::breaks' panicked at src/lib.rs:9:5:\nx\ntest result: FAILED. 1 passed; 1 "
                        "failed; 0 ignored\n"
                    ),
                )
            },
            "",
            True,
            [
                (
                    "cargo test cargo test --offline --no-fail-fast --workspace: passed False, (1, 1, "
                    "0), named False; a::breaks"
                ),
                "at src/lib.rs:9 a::breaks",
                "cargo test --offline --no-fail-fast --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {"cargo test": (101, "error[E0308]: mismatched types\n  --> src/lib.rs:3:5\nerror: could not compile\n")},
            "",
            True,
            [
                (
                    "cargo test cargo test --offline --no-fail-fast --workspace: passed False, (0, 0, "
                    "0), named False; error[E0308]: mismatched types"
                ),
                "at src/lib.rs:3 error[E0308]: mismatched types",
                "cargo test --offline --no-fail-fast --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {"cargo test": (101, "failed to download x\n")},
            "",
            True,
            [
                "unable: cargo needs packages that are not on this machine: failed to download x",
                "cargo test --offline --no-fail-fast --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {"cargo test": (0, "")},
            "",
            True,
            [
                ("cargo test cargo test --offline --no-fail-fast --workspace: passed True, (0, 0, 0), named False; "),
                "cargo test --offline --no-fail-fast --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {
                "cargo metadata": (
                    0,
                    (
                        '{"packages": [{"name": "core", "targets": [{"name": "tool", "kind": ["bin"]}, '
                        '{"name": "odd", "kind": ["lib"]}]}]}'
                    ),
                ),
                "cargo test": (0, "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n"),
            },
            "core",
            True,
            [
                ("cargo test cargo test --offline --no-fail-fast --package core: passed True, (2, 0, 1), named True; "),
                "cargo metadata --offline --no-deps --format-version 1",
                "cargo test --offline --no-fail-fast --package core",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {
                "cargo metadata": (
                    0,
                    (
                        '{"packages": [{"name": "core", "targets": [{"name": "tool", "kind": ["bin"]}, '
                        '{"name": "odd", "kind": ["lib"]}]}]}'
                    ),
                ),
                "cargo test": (0, "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out\n"),
            },
            "none",
            True,
            [
                ("cargo test cargo test --offline --no-fail-fast --workspace: passed True, (0, 0, 0), named False; "),
                "cargo metadata --offline --no-deps --format-version 1",
                "cargo test --offline --no-fail-fast --workspace -- none",
                "cargo test --offline --no-fail-fast --workspace",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {
                "cargo metadata": (
                    0,
                    (
                        '{"packages": [{"name": "core", "targets": [{"name": "tool", "kind": ["bin"]}, '
                        '{"name": "odd", "kind": ["lib"]}]}]}'
                    ),
                ),
                "cargo test": (0, "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n"),
            },
            "some",
            True,
            [
                (
                    "cargo test cargo test --offline --no-fail-fast --workspace -- some: passed True, "
                    "(2, 0, 1), named True; "
                ),
                "cargo metadata --offline --no-deps --format-version 1",
                "cargo test --offline --no-fail-fast --workspace -- some",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {
                "cargo metadata": (
                    0,
                    (
                        '{"packages": [{"name": "core", "targets": [{"name": "tool", "kind": ["bin"]}, '
                        '{"name": "odd", "kind": ["lib"]}]}]}'
                    ),
                ),
                "cargo test": (101, "error[E0308]: mismatched types\n  --> src/lib.rs:3:5\nerror: could not compile\n"),
            },
            "some",
            True,
            [
                (
                    "cargo test cargo test --offline --no-fail-fast --workspace -- some: passed False, "
                    "(0, 0, 0), named True; error[E0308]: mismatched types"
                ),
                "at src/lib.rs:3 error[E0308]: mismatched types",
                "cargo metadata --offline --no-deps --format-version 1",
                "cargo test --offline --no-fail-fast --workspace -- some",
            ],
        ),
        (
            Cargo(),
            {"Cargo.toml": "x", "src/lib.rs": "x"},
            {},
            "",
            False,
            ["unable: cargo is not installed", "cargo build --offline --workspace"],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {
                "cmake -S": (0, ""),
                "cmake --build": (0, "[ 50%] Built target a\nBuilt target b\n[100%] Built target a\n"),
            },
            "",
            False,
            [
                "cmake cmake --build: passed True, made a b, named False; ; ",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {"cmake -S": (0, ""), "cmake --build": (0, "Built target b\n")},
            "b",
            False,
            [
                "cmake cmake --build --target b: passed True, made b, named True; ; ",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2 --target b",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {"cmake -S": (0, ""), "cmake --build": (0, "Built target b\n")},
            "c",
            False,
            [
                "cmake cmake --build --target c: passed True, made b, named False; ; ",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2 --target c",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {
                "cmake -S": (0, ""),
                "cmake --build .knowbound-build --parallel 2 --target": (2, "No rule to make target 'c'"),
                "cmake --build": (0, "Built target b\n"),
            },
            "c",
            False,
            [
                "cmake cmake --build --target c: passed True, made b, named False; ; ",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2 --target c",
                "cmake --build .knowbound-build --parallel 2",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {
                "cmake -S": (0, ""),
                "cmake --build": (2, "ROOT/a.c:3:5: error: bad\na.c:4: fatal error: worse\n/else/x.c:1: error: out\n"),
            },
            "",
            False,
            [
                "cmake cmake --build: passed False, made , named False; a.c:3:5: error: bad; ",
                "at a.c:3 bad",
                "at a.c:4 worse",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {"cmake -S": (0, ""), "cmake --build": (2, "a.c:3: error: bad")},
            "b",
            False,
            [
                ("cmake cmake --build --target b: passed False, made , named False; a.c:3: error: bad; "),
                "at a.c:3 bad",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2 --target b",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {"cmake -S": (1, "CMake Error at CMakeLists.txt:3 (x):\n\n  Missing thing.\n")},
            "",
            False,
            [
                "cmake cmake --build: passed False, made , named False; Missing thing.; ",
                "at CMakeLists.txt:3 CMake Error",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {"cmake -S": (1, "odd failed\n")},
            "",
            False,
            [
                "cmake cmake --build: passed False, made , named False; odd failed; ",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {
                "cmake -S": (0, ""),
                "cmake --build": (0, ""),
                "ctest": (0, "100% tests passed, 0 tests failed out of 2\n"),
            },
            "",
            True,
            [
                "ctest ctest: passed True, (2, 0, 0), named False; ",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2",
                "ctest --test-dir .knowbound-build --output-on-failure",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {
                "cmake -S": (0, ""),
                "cmake --build": (0, ""),
                "ctest": (
                    8,
                    (
                        "    Start 1: a\n1/2 Test #1: a ...   Passed    0.00 sec\n50% tests passed, 1 tests "
                        "failed out of 2\n\nThe following tests FAILED:\n\t  2 - b (Failed)\nErrors while "
                        "running CTest\n"
                    ),
                ),
            },
            "",
            True,
            [
                "ctest ctest: passed False, (1, 1, 0), named False; b",
                "at CMakeLists.txt:0 b",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2",
                "ctest --test-dir .knowbound-build --output-on-failure",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {"cmake -S": (0, ""), "cmake --build": (0, ""), "ctest": (0, "No tests were found!!!\n")},
            "",
            True,
            [
                "ctest ctest: passed True, (0, 0, 0), named False; ",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2",
                "ctest --test-dir .knowbound-build --output-on-failure",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {
                "cmake -S": (0, ""),
                "cmake --build": (0, ""),
                "ctest --test-dir .knowbound-build --output-on-failure -R": (0, "No tests were found!!!\n"),
                "ctest": (0, "100% tests passed, 0 tests failed out of 2\n"),
            },
            "a.b",
            True,
            [
                "ctest ctest: passed True, (2, 0, 0), named False; ",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2",
                "ctest --test-dir .knowbound-build --output-on-failure -R a[.]b",
                "ctest --test-dir .knowbound-build --output-on-failure",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {
                "cmake -S": (0, ""),
                "cmake --build": (0, ""),
                "ctest": (0, "100% tests passed, 0 tests failed out of 2\n"),
            },
            "a",
            True,
            [
                "ctest ctest -R a: passed True, (2, 0, 0), named True; ",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2",
                "ctest --test-dir .knowbound-build --output-on-failure -R a",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {"cmake -S": (1, "CMake Error: x\n  why\n")},
            "",
            True,
            [
                "ctest ctest: passed False, (0, 0, 0), named False; it does not build: why",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {"cmake -S": (0, ""), "cmake --build": (2, "CMakeLists.txt:1: error: y")},
            "",
            True,
            [
                ("ctest ctest: passed False, (0, 0, 0), named False; it does not build: CMakeLists.txt:1: error: y"),
                "at CMakeLists.txt:1 y",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2",
            ],
        ),
        (
            CMake(),
            {"CMakeLists.txt": "x"},
            {"cmake -S": (0, ""), "cmake --build": (0, ""), "ctest": (8, "odd error\n")},
            "",
            True,
            [
                "ctest ctest: passed False, None, named False; odd error",
                "cmake -S . -B .knowbound-build -DFETCHCONTENT_FULLY_DISCONNECTED=ON",
                "cmake --build .knowbound-build --parallel 2",
                "ctest --test-dir .knowbound-build --output-on-failure",
            ],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make": (0, "cc a.c\n")},
            "",
            False,
            ["make make: passed True, made the default target, named False; ; ", "make"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make --always-make": (0, "cc a.c\n"), "make": (0, "make: 'a' is up to date.\n")},
            "",
            False,
            ["make make: passed True, made the default target, named False; ; ", "make", "make --always-make"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {
                "make --always-make": (0, "make: Nothing to be done for 'a'.\n"),
                "make": (0, "make: 'a' is up to date.\n"),
            },
            "",
            False,
            ["make make: passed True, made , named False; ; ", "make", "make --always-make"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {
                "make --always-make -- a": (0, "cc\n"),
                "make -- a": (0, "make[1]: Entering x\nmake: 'a' is up to date.\n"),
            },
            "a",
            False,
            ["make make a: passed True, made a, named True; ; ", "make -- a", "make --always-make -- a"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make -- a": (0, "cc\n")},
            "a",
            False,
            ["make make a: passed True, made a, named True; ; ", "make -- a"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make -- a": (2, "make: *** No rule to make target 'a'.  Stop.\n"), "make": (0, "cc\n")},
            "a",
            False,
            ["make make: passed True, made the default target, named False; ; ", "make -- a", "make"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make -- a": (2, "make: *** No rule to make target 'b'.  Stop.\n")},
            "a",
            False,
            [
                ("make make a: passed False, made , named False; make: *** No rule to make target 'b'. Stop.; "),
                "make -- a",
            ],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make": (2, "make: *** No targets.  Stop.\n")},
            "",
            False,
            ["make make: passed False, made , named False; the Makefile has no default target; ", "make"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make": (2, "a.c:1:2: error: bad\n")},
            "",
            False,
            ["make make: passed False, made , named False; a.c:1:2: error: bad; ", "at a.c:1 bad", "make"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {},
            "deploy-all",
            False,
            [("unable: 'deploy-all' is not run: by its name it may change things outside of the copy")],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make": (0, "x")},
            "deployer",
            False,
            ["make make deployer: passed True, made deployer, named True; ; ", "make -- deployer"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make -- test": (0, "3 passed in 0.1s\n")},
            "",
            True,
            ["make test make test: passed True, (3, 0, 0), named False; ", "make -- test"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make -- test": (2, "make: *** No rule to make target 'test'.  Stop.\n"), "make -- check": (0, "ok\n")},
            "ok",
            True,
            ["make check make check: passed True, None, named True; ", "make -- test", "make -- check"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make -- test": (0, "make: 'test' is up to date.\n")},
            "x",
            True,
            ["make test make test: passed True, (0, 0, 0), named False; ", "make -- test"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make -- test": (2, "a.c:1: error: bad\n")},
            "",
            True,
            ["make test make test: passed False, None, named False; a.c:1: error: bad", "at a.c:1 bad", "make -- test"],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {
                "make -- ": (
                    2,
                    ("make: *** No rule to make target 'test'.  Stop.\nNo rule to make target 'check'. Stop\n"),
                )
            },
            "",
            True,
            [
                (
                    "make check make check: passed False, None, named False; make: *** No rule to make "
                    "target 'test'. Stop."
                ),
                "make -- test",
                "make -- check",
            ],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {
                "make -- test": (2, "No rule to make target 'test'. Stop"),
                "make -- check": (2, "No rule to make target 'check'. Stop"),
                "make -- tests": (2, "No rule to make target 'tests'. Stop"),
            },
            "",
            True,
            [
                ("make tests make tests: passed False, None, named False; No rule to make target 'test'. Stop"),
                "make -- test",
                "make -- check",
                "make -- tests",
            ],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"build": "tsc"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm run build": (0, "ok")},
            "",
            False,
            ["npm npm run build: passed True, made build, named False; ; ", "npm run build"],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"build": "echo no && true"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm run build": (0, "no")},
            "",
            False,
            ["npm npm run build: passed True, made , named False; ; ", "npm run build"],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"build": "tsc"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm run build": (2, "src/a.ts(3,5): error TS2322: bad\nsrc/a.ts:4:1 - error TS1: worse\n")},
            "",
            False,
            [
                ("npm npm run build: passed False, made , named False; src/a.ts(3,5): error TS2322: bad; "),
                "at src/a.ts:3 TS2322: bad",
                "at src/a.ts:4 TS1: worse",
                "npm run build",
            ],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"build": "tsc"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm run build": (1, "Error: Cannot find module 'vite'\n")},
            "",
            False,
            ["unable: vite is not installed in node_modules (npm install brings it)", "npm run build"],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"build": "tsc"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm run build": (127, "sh: 1: tsc: not found\n")},
            "",
            False,
            ["unable: tsc is not installed in node_modules (npm install brings it)", "npm run build"],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"build": "x", "build:web": "y", "api": "z"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm run build:web": (0, "")},
            "web",
            False,
            ["npm npm run build:web: passed True, made build:web, named True; ; ", "npm run build:web"],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"build": "x", "api": "z"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm run api": (0, "")},
            "api",
            False,
            ["npm npm run api: passed True, made api, named True; ; ", "npm run api"],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"build": "x", "deploy": "z"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm run": (0, "")},
            "deploy",
            False,
            ["unable: 'deploy' is not run: by its name it may change things outside of the copy"],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"build": "x"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm run build": (0, "")},
            "none",
            False,
            ["npm npm run build: passed True, made build, named False; ; ", "npm run build"],
        ),
        (
            Npm(),
            {"package.json": '{"scripts": {}}', "src/a.ts": "x", "a.js": "x", "b.mjs": "x", "tests/a.js": "x"},
            {"node --check": (0, "")},
            "",
            False,
            [
                ("node node --check: passed True, made a.js b.mjs, named False; ; TypeScript is not checked"),
                "node --check -- a.js",
                "node --check -- b.mjs",
            ],
        ),
        (
            Npm(),
            {"package.json": '{"scripts": {}}', "src/a.ts": "x", "a.js": "x", "b.mjs": "x", "tests/a.js": "x"},
            {"node --check -- a.js": (1, "ROOT/a.js:7\nSyntaxError: bad\n"), "node --check": (0, "")},
            "b",
            False,
            [
                (
                    "node node --check: passed False, made a.js b.mjs, named True; a.js: SyntaxError: "
                    "bad; TypeScript is not checked"
                ),
                "at a.js:7 SyntaxError: bad",
                "node --check -- a.js",
                "node --check -- b.mjs",
            ],
        ),
        (
            Npm(),
            {"package.json": '{"scripts": {}}', "src/a.ts": "x", "a.js": "x", "b.mjs": "x", "tests/a.js": "x"},
            {"node --check": (1, "odd")},
            "",
            False,
            [
                ("node node --check: passed False, made a.js b.mjs, named False; a.js: odd; TypeScript is not checked"),
                "at a.js:0 odd",
                "at b.mjs:0 odd",
                "node --check -- a.js",
                "node --check -- b.mjs",
            ],
        ),
        (Npm(), {"package.json": "{", "a.js": ""}, {}, "", False, ["unable: package.json cannot be read"]),
        (
            Npm(),
            {"package.json": "{}", "a.js": ""},
            {"node --check": (0, "")},
            "a",
            False,
            ["node node --check: passed True, made a.js, named True; ; ", "node --check -- a.js"],
        ),
        (
            Npm(),
            {"package.json": "{}", "a.py": ""},
            {},
            "",
            False,
            ["node node --check: passed True, made , named False; ; "],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"test": "node --test"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm test": (0, "ok 1 - a\n# tests 2\n# pass 2\n# fail 0\n# skipped 0\n")},
            "",
            True,
            ["npm test npm test: passed True, (2, 0, 0), named False; ", "npm test"],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"test": "jest"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {
                "npm test": (
                    1,
                    (
                        "  ● cart › sums (5 ms)\n  ✖ tax (1.5ms)\n ✖ failing tests:\n ✖ src/a.ts\nTests: 2 "
                        "failed, 1 passed, 3 total\n  location: 'ROOT/a.js:3:5'\n"
                    ),
                )
            },
            "cart",
            True,
            [
                "npm test npm test: passed False, (1, 2, 0), named True; cart › sums (5 ms), tax",
                "at a.js:3",
                "npm test",
            ],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"test": "jest"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm test": (1, "Error: Cannot find module 'jest'\n")},
            "",
            True,
            ["unable: jest is not installed in node_modules (npm install brings it)", "npm test"],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"test": "jest"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm test": (1, "odd error here\n")},
            "x",
            True,
            ["npm test npm test: passed False, None, named False; odd error here", "npm test"],
        ),
        (
            Npm(),
            {"package.json": '{"scripts": {}}', "src/a.ts": "x", "a.js": "x", "b.mjs": "x", "tests/a.js": "x"},
            {},
            "",
            True,
            ["unable: package.json has no test script"],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"test": "jest"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm test": (0, "mycart\n")},
            "cart",
            True,
            ["npm test npm test: passed True, None, named False; ", "npm test"],
        ),
        (
            Npm(),
            {
                "package.json": '{"scripts": {"test": "jest"}}',
                "src/a.ts": "x",
                "a.js": "x",
                "b.mjs": "x",
                "tests/a.js": "x",
            },
            {"npm test": (0, "the CART\n")},
            "cart",
            True,
            ["npm test npm test: passed True, None, named True; ", "npm test"],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -m compileall": (0, "Listing '.'...\nCompiling './src/a/b.py'...\nCompiling 'c.py'...\n")},
            "",
            False,
            [
                "compileall python -m compileall: passed True, made src/a/b.py c.py, named False; ; ",
                ("py1 -m compileall -f -x (^|/)(tests?|testdata|fixtures|data|templates?|node_modules)/ ."),
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -m compileall": (0, "Compiling './src/a/b.py'...\n")},
            "a.b",
            False,
            [
                "compileall python -m compileall: passed True, made src/a/b.py, named True; ; ",
                ("py1 -m compileall -f -x (^|/)(tests?|testdata|fixtures|data|templates?|node_modules)/ ."),
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -m compileall": (0, "Compiling './src/a/b.py'...\n")},
            "b.py",
            False,
            [
                "compileall python -m compileall: passed True, made src/a/b.py, named True; ; ",
                ("py1 -m compileall -f -x (^|/)(tests?|testdata|fixtures|data|templates?|node_modules)/ ."),
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -m compileall": (0, "Compiling './src/a/b.py'...\n")},
            "c",
            False,
            [
                "compileall python -m compileall: passed True, made src/a/b.py, named False; ; ",
                ("py1 -m compileall -f -x (^|/)(tests?|testdata|fixtures|data|templates?|node_modules)/ ."),
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {
                "py1 -m compileall": (
                    1,
                    "***   File \"./src/a/b.py\", line 3\n    x(\n*** Error compiling './src/a/b.py'...\n",
                )
            },
            "",
            False,
            [
                ("compileall python -m compileall: passed False, made , named False; src/a/b.py:3 does not compile; "),
                "at src/a/b.py:3",
                ("py1 -m compileall -f -x (^|/)(tests?|testdata|fixtures|data|templates?|node_modules)/ ."),
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -m compileall": (1, "*** Error compiling './src/a/b.py'...\nValueError: null\n")},
            "",
            False,
            [
                ("compileall python -m compileall: passed False, made , named False; src/a/b.py:0 does not compile; "),
                "at src/a/b.py:0",
                ("py1 -m compileall -f -x (^|/)(tests?|testdata|fixtures|data|templates?|node_modules)/ ."),
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -m compileall": (1, "odd error\n")},
            "",
            False,
            [
                "compileall python -m compileall: passed False, made , named False; odd error; ",
                ("py1 -m compileall -f -x (^|/)(tests?|testdata|fixtures|data|templates?|node_modules)/ ."),
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -c": (0, ""), "py1 -m pytest": (0, "3 passed, 1 skipped in 0.1s\n")},
            "",
            True,
            [
                "pytest pytest: passed True, (3, 0, 1), named False; ",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                "py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider",
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {
                "py1 -c": (1, ""),
                "py2 -c": (0, ""),
                "py2 -m pytest": (
                    1,
                    (
                        "=== short test summary info ===\nFAILED tests/test_a.py::test_x - assert 0\nERROR "
                        "tests/test_b.py\n2 failed, 1 passed in 0.1s\n"
                    ),
                ),
            },
            "",
            True,
            [
                ("pytest pytest: passed False, (1, 2, 0), named False; tests/test_a.py::test_x, tests/test_b.py"),
                "at tests/test_a.py:0 test_x",
                "at tests/test_b.py:0",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                ("py2 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                "py2 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider",
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -c": (1, ""), "py2 -c": (1, "")},
            "",
            True,
            [
                "unable: pytest is not installed for this project",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                ("py2 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {
                "py1 -c": (0, ""),
                "py1 -m pytest": (
                    2,
                    ("ERROR tests/test_a.py - ModuleNotFoundError: No module named 'redis.x'\n1 error in 0.1s\n"),
                ),
            },
            "",
            True,
            [
                "unable: redis is not installed for this project: its tests cannot be imported",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                "py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider",
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -c": (0, ""), "py1 -m pytest": (4, "ERROR: usage\n")},
            "",
            True,
            [
                "unable: pytest cannot run here: ERROR: usage",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                "py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider",
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -c": (0, ""), "py1 -m pytest": (5, "no tests ran in 0.0s\n")},
            "",
            True,
            [
                "pytest pytest: passed True, (0, 0, 0), named False; ",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                "py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider",
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -c": (0, ""), "py1 -m pytest": (1, "odd\n")},
            "",
            True,
            [
                "pytest pytest: passed False, (0, 0, 0), named False; ",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                "py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider",
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {
                "py1 -c": (0, ""),
                "py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider -k": (
                    5,
                    "no tests ran in 0.0s\n",
                ),
                "py1 -m pytest": (0, "3 passed in 0.1s\n"),
            },
            "the cart",
            True,
            [
                "pytest pytest: passed True, (3, 0, 0), named False; ",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                "py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider -k the_cart",
                "py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider",
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -c": (0, ""), "py1 -m pytest": (0, "1 passed in 0.1s\n")},
            "cart",
            True,
            [
                "pytest pytest -k cart: passed True, (1, 0, 0), named True; ",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                "py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider -k cart",
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {
                "py1 -c": (0, ""),
                "py1 -m pytest": (
                    1,
                    (
                        "=== short test summary info ===\nFAILED tests/test_a.py::test_x - assert 0\nERROR "
                        "tests/test_b.py\n2 failed, 1 passed in 0.1s\n"
                    ),
                ),
            },
            "cart",
            True,
            [
                (
                    "pytest pytest -k cart: passed False, (1, 2, 0), named True; "
                    "tests/test_a.py::test_x, tests/test_b.py"
                ),
                "at tests/test_a.py:0 test_x",
                "at tests/test_b.py:0",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                "py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider -k cart",
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -c": (0, ""), "py1 -m pytest": (0, "1 passed in 0.1s\n")},
            "tests/test_a.py::test_x",
            True,
            [
                "pytest pytest -- tests/test_a.py::test_x: passed True, (1, 0, 0), named True; ",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                ("py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider -- tests/test_a.py::test_x"),
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -c": (0, ""), "py1 -m pytest": (0, "1 passed in 0.1s\n")},
            "not",
            True,
            [
                "pytest pytest: passed True, (1, 0, 0), named True; ",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                "py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider",
            ],
        ),
        (
            Python(),
            {"pyproject.toml": "x", "src/a/b.py": "x", "tests/test_a.py": "x"},
            {"py1 -c": (0, ""), "py1 -m pytest": (0, "1 passed in 0.1s\n")},
            "tests/none.py",
            True,
            [
                "pytest pytest -k tests_none_py: passed True, (1, 0, 0), named True; ",
                ("py1 -c import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"),
                ("py1 -m pytest --verbosity=0 --color=no -rfE --tb=no -p no:cacheprovider -k tests_none_py"),
            ],
        ),
        (
            Make(),
            {"Makefile": "x", "a.c": "x"},
            {"make": (None, "")},
            "",
            False,
            ["unable: make could not be started", "make"],
        ),
    ]
    for system, files, outputs, named, is_test, lines in cases:
        assert outcome(system, files, outputs, named, monkeypatch, tmp_path, test=is_test) == lines, system


def test_a_build_is_as_good_as_what_it_made() -> None:
    cases: list[tuple[Built, str, str, str]] = [
        (Built("make", "make", False), "", "moderate", "fails, without a reason"),
        (Built("make", "make", False, says="x"), "", "strong", "fails: x"),
        (Built("make", "make", True), "", "weak", "make had nothing to build"),
        (Built("make", "make", True, made=("a",)), "", "strong", "make builds a"),
        (Built("make", "make", True, made=("a",)), "b", "moderate", "make builds a, but nothing called 'b'"),
        (Built("make", "make", True, made=("a",), has_named=True), "a", "strong", "make builds a"),
        (Built("make", "make", True, made=("a",), partial="half"), "", "moderate", "make builds a; half"),
        (Built("make", "make", True, made=("a", "b", "c")), "", "strong", "make builds a, b, c"),
        (
            Built("make", "make", True, made=("a", "b", "c", "d")),
            "",
            "strong",
            "make builds a, b, c and 1 more (4 targets)",
        ),
    ]
    for built, named, quality, note in cases:
        assert grade_build(built, named) == (quality, note), built


def test_tests_are_as_good_as_what_ran() -> None:
    cases: list[tuple[RanTests, str, str, str]] = [
        (RanTests("t", "t all", True, None), "", "moderate", "t all passes, but does not say how many tests ran"),
        (RanTests("t", "t all", False, None), "", "moderate", "fails: t all, but does not say which tests"),
        (RanTests("t", "t all", False, None, says="x"), "", "moderate", "fails: x, but does not say which tests"),
        (RanTests("t", "t all", True, OutcomeCounts(1, 0, 0)), "", "strong", "1 test passes (t all)"),
        (RanTests("t", "t all", True, OutcomeCounts(2, 0, 0)), "", "strong", "all 2 tests pass (t all)"),
        (RanTests("t", "t all", True, OutcomeCounts(2, 0, 1)), "", "strong", "all 2 tests pass (t all), 1 skipped"),
        (RanTests("t", "t all", True, OutcomeCounts(2, 0, 2)), "", "strong", "all 2 tests pass (t all), 2 skipped"),
        (
            RanTests("t", "t all", True, OutcomeCounts(2, 0, 3)),
            "",
            "moderate",
            "2 tests pass (t all), 3 skipped: more were skipped than passed",
        ),
        (RanTests("t", "t all", True, OutcomeCounts(0, 0, 0)), "", "weak", "0 tests run by t all"),
        (RanTests("t", "t all", True, OutcomeCounts(0, 0, 2)), "", "weak", "0 tests run by t all, 2 skipped"),
        (RanTests("t", "t all", True, OutcomeCounts(1, 1, 0)), "", "strong", "fails: 1 of 2 tests"),
        (RanTests("t", "t all", True, OutcomeCounts(1, 1, 0), says="x"), "", "strong", "fails: 1 of 2 tests: x"),
        (RanTests("t", "t all", False, OutcomeCounts(1, 0, 0)), "", "moderate", "fails: the run"),
        (RanTests("t", "t all", False, OutcomeCounts(1, 0, 0), says="x"), "", "strong", "fails: the run: x"),
        (
            RanTests("t", "t all", True, OutcomeCounts(2, 0, 0)),
            "a",
            "moderate",
            "2 tests pass (t all), but none is known to be of 'a'",
        ),
        (
            RanTests("t", "t all", True, OutcomeCounts(2, 0, 0), has_named=True),
            "a",
            "strong",
            "all 2 tests pass (t all)",
        ),
        (
            RanTests("t", "t all", True, OutcomeCounts(1, 1, 0)),
            "a",
            "moderate",
            "fails: 1 of 2 tests, but none is known to be of 'a'",
        ),
        (RanTests("t", "t all", True, OutcomeCounts(1, 1, 0), has_named=True), "a", "strong", "fails: 1 of 2 tests"),
    ]
    for tested, named, quality, note in cases:
        assert grade_tests(tested, named) == (quality, note), tested


def test_the_tests_of_every_runner_are_added() -> None:
    cases: list[tuple[str, tuple[int, ...] | None]] = [
        ("", None),
        ("3 passed, 1 failed, 2 skipped in 1s", (3, 1, 2)),
        ("--- PASS: A (0.0s)\n    --- FAIL: B\n--- SKIP: C", (1, 1, 1)),
        ("--- FAIL: B\n", (0, 1, 0)),
        ("--- SKIP: C\n", None),
        (("ok  \tx/a\t0.1s\nok  \tx/b\t(cached)\nok  \tx/c\t0.1s [no tests to run]\nFAIL\tx/d\t0.2s\n"), (2, 1, 0)),
        ("FAIL\tx/d [build failed]\n", (0, 1, 0)),
        ("[  PASSED  ] 3 tests.\n[  FAILED  ] 1 test, listed below:\n", (3, 1, 0)),
        ("[  PASSED  ] 1 test.\n", (1, 0, 0)),
        ("[  FAILED  ] 1 test\n", None),
        ("1..3\nok 1 a\nok 2 b # SKIP\nnot ok 3 c\n", (1, 1, 1)),
        ("ok 1 a\n", None),
        ("1..1\nok 1\n# pass 1\n", None),
        ("1..0\n", (0, 0, 0)),
        ("2 passed in 1s\n[  PASSED  ] 3 tests.\n", (5, 0, 0)),
    ]
    for text, counts in cases:
        assert read_counts(text) == counts, text


def test_the_first_line_with_an_error_is_shown_else_the_last() -> None:
    cases: list[tuple[str, str]] = [
        ("", ""),
        ("one\ntwo\n", "two"),
        ("one\nan Error: x\ntwo", "an Error: x"),
        ("a failed b\nerror", "a failed b"),
        ("make: *** x\n", "make: *** x"),
        ("  \n", ""),
        ("npm ERR! x\nlast", "npm ERR! x"),
    ]
    for text, line in cases:
        assert first_error(text) == line, text
