"""Finds trace files and groups them into sessions.

Files with the same session id are one session; a sub-agent's side-chain file belongs to the session
that started it. Folders are walked without following links to folders.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from knowbound.core.knowledge import is_knowledge
from knowbound.core.paths import IGNORED_FOLDERS
from knowbound.errors import InputError

_MOST_FILES = 300_000  # of a project folder that is searched for knowledge files


class FoundFile(msgspec.Struct, frozen=True):
    """A file, with its size and time to see whether it changed."""

    path: str
    size: int
    mtime_ns: int


class SessionFiles(msgspec.Struct, frozen=True):
    """The files of one session."""

    reader: str
    session: str  # the agent's own id, or the path where the file does not say
    files: tuple[str, ...]
    sidechains: dict[str, str]  # sub-agent → file
    size: int

    @property
    def name(self) -> str:
        """The session's name in the store."""
        return f"{self.reader}:{self.session}"


class Member(msgspec.Struct, frozen=True):
    """A recognised file and whose session it holds."""

    file: FoundFile
    reader: str
    session: str
    agent_id: str
    time: str


def scan(paths: Iterable[Path]) -> tuple[list[FoundFile], list[str]]:
    """Every file below the paths, in a stable order, and the folders that could not be entered."""
    found: dict[str, FoundFile] = {}
    closed: list[str] = []
    for path in paths:
        try:
            info = path.stat()
        except OSError as error:
            raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
        if stat.S_ISDIR(info.st_mode):
            for entry in _files_below(str(path), closed):
                _add_file(entry, found, closed)
        elif stat.S_ISREG(info.st_mode):
            found[str(path)] = FoundFile(str(path), info.st_size, info.st_mtime_ns)
        else:
            raise InputError("no-such-path", f"Cannot read {path}: it is neither a file nor a folder.")
    return [found[name] for name in sorted(found)], closed


def _add_file(entry: os.DirEntry[str], found: dict[str, FoundFile], closed: list[str]) -> None:
    try:
        if entry.is_file():
            info = entry.stat()
            found[entry.path] = FoundFile(entry.path, info.st_size, info.st_mtime_ns)
    except OSError:
        closed.append(entry.path)


def _files_below(top: str, closed: list[str]) -> Iterator[os.DirEntry[str]]:
    """Every file below a folder; what cannot be entered is added to `closed`."""
    folders = [top]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            closed.append(folder)
            continue
        for entry in entries:
            try:
                if not entry.is_dir(follow_symlinks=False):
                    yield entry
                elif entry.name not in IGNORED_FOLDERS:
                    folders.append(entry.path)
            except OSError:
                closed.append(entry.path)


def group(members: Iterable[Member]) -> list[SessionFiles]:
    """Sessions out of files: parts in the order of their first time stamp, side-chains by sub-agent."""
    sessions: dict[tuple[str, str], list[Member]] = {}
    for member in members:
        sessions.setdefault((member.reader, member.session or member.file.path), []).append(member)
    grouped = []
    for (reader, session), parts in sessions.items():
        parts.sort(key=lambda part: (part.time, part.file.size, part.file.path))
        sidechains: dict[str, str] = {}
        files = [part.file.path for part in parts if not part.agent_id]
        for part in parts:
            if part.agent_id in sidechains:  # the same sub-agent in a second file: read after the others
                files.append(part.file.path)
            elif part.agent_id:
                sidechains[part.agent_id] = part.file.path
        size = sum(part.file.size for part in parts)
        grouped.append(SessionFiles(reader, session, tuple(files), sidechains, size))
    return grouped


def knowledge_files(root: Path, globs: tuple[str, ...]) -> list[str]:
    """The knowledge files below a project folder, as relative paths."""
    top = os.path.join(root, "")
    names = (entry.path.removeprefix(top) for entry in islice(_files_below(top, []), _MOST_FILES))
    return sorted(name for name in names if is_knowledge(name, globs))
