"""Any command as an agent: the prompt on its input or in an argument, text or a stream of events as its output."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from pathlib import Path

from knowbound.errors import ConfigError
from knowbound.evals.executor import Execution, Task
from knowbound.evals.executors.agent_process import run_process
from knowbound.evals.executors.output import execution_of
from knowbound.process import agent_environment, require_posix
from knowbound.text.redact import redact

_NAMED = re.compile(r"\{(prompt|folder|sample)\}")
_LARGEST = 1_000_000  # bytes of a program that is read to detect changes


class CommandExecutor:
    """Runs a command without a shell. `{prompt}`, `{folder}` and `{sample}` in its arguments are filled in."""

    costs = True  # as far as we know
    remembers = False  # what its answers depend on is not known
    injects = False  # what it starts, and how, is its own
    reads_freely = False  # it runs in the folder it was written for, never in a copy

    def __init__(self, command: str) -> None:
        self.name = f"command:{redact(command)}"
        self._command = command
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise _no_agent(f"The command {command!r} cannot be read: {error}.") from None
        if not self._words:
            raise _no_agent("The executor 'command:' names no program.")
        # A relative path to a script starts where the command was given, not in the folder where the agent will work.
        self._words[1:] = [os.path.abspath(word) if os.path.isfile(word) else word for word in self._words[1:]]

    @property
    def version(self) -> str:
        """The command, and the programs and files in it."""
        parts = [self._command, *(digest_of_file(path) for path in self._files())]
        return f"command/{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"

    def check(self) -> None:
        """Raise ConfigError unless the program exists."""
        self._program()

    def run(self, task: Task) -> Execution:
        """Run the command for the task."""
        folder = os.path.abspath(task.folder)
        fill = {"prompt": task.prompt, "folder": folder, "sample": task.sample}
        argv = [self._program(), *(_filled(word, fill) for word in self._words[1:])]
        in_argument = any("{prompt}" in word for word in self._words[1:])
        stdin = None if in_argument else task.prompt.encode("utf-8", "replace")
        added = {"KNOWBOUND_SAMPLE": task.sample, "KNOWBOUND_FOLDER": folder}
        return execution_of(task, run_process(task, argv, stdin=stdin, env=agent_environment(), added=added))

    def _program(self) -> str:
        """The program, found where we were started and not in the task's folder."""
        return program(self._words[0])

    def _files(self) -> list[Path]:
        found = shutil.which(self._words[0])
        return [Path(word) for word in ([found] if found else []) + self._words[1:] if os.path.isfile(word)]


def _filled(word: str, fill: dict[str, str]) -> str:
    """All placeholders filled in at once, so that a placeholder inside a prompt stays as it is."""
    return _NAMED.sub(lambda name: fill[name[1]], word)


def program(name: str) -> str:
    """The path of an executable; a ConfigError where there is none."""
    require_posix("Running an agent")
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        where = "here" if os.sep in name else "on the PATH"
        raise _no_agent(f"There is no program {name!r} {where}, so no sample can be run.")
    return os.path.abspath(found)


def digest_of_file(path: str | Path) -> str:
    """Changes with the file: a hash of its content, or for a large file its size and time."""
    try:
        info = os.stat(path)
        if info.st_size > _LARGEST:
            return f"{info.st_size}:{info.st_mtime_ns}"
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return "unreadable"


def _no_agent(what: str) -> ConfigError:
    return ConfigError("no-agent", f"{what} Try: knowbound eval --executor investigate")
