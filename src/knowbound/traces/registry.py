"""The readers of traces. A file gets its reader by its content, never by its name.

A third party adds a reader with an entry point in the group `knowbound.readers` that names an object of the shape of
`Reader`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import msgspec

from knowbound.core.paths import MODEL_FOLDER
from knowbound.core.trace import Event
from knowbound.traces.source import Tally

if TYPE_CHECKING:
    from knowbound.traces.corpus import SessionFiles


_MODEL_FOLDER = MODEL_FOLDER.encode()
_ASKED_BY_US = re.compile(rb'"cwd"\s*:\s*"[^"]*[/\\]' + _MODEL_FOLDER)


class Identity(msgspec.Struct, frozen=True):
    """The session of a file, by its head."""

    session: str  # "" if the head does not name one: the file is a session of its own
    agent_id: str = ""  # the sub-agent of a side-chain file
    time: str = ""  # the first time stamp, which orders the files of a session
    root: str = ""  # id of the first message, which a fork copies with the messages after it


class Reader(Protocol):
    """A reader of one format. It is stateless: the iterator of `read` holds the state."""

    name: str

    def identify(self, head: bytes) -> Identity | None:
        """Return the session of the file; None if this is not the reader's format."""
        ...

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of one session in order. `files` are its parts, `sidechains` the files of its sub-agents."""
        ...


class RunUsage(msgspec.Struct, frozen=True):
    """Cost of a run, as its stream reports it."""

    model: str = ""
    usd: float | None = None
    tokens_in: int | None = None  # including tokens from a cache
    tokens_out: int | None = None


@runtime_checkable
class Stream(Protocol):
    """A reader of the stream that `claude -p` or `codex exec` prints, which has the cost but not the prompt."""

    def prompt_lines(self, session: str, prompt: str) -> bytes:
        """Return the lines that put the prompt before a stream."""
        ...

    def spent(self, file: Path) -> RunUsage:
        """Return the cost of the run."""
        ...


class BuiltIn(NamedTuple):
    """A built-in reader, and the folders of its agent's transcripts below the home folder."""

    module: str
    name: str
    folders: tuple[str, ...] = ()


# The database, and the folders of the older tree that hold sessions.
_OPENCODE = ("opencode.db", "storage/session", "storage/message", "storage/part")

# The tasks of the editors' extensions (Cline, Roo Code), in the folders of the editors that run them.
_EDITORS = (".config/Code", ".vscode-server/data", "Library/Application Support/Code")
_EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline")
_CLINE = tuple(f"{editor}/User/globalStorage/{extension}/tasks" for extension in _EXTENSIONS for editor in _EDITORS)

# The most specific formats are asked first.
BUILT_IN = (
    BuiltIn("claude_code.stream", "ClaudeStream"),
    BuiltIn("claude_code.transcript", "ClaudeCode", (".claude/projects", ".config/claude/projects")),
    BuiltIn("codex.rollout", "Codex", (".codex/sessions", ".codex/archived_sessions")),
    BuiltIn("codex.exec", "CodexExec"),
    BuiltIn("copilot_cli", "CopilotCli", (".copilot/session-state", ".copilot/history-session-state")),
    BuiltIn("gemini_cli", "GeminiCli", (".gemini/tmp",)),
    BuiltIn("opencode", "OpenCode", tuple(f".local/share/opencode/{folder}" for folder in _OPENCODE)),
    BuiltIn("goose", "Goose", (".local/share/goose/sessions/sessions.db",)),
    BuiltIn("gemini_cli", "QwenCode", (".qwen/projects",)),
    BuiltIn("cline", "Cline", (".cline/data/sessions", *_CLINE)),
    BuiltIn("aider", "Aider"),
    BuiltIn("swe_agent", "SweAgent"),
    BuiltIn("otel", "OpenTelemetry"),
    BuiltIn("chat", "Chat"),
)
# Environment variables that move an agent's folder, with the folder of transcripts in it.
_MOVED_BY = (("CLAUDE_CONFIG_DIR", "projects"), ("CODEX_HOME", "sessions"))


def default_folders(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return every folder that an agent keeps transcripts in; not all of them exist."""
    folders = [home / folder for reader in BUILT_IN for folder in reader.folders]
    for variable, folder_in_it in _MOVED_BY:
        if environ.get(variable):
            folders.insert(0, Path(environ[variable]) / folder_in_it)  # the moved folder comes first
    return list(dict.fromkeys(folders))


@cache
def _built_in(built_in: BuiltIn) -> Reader:
    reader: Reader = getattr(import_module(f"knowbound.traces.readers.{built_in.module}"), built_in.name)()
    return reader


@cache
def _installed() -> tuple[Reader, ...]:
    """Return the readers of installed packages."""
    from knowbound.plugins import load_plugin, plugins  # noqa: PLC0415  (a hook needs no other package)

    loaded = (load_plugin("readers", name) for name in plugins("readers"))
    return tuple(made() if isinstance(made, type) else made for made in loaded)


def readers() -> Iterator[Reader]:
    """Yield every reader, built-in readers first, each loaded at its turn: a hook needs only the first that fits."""
    yield from map(_built_in, BUILT_IN)
    yield from _installed()


@cache
def known_readers() -> str:
    """Return a text that changes with the version of knowbound and with the readers of installed packages."""
    from knowbound import __version__  # noqa: PLC0415
    from knowbound.plugins import plugins  # noqa: PLC0415  (a hook needs no other package)

    added = (f"{name} {package.dist.version if package.dist else ''}" for name, package in plugins("readers").items())
    return "|".join((__version__, *(package.module for package in BUILT_IN), *sorted(added)))


def recognise(head: bytes) -> tuple[Reader, Identity] | None:
    """Return the reader for content that starts like this; None if no reader knows the format.

    A session in which knowbound asked a client as a model is nobody's work: it has no reader.
    """
    if _MODEL_FOLDER in head and _ASKED_BY_US.search(head):
        return None
    for reader in readers():
        identity = reader.identify(head)
        if identity is not None:
            return reader, identity
    return None


def reader_named(name: str) -> Reader:
    """Return the reader of this name."""
    return next(reader for reader in readers() if reader.name == name)


def events_of(session: SessionFiles, tally: Tally) -> Iterator[Event]:
    """Read the events of a session's files."""
    sidechains = {agent: Path(path) for agent, path in session.sidechains.items()}
    return reader_named(session.reader).read([Path(path) for path in session.files], sidechains, tally)
