"""Records of what an agent did in a session, in order: prompts, commands, edits, reads, skills, and what it said.

Every rule is decided from these records. They are text of traces: data, never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from knowbound.core.paths import CODE, extension, relative_to
from knowbound.core.trace import Event, Outcome, Prompt, Skill, Start, Step, ToolCall, ToolKind
from knowbound.traces.calls.tools import COMMAND_KEYS, NEW_KEYS, OLD_KEYS, PATH_KEYS, first_text
from knowbound.traces.shell.parser import parse
from knowbound.traces.shell.tree import Command, commands

_LONGEST = 60_000  # characters of a command or of written text that are looked at
_NOT_DONE = frozenset({Outcome.REJECTED, Outcome.CANCELLED})
# The user's words in the result of a call that the user refused.
SAID_INSTEAD = re.compile(r"the user said:\s*(?P<said>.+)", re.DOTALL)
_CONTENT_KEYS = ("content", "file_text", "new_source", "contents", "text")
_PATCH_KEYS = ("patch", "input", "diff")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_ADDED = re.compile(r"^\+(?!\+\+)(.*)$", re.MULTILINE)
_REDIRECTED = frozenset({">", ">>", ">|", "&>"})


class RecordKind(StrEnum):
    """Kind of a record."""

    PROMPT = "prompt"
    SAID = "said"
    COMMAND = "command"
    EDIT = "edit"
    READ = "read"
    SEARCH = "search"
    SKILL = "skill"
    OTHER = "other"


class ActivityRecord(msgspec.Struct):
    """One thing that the user or the agent did."""

    kind: RecordKind
    line: int  # of its transcript; a session may have several, so that lines say nothing about the order
    text: str = ""  # the prompt, the words, the command, the written text
    path: str = ""  # relative to the project
    old: str = ""  # of an edit: the text that it replaced
    output: str = ""  # of a command or a search
    ok: bool = True
    done: bool = True  # False: the user refused it, or it was cancelled
    calls_before: int = 0  # tool calls of the session before it
    order: int = 0  # its place among the records
    tool: str = ""
    call_id: str = ""
    agent_id: str = ""  # of a sub-agent; "" for the main agent
    commands: tuple[Command, ...] = ()  # of a command line, the simple ones in order

    @property
    def is_code(self) -> bool:
        """Report whether an edit changed a source file."""
        return self.kind is RecordKind.EDIT and self.done and extension(self.path) in CODE


class SessionActivity(msgspec.Struct):
    """The records of one session."""

    session: str = ""
    agent: str = ""
    project: str = ""
    started: str = ""
    branch: str = ""
    records: list[ActivityRecord] = []
    calls: int = 0

    def of(self, *kinds: RecordKind) -> Iterator[ActivityRecord]:
        """Yield the records of these kinds that were carried out."""
        return (record for record in self.records if record.kind in kinds and record.done)

    @property
    def is_answered(self) -> bool:
        """Report whether the agent spoke last: its work was not interrupted."""
        return bool(self.records) and self.records[-1].kind is RecordKind.SAID


def activity_of(events: Iterable[Event], first: Start) -> SessionActivity:
    """Return what the events of one session show."""
    found = SessionActivity(first.session, first.agent, first.project, first.time, first.branch)
    for event in events:
        match event:
            case Start():
                found.session = found.session or event.session
                found.agent = found.agent or event.agent
                found.project = found.project or event.project
                found.started = found.started or event.time
                found.branch = found.branch or event.branch
            case Prompt():
                found.started = found.started or event.time
                _add(found, ActivityRecord(RecordKind.PROMPT, event.line, event.text[:_LONGEST]))
            case Skill():
                _add(found, ActivityRecord(RecordKind.SKILL, event.line, event.name))
            case Step():
                for said in event.said:
                    words = ActivityRecord(RecordKind.SAID, said.line or event.line, said.text[:_LONGEST])
                    _add(found, words, event.agent_id)
                for call in event.calls:
                    for record in _records(call, found.project):
                        record.call_id = call.id
                        _add(found, record, event.agent_id)
                    if call.outcome is Outcome.REJECTED and (refusal := SAID_INSTEAD.search(call.text[-_LONGEST:])):
                        _add(found, ActivityRecord(RecordKind.PROMPT, call.line, refusal["said"].strip()))
                    found.calls += 1
    return found


def _add(found: SessionActivity, record: ActivityRecord, agent_id: str = "") -> None:
    record.calls_before, record.agent_id, record.order = found.calls, agent_id, len(found.records)
    found.records.append(record)


def _records(call: ToolCall, project: str) -> Iterator[ActivityRecord]:
    given = call.input or {}
    done = call.outcome not in _NOT_DONE
    ok = call.outcome not in (Outcome.ERROR, Outcome.TIMEOUT)
    match call.kind:
        case ToolKind.EDIT:
            yield from _edits(call, given, project, ok=ok, done=done)
        case ToolKind.READ:
            path = relative_to(call.query or first_text(given, PATH_KEYS), project)
            ok = ok and call.outcome is not Outcome.MISSING
            yield ActivityRecord(RecordKind.READ, call.line, path=path, ok=ok, done=done, tool=call.name)
        case ToolKind.SEARCH | ToolKind.LIST if not first_text(given, COMMAND_KEYS):
            shown = call.query + (f" in {relative_to(call.where, project)}" if call.where else "")
            ok = ok and call.outcome is Outcome.OK
            yield ActivityRecord(
                RecordKind.SEARCH, call.line, shown[:_LONGEST], output=_shown(call), ok=ok, done=done, tool=call.name
            )
        case _ if text := first_text(given, COMMAND_KEYS):
            yield from _command(call, text[:_LONGEST], project, ok=ok, done=done)
        case _:
            shown = msgspec.json.encode(given).decode("utf-8", "replace") if given else call.query
            is_skill = call.name.lower() == "skill"
            kind = RecordKind.SKILL if is_skill else RecordKind.OTHER
            name = first_text(given, ("skill", "command", "name")) if is_skill else ""
            yield ActivityRecord(kind, call.line, name or shown[:_LONGEST], ok=ok, done=done, tool=call.name)


def _shown(call: ToolCall) -> str:
    """Return what a call printed, as far as it is looked at."""
    return call.text[:_LONGEST] if call.outcome is not Outcome.UNKNOWN else ""


def _command(call: ToolCall, text: str, project: str, *, ok: bool, done: bool) -> Iterator[ActivityRecord]:
    simple = tuple(commands(parse(text)))
    output = _shown(call)
    yield ActivityRecord(
        RecordKind.COMMAND, call.line, text, output=output, ok=ok, done=done, tool=call.name, commands=simple
    )
    for one in simple:  # files that a command writes
        targets = [redirect.target for redirect in one.redirects if redirect.operator in _REDIRECTED]
        if one.program == "sed" and any(word.startswith("-i") or word == "--in-place" for word in one.texts):
            targets += [word for word in one.texts if extension(word)]
        for target in targets:
            if not target.startswith(("/dev/", "/tmp/", "&")):
                yield ActivityRecord(
                    RecordKind.EDIT, call.line, "", relative_to(target, project), ok=ok, done=done, tool=call.name
                )


def _edits(call: ToolCall, given: dict[str, Any], project: str, *, ok: bool, done: bool) -> Iterator[ActivityRecord]:
    patch = first_text(given, _PATCH_KEYS)
    patched = list(_PATCHED.finditer(patch[:_LONGEST]))
    for at, found in enumerate(patched):
        end = patched[at + 1].start() if at + 1 < len(patched) else len(patch)
        added = "\n".join(_ADDED.findall(patch[found.end() : end]))
        path = relative_to(found[1].strip(), project)
        yield ActivityRecord(RecordKind.EDIT, call.line, added, path, ok=ok, done=done and ok, tool=call.name)
    if patched:
        return
    path = relative_to(first_text(given, PATH_KEYS) or call.query, project)
    parts = given.get("edits")
    edits = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else [given]
    text = "\n".join(first_text(edit, NEW_KEYS) or first_text(edit, _CONTENT_KEYS) for edit in edits)
    old = "\n".join(first_text(edit, OLD_KEYS) for edit in edits)
    yield ActivityRecord(
        RecordKind.EDIT, call.line, text[:_LONGEST], path, old[:_LONGEST], ok=ok, done=done and ok, tool=call.name
    )
