"""Codex CLI rollouts (`~/.codex/sessions/**/rollout-*.jsonl`): clients 0.118 to 0.144, and known parts of others.

- A line is `{timestamp, type, payload}`; the oldest clients wrote the bare payload.
- `response_item` lines are complete in every known version; the events `user_message` and `agent_message` only
  mirror them and are skipped.
- One response of the model is one step. No line names the response: its items follow each other, and it ends with the
  first `token_count` event or the first result after them (clients differ in the order).
- A message in the user's role has the user's own words unless the client wrote it.
- A turn begins with `task_started`; text that is injected before its prompt belongs to it, not to the turn before.
  Text of hooks is a message in the developer's role: of SessionStart before the prompt, of UserPromptSubmit right after
  it, of the hooks around tools later.
- A sub-agent has a rollout of its own that names its parent.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from knowbound.core.trace import AgentText, Broken, Event, Injection, Outcome, Prompt, Skill, Start, Step, ToolCall
from knowbound.text.redact import cut
from knowbound.traces.calls.finish import finish_patch
from knowbound.traces.calls.outcome import INTERRUPTED
from knowbound.traces.dialogue import (
    MAX_REASON,
    KnownIds,
    OpenStep,
    PendingCall,
    RunningCommands,
    as_input,
    as_text,
    split_by_item,
    text_in,
)
from knowbound.traces.readers.codex import lines
from knowbound.traces.readers.codex.lines import CALLS, RESULTS, CallOutput, Payload
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally
from knowbound.traces.values import dicts, lines_of_head, object_of, read_objects

_TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_ITEMS = CALLS | RESULTS | {"message", "reasoning"}
_TURN_ENDS = frozenset({"task_complete", "turn_complete", "turn_aborted", "error", "stream_error"})


class Codex:
    """The reader of Codex CLI rollouts."""

    name = "codex"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise the line types with a payload; `session_meta` names the session."""
        found: Identity | None = None
        for line in lines_of_head(head):
            payload, time = line.get("payload"), text_in(line, "timestamp")
            if lines.is_bare_meta(line):
                return Identity(text_in(line, "id"), time=time)
            if not isinstance(payload, dict) or text_in(line, "type") not in _TYPES:
                continue
            if line["type"] == "session_meta":
                session, agent_id = lines.session_and_agent(payload)
                return Identity(session, agent_id, time)
            found = found or Identity("", time=time)
        return found

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of one session."""
        known_ids = KnownIds(tally, is_single_file=len(files) + len(sidechains) <= 1)
        shared = _SharedState(tally, dict(sidechains), known_ids)
        yield from _Rollout(shared, "").events(files)
        for agent_id in list(shared.sidechains):  # no call of the session started them
            yield from _sidechain(shared, agent_id)


class _SharedState(msgspec.Struct):
    """State that the files of the main agent and its sub-agents share."""

    tally: Tally
    sidechains: dict[str, Path]
    known_ids: KnownIds  # of items; items without an id are known by their time and content
    started: bool = False


def _sidechain(shared: _SharedState, agent_id: str) -> Iterator[Event]:
    """Yield the steps of a sub-agent; its prompt and context come from its parent, not from the user."""
    file = shared.sidechains.pop(agent_id, None)
    if file is not None:
        events = _Rollout(shared, agent_id).events([file])
        yield from (event for event in events if isinstance(event, Step | Start))


class _ClientTurn(msgspec.Struct):
    """A turn of the client, and its state. Older clients give no id."""

    id: str = ""
    has_prompt: bool = False
    has_client_text: bool = False  # the client has written its own text of every turn
    has_response: bool = False
    events_for_prompt: list[Event] = []  # events for the prompt to come

    @property
    def awaits_prompt(self) -> bool:
        """True if injected text is for a prompt to come."""
        return bool(self.id) and not self.has_prompt


class _Rollout:
    """State of an agent's rollout that is being read. The user's words wait until the response before is complete."""

    def __init__(self, shared: _SharedState, agent_id: str) -> None:
        self.shared, self.agent_id = shared, agent_id
        self.response: OpenStep | None = None
        self.response_ended = False
        self.events_after_response: list[Event] = []  # events after the response
        self.running_commands = RunningCommands("exec_command", "cmd")
        self.turn = _ClientTurn()
        self.path = self.folder = self.model = ""

    def events(self, files: Sequence[Path]) -> Iterator[Event]:
        for file in files:
            self.path = str(file)
            for number, line in read_objects(file, self.shared.tally):
                yield from self._line(line, number)
        yield from self._complete()

    def _line(self, line: dict[str, Any], number: int) -> Iterator[Event]:
        """Take a line, also a bare payload of the oldest clients; the first line starts the session."""
        kind, payload, time = text_in(line, "type"), line.get("payload"), text_in(line, "timestamp")
        if not isinstance(payload, dict) and kind in _ITEMS:
            kind, payload = "response_item", line
        elif lines.is_bare_meta(line):
            kind, payload = "session_meta", {"id": line["id"]}
        if not isinstance(payload, dict) or kind not in _TYPES:
            return
        payload["type"] = text_in(payload, "type")
        if not self.shared.started:
            self.shared.started = True
            self.folder = text_in(payload, "cwd")
            session = lines.session_and_agent(payload)[0] if kind == "session_meta" else ""
            version, branch = text_in(payload, "cli_version"), text_in(as_input(payload.get("git")), "branch")
            yield Start(session, Codex.name, self.folder, version=version, time=time, branch=branch)
        if kind == "response_item":
            yield from self._item(payload, time, number)
        elif kind == "event_msg" and self.shared.known_ids.is_new(
            (time, payload["type"], text_in(payload, "call_id") or str(payload.get("item"))), is_message=False
        ):
            yield from self._event(payload, number)
        elif kind == "turn_context":
            self.model = text_in(payload, "model") or self.model
            if turn := text_in(payload, "turn_id"):
                self._begin_turn(turn)
            self.turn.has_client_text = True  # the client wrote it before this line

    def _item(self, item: Payload, time: str, number: int) -> Iterator[Event]:
        """Take an item of a response: a result, a call or a message; items that a resumed file repeats are left out."""
        kind, id_ = item["type"], text_in(item, "id")
        if kind in RESULTS:
            self._take_result(item)
        elif kind in CALLS:
            if self.shared.known_ids.is_new(text_in(item, "call_id") or id_ or (time, kind)):
                yield from self._call(item, time, number)
        elif kind == "message":
            texts = lines.texts_of(item)
            if self.shared.known_ids.is_new(id_ or (time, text_in(item, "role"), *texts)):
                yield from self._message(item, texts, time, number)

    def _call(self, item: Payload, time: str, number: int) -> Iterator[Event]:
        """Add a call to its response; a web search is complete without a result."""
        response = yield from self._responding(item, time, number)
        id_ = text_in(item, "call_id", "id") or f"L{number}"
        request = lines.request_of(item, number)
        is_web = item["type"] == "web_search_call"
        response.calls[id_] = lines.web_search_call(id_, request, text_in(item, "status")) if is_web else request

    def _message(self, item: Payload, texts: list[str], time: str, number: int) -> Iterator[Event]:
        """Take a message: the agent's words, the user's, or the developer role's."""
        id_, role = text_in(item, "id") or f"L{number}", text_in(item, "role")
        if role == "assistant":
            response = yield from self._responding(item, time, number)
            if text := "\n".join(texts).strip():
                response.said.append(AgentText(id_, text, number))
            return
        if role == "user":
            self._user(item, texts, id_, time, number)
        else:
            self._developer(item, texts, number)

    def _user(self, item: Payload, texts: list[str], id_: str, time: str, number: int) -> None:
        """Take text in the user's role: the client's context, and the user's words, which begin a turn."""
        self.response_ended = True  # older rollouts have nothing else between two turns
        words: list[str] = []
        for text in texts:
            own, context = lines.own_words(text, number)
            words.append(own)
            if self.turn.awaits_prompt and context and isinstance(context[0], Injection):
                self.turn.events_for_prompt += context
                continue
            # A skill's text follows the words that invoked it, which begin the sample.
            after_words = bool(self.events_after_response) and isinstance(self.events_after_response[-1], Prompt)
            is_skill = bool(context) and isinstance(context[0], Skill)
            at = len(self.events_after_response) - (after_words and is_skill)
            self.events_after_response[at:at] = context
        own = "\n".join(filter(None, words)).strip()
        if not texts and any(part.get("type") == "input_image" for part in dicts(item.get("content"))):
            own = "[image]"
        if own:
            self.events_after_response.append(Prompt(id_, own, time, self.path, number, self.turn.id))
            self.events_after_response += self.turn.events_for_prompt
            self.turn = _ClientTurn(self.turn.id, has_prompt=True, has_client_text=True)

    def _developer(self, item: Payload, texts: list[str], number: int) -> None:
        """Take text in the developer's role: a hook's, named by its position in the turn, or the client's own."""
        turn = self.turn
        is_for_prompt = turn.has_prompt and not turn.has_response
        event = ":SessionStart" if turn.awaits_prompt else ":UserPromptSubmit" if is_for_prompt else ""
        # Before the prompt, text waits for it in the turn; after it, text follows the open response.
        destination = turn.events_for_prompt if turn.awaits_prompt else self.events_after_response
        for text, kind in zip_longest(texts, lines.part_kinds(item)[: len(texts)], fillvalue=""):
            if text.strip():
                is_alone = len(texts) == 1 and turn.has_client_text  # then it can only be a hook's
                is_hook = lines.is_hook_text(text, [kind] if kind else [], is_alone=is_alone)
                injection = lines.developer_text(text, number, f"hook{event}" if is_hook else "")
                destination.extend(split_by_item(injection))

    def _begin_turn(self, id_: str) -> None:
        """Begin a turn; the client may announce it more than once."""
        if id_ != self.turn.id or not id_:
            self.turn = _ClientTurn(id_, events_for_prompt=self.turn.events_for_prompt)

    def _responding(self, item: Payload, time: str, number: int) -> Generator[Event, None, OpenStep]:
        """Return the response of an item; a new response completes the one before."""
        if self.response is None or self.response_ended:
            self.events_after_response += self.turn.events_for_prompt  # the agent goes on without a prompt
            self.turn.events_for_prompt, self.turn.has_response = [], True
            yield from self._complete()
            id_ = text_in(item, "id") or f"L{number}"
            self.response = OpenStep(id_, time, self.path, number, self.agent_id, model=self.model)
            self.response_ended = False
        return self.response

    def _complete(self, unanswered: tuple[Outcome, str] | None = None) -> Iterator[Event]:
        """Yield the open step, the steps of its sub-agents, and the events that waited for it."""
        response, self.response = self.response, None
        events, self.events_after_response = self.events_after_response, []
        if response is not None and (response.said or response.calls):
            step = response.step(unanswered)
            yield step
            for call in step.calls:
                yield from _sidechain(self.shared, call.agent_id)
        yield from events

    def _event(self, event: Payload, number: int) -> Iterator[Event]:
        """Take an event that ends a turn or a response, begins a turn, or says how an MCP call ended."""
        kind = event["type"]
        if kind in _TURN_ENDS:
            yield from self._complete(INTERRUPTED if kind == "turn_aborted" else None)
            if reason := lines.failure_of_turn(event):
                yield Broken(cut(reason, MAX_REASON), number)
        elif self.response is not None and kind == "token_count":
            self.response_ended = True
            if event.get("info") is not None:
                self.response.tokens = lines.tokens_of(event)
        elif kind == "task_started":
            self._begin_turn(text_in(event, "turn_id"))
        elif self.response is not None and (ended := lines.ended_mcp_call(event)):
            call_id, failed = ended
            request = self.response.calls.get(call_id)
            if isinstance(request, PendingCall):
                request.failed = failed  # the text of its result does not say it

    def _take_result(self, item: Payload) -> None:
        """Put a result in place of its pending call; the response then has all its items."""
        if self.response is None:
            return
        self.response_ended = True
        id_ = text_in(item, "call_id")
        request = self.response.calls.get(id_)
        if isinstance(request, PendingCall):
            self.response.calls[id_] = self._finish(id_, request, lines.result_of(item))

    def _finish(self, id_: str, request: PendingCall, result: CallOutput) -> ToolCall:
        """Return a call with its result; a look at a running command is judged as that command."""
        if request.name == "apply_patch":
            has_failed = result.failed or result.exit_code not in (None, 0)
            patch = as_text(request.input.get("input"))
            return finish_patch(id_, patch, result.text, failed=has_failed, line=request.line)
        looks_at = str(request.input.get("session_id")) if request.name == "write_stdin" else ""
        looks_at = lines.cell_key(request.input.get("cell_id")) if request.name == "wait" else looks_at
        is_spawn = request.name.rpartition("__")[2] == "spawn_agent"  # newer clients put it into a namespace
        call = self.running_commands.finish(
            id_,
            request,
            result.text,
            looks_at=looks_at,
            runs_in=result.running,
            failed=result.failed if request.failed is None else request.failed,
            exit_code=result.exit_code,
            folder=self.folder,
        )
        return replace(call, agent_id=text_in(object_of(result.text), "agent_id")) if is_spawn else call
