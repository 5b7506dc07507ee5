"""Runs other programs: never through a shell, bounded in time and output, and ended with all their children.

No program outlives knowbound, however it ends. A watcher, a small `sh` in a session of its own, reads from a pipe that
only knowbound holds open. When the pipe closes, the watcher kills every process group that is still running. On Linux
it also kills processes with our mark in their environment, which started sessions of their own. On other systems, and
if a program clears the environment of its child, these are not found.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from knowbound.errors import InputError

# Variables that tools need; none can be a secret, a pager or a user's options.
_KEPT_VARIABLES = (*"PATH HOME LANG LC_ALL LC_CTYPE TMPDIR TMP TEMP USER LOGNAME SYSTEMROOT".split(),)
_QUIET = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "NO_COLOR": "1"}
_SET_BY_AGENTS = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")  # they mark an agent as nested
HOOKS_OFF = "KNOWBOUND_OFF"  # the variable that switches our hooks off
_READ_BYTES = 1 << 16
_POLL_SECONDS = 0.05  # interval for checking whether a program ended while its outputs are still open
_MARK = "KNOWBOUND_STARTED_BY"  # variable with our mark; a nested knowbound adds its own
_SWEEP_SECONDS = 0.002  # pause between two searches
_SWEEPS = 20  # searches for marked processes, which may start others meanwhile

# The watcher reads `+ GROUP` and `- GROUP` until the pipe closes. $1 is our mark.
_WATCHER = r"""
trap '' HUP INT TERM
groups=' '
while read -r sign group; do
    case $sign in
        +) groups="$groups$group " ;;
        *) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
    esac
done
for group in $groups; do kill -KILL "-$group"; done
sweeps=$2
while [ "$sweeps" -gt 0 ] && marked=$(command -p grep -lsF -e "$1" /proc/[0-9]*/environ || :) && [ -n "$marked" ]; do
    for file in $marked; do file=${file%/environ}; kill -KILL "${file#/proc/}"; done
    sweeps=$((sweeps - 1))
done
"""


def require_posix(what: str) -> None:
    """Raise an error that ends a verb in one sentence on a system without process groups and a POSIX shell."""
    if os.name != "posix":
        raise InputError("needs-posix", f"{what} needs Linux, macOS or WSL: this system has no process groups for it.")


@dataclass(frozen=True, slots=True)
class Ran:
    """Result of a program."""

    code: int | None  # None: killed by us, or not started
    out: bytes
    err: bytes  # also the reason for a failed start
    timed_out: bool = False
    cut: bool = False  # the output exceeded the limit; only its beginning is kept
    missing: bool = False  # no such program

    @property
    def text(self) -> str:
        """Output as text."""
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
    """Run `argv` in `cwd`; its children end with it, and all end at the time or output limit.

    `environment` is its whole environment; the default is a small clean one.
    """
    with _as_file(stdin) as stdin_file:
        try:
            program = Program(
                argv,
                cwd=cwd,
                env=clean_environment(cwd) if environment is None else environment,
                stdin=stdin_file,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except (OSError, ValueError) as error:  # missing, not executable, a NUL in an argument
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return Ran(None, b"", reason.encode("utf-8", "replace"), missing=isinstance(error, FileNotFoundError))
    deadline = time.monotonic() + seconds
    has_ended = False
    try:
        collect = _collect if os.name == "posix" else _collect_in_threads
        out, err, timed_out, cut = collect(program.process, deadline, output_bytes)
        if not (timed_out or cut):
            try:  # a program may close its outputs and go on
                program.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                timed_out = True
        has_ended = not (timed_out or cut)
    finally:
        program.kill(sweep=not has_ended)  # searching all processes is slow
    return Ran(None if timed_out or cut else program.process.returncode, out, err, timed_out, cut)


class Program:
    """A program in a session of its own that ends with knowbound."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: IO[bytes] | int,
        stdout: int = subprocess.DEVNULL,
        stderr: int = subprocess.DEVNULL,
    ) -> None:
        self._mark = f"{_watch.mark}{next(_program_numbers)};"
        marks = os.environ.get(_MARK, "") + self._mark  # a nested knowbound keeps the marks of outer ones
        with _watch.starting() as groups:
            self.process = subprocess.Popen(
                list(argv),
                cwd=cwd,
                env={**env, _MARK: marks},
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            groups.add(self.process.pid)
        self.pid = self.process.pid

    def signal(self, number: int) -> None:
        """Send a signal to the program and its children, except those in other sessions."""
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
        else:
            self.process.send_signal(number)

    def kill(self, *, sweep: bool = True) -> None:
        """Kill the program and its children; with `sweep`, also those in other sessions."""
        self.signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        for _ in range(_SWEEPS if sweep else 0):
            if not _kill_marked(self._mark.encode()):
                break
            time.sleep(_SWEEP_SECONDS)
        _watch.ended(self.pid)
        self.process.wait()


class _Watch:
    """The watcher of this process, started with the first program."""

    def __init__(self) -> None:
        self._pipe = -1
        self.forget()

    def forget(self) -> None:
        """Reset the state in a fork: the watcher and its groups belong to the parent."""
        if self._pipe >= 0:
            os.close(self._pipe)
        self._pipe = -1
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self.mark = f"{secrets.token_hex(8)}."

    @contextlib.contextmanager
    def starting(self) -> Iterator[set[int]]:
        """Surround the start of a program, which adds its process group to the yielded set."""
        groups: set[int] = set()
        with self._lock:
            self._start_watcher()
        yield groups
        with self._lock:
            self._groups |= groups
            self._write_to_watcher("".join(f"+ {group}\n" for group in groups))

    def ended(self, group: int) -> None:
        with self._lock:
            self._groups.discard(group)
            self._write_to_watcher(f"- {group}\n")

    def _start_watcher(self) -> None:
        """Start the shell that kills our programs when its pipe closes, as it does even if we are killed."""
        if self._pipe >= 0 or os.name != "posix":  # it runs already, or there is no shell
            return
        read, self._pipe = os.pipe()
        with contextlib.suppress(OSError):  # without a watcher, programs end with us only at a regular exit
            self._watcher = subprocess.Popen(
                ["/bin/sh", "-c", _WATCHER, "knowbound-watcher", self.mark, str(_SWEEPS)],
                cwd="/",
                env={},
                stdin=read,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        os.close(read)

    def _write_to_watcher(self, line: str) -> None:
        """Write a line to the watcher; if that was killed, a new one gets every group again."""
        if self._pipe < 0:
            return
        try:
            os.write(self._pipe, line.encode())
        except BrokenPipeError:  # the watcher was killed
            os.close(self._pipe)
            self._pipe = -1
            self._start_watcher()
            with contextlib.suppress(BrokenPipeError):
                os.write(self._pipe, "".join(f"+ {group}\n" for group in self._groups).encode())


_watch = _Watch()
_program_numbers = itertools.count()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watch.forget)


def _kill_marked(mark: bytes) -> bool:
    """Kill every process with the mark in its environment; report whether another search is needed.

    It is if one was found, which may have started others, or if one is between two programs: for a moment its
    environment reads as empty.
    """
    if sys.platform != "linux":
        return False
    is_needed = False
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if not name.isdecimal():
                continue
            environment = Path("/proc", name, "environ").read_bytes()
            if mark in environment:
                os.kill(int(name), signal.SIGKILL)
                is_needed = True
            elif not environment and os.readlink(f"/proc/{name}/exe"):  # kernel threads have no program
                is_needed = True
    return is_needed


def clean_environment(cwd: Path, added: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the small default environment of programs, with additions."""
    clean = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ} | _QUIET | dict(added or {})
    clean["PATH"] = trusted_path(clean.get("PATH", os.defpath), cwd)
    return clean


def agent_environment() -> dict[str, str]:
    """Return our own environment for an agent: it has the keys that the agent needs, and switches our hooks off.

    With hooks, the answers of an agent in an evaluation or as a judge would depend on the installation.
    """
    variables = {name: value for name, value in os.environ.items() if name not in _SET_BY_AGENTS}
    return variables | {HOOKS_OFF: "1"}


def find_program(name: str, root: Path) -> str | None:
    """Return an executable beside our interpreter or on the path, never an executable inside the tree."""
    beside = shutil.which(name, path=os.path.dirname(sys.executable))
    executable = beside or shutil.which(name, path=clean_environment(root)["PATH"])
    # What lies beside our interpreter is trusted.
    return None if executable is None or (not beside and _is_inside(executable, root)) else executable


def find_client(name: str) -> str | None:
    """Return an agent's command line on the path, never one inside the current folder, which a checkout brought."""
    return shutil.which(name, path=trusted_path(os.environ.get("PATH", ""), Path.cwd()))


def _is_inside(path: str, root: Path) -> bool:
    return (os.path.realpath(path) + os.sep).startswith(os.path.realpath(root) + os.sep)


def trusted_path(path: str, cwd: Path) -> str:
    """Return the absolute folders of a path outside the tree, so that the tree cannot provide its own `git`."""
    folders = [folder for folder in path.split(os.pathsep) if os.path.isabs(folder)]
    return os.pathsep.join(folder for folder in folders if not _is_inside(folder, cwd))


def _as_file(stdin: bytes) -> AbstractContextManager[IO[bytes] | int]:
    """Return standard input as a file: with a pipe, a program that does not read would block us."""
    if not stdin:
        return contextlib.nullcontext(subprocess.DEVNULL)
    file = tempfile.TemporaryFile()  # noqa: SIM115  (the caller closes it)
    file.write(stdin)
    file.seek(0)
    return file


def _collect(process: subprocess.Popen[bytes], deadline: float, limit: int) -> tuple[bytes, bytes, bool, bool]:
    """Read both outputs until they close, the program ends, or a limit of time or size is reached.

    Returns both outputs, whether the time was over, and whether the outputs were too large.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = bytearray(), bytearray()
    timed_out = cut = False
    with selectors.DefaultSelector() as selector, process.stdout, process.stderr:
        selector.register(process.stdout, selectors.EVENT_READ, out)
        selector.register(process.stderr, selectors.EVENT_READ, err)
        while selector.get_map() and not (timed_out or cut):
            seconds_left = deadline - time.monotonic()
            timed_out = seconds_left <= 0
            has_ended = process.poll() is not None
            ready = [] if timed_out else selector.select(min(seconds_left, _POLL_SECONDS))
            if has_ended and not ready:
                break  # only leftover children hold the outputs open
            for key, _ in ready:
                chunk = os.read(key.fd, _READ_BYTES)
                if chunk:
                    key.data.extend(chunk)
                else:
                    selector.unregister(key.fileobj)
            cut = len(out) + len(err) > limit
    return bytes(out), bytes(err), timed_out, cut


def _collect_in_threads(
    process: subprocess.Popen[bytes], deadline: float, limit: int
) -> tuple[bytes, bytes, bool, bool]:
    """Do the same where pipes cannot be waited for (Windows): a thread reads each of them."""
    assert process.stdout is not None
    assert process.stderr is not None
    parts = (process.stdout, bytearray()), (process.stderr, bytearray())
    cut = threading.Event()

    def read(pipe: IO[bytes], kept: bytearray) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed below us
            while not cut.is_set() and (chunk := os.read(pipe.fileno(), _READ_BYTES)):
                kept.extend(chunk)
                if sum(len(output) for _, output in parts) > limit:
                    cut.set()

    threads = [threading.Thread(target=read, args=part, daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    while (is_reading := any(thread.is_alive() for thread in threads)) and not cut.is_set():
        if time.monotonic() >= deadline or process.poll() is not None:
            break
        threads[0].join(_POLL_SECONDS)
    for thread in threads:  # what the ended program has written is still in the pipes
        thread.join(_POLL_SECONDS)
    timed_out = is_reading and not cut.is_set() and process.poll() is None
    return bytes(parts[0][1]), bytes(parts[1][1]), timed_out, cut.is_set()
