"""The readers, and which of them reads a file: recognised by content, never by file name.

A third party adds a reader with an entry point in the group `knowbound.readers` that names an
object of the shape of `Reader`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from knowbound.core.trace import Event
from knowbound.traces.source import Tally


class Identity(msgspec.Struct, frozen=True):
    """What the head of a file says: whose session it holds, and whether it is a sub-agent's part."""

    session: str  # "" when the head does not say: then the file is a session of its own
    agent_id: str = ""  # the sub-agent whose side-chain this file is
    time: str = ""  # the first time stamp, to put the files of one session in order


class Reader(Protocol):
    """Reads one format. Stateless: everything about a run lives in the iterator it returns."""

    name: str

    def identify(self, head: bytes) -> Identity | None:
        """Whose session the file holds, or None when this is not the reader's format."""
        ...

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """The events of one session in order. `files` are its parts; `sidechains` its sub-agents' files."""
        ...


class BuiltIn(NamedTuple):
    """A reader of ours, and where its agent keeps transcripts below the home folder."""

    module: str
    name: str
    folders: tuple[str, ...] = ()


# In the order they are asked: the most specific shapes first.
BUILT_IN = (
    BuiltIn("claude_code.stream", "ClaudeStream"),
    BuiltIn("claude_code.transcript", "ClaudeCode", (".claude/projects", ".config/claude/projects")),
    BuiltIn("codex.rollout", "Codex", (".codex/sessions", ".codex/archived_sessions")),
    BuiltIn("codex.exec", "CodexExec"),
    BuiltIn("copilot_cli", "CopilotCli", (".copilot/session-state", ".copilot/history-session-state")),
    BuiltIn("gemini_cli", "GeminiCli", (".gemini/tmp",)),
    BuiltIn("swe_agent", "SweAgent"),
    BuiltIn("otel", "OpenTelemetry"),
    BuiltIn("chat", "Chat"),
)
# Environment variables that move an agent's folder, and the folder of transcripts in it.
_MOVED_BY = (("CLAUDE_CONFIG_DIR", "projects"), ("CODEX_HOME", "sessions"))
ENTRY_POINTS = "knowbound.readers"


def default_folders(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Every folder that an agent keeps transcripts in, whether it exists or not."""
    folders = [home / folder for reader in BUILT_IN for folder in reader.folders]
    for variable, below in _MOVED_BY:
        if environ.get(variable):
            folders.insert(0, Path(environ[variable]) / below)
    return list(dict.fromkeys(folders))


@cache
def readers() -> tuple[Reader, ...]:
    """Every reader: the built-in ones first, then those of installed packages."""
    return (*map(_built_in, BUILT_IN), *_installed())


@cache
def _built_in(one: BuiltIn) -> Reader:
    reader: Reader = getattr(import_module(f"knowbound.traces.readers.{one.module}"), one.name)()
    return reader


def _installed() -> tuple[Reader, ...]:
    """The readers of installed packages."""
    from importlib import metadata  # noqa: PLC0415  (takes as long to load as all the rest here)

    loaded = (entry.load() for entry in metadata.entry_points(group=ENTRY_POINTS))
    return tuple(made() if isinstance(made, type) else made for made in loaded)


def _asked() -> Iterator[Reader]:
    """The readers in their order, each loaded when it is its turn: a hook needs the first that fits, and no other."""
    yield from map(_built_in, BUILT_IN)
    yield from readers()[len(BUILT_IN) :]


def recognise(head: bytes) -> tuple[Reader, Identity] | None:
    """The reader for content that starts like this, or None when it is no trace we know."""
    for reader in _asked():
        identity = reader.identify(head)
        if identity is not None:
            return reader, identity
    return None


def reader_named(name: str) -> Reader:
    """The reader of that name."""
    return next(reader for reader in _asked() if reader.name == name)
