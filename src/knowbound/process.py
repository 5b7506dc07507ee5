"""Run another program: bounded in time and output, never through a shell, without what it need not know."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Everything a tool needs; nothing that could be a secret, a pager or somebody's options comes along.
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TMP", "TEMP", "USER", "LOGNAME", "SYSTEMROOT")
_QUIET = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "NO_COLOR": "1"}
_READ = 1 << 16


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program did."""

    code: int | None  # None: it was ended by us, or could not be started
    out: bytes
    err: bytes
    timed_out: bool = False
    cut: bool = False  # more output than the limit; what is here is its beginning
    missing: bool = False  # no such program

    @property
    def text(self) -> str:
        """Its output as text."""
        return self.out.decode("utf-8", "replace")


def run(
    argv: Sequence[str],
    cwd: Path,
    seconds: float,
    output_bytes: int = 8_000_000,
    env: Mapping[str, str] | None = None,
) -> Ran:
    """Run `argv` in `cwd`; it and all its children end with the time or the output limit.

    `env` is added to a small clean environment. Standard input is empty.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=clean_environment(cwd, env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # not there, not executable, a NUL in an argument
        return Ran(None, b"", str(error).encode(), missing=isinstance(error, FileNotFoundError))
    end = time.monotonic() + seconds
    out, err, timed_out, cut = _collect(process, end, output_bytes)
    if not (timed_out or cut):
        try:  # a program may close its outputs and go on
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            timed_out = True
    kill(process)  # what it started and left behind ends too
    code = process.wait()
    return Ran(None if timed_out or cut else code, out, err, timed_out, cut)


def clean_environment(cwd: Path, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The small environment that a program gets, with what is added to it."""
    clean = {name: os.environ[name] for name in _KEPT if name in os.environ} | _QUIET | dict(env or {})
    clean["PATH"] = _trusted_path(clean.get("PATH", os.defpath), cwd)
    return clean


def find_program(name: str, root: Path) -> str | None:
    """An executable beside our own interpreter or on the path, never one that the tree brings."""
    beside = shutil.which(name, path=os.path.dirname(sys.executable))
    found = beside or shutil.which(name, path=clean_environment(root)["PATH"])
    return None if found is None or (not beside and _is_inside(found, root)) else found


def _is_inside(path: str, root: Path) -> bool:
    return (os.path.realpath(path) + os.sep).startswith(os.path.realpath(root) + os.sep)


def _trusted_path(path: str, cwd: Path) -> str:
    """Where programs are looked for: absolute folders outside the tree, so that it cannot bring its own `git`."""
    folders = [one for one in path.split(os.pathsep) if os.path.isabs(one)]
    return os.pathsep.join(one for one in folders if not _is_inside(one, cwd))


def _collect(process: subprocess.Popen[bytes], end: float, limit: int) -> tuple[bytes, bytes, bool, bool]:
    """Both outputs until they close, the time is over or the limit is reached."""
    assert process.stdout is not None
    assert process.stderr is not None
    parts: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    total = 0
    with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        while selector.get_map():
            left = end - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready and left <= 0:
                return (*(b"".join(chunks) for chunks in parts.values()), True, False)  # type: ignore[return-value]
            for key, _ in ready:
                chunk = os.read(key.fd, _READ)
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                parts[key.fd].append(chunk)
                total += len(chunk)
                if total > limit:
                    return (*(b"".join(chunks) for chunks in parts.values()), False, True)  # type: ignore[return-value]
    return (*(b"".join(chunks) for chunks in parts.values()), False, False)  # type: ignore[return-value]


def kill(process: subprocess.Popen[bytes]) -> None:
    """End the program and everything it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
