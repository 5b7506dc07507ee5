"""Records of what an agent did in a session, in order: prompts, commands, edits, reads, skills, and what it said.

Every rule is decided from these records. They are text of traces: data, never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from knowbound.core.knowledge_paths import relative_to
from knowbound.core.paths import CODE, extension
from knowbound.core.trace import Event, Outcome, Prompt, Skill, Start, Step, ToolCall, ToolKind
from knowbound.traces.calls.tools import COMMAND_KEYS, NEW_KEYS, OLD_KEYS, PATH_KEYS, first_text
from knowbound.traces.shell.parser import Command, commands, parse
from knowbound.traces.values import dicts

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
    activity = SessionActivity(first.session, first.agent, first.project, first.time, first.branch)
    for event in events:
        match event:
            case Start():
                activity.session = activity.session or event.session
                activity.agent = activity.agent or event.agent
                activity.project = activity.project or event.project
                activity.started = activity.started or event.time
                activity.branch = activity.branch or event.branch
            case Prompt():
                activity.started = activity.started or event.time
                _add(activity, ActivityRecord(RecordKind.PROMPT, event.line, event.text[:_LONGEST]))
            case Skill():
                _add(activity, ActivityRecord(RecordKind.SKILL, event.line, event.name))
            case Step():
                for said in event.said:
                    words = ActivityRecord(RecordKind.SAID, said.line or event.line, said.text[:_LONGEST])
                    _add(activity, words, event.agent_id)
                for call in event.calls:
                    for record in _records_of_call(call, activity.project):
                        _add(activity, record, event.agent_id)
                    if call.outcome is Outcome.REJECTED and (refusal := SAID_INSTEAD.search(call.text[-_LONGEST:])):
                        _add(activity, ActivityRecord(RecordKind.PROMPT, call.line, refusal["said"].strip()))
                    activity.calls += 1
    return activity


def _add(activity: SessionActivity, record: ActivityRecord, agent_id: str = "") -> None:
    """Add a record with its place in the session."""
    record.calls_before, record.agent_id, record.order = activity.calls, agent_id, len(activity.records)
    activity.records.append(record)


def _records_of_call(call: ToolCall, project: str) -> Iterator[ActivityRecord]:
    """Yield what a call did: `done` unless it was refused or cancelled, `ok` unless it failed."""
    ok = call.outcome not in (Outcome.ERROR, Outcome.TIMEOUT)
    done = call.outcome not in _NOT_DONE and (ok or call.kind is not ToolKind.EDIT)  # a failed edit changed nothing
    for record in _records_by_kind(call, call.input or {}, project):
        record.ok, record.done = record.ok and ok, done
        record.tool, record.call_id = call.name, call.id
        yield record


def _records_by_kind(call: ToolCall, input_: dict[str, Any], project: str) -> Iterator[ActivityRecord]:
    """Yield what a call of its kind did if it was carried out and did not fail."""
    match call.kind:
        case ToolKind.EDIT:
            yield from _records_of_edit(call, input_, project)
        case ToolKind.READ:
            path = relative_to(call.query or first_text(input_, PATH_KEYS), project)
            yield ActivityRecord(RecordKind.READ, call.line, path=path, ok=call.outcome is not Outcome.MISSING)
        case ToolKind.SEARCH | ToolKind.LIST if not first_text(input_, COMMAND_KEYS):  # else a command line: below
            text = call.query + (f" in {relative_to(call.where, project)}" if call.where else "")
            ok, output = call.outcome is Outcome.OK, _output_of(call)
            yield ActivityRecord(RecordKind.SEARCH, call.line, text[:_LONGEST], output=output, ok=ok)
        case _ if text := first_text(input_, COMMAND_KEYS):
            yield from _records_of_command(call, text[:_LONGEST], project)
        case _:
            is_skill = call.name.lower() == "skill"
            text = msgspec.json.encode(input_).decode("utf-8", "replace") if input_ else call.query
            name = first_text(input_, ("skill", "command", "name")) if is_skill else ""
            yield ActivityRecord(RecordKind.SKILL if is_skill else RecordKind.OTHER, call.line, name or text[:_LONGEST])


def _output_of(call: ToolCall) -> str:
    """Return what a call printed, as far as it is looked at."""
    return call.text[:_LONGEST] if call.outcome is not Outcome.UNKNOWN else ""


def _records_of_command(call: ToolCall, text: str, project: str) -> Iterator[ActivityRecord]:
    """Yield a command line, then an edit for each file that it writes by a redirection or `sed -i`."""
    simple = tuple(commands(parse(text)))
    yield ActivityRecord(RecordKind.COMMAND, call.line, text, output=_output_of(call), commands=simple)
    for command in simple:
        targets = [redirect.target for redirect in command.redirects if redirect.operator in _REDIRECTED]
        if command.program == "sed" and any(word.startswith("-i") or word == "--in-place" for word in command.texts):
            targets += [word for word in command.texts if extension(word)]  # its operands that are files
        for target in targets:
            if not target.startswith(("/dev/", "/tmp/", "&")):
                yield ActivityRecord(RecordKind.EDIT, call.line, path=relative_to(target, project))


def _records_of_edit(call: ToolCall, input_: dict[str, Any], project: str) -> Iterator[ActivityRecord]:
    """Yield a record for each file of a patch, or one for an edit by its old and new text."""
    patch = first_text(input_, _PATCH_KEYS)
    patched = list(_PATCHED.finditer(patch[:_LONGEST]))
    for at, file_mark in enumerate(patched):
        end = patched[at + 1].start() if at + 1 < len(patched) else len(patch)
        added = "\n".join(_ADDED.findall(patch[file_mark.end() : end]))
        yield ActivityRecord(RecordKind.EDIT, call.line, added, relative_to(file_mark[1].strip(), project))
    if patched:
        return
    path = relative_to(first_text(input_, PATH_KEYS) or call.query, project)
    edits = dicts(input_["edits"]) if isinstance(input_.get("edits"), list) else [input_]
    text = "\n".join(first_text(edit, NEW_KEYS) or first_text(edit, _CONTENT_KEYS) for edit in edits)
    old = "\n".join(first_text(edit, OLD_KEYS) for edit in edits)
    yield ActivityRecord(RecordKind.EDIT, call.line, text[:_LONGEST], path, old[:_LONGEST])
