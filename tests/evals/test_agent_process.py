"""Processes of agents: real ones, killed at bad moments, by others and by us."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from knowbound.evals.executor import Task
from knowbound.evals.executors import agent_process
from knowbound.evals.executors.agent_process import AgentExit, EndedError, end_all, run_process

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sys.executable


@pytest.fixture(autouse=True)
def _allowed() -> Iterator[None]:
    yield
    end_all(0.1)
    agent_process._is_ending.clear()


def task_in(tmp_path: Path, seconds: float = 60.0, name: str = "task") -> Task:
    folder = tmp_path / "kb"
    folder.mkdir(exist_ok=True)
    return Task("s1", "prompt", folder, tmp_path / name, seconds)


def script(tmp_path: Path, body: str, name: str = "agent.py") -> list[str]:
    path = tmp_path / name
    path.write_text(f"import os, sys, time, signal, subprocess\nfrom pathlib import Path\n{body}\n")
    return [PYTHON, str(path)]


def run(task: Task, argv: list[str], stdin: bytes | None = None, **options: object) -> AgentExit:
    return run_process(task, argv, stdin=stdin, env=dict(os.environ), **options)  # type: ignore[arg-type]


def until(condition: Callable[[], bool]) -> None:
    """Wait for what must come; a test that waits in vain fails."""
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it did not come")


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]
    except OSError:
        return True
    return state == b"Z"


COUNTED = "with open(Path(__file__).with_name('runs'), 'a') as runs: runs.write('x')"


def runs(tmp_path: Path) -> int:
    path = tmp_path / "runs"
    return len(path.read_text()) if path.exists() else 0


# One run


def test_output_errors_and_status_are_kept_in_files(tmp_path: Path) -> None:
    argv = script(
        tmp_path,
        "sys.stdout.buffer.write(sys.stdin.buffer.read() + b'\\xff\\0'); print('no', file=sys.stderr); sys.exit(3)",
    )
    ran = run(task_in(tmp_path), argv, b"in\xfe")
    assert (ran.status, ran.timed_out, ran.problem) == (3, False, "")
    assert ran.stdout.read_bytes() == b"in\xfe\xff\0"
    assert ran.stderr.read_bytes() == b"no\n"


def test_it_runs_in_the_folder_with_the_environment_it_is_given(tmp_path: Path) -> None:
    argv = script(
        tmp_path, "print(os.getcwd()); print(os.environ['ADDED']); print('HOME' in os.environ); print(sys.stdin.read())"
    )
    task = task_in(tmp_path)
    ran = run_process(task, argv, stdin=None, env={"PATH": os.environ["PATH"]}, added={"ADDED": "it's"})
    assert ran.stdout.read_text().splitlines() == [str(task.folder), "it's", "False", ""]


@pytest.mark.parametrize("argument", ["", "a b", 'it\'s "x" $HOME `id` \\', "line\nline", "é漢", "-n", "x" * 100_000])
def test_arguments_arrive_as_they_are(tmp_path: Path, argument: str) -> None:
    argv = script(tmp_path, "sys.stdout.buffer.write(os.fsencode(sys.argv[1]))")
    assert run(task_in(tmp_path), [*argv, argument]).stdout.read_bytes().decode() == argument


def test_a_process_ended_by_a_signal_has_the_shells_status_for_it(tmp_path: Path) -> None:
    assert run(task_in(tmp_path), script(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")).status == 137


@pytest.mark.parametrize("argv", [["/nowhere/agent"], ["nul\0"], ["x" * 3_000_000]])
def test_what_cannot_be_started_says_so(tmp_path: Path, argv: list[str]) -> None:
    ran = run(task_in(tmp_path), argv)
    assert ran.status in (None, 126, 127)
    assert ran.problem or ran.stderr.read_text()


def test_what_the_agent_leaves_running_ends_with_it(tmp_path: Path) -> None:
    argv = script(tmp_path, "print(subprocess.Popen(['sleep', '1000']).pid)")
    ran = run(task_in(tmp_path), argv)
    until(lambda: is_gone(int(ran.stdout.read_text())))


def test_no_zombie_and_no_handle_is_left(tmp_path: Path) -> None:
    argv = script(tmp_path, "pass")
    run(task_in(tmp_path), argv)  # starts the watcher, whose pipe stays open
    gc.collect()  # closes what earlier tests left to the garbage collector
    before = len(os.listdir("/proc/self/fd"))
    for number in range(5):
        run(task_in(tmp_path, name=f"task{number}"), argv)
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert [pid for pid in children if b"Z" in Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]] == []
    assert len(os.listdir("/proc/self/fd")) <= before


def test_eight_run_at_once(tmp_path: Path) -> None:
    """Each waits until all eight are there: were they run one after another, none would end."""
    body = (
        "here = Path(sys.argv[1]); (here / sys.argv[2]).touch()\n"
        "while len(list(here.iterdir())) < 8: time.sleep(0.01)\n"
        "print(sys.argv[2])"
    )
    argv = script(tmp_path, body)
    meeting = tmp_path / "meeting"
    meeting.mkdir()

    def one(number: int) -> str:
        return run(task_in(tmp_path, name=f"task{number}"), [*argv, str(meeting), str(number)]).stdout.read_text()

    task_in(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(8))) == [f"{number}\n" for number in range(8)]


# Limits


def test_the_time_limit_ends_one_that_listens(tmp_path: Path) -> None:
    argv = script(tmp_path, "print('here', flush=True); time.sleep(1000)")
    ran = run(task_in(tmp_path, 0.3), argv)
    assert (ran.status, ran.timed_out) == (None, True)
    assert ran.problem == "it took longer than it may"


def test_the_time_limit_ends_one_that_ignores_it_and_its_children(tmp_path: Path) -> None:
    body = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "deaf = 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)'\n"
        "child = subprocess.Popen([sys.executable, '-c', deaf])\n"
        "print(os.getpid(), child.pid, flush=True)\n"
        "time.sleep(1000)"
    )
    ran = run(task_in(tmp_path, 0.7), script(tmp_path, body), grace=0.1)
    assert ran.timed_out
    for pid in ran.stdout.read_text().split():
        until(lambda pid=int(pid): is_gone(pid))  # type: ignore[misc]


def test_what_went_into_a_session_of_its_own_ends_too(tmp_path: Path) -> None:
    """Its parent is gone, and it ignores being asked."""
    body = "(setsid sh -c 'trap \"\" TERM; exec sleep 1000' & echo $!)\n[ $# -eq 0 ] || exec sleep 1000\n"
    (tmp_path / "agent.sh").write_text(body)
    for limits in ([], ["stays"]):
        task = task_in(tmp_path, 1.0 if limits else 60.0, name=f"task{len(limits)}")
        ran = run(task, ["/bin/sh", str(tmp_path / "agent.sh"), *limits], grace=0.2)
        assert ran.timed_out == bool(limits)
        left = int(ran.stdout.read_text())
        until(lambda left=left: is_gone(left))  # type: ignore[misc]


def test_a_flood_is_stopped_and_cut(tmp_path: Path) -> None:
    argv = script(tmp_path, "while True: sys.stdout.buffer.write(b'x' * 65536)")
    ran = run(task_in(tmp_path), argv, most_output=1_000_000, grace=0.2)
    assert (ran.status, ran.timed_out, ran.problem) == (None, False, "it printed more than it may")
    assert ran.stdout.stat().st_size <= 1_000_000


def test_a_short_flood_is_one_too(tmp_path: Path) -> None:
    argv = script(tmp_path, "sys.stdout.buffer.write(b'x' * 2_000_000)")
    task = task_in(tmp_path)
    for _ in range(2):  # and stays one when it is taken over
        assert run(task, argv, most_output=1_000_000).problem == "it printed more than it may"


# Taking over


def test_a_finished_run_is_taken_as_it_is(tmp_path: Path) -> None:
    argv = script(tmp_path, f"{COUNTED}\nprint('once'); sys.exit(5)")
    task = task_in(tmp_path)
    first, second = run(task, argv, b"p"), run(task, argv, b"p")
    assert first == second
    assert runs(tmp_path) == 1


def test_a_run_that_timed_out_is_not_run_again(tmp_path: Path) -> None:
    argv = ["/bin/sh", "-c", f"printf x >> {tmp_path}/runs; exec sleep 1000"]
    task = task_in(tmp_path, 0.5)
    assert run(task, argv).timed_out
    assert run(task, argv).timed_out
    assert runs(tmp_path) == 1


@pytest.mark.parametrize("change", ["argument", "input", "environment"])
def test_another_command_runs_anew(tmp_path: Path, change: str) -> None:
    argv = script(tmp_path, COUNTED)
    task = task_in(tmp_path)
    run_process(task, argv, stdin=b"a", env=dict(os.environ), added={"A": "1"})
    run_process(
        task,
        [*argv, "x"] if change == "argument" else argv,
        stdin=b"b" if change == "input" else b"a",
        env=dict(os.environ),
        added={"A": "2" if change == "environment" else "1"},
    )
    assert runs(tmp_path) == 2


def test_one_that_was_ended_from_outside_is_run_anew(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    argv = script(tmp_path, f"{COUNTED}\nwhile not Path({str(gate)!r}).exists(): time.sleep(0.01)\nprint('done')")
    task = task_in(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run, task, argv)
        until(lambda: runs(tmp_path) == 1)
        os.killpg(json.loads((task.output_dir / "run.json").read_text())["pid"], signal.SIGKILL)
        assert waiting.result().problem == "it was ended from outside"
    gate.touch()
    assert run(task, argv).stdout.read_text() == "done\n"
    assert runs(tmp_path) == 2


def test_a_number_given_to_another_process_is_not_taken_for_ours(tmp_path: Path) -> None:
    argv = script(tmp_path, f"{COUNTED}\nprint('done')")
    task = task_in(tmp_path)
    run(task, argv)
    (task.output_dir / "exit").unlink()
    other = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        known = json.loads((task.output_dir / "run.json").read_text())
        (task.output_dir / "run.json").write_text(json.dumps({**known, "pid": other.pid}))
        assert run(task, argv).status == 0
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
    assert runs(tmp_path) == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff"])
def test_a_spoilt_note_is_no_run(tmp_path: Path, content: bytes) -> None:
    task = task_in(tmp_path)
    task.output_dir.mkdir()
    (task.output_dir / "run.json").write_bytes(content)
    (task.output_dir / "exit").write_bytes(b"0\n")
    assert run(task, script(tmp_path, "print('ran')")).stdout.read_text() == "ran\n"


def test_two_of_us_at_once_run_it_once(tmp_path: Path) -> None:
    argv = script(tmp_path, f"{COUNTED}\ntime.sleep(0.2); print('done')")
    task = task_in(tmp_path)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: run(task, argv), range(6)))
    assert {ran.stdout.read_text() for ran in found} == {"done\n"}
    assert runs(tmp_path) == 1


# Killed with -9

HELPER = """
import os, sys
from pathlib import Path
from knowbound.evals.executor import Task
from knowbound.evals.executors.agent_process import run_process
folder, place, seconds, *argv = sys.argv[1:]
task = Task("s1", "prompt", Path(folder), Path(place), float(seconds))
run_process(task, argv, stdin=b"hello", env=dict(os.environ))
"""


def killed_while_it_runs(tmp_path: Path, task: Task, argv: list[str], *, watcher_too: bool = False) -> int:
    """Another of us starts the agent and is killed with -9 in the middle; gives the agent's wrapper.

    Where its watcher is killed too, the agent goes on, as it did in earlier versions.
    """
    arguments = [PYTHON, "-c", HELPER, str(task.folder), str(task.output_dir), str(task.seconds), *argv]
    helper = subprocess.Popen(arguments, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
    until(lambda: runs(tmp_path) == 1)
    for child in Path(f"/proc/{helper.pid}/task/{helper.pid}/children").read_text().split() if watcher_too else ():
        if b"knowbound-watcher" in Path(f"/proc/{child}/cmdline").read_bytes():
            os.kill(int(child), signal.SIGKILL)
    helper.send_signal(signal.SIGKILL)
    helper.wait()
    return int(json.loads((task.output_dir / "run.json").read_text())["pid"])


def test_an_agent_ends_when_we_are_killed_and_is_run_anew(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    waits = f"while not Path({str(gate)!r}).exists(): time.sleep(0.01)"
    argv = script(tmp_path, f"{COUNTED}\nprint(sys.stdin.read(), flush=True)\n{waits}\nprint('done')")
    task = task_in(tmp_path)
    pid = killed_while_it_runs(tmp_path, task, argv)
    until(lambda: is_gone(pid))
    gate.touch()
    ran = run(task, argv, b"hello")
    assert (ran.status, ran.stdout.read_text()) == (0, "hello\ndone\n")
    assert runs(tmp_path) == 2


def test_one_that_is_still_being_ended_is_waited_for_and_run_anew(tmp_path: Path) -> None:
    argv = script(tmp_path, f"{COUNTED}\nif len(Path(__file__).with_name('runs').read_text()) == 1: time.sleep(1000)")
    task = task_in(tmp_path)
    pid = killed_while_it_runs(tmp_path, task, argv, watcher_too=True)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run, task, argv, b"hello")
        os.killpg(pid, signal.SIGKILL)
        assert waiting.result().status == 0
    assert runs(tmp_path) == 2


def test_an_orphan_of_an_earlier_version_is_waited_for(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    waits = f"while not Path({str(gate)!r}).exists(): time.sleep(0.01)"
    argv = script(tmp_path, f"{COUNTED}\nprint(sys.stdin.read(), flush=True)\n{waits}\nprint('done')")
    task = task_in(tmp_path)
    pid = killed_while_it_runs(tmp_path, task, argv, watcher_too=True)
    assert not is_gone(pid)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run, task, argv, b"hello")
        gate.touch()
        ran = waiting.result()
    assert (ran.status, ran.stdout.read_text()) == (0, "hello\ndone\n")
    assert runs(tmp_path) == 1


def test_what_finished_while_nobody_watched_is_taken(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    argv = script(
        tmp_path, f"{COUNTED}\nwhile not Path({str(gate)!r}).exists(): time.sleep(0.01)\nprint('done'); sys.exit(7)"
    )
    task = task_in(tmp_path)
    killed_while_it_runs(tmp_path, task, argv, watcher_too=True)
    gate.touch()
    until((task.output_dir / "exit").exists)
    ran = run(task, argv, b"hello")
    assert (ran.status, ran.stdout.read_text()) == (7, "done\n")
    assert runs(tmp_path) == 1


def test_an_orphans_time_counts_from_its_own_start(tmp_path: Path) -> None:
    argv = script(tmp_path, f"{COUNTED}\ntime.sleep(1000)")
    task = task_in(tmp_path)
    pid = killed_while_it_runs(tmp_path, task, argv, watcher_too=True)
    note = task.output_dir / "run.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "at": time.time() - 100}))
    assert run(task, argv, b"hello", grace=0.2).timed_out
    until(lambda: is_gone(pid))
    assert runs(tmp_path) == 1


def test_an_orphan_of_another_command_is_ended(tmp_path: Path) -> None:
    task = task_in(tmp_path)
    pid = killed_while_it_runs(tmp_path, task, script(tmp_path, f"{COUNTED}\ntime.sleep(1000)"), watcher_too=True)
    ran = run(task, script(tmp_path, "print('other')", "other.py"), b"hello")
    assert ran.stdout.read_text() == "other\n"
    until(lambda: is_gone(pid))


def test_killed_between_the_start_and_the_note_runs_once(tmp_path: Path) -> None:
    """The wrapper that lost its parent before it took the place meets the next of us: one of the two runs the agent."""
    argv = script(tmp_path, f"{COUNTED}\nprint('done')")
    for number in range(3):
        task = task_in(tmp_path, name=f"task{number}")
        arguments = [PYTHON, "-c", HELPER, str(task.folder), str(task.output_dir), "60", *argv]
        helper = subprocess.Popen(arguments, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})
        until((task.output_dir / "stdout").exists)
        helper.send_signal(signal.SIGKILL)
        helper.wait()
        assert run(task, argv, b"hello").stdout.read_text() == "done\n"
    # A wrapper that came late found the place taken.
    assert runs(tmp_path) == 3


# Ending with us


def test_ending_ends_the_agents_and_leaves_them_to_be_run_anew(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    argv = script(
        tmp_path,
        f"{COUNTED}\nprint(os.getpid(), flush=True)\nif not Path({str(gate)!r}).exists(): time.sleep(1000)",
    )
    task = task_in(tmp_path)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            run(task, argv)
        except EndedError as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: bool((task.output_dir / "stdout").exists() and (task.output_dir / "stdout").read_text()))
    pid = int((task.output_dir / "stdout").read_text())
    end_all()
    thread.join()
    assert is_gone(pid)
    assert len(failed) == 1
    with pytest.raises(EndedError):
        run(task, argv)
    agent_process._is_ending.clear()
    gate.touch()
    assert run(task, argv).status == 0
    assert runs(tmp_path) == 2


def test_ending_with_one_that_ignores_it_still_ends(tmp_path: Path) -> None:
    argv = script(
        tmp_path, "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(os.getpid(), flush=True)\ntime.sleep(1000)"
    )
    task = task_in(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(run, task, argv)
        until(lambda: bool((task.output_dir / "stdout").exists() and (task.output_dir / "stdout").read_text()))
        end_all(0.1)
        with pytest.raises(EndedError):
            waiting.result()
    until(lambda: is_gone(int((task.output_dir / "stdout").read_text())))
