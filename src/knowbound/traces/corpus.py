"""Trace files, grouped into sessions.

Files with the same session id are one session; a sub-agent's side-chain file belongs to the session that started it. A
walk never leaves its folder (`knowbound.files.Walk`).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import msgspec

from knowbound.core.knowledge_paths import is_knowledge
from knowbound.core.paths import IGNORED_FOLDERS
from knowbound.core.trace import Start
from knowbound.errors import InputError
from knowbound.files import Walk, links_not_followed
from knowbound.store.retention import oldest_kept
from knowbound.text.printable import counted
from knowbound.traces.source import WRITE_AHEAD, address_of, list_address

_BESIDE_DATABASE = (WRITE_AHEAD, "-shm", "-journal")
_YEAR_2001 = 10**18  # ns
_MOST_FILES = 300_000  # files of a project that are searched for knowledge files


class FoundFile(msgspec.Struct, frozen=True):
    """A file, with the size and time that show a change."""

    path: str
    size: int
    mtime_ns: int


class SessionFiles(msgspec.Struct, frozen=True):
    """The files of one session."""

    reader: str
    session: str  # the agent's own id, or the path if the file has none
    files: tuple[str, ...]
    sidechains: dict[str, str]  # sub-agent → file
    size: int

    @property
    def name(self) -> str:
        """Name of the session in the store."""
        return f"{self.reader}:{self.session}"

    @property
    def start(self) -> Start:
        """Start of the session as far as its files are known, before they are read."""
        return Start(self.session, self.reader)


class Member(msgspec.Struct, frozen=True):
    """A recognised file and its session."""

    file: FoundFile
    reader: str
    session: str
    agent_id: str
    time: str
    root: str = ""  # as in `Identity`


def scan(paths: Iterable[Path], keep_days: int = 0) -> tuple[list[FoundFile], list[str]]:
    """Return every file below the paths, in a stable order, and sentences about files that were not read.

    With `keep_days`, files that did not change for so long are not among them.
    """
    found: dict[str, FoundFile] = {}
    left_out: list[str] = []
    for path in paths:
        if address := address_of(path):
            found |= {file.path: FoundFile(file.path, file.size, file.stamp) for file in list_address(address)}
            continue
        try:
            str(path).encode()  # raises if the name is not UTF-8
            info = path.stat()
        except UnicodeEncodeError:
            raise InputError("no-such-path", f"Cannot read {path}: its name is not UTF-8. Rename it first.") from None
        except OSError as error:
            raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
        if stat.S_ISDIR(info.st_mode):
            walk = Walk(path, ignored=IGNORED_FOLDERS)
            for entry in walk:
                _add_file(entry, found, walk.closed)
            left_out += [f"{closed} could not be entered" for closed in walk.closed]
            left_out += [f"{special} is no regular file and was not read" for special in sorted(walk.special)]
            left_out += [links_not_followed(walk.outside, path)] if walk.outside else []
        elif stat.S_ISREG(info.st_mode):
            real = os.path.realpath(path) if path.is_symlink() else str(path)
            found[real] = FoundFile(real, info.st_size, info.st_mtime_ns)
        else:
            raise InputError("no-such-path", f"Cannot read {path}: it is neither a file nor a folder.")
    not_utf8 = [name for name in sorted(found) if _as_text(name) != name]
    for name in not_utf8:
        del found[name]
    left_out += [f"{name} has a name that is not UTF-8 and was not read" for name in not_utf8]
    _join_write_ahead(found)
    left_out += _drop_old(found, oldest_kept(keep_days))
    sys.audit("knowbound.folders", {os.path.dirname(name) for name in found})  # for a receipt (cli/receipts.py)
    return [found[name] for name in sorted(found)], list(map(_as_text, left_out))


def _drop_old(found: dict[str, FoundFile], oldest: str) -> list[str]:
    """Drop files that last changed before a day, and return the sentence that says so."""
    oldest_ns = int(datetime.fromisoformat(oldest).replace(tzinfo=UTC).timestamp() * 1e9) if oldest else 0
    old = [name for name, file in found.items() if _YEAR_2001 < file.mtime_ns < oldest_ns]  # less: a mark of content
    for name in old:
        del found[name]
    return [f"{counted(len(old), 'file')} from before {oldest} were not read (store.keep_days)"] if old else []


def _join_write_ahead(found: dict[str, FoundFile]) -> None:
    """Count a database's write-ahead file as a part of it, and drop what else SQLite keeps beside it."""
    for name in [name for name in found if name.endswith(_BESIDE_DATABASE)]:
        base = found.get(name[: name.rindex("-")])
        if base is not None:
            beside = found.pop(name)
            if name.endswith(WRITE_AHEAD):
                stamp = max(base.mtime_ns, beside.mtime_ns)
                found[base.path] = FoundFile(base.path, base.size + beside.size, stamp)


def _as_text(name: str) -> str:
    """Return a name that can be stored and shown: names of files need not be text."""
    return name.encode("utf-8", "replace").decode()


def _add_file(entry: os.DirEntry[str], found: dict[str, FoundFile], closed: list[str]) -> None:
    """Add a file, a link under the name of its target: no link is followed when files are opened."""
    try:
        path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
        info = entry.stat()
        found[path] = FoundFile(path, info.st_size, info.st_mtime_ns)
    except OSError:
        closed.append(entry.path)


def group(members: Iterable[Member]) -> list[SessionFiles]:
    """Group files into sessions: parts in the order of their first time stamp, files of sub-agents by agent.

    A fork is read with the session that it copied: the reader then knows which messages it has had.
    """
    members = list(members)
    originals = _originals(members)
    sessions: dict[tuple[str, str], list[Member]] = {}  # by reader and session id
    for member in members:
        own = (member.reader, member.session or member.file.path)  # a file without an id is a session of its own
        sessions.setdefault(originals.get(own, own), []).append(member)
    grouped = []
    for (reader, session), parts in sessions.items():
        parts.sort(key=lambda part: (part.time, part.file.size, part.file.path))
        sidechains: dict[str, str] = {}
        files = [part.file.path for part in parts if not part.agent_id]
        for part in parts:
            if part.agent_id in sidechains:  # a second file of a sub-agent: read after the parts
                files.append(part.file.path)
            elif part.agent_id:
                sidechains[part.agent_id] = part.file.path
        size = sum(part.file.size for part in parts)
        grouped.append(SessionFiles(reader, session, tuple(files), sidechains, size))
    return grouped


def _originals(members: Iterable[Member]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return for each session the earliest one that begins with the same message, by reader and session id."""
    by_root: dict[tuple[str, str], list[Member]] = {}
    for member in members:
        if member.root and member.session and not member.agent_id:
            by_root.setdefault((member.reader, member.root), []).append(member)
    originals: dict[tuple[str, str], tuple[str, str]] = {}
    for (reader, _), alike in by_root.items():
        first = min(alike, key=lambda member: (member.time, member.file.path))
        originals |= {(reader, member.session): (reader, first.session) for member in alike}
    return originals


def knowledge_files(root: Path, globs: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the knowledge files below a project folder as relative paths, and the links that lead out of it."""
    top = os.path.join(root, "")
    walk = Walk(top, ignored=IGNORED_FOLDERS)
    names = (entry.path.removeprefix(top) for entry in islice(walk, _MOST_FILES))
    found = sorted(name for name in names if is_knowledge(name, globs) and _as_text(name) == name)  # UTF-8 names only
    return found, sorted(link for link in walk.outside if is_knowledge(link.removeprefix(top), globs))
