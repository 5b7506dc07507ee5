"""The command line in processes of its own, without the half second for which each would import.

A process that has imported knowbound, and has run nothing of it, forks for every call: folder, environment, standard
streams and exit code are those of the call. Tests of the start, of imports, of signals, and of what hooks do at once
use the installed programs.
"""

from __future__ import annotations

import array
import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
KNOWBOUND = Path(sys.executable).with_name("knowbound")
HOOK = KNOWBOUND.with_name("knowbound-hook")
PACKAGES = "agent cli codebase evals evidence gaps judge kms report stats store text traces".split()
_one_call = threading.Lock()  # a server answers one call after the other


def knowbound(
    *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, said: str = "", timeout: float = 240
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` of the program does it."""
    return _call([str(KNOWBOUND), *map(str, words)], cwd, env, said.encode(), timeout)


def run_pytest(*words: str, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, with knowbound's plugin."""
    return _call(["pytest", *words], cwd, None, b"", timeout)


def hook(event: str, *, cwd: Path, env: Mapping[str, str], said: bytes) -> subprocess.CompletedProcess[str]:
    """Run the hook without its start. What it does after its answer is over when this returns."""
    left, held = os.pipe()
    with os.fdopen(left, "rb") as leaving:
        try:
            done = _call([str(HOOK), event], cwd, env, said, 240, held)
        finally:
            os.close(held)
        leaving.read()
    return done


def _call(
    argv: list[str], cwd: Path, env: Mapping[str, str] | None, said: bytes, timeout: float, *held: int
) -> subprocess.CompletedProcess[str]:
    """Have the server fork for the call. The process and its forks keep `held` open; programs they start do not."""
    with _one_call:
        return _answered(argv, cwd, env, said, timeout, held)


def _answered(
    argv: list[str], cwd: Path, env: Mapping[str, str] | None, said: bytes, timeout: float, held: tuple[int, ...]
) -> subprocess.CompletedProcess[str]:
    process, server = _server(argv[0] == str(HOOK))
    call = {"argv": argv, "cwd": str(cwd), "env": dict(os.environ if env is None else env)}
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        given.write(said)
        given.seek(0)
        streams = array.array("i", [given.fileno(), output.fileno(), errors.fileno(), *held])
        server.settimeout(timeout)
        server.sendmsg([json.dumps(call).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        try:
            answer = server.recv(64)
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            _server.cache_clear()
            raise
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(argv, int(answer), output.read().decode(), errors.read().decode())


@cache
def _server(is_hook: bool) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """One of each kind for a process of tests. It ends when its socket is closed, so at the latest with us."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        code = "import sys; sys.path[0] = sys.argv[1]; from tests.warm_process import serve; serve(*sys.argv[2:])"
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(ROOT), str(theirs.fileno()), *(["hook"] if is_hook else [])],
            pass_fds=[theirs.fileno()],
            cwd="/",
            start_new_session=True,
        )
    return process, ours


def serve(descriptor: str, is_hook: str = "") -> None:
    """Fork for every call until nobody is there to call."""
    if is_hook:
        _import_hook()
    else:
        _import_everything()
    gc.collect()
    gc.freeze()  # or the first collection of every child copies all that is imported
    sys.path[0] = str(KNOWBOUND.parent)  # as the installed program has it
    calls = socket.socket(fileno=int(descriptor))
    while True:
        message, streams, _, _ = socket.recv_fds(calls, 1 << 20, 4)
        if not message:
            return
        child = os.fork()
        if not child:
            calls.close()
            _become(json.loads(message), streams)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        calls.send(str(os.waitstatus_to_exitcode(status)).encode())


def _import_everything() -> None:
    for name in PACKAGES:
        package = importlib.import_module(f"knowbound.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    import pymongo  # noqa: F401
    import pytest  # noqa: F401


def _import_hook() -> None:
    """Import what the hook needs for most events. A process forks the faster, the less it has imported."""
    from knowbound.agent import background  # noqa: F401
    from knowbound.agent.hook import rescue, run, stop  # noqa: F401
    from knowbound.injection import inject, prompt, session_start  # noqa: F401
    from knowbound.kms.index import ranking  # noqa: F401
    from knowbound.store import read_only  # noqa: F401


def _become(call: dict[str, Any], streams: list[int]) -> NoReturn:
    """Run the program, and end as an interpreter does, but for taking modules apart: that takes longer than a verb."""
    for number, stream in enumerate(streams[:3]):
        os.dup2(stream, number)
        os.close(stream)
    for held in streams[3:]:
        os.set_inheritable(held, False)
    os.chdir(call["cwd"])
    os.environ.clear()
    os.environ.update(call["env"])
    sys.argv = call["argv"]
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    code = _run()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    gc.collect()  # closes databases that only a circle of objects still holds
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run() -> int:
    try:
        if sys.argv[0] == str(HOOK):
            from knowbound.agent.hook import process as hook_process
            from knowbound.agent.hook_entry import main as hook_main

            hook_process.seconds_since_start = lambda: 0.0  # its time limit counts from here
            hook_main()
        if sys.argv[0] == "pytest":
            import pytest

            return pytest.console_main()
        from knowbound.cli.entry import main

        main()
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
