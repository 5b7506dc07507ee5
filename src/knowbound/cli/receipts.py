"""Receipts: a run that only reports is printed again while nothing that it looked at has changed.

A receipt has the printed text and the state (size and time) of every file that the run opened, of every folder that it
listed, of the folders with traces (one digest each: names of trace files are ids of sessions, which may be forgotten),
and of the modules that made the text, each as it was when the run looked at it; files that the run itself wrote, as it
left them. Python reports opened files and listed folders by its audit events, so none is missed; what is only looked up
(`Path.is_file`) is among `_looked_up_places`. A receipt counts for the same arguments, folder, environment and
terminal, and only with the seal of this user's key: one in a checkout is worthless. This module is loaded before
anything else, and imports next to nothing.
"""

from __future__ import annotations

import gc
import marshal  # json takes 8 ms to import
import os
import sys

from knowbound import __version__
from knowbound.store.data_dir import DATA_FOLDER, RECEIPTS, data_folder
from knowbound.user_files import config_folder, is_sealed, make_file, make_folder, seal, state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

State = list[int] | str | None  # size and time, or a digest of a folder with traces; None if there is nothing
_REPORTING_VERBS = ("observe",)  # verbs that change nothing but what is kept of sessions
_CHANGING_OPTIONS = ("--since", "--model", "-o", "--output")  # options by which the same inputs give another result
_NOT_INPUT = ("_", "OLDPWD", "PWD", "SHLVL")  # of the environment
_CHANGES = ("os.mkdir", "os.rename", "os.link", "os.remove")  # of a folder by the run itself
_SETTINGS = ("knowbound.toml", "pyproject.toml", "eval.yaml")
_PROJECT_MARKS = (".git", DATA_FOLDER)  # of a project: whether they are there counts, not what is in them
_EVENTS = ("open", "os.scandir", "os.listdir", "sqlite3.connect", "knowbound.folders", *_CHANGES)
_ALL_FILES = "/*"  # after a folder: all of its files
_LONGEST_TEXT = 4_000_000  # characters; a longer printed text is not kept
_MOST_RECEIPTS = 20  # receipts of a data folder


def print_again(arguments: Sequence[str]) -> bool:
    """Print what the same run printed, if nothing has changed since; return False otherwise."""
    if not _may_repeat(arguments):
        return False
    from knowbound.store.data_dir import is_usable

    home = data_folder(os.getcwd())[1]
    path = os.path.join(home, RECEIPTS, _name(arguments))
    try:
        if not home or not is_usable(home):
            return False
        with open(path, "rb") as file:
            seal_of_data, _, data = file.read().partition(b"\n")
        if not is_sealed(data.decode("latin-1"), seal_of_data.decode("ascii")):
            return False
    except (OSError, ValueError):
        return False
    inputs, printed = marshal.loads(data)  # made by this user and this Python
    if any(_state_of(name) != state for name, state in inputs.items()):
        return False
    try:
        for is_error, part in printed:
            (sys.stderr if is_error else sys.stdout).write(part)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output went away (`| head`): nothing is wrong
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


def recorder_of(arguments: Sequence[str]) -> Recorder | None:
    """Start to record a run that may be repeated."""
    return Recorder(_name(arguments)) if _may_repeat(arguments) else None


class Recorder:
    """The inputs and the printed text of one run."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._inputs = {place: _state_of(place) for place in _looked_up_places()}
        self._written: set[str] = set()
        self._printed: list[tuple[bool, str]] = []
        self._is_on = True
        sys.addaudithook(self._note_event)

    def add(self, text: str, *, is_error: bool) -> None:
        """Add a printed text."""
        self._printed.append((is_error, text))

    def keep(self) -> None:
        """Write the receipt, once everything that the run opened is closed. A failure to write is no error."""
        self._is_on = False  # a hook stays for as long as the process lives
        gc.collect()  # closes databases that the run left open: what SQLite writes then is a change
        home = data_folder(os.getcwd())[1]
        if not home or sum(len(text) for _, text in self._printed) > _LONGEST_TEXT:
            return
        folder = os.path.join(home, RECEIPTS)
        ours = (module for name, module in sys.modules.items() if name.partition(".")[0] == "knowbound")
        modules = (getattr(module, "__file__", None) for module in ours)
        not_inputs = (*(os.path.join(prefix, "") for prefix in (sys.prefix, sys.base_prefix)), folder)
        try:
            make_folder(folder)
            older_receipts = sorted((entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(folder))
            for _, oldest in older_receipts[: -_MOST_RECEIPTS + 1]:  # leaves room for this one
                os.unlink(oldest)
            final_states = {name: _state_of(name) for name in (*self._written, *filter(None, modules))}
            looked_at = self._inputs | final_states
            # Without installed packages, and without files whose folder was listed: the folder's state covers them.
            inputs = {
                name: state
                for name, state in looked_at.items()
                if not name.startswith(not_inputs)
                and (name.endswith(_ALL_FILES) or os.path.dirname(name) + _ALL_FILES not in looked_at)
            }
            data = marshal.dumps((inputs, self._printed))
            make_file(os.path.join(folder, self._name), seal(data.decode("latin-1")).encode() + b"\n" + data)
        except (OSError, ValueError):
            return

    def _note_event(self, event: str, details: tuple[Any, ...]) -> None:
        """Note what the run looks at. Python calls this for every audit event of the process."""
        if not self._is_on or event not in _EVENTS:
            return
        if event == "knowbound.folders":  # our own event: folders of which every file was listed
            self._inputs |= {folder + _ALL_FILES: _state_of(folder + _ALL_FILES) for folder in details[0]}
        elif isinstance(details[0], str | os.PathLike):
            name = os.path.abspath(details[0])
            if event == "sqlite3.connect":
                self._written.update((name, f"{name}-wal"))
            elif event in _CHANGES:
                changed = [name, *(os.path.abspath(other) for other in details[1:2] if isinstance(other, str))]
                self._written.update((*changed, *map(os.path.dirname, changed)))
            elif event == "open" and details[2] & (os.O_WRONLY | os.O_RDWR):  # flags of os.open
                self._written.add(name)
            elif name not in self._inputs:
                self._inputs[name] = _state_of(name)


def _may_repeat(arguments: Sequence[str]) -> bool:
    """Report whether the arguments are those of a run that may be repeated, in a folder that exists."""
    is_report = bool(arguments) and arguments[0] in _REPORTING_VERBS
    if not is_report or any(argument.startswith(_CHANGING_OPTIONS) for argument in arguments):
        return False
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _name(arguments: Sequence[str]) -> str:
    """Return the file name of the receipt of a run."""
    environment = sorted(item for item in os.environ.items() if item[0] not in _NOT_INPUT)
    terminals = [os.get_terminal_size(n) if os.isatty(n) else None for n in (1, 2)]  # their width shapes the text
    return _digest(repr((__version__, sys.version, list(arguments), os.getcwd(), environment, terminals)))


def _looked_up_places() -> list[str]:
    """Return what is looked up without being opened: settings of the user, settings and marks of projects around."""
    folders = [os.getcwd()]
    while (parent := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(parent)
    around = [os.path.join(folder, name) for folder in folders for name in (*_SETTINGS, *_PROJECT_MARKS)]
    return [*around, config_folder(), os.path.join(config_folder(), "config.toml"), state_folder()]


def _state_of(path: str) -> State:
    """Return size and time of a file or folder. An empty file counts as none: SQLite leaves one until it is closed."""
    try:
        if path.endswith(_ALL_FILES):
            files = [(entry.name, *_size_and_time(entry.stat())) for entry in os.scandir(path.removesuffix(_ALL_FILES))]
            return _digest(repr(sorted(files)))
        status = os.stat(path)
    except OSError:
        return None
    if path.endswith(_PROJECT_MARKS):
        return [0, 0]  # only that it is there counts
    return _size_and_time(status) if status.st_size else None


def _size_and_time(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns]


def _digest(text: str) -> str:
    from _blake2 import blake2b  # all of hashlib costs 8 ms

    return str(blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest())
