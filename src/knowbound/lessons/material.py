"""The material of lessons in one session: commands that failed and what ran then, edits, prompts.

Read once from the trace of a session and kept in the store, redacted and cut. It is text of traces: data, never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from knowbound.core.knowledge import relative_to
from knowbound.core.trace import Event, Outcome, Prompt, Start, Step, ToolCall, ToolKind
from knowbound.lessons.invocations import LOOKED_THROUGH, CommandLine, misused_line, read_line
from knowbound.text.printable import both_ends
from knowbound.text.redact import excerpt, redact
from knowbound.traces.activity import SAID_INSTEAD
from knowbound.traces.tools import COMMAND_KEYS, OLD_KEYS, first_text

MATERIAL_VERSION = 4  # raise it when the same trace gives other material: stored one is made again
_FOLLOWED = 8  # commands after one that failed
_MOST_FAILURES, _MOST_PROMPTS, _MOST_READ = 200, 300, 200
_LONGEST_PROMPT = 400  # a longer one is a task, not a correction
_REASON = 160
_HEAD, _TAIL = 6_000, 6_000  # characters of a command or an output that are looked through
_STOPPED = frozenset({Outcome.REJECTED, Outcome.CANCELLED, Outcome.UNKNOWN, Outcome.TIMEOUT})

_ADVICE = re.compile(
    r"(?:^|\n)(?:[^\n]*\b[Rr]un\b[^\n]*:\s*\n\s*)?\n {2,}(?P<command>[a-z][\w.-]+(?: [\w@:./=-]+){1,5})\n"
)
_COMPLAINT = re.compile(r"^\W*(?P<said>[A-Z][^\n]{12,110}?)[!.]?\s*$", re.MULTILINE)
_NOT_FOUND = re.compile(
    r"string to replace (?:was )?not found|old_string (?:was )?not found|could not find the string", re.IGNORECASE
)
_HOOK = re.compile(
    r"husky - (?P<name>[a-z-]+) (?:script|hook) (?:failed|exited)|^- hook id: |\blefthook\b", re.MULTILINE
)


class Follow(msgspec.Struct, frozen=True):
    """A command that ran after one that failed."""

    commands: list[str]  # its invocations
    ok: bool
    edited: bool  # files were edited in between
    folder: str = ""  # where it went first


class Failure(msgspec.Struct):
    """A command that failed, why, and what ran next."""

    commands: list[str]
    line: int
    file: str
    folder: str = ""
    misused: str = ""  # the line of the output that says so
    complaint: str = ""  # the line before a command that the output asks for
    advice: str = ""  # that command
    next: list[Follow] = []


class UserText(msgspec.Struct, frozen=True):
    """What the user said: a prompt, or the reason of a rejection."""

    text: str
    turn: int
    line: int


class Material(msgspec.Struct):
    """What one session gives."""

    session: str
    agent: str = ""
    project: str = ""
    started: str = ""
    file: str = ""
    failures: list[Failure] = []
    missed_edits: list[int] = []  # lines of edits whose text was not there as it was written
    refused_commits: list[tuple[str, int]] = []  # by a hook: its name where it says that, line
    said: list[UserText] = []
    read: list[str] = []  # files of the project, each once


def material_of(events: Iterable[Event], first: Start, file: str) -> list[Material]:
    """The material of each session in a stream of events."""
    reading = _Reading(first, file)
    done: list[Material] = []
    for event in events:
        if isinstance(event, Start):
            if reading.started and event.session != reading.found.session:
                done.append(reading.found)
                reading = _Reading(event, file)
            reading.start(event)
        elif isinstance(event, Prompt):
            reading.prompt(event)
        elif isinstance(event, Step):
            for call in event.calls:
                reading.call(call, event)
    return [*done, reading.found]


class _Reading:
    """Follows the commands of one session."""

    def __init__(self, start: Start, file: str) -> None:
        self.found = Material(start.session, start.agent, start.project, start.time, file)
        self.started = False
        self._turn = 0
        self._open: dict[str, list[Failure]] = {}  # by agent: those whose next commands are still kept
        self._edited: dict[str, int] = {}  # by agent: edits so far
        self._edits_at: dict[int, int] = {}  # by failure: edits when it was

    def start(self, start: Start) -> None:
        self.started = True
        self.found.session = start.session or self.found.session
        self.found.project = start.project or self.found.project
        self.found.started = self.found.started or start.time

    def prompt(self, prompt: Prompt) -> None:
        self._turn += 1
        self._say(prompt.text, prompt.line)

    def _say(self, text: str, line: int) -> None:
        text = text.strip()
        if text and len(text) <= _LONGEST_PROMPT and len(self.found.said) < _MOST_PROMPTS:
            self.found.said.append(UserText(" ".join(redact(text).split()), self._turn, line))

    def call(self, call: ToolCall, step: Step) -> None:
        if call.outcome is Outcome.REJECTED and (said := SAID_INSTEAD.search(call.text[-_TAIL:])):
            self._say(said["said"], call.line)
        if call.kind is ToolKind.EDIT:
            self._edit(call, step)
        elif call.kind is ToolKind.READ and call.outcome is Outcome.OK:
            path = relative_to(call.query, self.found.project)
            if len(self.found.read) < _MOST_READ and path[:1] not in ("/", "~", "") and path not in self.found.read:
                self.found.read.append(redact(path))
        elif command := first_text(call.input or {}, COMMAND_KEYS):
            self._command(call, step, read_line(command, self.found.project))

    def _edit(self, call: ToolCall, step: Step) -> None:
        if call.outcome is Outcome.OK:
            self._edited[step.agent_id] = self._edited.get(step.agent_id, 0) + 1
        elif _NOT_FOUND.search(call.text[:400]) and first_text(call.input or {}, OLD_KEYS)[:1].isspace():
            self.found.missed_edits.append(call.line)

    def _command(self, call: ToolCall, step: Step, line: CommandLine) -> None:
        failed = call.outcome is Outcome.ERROR
        work = list(dict.fromkeys(one.text for one in line.work))
        if call.outcome in _STOPPED:
            return
        edited = self._edited.get(step.agent_id, 0)
        for failure in self._open.get(step.agent_id, ()):
            if work or failed or any(one.words[0] == "rm" for one in line.invocations):
                done = work or [one.text for one in line.invocations if one.words[0] == "rm"]
                failure.next.append(Follow(done, not failed, edited > self._edits_at[id(failure)], line.folder))
        self._open[step.agent_id] = [one for one in self._open.get(step.agent_id, ()) if len(one.next) < _FOLLOWED]
        if not work:
            return
        text = call.text
        if failed and len(self.found.failures) < _MOST_FAILURES:
            self._open[step.agent_id].append(self._failure(call, step, line, work, text))
            self._edits_at[id(self._open[step.agent_id][-1])] = edited

    def _failure(self, call: ToolCall, step: Step, line: CommandLine, work: list[str], text: str) -> Failure:
        shown = both_ends(text, LOOKED_THROUGH, "\n")
        failure = Failure(work, call.line, step.path, line.folder)
        if misused := misused_line(text):
            failure.misused = excerpt(misused, _REASON)
        if advice := _ADVICE.search(shown):
            failure.advice = redact(advice["command"])
            complaint = _COMPLAINT.search(shown[: advice.start("command")])
            failure.complaint = excerpt(complaint["said"], _REASON) if complaint else ""
        if "git commit" in work and (hook := _HOOK.search(shown)):
            self.found.refused_commits.append((hook["name"] or "", call.line))
        self.found.failures.append(failure)
        return failure
