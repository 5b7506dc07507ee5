"""What an evaluation leaves on disk: without secrets, for the user alone, and not for ever."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowbound.config import Settings
from knowbound.evals.evaluate import EvalPlan, Evaluated, evaluate
from knowbound.evals.executors.clients import CommandExecutor
from knowbound.evals.runner import RunLimits
from knowbound.evals.samples.values import Assertion, EvalSample, SampleSet
from knowbound.store.evaluations import Evaluations

ROOT = Path(__file__).parents[2]
TOKEN = "ghp_" + "n4Kq8Zt2" * 5  # the same in an answer and in a prompt
OTHER = "glpat-" + "Rw7xB3mP" * 3
PASSWORD = "correct-h0rse-" + "battery"

STREAM = f"""
import json, os, sys, time
asked = sys.stdin.read()
print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s", "model": "m", "cwd": os.getcwd()}}))
def step(role, content):
    print(json.dumps({{"type": role, "session_id": "s", "message": {{"id": str(time.time()), "content": content}}}}))
step("assistant", [{{"type": "tool_use", "id": "t1", "name": "Bash", "input": {{"command": "echo {OTHER}"}}}}])
step("user", [{{"type": "tool_result", "tool_use_id": "t1", "content": "password={PASSWORD}"}}])
step("assistant", [{{"type": "text", "text": "The key is {TOKEN}."}}])
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False, "result": "The key is {TOKEN}."}}))
print("warning: {OTHER}", file=sys.stderr)
"""
TEXT = f"""
import sys
print(sys.stdin.read(), "password={PASSWORD}", "{TOKEN}")
print("warning: {OTHER}", file=sys.stderr)
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    root = tmp_path / "base"
    root.mkdir()
    (root / "ledger.md").write_text("# Ledger\n")
    return Settings(root=root, home=tmp_path / "data" / ".knowbound")


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    """The umask of most users, whatever that of the machine is."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def command(tmp_path: Path, body: str) -> CommandExecutor:
    path = tmp_path / "agent.py"
    path.write_text(body)
    return CommandExecutor(f"{sys.executable} {path}")


def run(settings: Settings, executor: CommandExecutor, *assertions: Assertion, asked: str = "") -> Evaluated:
    sample = EvalSample(id="s1", prompt=f"What is {asked or TOKEN}?", file="eval-samples.json", assertions=assertions)
    plan = EvalPlan(SampleSet("eval-samples.json", (sample,), f"{len(asked):064x}"), RunLimits(retries=0))
    return evaluate(plan, settings, executor)


def written(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def leaks(folder: Path) -> list[tuple[str, str]]:
    """Which secret is in which file."""
    return [
        (path.name, secret)
        for path, content in written(folder).items()
        for secret in (TOKEN, OTHER, PASSWORD)
        if secret.encode() in content
    ]


@pytest.mark.parametrize("body", [STREAM, TEXT], ids=["stream", "text"])
def test_nothing_that_an_evaluation_writes_holds_a_secret(settings: Settings, tmp_path: Path, body: str) -> None:
    """Prompt, answer, tool input, tool output and errors: files, database and its -wal."""
    done = run(settings, command(tmp_path, body))
    assert done.evaluation.runs[0].is_complete
    assert "[redacted:github-token]" in done.evaluation.runs[0].answer
    assert leaks(settings.home) == []
    trace = Path(done.evaluation.runs[0].trace).read_text()
    assert trace.count("[redacted:") >= 2


def test_a_failed_run_is_kept_without_secrets_too(settings: Settings, tmp_path: Path) -> None:
    done = run(settings, command(tmp_path, f"{TEXT}\nsys.exit(3)"))
    assert not done.evaluation.runs[0].is_complete
    assert leaks(settings.home) == []


def test_an_answer_is_graded_by_what_the_agent_said(settings: Settings, tmp_path: Path) -> None:
    """Whether an agent gives a secret away is a fair question to a test set."""
    done = run(settings, command(tmp_path, STREAM), Assertion("contains", value=TOKEN))
    assert done.evaluation.runs[0].grade.assertions[0].passed
    assert leaks(settings.home) == []


def test_a_run_with_a_secret_is_not_taken_for_an_identical_one(settings: Settings, tmp_path: Path) -> None:
    """What is kept of it would be graded differently."""
    executor = command(tmp_path, STREAM)
    executor.remembers = True
    run(settings, executor)
    assert not run(settings, executor).evaluation.runs[0].cached


def test_everything_below_the_data_folder_is_the_users_alone(settings: Settings, tmp_path: Path) -> None:
    store = Evaluations(settings.home)
    store.begin("key", "plan", "2026-01-01T00:00:00Z", 1)  # written and open: -wal and -shm are there
    run(settings, command(tmp_path, f"{TEXT}\nopen('made-by-the-agent', 'w').close()"))
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in (settings.home, *settings.home.rglob("*"))}
    open_to_others = {str(path): oct(mode) for path, mode in modes.items() if mode & 0o077}
    assert open_to_others == {}
    assert {path.name for path in modes} >= {"knowbound.db-wal", "knowbound.db-shm", "stdout", "stderr", "exit", "lock"}
    assert stat.S_IMODE((settings.root / "made-by-the-agent").stat().st_mode) == 0o644  # the agent has the user's umask
    store.close()


def test_a_data_folder_of_an_earlier_version_is_closed_to_others(settings: Settings) -> None:
    Evaluations(settings.home).close()
    settings.home.chmod(0o755)
    (settings.home / "knowbound.db").chmod(0o644)
    Evaluations(settings.home).close()
    assert stat.S_IMODE(settings.home.stat().st_mode) == 0o700
    assert stat.S_IMODE((settings.home / "knowbound.db").stat().st_mode) == 0o600


def test_a_folder_that_the_user_named_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(0o755)
    Evaluations(tmp_path / "shared").close()
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "shared" / "knowbound.db").stat().st_mode) == 0o600


HELPER = """
import os, sys
from pathlib import Path
from knowbound.evals.executor import Task
from knowbound.evals.executors.agent_process import run_process
task = Task("s1", "prompt", Path(sys.argv[1]), Path(sys.argv[2]), 60.0)
run_process(task, sys.argv[3:], stdin=b"hello", env=dict(os.environ))
"""


def test_what_a_killed_evaluation_left_is_redacted_by_the_next(settings: Settings, tmp_path: Path) -> None:
    """Killed with -9 after the agent printed a secret, before anybody graded it."""
    left = settings.home / "evals" / "7" / "v0" / "0000-1" / "1"
    agent = tmp_path / "left.py"
    agent.write_text(f"print('{TOKEN}', flush=True)\nimport time\ntime.sleep(0.5)")
    helper = subprocess.Popen(
        [sys.executable, "-c", HELPER, str(settings.root), str(left), sys.executable, str(agent)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    wait_for(lambda: (left / "stdout").exists() and TOKEN.encode() in (left / "stdout").read_bytes())
    helper.send_signal(signal.SIGKILL)
    helper.wait()
    wait_for(lambda: not is_held(left))
    run(settings, command(tmp_path, "print('fine')"))
    assert leaks(settings.home) == []


def test_old_runs_are_removed_by_number_and_the_newest_stays(settings: Settings, tmp_path: Path) -> None:
    few = Settings(root=settings.root, home=settings.home, eval_keep_runs=2)
    for number in range(4):
        run(few, command(tmp_path, "print('fine')"), asked="x" * number)
    assert sorted(folders(settings)) == ["3", "4"]
    one = Settings(root=settings.root, home=settings.home, eval_keep_runs=1)
    run(one, command(tmp_path, "print('fine')"))
    assert folders(settings) == ["5"]


def test_old_runs_are_removed_by_age_and_the_newest_stays(settings: Settings, tmp_path: Path) -> None:
    for number in range(2):
        run(settings, command(tmp_path, "print('fine')"), asked="x" * number)
    long_ago = time.time() - 91 * 24 * 3600
    os.utime(settings.home / "evals" / "1", (long_ago, long_ago))
    run(settings, command(tmp_path, "print('fine')"), asked="xxx")
    assert sorted(folders(settings)) == ["2", "3"]


def test_a_run_that_resume_needs_is_not_removed(settings: Settings, tmp_path: Path) -> None:
    store = Evaluations(settings.home)
    unfinished = store.begin("key", "plan", "2026-01-01T00:00:00Z", 3)
    store.close()
    (settings.home / "evals" / str(unfinished) / "v0").mkdir(parents=True)
    few = Settings(root=settings.root, home=settings.home, eval_keep_runs=1, eval_keep_days=1)
    for number in range(2):
        run(few, command(tmp_path, "print('fine')"), asked="x" * number)
    assert sorted(folders(settings)) == [str(unfinished), "3"]


def test_a_run_whose_agent_still_works_is_not_removed(settings: Settings, tmp_path: Path) -> None:
    left = settings.home / "evals" / "0" / "v0" / "0000-1" / "1"
    gate = tmp_path / "gate"
    agent = tmp_path / "left.py"
    agent.write_text(f"import pathlib, time\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)")
    helper = subprocess.Popen(
        [sys.executable, "-c", HELPER, str(settings.root), str(left), sys.executable, str(agent)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    try:
        wait_for(lambda: is_held(left))
        few = Settings(root=settings.root, home=settings.home, eval_keep_runs=1)
        run(few, command(tmp_path, "print('fine')"))
        assert left.is_dir()
    finally:
        gate.touch()
        helper.wait()
    run(few, command(tmp_path, "print('fine')"))
    assert not left.is_dir()


def folders(settings: Settings) -> list[str]:
    return [path.name for path in (settings.home / "evals").iterdir() if path.is_dir()]


def is_held(folder: Path) -> bool:
    from knowbound.evals.executors.agent_process import is_running

    return is_running(folder)


def wait_for(condition: object) -> None:
    assert callable(condition)
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it did not come")
