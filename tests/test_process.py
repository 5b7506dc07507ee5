"""Programs that investigate runs: bounded, alone, and never the tree's own."""

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
