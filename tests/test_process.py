"""Programs that we run: bounded, alone, and never the tree's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from knowbound.process import run


def test_a_program_that_closes_its_outputs_ends_with_the_time(tmp_path: Path) -> None:
    code = "import os, time; os.close(1); os.close(2); time.sleep(60)"
    ran = run([sys.executable, "-c", code], tmp_path, 0.5)
    assert ran.timed_out
    assert ran.code is None


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")
def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    left = tmp_path / "pid"
    code = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'],"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        f"pathlib.Path({str(left)!r}).write_text(str(child.pid))\n"
    )
    assert run([sys.executable, "-c", code], tmp_path, 20).code == 0
    assert _ends(int(left.read_text()))


def _ends(pid: int) -> bool:
    """Whether a process is gone, or will be once its new parent has taken note of its end."""
    for _ in range(1_000_000):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
    return False


def test_the_tree_cannot_bring_its_own_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "git"
    own.write_text("#!/bin/sh\necho owned\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([".", str(tmp_path), os.environ["PATH"]]))
    assert b"owned" not in run(["git", "--version"], tmp_path, 20).out


def test_what_a_program_leaves_behind_does_not_hold_us_up(tmp_path: Path) -> None:
    code = "import subprocess; print('done', flush=True); subprocess.Popen(['sleep', '600'])"
    ran = run([sys.executable, "-c", code], tmp_path, 300)
    assert (ran.code, ran.out) == (0, b"done\n")


def test_input_and_environment_are_what_was_given(tmp_path: Path) -> None:
    code = "import os, sys; sys.stdout.buffer.write(sys.stdin.buffer.read() + os.environ['GIVEN'].encode())"
    ran = run([sys.executable, "-c", code], tmp_path, 20, environment={"GIVEN": "1"}, stdin=b"in\xff")
    assert ran.out == b"in\xff1"
    silent = run([sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"], tmp_path, 20)
    assert silent.out == b"''\n"


def test_a_flood_ends_at_the_output_limit(tmp_path: Path) -> None:
    ran = run([sys.executable, "-c", "while True: print('x' * 65536)"], tmp_path, 60, 1_000_000)
    assert (ran.code, ran.cut, ran.timed_out) == (None, True, False)


@pytest.mark.parametrize(("argv", "missing"), [(["/nowhere/program"], True), (["nul\0"], False)])
def test_what_cannot_be_started_says_why(tmp_path: Path, argv: list[str], missing: bool) -> None:
    ran = run(argv, tmp_path, 20)
    assert (ran.code, ran.missing) == (None, missing)
    assert ran.err
