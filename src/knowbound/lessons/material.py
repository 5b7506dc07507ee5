"""The material of lessons in one session: commands that were called wrongly and what ran then, prompts.

Read once from the trace of a session and kept in the store, redacted and cut. It is text of traces: data, never run.
The sessions of a project are a corpus; a proposal made from it is a line that the tree has not confirmed yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from knowbound.core.knowledge_paths import relative_to
from knowbound.core.lesson import LessonEvidence, LessonKind, TreeCheck
from knowbound.core.paths import project_folder
from knowbound.core.signal import Signal
from knowbound.core.trace import Event, Outcome, Prompt, Start, Step, ToolCall, ToolKind
from knowbound.lessons.invocations import misused_line, read_line
from knowbound.text.redact import excerpt, redact
from knowbound.traces.activity import SAID_INSTEAD
from knowbound.traces.calls.tools import COMMAND_KEYS, first_text

if TYPE_CHECKING:
    from knowbound.lessons.verifying import Tree

MATERIAL_VERSION = 6  # raise it when the same trace gives other material: stored one is made again
_MOST_FOLLOWS = 8  # commands after one that failed
_MOST_FAILURES, _MOST_PROMPTS, _MOST_READ = 200, 300, 200
_LONGEST_PROMPT = 400  # a longer one is a task, not a correction
_REASON_CHARACTERS = 160
_TAIL_CHARACTERS = 6_000  # characters of an output that are looked through
_STOPPED = frozenset({Outcome.REJECTED, Outcome.CANCELLED, Outcome.UNKNOWN, Outcome.TIMEOUT})


class Follow(msgspec.Struct, frozen=True):
    """A command that ran after one that failed."""

    commands: list[str]  # its invocations
    ok: bool
    edited: bool  # files were edited in between


class Failure(msgspec.Struct):
    """A command that failed because it was called wrongly, and what ran next."""

    commands: list[str]
    line: int
    file: str
    misused: str  # the line of the output that says so
    next: list[Follow] = []


class UserText(msgspec.Struct, frozen=True):
    """Words of the user: a prompt, or the reason of a rejection."""

    text: str
    turn: int
    line: int


class Material(msgspec.Struct):
    """The material of one session."""

    session: str
    agent: str = ""
    project: str = ""
    started: str = ""
    file: str = ""
    failures: list[Failure] = []
    said: list[UserText] = []
    read: list[str] = []  # files of the project, each once


def material_of(events: Iterable[Event], first: Start, file: str) -> list[Material]:
    """The material of each session in a stream of events."""
    reader = _SessionReader(first, file)
    done: list[Material] = []
    for event in events:
        if isinstance(event, Start):
            if reader.started and event.session != reader.found.session:
                done.append(reader.found)
                reader = _SessionReader(event, file)
            reader.start(event)
        elif isinstance(event, Prompt):
            reader.prompt(event)
        elif isinstance(event, Step):
            for call in event.calls:
                reader.call(call, event)
    return [*done, reader.found]


class _SessionReader:
    """Follows the commands of one session."""

    def __init__(self, start: Start, file: str) -> None:
        self.found = Material(start.session, start.agent, start.project, start.time, file)
        self.started = False
        self._turn = 0
        # By agent: those whose next commands are still kept, with the edits before them; edits so far.
        self._open: dict[str, list[tuple[Failure, int]]] = {}
        self._edited: dict[str, int] = {}

    def start(self, start: Start) -> None:
        """Take over what a start event says; keep what it leaves out."""
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
        """Keep what a call shows: the user's words of a rejection, an edit, a file that was read, a command."""
        if call.outcome is Outcome.REJECTED and (said := SAID_INSTEAD.search(call.text[-_TAIL_CHARACTERS:])):
            self._say(said["said"], call.line)
        if call.kind is ToolKind.EDIT:
            if call.outcome is Outcome.OK:
                self._edited[step.agent_id] = self._edited.get(step.agent_id, 0) + 1
        elif call.kind is ToolKind.READ and call.outcome is Outcome.OK:
            path = relative_to(call.query, self.found.project)
            if len(self.found.read) < _MOST_READ and path[:1] not in ("/", "~", "") and path not in self.found.read:
                self.found.read.append(redact(path))
        elif command := first_text(call.input or {}, COMMAND_KEYS):
            invocations = dict.fromkeys(invocation.text for invocation in read_line(command, self.found.project))
            self._command(call, step, list(invocations))

    def _command(self, call: ToolCall, step: Step, invocations: list[str]) -> None:
        """Add a command to the failures that it follows; one that was called wrongly is a new failure."""
        if call.outcome in _STOPPED or not invocations:  # it shows nothing about how to call it
            return
        is_failed, edits_so_far = call.outcome is Outcome.ERROR, self._edited.get(step.agent_id, 0)
        followed = self._open.setdefault(step.agent_id, [])
        for failure, edits_before in followed:
            failure.next.append(Follow(invocations, ok=not is_failed, edited=edits_so_far > edits_before))
        followed[:] = [(failure, before) for failure, before in followed if len(failure.next) < _MOST_FOLLOWS]
        if is_failed and len(self.found.failures) < _MOST_FAILURES and (misused := misused_line(call.text)):
            failure = Failure(invocations, call.line, step.path, excerpt(misused, _REASON_CHARACTERS))
            self.found.failures.append(failure)
            followed.append((failure, edits_so_far))


SEVERAL = 2  # sessions in which the same has to happen: what happens once is an accident
_MOST_EVIDENCE = 5


@dataclass(frozen=True, slots=True)
class SessionMiss:
    """A lookup that missed, with the paths of its session relative to the project."""

    signal: Signal
    project: str  # the folder of the session

    def near(self, path: str) -> str:
        """A path as the tree has it; one outside of the project stays absolute."""
        for folder in (self.project, project_folder(self.project)):
            path = relative_to(path, folder)
        return "" if path.rstrip("/") == self.project.rstrip("/") else path.rstrip("/") or path


@dataclass(frozen=True, slots=True)
class Corpus:
    """The sessions of one project."""

    project: str
    materials: list[Material]
    misses: list[SessionMiss]
    tree: Tree | None
    topic_of: dict[int, str] = field(default_factory=dict)  # id of a signal object → id of its topic


@dataclass(frozen=True, slots=True)
class LessonProposal:
    """A line that could be written down. `key` says what it is about, in every run the same."""

    kind: LessonKind
    key: str
    text: str
    evidence: tuple[LessonEvidence, ...]
    calls: int  # what it cost so far
    names: tuple[str, ...]  # by which a later miss is known to be about it (`occurrences`)
    checks: tuple[TreeCheck, ...] = ()
    subject: str = ""  # the file or folder it is about
    unverified: str = ""  # what no tree can show
    topics: tuple[str, ...] = ()

    @property
    def sessions(self) -> int:
        """Return the number of sessions with the event."""
        return len({evidence.session for evidence in self.evidence})


def code(text: str) -> str:
    """Text of a trace between backticks, in one line."""
    inner = " ".join(text.replace("`", "'").split())
    return f"`{inner}`"


def listed(parts: Iterable[str]) -> str:
    """Words one after another, the last with `and`."""
    *first, last = list(parts)
    return f"{', '.join(first)} and {last}" if first else last


def first_of_each(evidence: Iterable[LessonEvidence]) -> list[LessonEvidence]:
    """One line of each session, the first few."""
    found: dict[str, LessonEvidence] = {}
    for example in evidence:
        found.setdefault(example.session, example)
    return list(found.values())[:_MOST_EVIDENCE]
