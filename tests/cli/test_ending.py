"""Verbs that are ended by a signal, or killed: nothing that they started goes on. Real processes, real signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")

# A test run in the background has SIGINT ignored, one under nohup SIGHUP; in a user's shell neither is.
HEARING = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
# Ctrl-C and a kill; the other signals take the way of Ctrl-C.
SIGNALS = [
    signal.SIGINT,
    signal.SIGKILL,
    *(pytest.param(number, marks=pytest.mark.long) for number in (signal.SIGTERM, signal.SIGHUP)),
]
MAIN = "from knowbound.cli.main import main; main()"
# An agent that is deaf to SIGTERM is waited for three seconds; here less.
IMPATIENT = "from knowbound.evals.executors.agent_process import end_all; end_all.__defaults__ = (0.2,)\n"

# Deaf to SIGTERM, with a child in a session of its own whose parent is gone. It notes everybody's number.
DEAF = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pids = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pids")
def note():
    with open(pids, "a") as file: file.write(f"{os.getpid()}\\n")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        note()
        time.sleep(1000)
    os._exit(0)
os.wait()
note()
time.sleep(1000)
"""

# `observe` whose workers wait: as long sessions make them.
OBSERVE = """
import os, sys, time
import knowbound.traces.sessions as sessions
def stay(session, settings):
    with open("pids", "a") as file: file.write(f"{os.getpid()}\\n")
    time.sleep(1000)
sessions._POOL_FROM_BYTES, sessions._read_one = 0, stay
from knowbound.cli.main import main
main()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "CLAUDE.md").write_text("# Shop\n\nOrders listen on port 8080.\n\n## Refund retries\n\nThree times.\n")
    samples = [{"sample_id": "a", "prompt": "On which port?", "rubric": "It names the port."}]
    (tmp_path / "eval-samples.json").write_text(json.dumps({"samples": samples}))
    (tmp_path / "deaf.py").write_text(DEAF)
    return tmp_path


def until(condition: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    for _ in range(6000):
        if condition():
            return
        if process is not None and process.poll() is not None:
            pytest.fail(f"it ended with {process.returncode}: {process.stderr and process.stderr.read()!r}")
        time.sleep(0.01)
    pytest.fail("it did not come")


def noted(folder: Path) -> list[int]:
    path = folder / "pids"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1] == b"Z"
    except OSError:
        return True


def ended_by(number: int, project: Path, code: str, *args: str, started: int) -> int:
    """Start the verb, wait for those it starts, and end it; its exit code, when all of them are gone."""
    verb = subprocess.Popen(
        [sys.executable, "-c", HEARING + code, *args], cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        until(lambda: len(noted(project)) == started, verb)
        verb.send_signal(number)
        code_ = verb.wait(60)
        for pid in noted(project):
            until(lambda pid=pid: is_gone(pid))  # type: ignore[misc]
        return code_
    finally:
        verb.kill()
        for pid in noted(project):
            if not is_gone(pid):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_no_agent_outlives_eval(project: Path, number: int) -> None:
    agent = f"command:{sys.executable} deaf.py"
    code = ended_by(number, project, IMPATIENT + MAIN, "eval", "--root", ".", "--executor", agent, started=2)
    assert code == (-number if number == signal.SIGKILL else 130)


@pytest.mark.long  # starts its agents as eval does
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_no_agent_outlives_probe(project: Path, number: int) -> None:
    agent = f"command:{sys.executable} deaf.py"
    ended_by(number, project, IMPATIENT + MAIN, "probe", "--root", ".", "--count", "1", "--executor", agent, started=2)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_no_judge_outlives_eval(project: Path, number: int) -> None:
    judge = f"command:{sys.executable} {project / 'deaf.py'}"
    ended_by(number, project, MAIN, "eval", "--root", ".", "--judge", judge, started=2)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_no_worker_outlives_observe(project: Path, number: int) -> None:
    (project / "traces").mkdir()
    (project / "knowbound.toml").write_text("jobs = 4\n")
    for name in "abcd":
        line = {"type": "user", "uuid": name, "sessionId": name, "message": {"role": "user", "content": "Where?"}}
        (project / "traces" / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    code = ended_by(number, project, OBSERVE, "observe", "traces", "--root", ".", started=4)
    assert code == (-number if number == signal.SIGKILL else 130)


def test_a_signal_that_is_ignored_stays_so(project: Path) -> None:
    """As under nohup, where a closed terminal ends nothing."""
    (project / "slow.py").write_text("import pathlib, time\npathlib.Path('pids').write_text('0')\ntime.sleep(0.2)\n")
    ignoring = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); {MAIN}"
    arguments = ["eval", "--root", ".", "--executor", f"command:{sys.executable} slow.py"]
    verb = subprocess.Popen([sys.executable, "-c", ignoring, *arguments], cwd=project, stdout=subprocess.DEVNULL)
    until(lambda: bool(noted(project)), verb)
    verb.send_signal(signal.SIGHUP)
    assert verb.wait(60) not in (130, -signal.SIGHUP)
