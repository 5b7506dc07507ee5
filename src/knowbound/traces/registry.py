"""Which reader reads a file: recognised by content, never by file name.

A third party adds a reader with an entry point in the group `knowbound.readers` that names an
object of the shape of `Reader`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol

import msgspec

from knowbound.core.trace import Event
from knowbound.traces.source import Tally


class Identity(msgspec.Struct, frozen=True):
    """What the head of a file tells: whose session it holds, and whether it is a sub-agent's part."""

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


# In the order they are asked: the most specific shapes first.
BUILT_IN = (
    "knowbound.traces.readers.claude_code.stream:ClaudeStream",
    "knowbound.traces.readers.claude_code.transcript:ClaudeCode",
    "knowbound.traces.readers.codex.rollout:Codex",
    "knowbound.traces.readers.codex.exec:CodexExec",
    "knowbound.traces.readers.copilot_cli:CopilotCli",
    "knowbound.traces.readers.gemini_cli:GeminiCli",
    "knowbound.traces.readers.swe_agent:SweAgent",
    "knowbound.traces.readers.otel:OpenTelemetry",
    "knowbound.traces.readers.chat:Chat",
)
ENTRY_POINTS = "knowbound.readers"


@cache
def readers() -> tuple[Reader, ...]:
    """Every reader: the built-in ones first, then those of installed packages."""
    from importlib import metadata  # noqa: PLC0415  (takes as long to load as all the rest here)

    found: list[Reader] = []
    for target in BUILT_IN:
        module, _, name = target.partition(":")
        found.append(getattr(import_module(module), name)())
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        made = entry.load()
        found.append(made() if isinstance(made, type) else made)
    return tuple(found)


def recognise(head: bytes) -> tuple[Reader, Identity] | None:
    """The reader for content that starts like this, or None when it is no trace we know."""
    for reader in readers():
        identity = reader.identify(head)
        if identity is not None:
            return reader, identity
    return None


def reader_named(name: str) -> Reader:
    """The reader of that name."""
    return next(reader for reader in readers() if reader.name == name)
