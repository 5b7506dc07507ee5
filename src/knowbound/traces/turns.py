"""Turns of a trace, each from its prompt to the last step before the next prompt.

For capabilities that need whole turns; `observe` follows the events themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from knowbound.core.trace import (
    Broken,
    Event,
    Injection,
    Outcome,
    Prompt,
    Skill,
    Start,
    Step,
    ToolCall,
    ToolKind,
)
from knowbound.errors import InputError
from knowbound.traces.corpus import FoundFile, Member, SessionFiles, group, scan
from knowbound.traces.registry import events_of, recognise
from knowbound.traces.source import Tally, read_head

_SIDE_CHAINS = "subagents"  # Claude Code keeps them beside the transcript, in a folder of the session's name


class TraceTurn(msgspec.Struct):
    """A turn with its prompt, context and steps."""

    session: str
    agent: str
    index: int  # from 1
    prompt: Prompt
    project: str = ""
    injections: list[Injection] = []
    steps: list[Step] = []
    broken: Broken | None = None
    read_before: tuple[str, ...] = ()  # files that earlier turns of the session read
    next_prompt: str = ""  # the user's words after the turn

    @property
    def key(self) -> str:
        """The client's own id of the turn, or else the id of the prompt's line."""
        return self.prompt.client_turn or self.prompt.id

    @property
    def calls(self) -> list[ToolCall]:
        """Tool calls of the turn, including its sub-agents'."""
        return [call for step in self.steps for call in step.calls]

    @property
    def said(self) -> list[str]:
        """Texts of the main agent, in order."""
        return [said.text for step in self.steps if not step.agent_id for said in step.said if said.text.strip()]

    @property
    def tokens(self) -> int | None:
        """Sum of the known tokens of the steps; None if the trace has none."""
        known = [step.tokens for step in self.steps if step.tokens is not None]
        return sum(known) if known else None


def turns_of(events: Iterable[Event], start: Start) -> Iterator[TraceTurn]:
    """Group events into turns. Text that is injected before the first prompt belongs to its turn."""
    session, project, injections_for_prompt = start.session, start.project, list[Injection]()
    turn: TraceTurn | None = None
    index, files_read = 0, dict[str, None]()
    for event in events:
        match event:
            case Start():
                if event.session != session and turn is not None:
                    yield turn
                    turn, injections_for_prompt, index, files_read = None, [], 0, {}
                session, project = event.session or session, event.project or project
            case Prompt():
                if turn is not None:
                    turn.next_prompt = event.text
                    yield turn
                index += 1
                turn = TraceTurn(session, start.agent, index, event, project, injections=injections_for_prompt)
                turn.read_before = tuple(files_read)  # by earlier turns of the session
                injections_for_prompt = []
            case Injection():
                (turn.injections if turn is not None else injections_for_prompt).append(event)
            case Step() if turn is not None:
                turn.steps.append(event)
                files = (call for call in event.calls if call.kind is ToolKind.READ and call.outcome is Outcome.OK)
                files_read |= {call.query: None for call in files if call.query}
            case Broken() if turn is not None:
                turn.broken = event
            case Step() | Broken() | Skill():  # before the first prompt: part of no turn
                continue
    if turn is not None:
        yield turn


def turns_in(session: SessionFiles) -> Iterator[TraceTurn]:
    """Read the turns of a session's files."""
    return turns_of(events_of(session, Tally()), session.start)


def sessions_in(paths: Sequence[Path]) -> list[SessionFiles]:
    """Return every session of the files below the paths that a reader recognises."""
    members: list[Member] = []
    for file in scan(paths)[0]:
        with suppress(Exception):  # a damaged archive raises any error of its library
            members += _recognised(file)
    return group(members)


def session_of(transcript: Path) -> SessionFiles:
    """Return the session of a transcript, with the files of its sub-agents.

    The transcript of a sub-agent counts as a session. Raises InputError if no reader recognises the file.
    """
    members: list[Member] = []
    for path in (transcript, *sorted((transcript.with_suffix("") / _SIDE_CHAINS).glob("*.jsonl"))):
        try:
            info = path.stat()
            found = _recognised(FoundFile(str(path), info.st_size, info.st_mtime_ns))
        except OSError as error:
            raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
        members += found if path != transcript else [replace(member, agent_id="") for member in found]
    for session in group(members):
        if str(transcript) in session.files:
            return session
    raise InputError("no-sessions", f"{transcript} is no trace that a reader recognises. Try: knowbound observe PATH")


def _recognised(file: FoundFile) -> list[Member]:
    """Return the file with its session; nothing if no reader recognises it."""
    found = recognise(read_head(Path(file.path)))
    if found is None:
        return []
    reader, identity = found
    return [Member(file, reader.name, identity.session, identity.agent_id, identity.time, identity.root)]
