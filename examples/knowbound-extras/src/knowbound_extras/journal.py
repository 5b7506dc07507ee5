"""A reader: a journal of one session, one line each, `user: …`, `agent: …`, `ran COMMAND: OUTPUT`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from knowbound.core.trace import Event, Start
from knowbound.traces.dialogue import Message, ToolRequest, ToolResult, follow
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally

_FIRST = b"# journal"


class JournalReader:
    """The reader of journals."""

    name = "journal"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise a file by its first line."""
        return Identity("") if head.startswith(_FIRST) else None

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of each file."""
        for path in files:
            yield Start(path.stem, self.name)
            yield from follow(_messages(path, tally), str(path))


def _messages(path: Path, tally: Tally) -> Iterator[Message]:
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        who, colon, rest = line.partition(": ")
        id_ = f"J{number}"
        if not line.strip() or line.startswith("#"):
            continue
        if not colon:
            tally.skip(str(path), number, "foreign")
        elif who == "user":
            yield Message("user", id_, (rest,), line=number)
        elif who.startswith("ran "):
            call = ToolRequest(id_, "Bash", {"command": who[4:]})
            yield Message("assistant", id_, requests=(call,), line=number)
            yield Message("tool", id_, results=(ToolResult(id_, rest),), line=number)
        else:
            yield Message("assistant", id_, (rest,), line=number)
