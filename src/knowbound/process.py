"""Run another program: never through a shell, bounded in time and output, and ended with everything it started."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# Everything a tool needs; nothing that could be a secret, a pager or somebody's options.
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TMP", "TEMP", "USER", "LOGNAME", "SYSTEMROOT")
_QUIET = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "NO_COLOR": "1"}
_SET_BY_AGENTS = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")  # with these an agent takes itself for a nested one
_READ = 1 << 16
_POLL_SECONDS = 0.05  # how often we look whether a program ended while its outputs are still open


@dataclass(frozen=True, slots=True)
class Ran:
    """What a program did."""

    code: int | None  # None: it was ended by us, or could not be started
    out: bytes
    err: bytes  # also why it could not be started
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
    *,
    environment: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> Ran:
    """Run `argv` in `cwd`; it and all its children end with it, or at the time or output limit.

    `environment` is all that it gets; by default a small clean one.
    """
    with _as_file(stdin) as given:
        try:
            process = subprocess.Popen(
                list(argv),
                cwd=cwd,
                env=clean_environment(cwd) if environment is None else environment,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # not there, not executable, a NUL in an argument
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return Ran(None, b"", why.encode("utf-8", "replace"), missing=isinstance(error, FileNotFoundError))
    end = time.monotonic() + seconds
    try:
        out, err, timed_out, cut = _collect(process, end, output_bytes)
        if not (timed_out or cut):
            try:  # a program may close its outputs and go on
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                timed_out = True
    finally:
        _kill(process)
    return Ran(None if timed_out or cut else process.returncode, out, err, timed_out, cut)


def clean_environment(cwd: Path, added: Mapping[str, str] | None = None) -> dict[str, str]:
    """The small environment that a program gets by default, with what is added to it."""
    clean = {name: os.environ[name] for name in _KEPT if name in os.environ} | _QUIET | dict(added or {})
    clean["PATH"] = _trusted_path(clean.get("PATH", os.defpath), cwd)
    return clean


def agent_environment() -> dict[str, str]:
    """Our own environment, for an agent: it has the keys that the agent needs."""
    return {name: value for name, value in os.environ.items() if name not in _SET_BY_AGENTS}


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


def _as_file(stdin: bytes) -> AbstractContextManager[IO[bytes] | int]:
    """Standard input as a file and not a pipe, so that a program that does not read cannot hold us up."""
    if not stdin:
        return contextlib.nullcontext(subprocess.DEVNULL)
    file = tempfile.TemporaryFile()  # noqa: SIM115  (the caller closes it)
    file.write(stdin)
    file.seek(0)
    return file


def _collect(process: subprocess.Popen[bytes], end: float, limit: int) -> tuple[bytes, bytes, bool, bool]:
    """Both outputs until they close, the program ends, the time is over or the limit is reached."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = bytearray(), bytearray()
    timed_out = cut = False
    with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
        selector.register(process.stdout, selectors.EVENT_READ, out)
        selector.register(process.stderr, selectors.EVENT_READ, err)
        while selector.get_map() and not (timed_out or cut):
            left = end - time.monotonic()
            timed_out = left <= 0
            has_ended = process.poll() is not None
            ready = [] if timed_out else selector.select(min(left, _POLL_SECONDS))
            if has_ended and not ready:
                break  # only what it left behind holds its outputs open
            for key, _ in ready:
                chunk = os.read(key.fd, _READ)
                if chunk:
                    key.data.extend(chunk)
                else:
                    selector.unregister(key.fileobj)
            cut = len(out) + len(err) > limit
    return bytes(out), bytes(err), timed_out, cut


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the program and everything it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
