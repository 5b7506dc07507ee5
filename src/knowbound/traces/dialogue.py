"""Events of a dialogue between a user, an agent and its tools, in any dialect.

A message is a mapping with a `role` and its content as text or as a list of parts. The dialects differ in the parts of
tool calls and results:

    OpenAI      tool_calls[].function {name, arguments: JSON text}; a message of role tool with tool_call_id
    Responses   items function_call {call_id, name, arguments} and function_call_output {call_id, output}
    Anthropic   parts tool_use {id, name, input} and tool_result {tool_use_id, content, is_error}
    GenAI spans parts tool_call {id, name, arguments} and tool_call_response {id, response or result}
    Gemini      parts functionCall {id?, name, args} and functionResponse {id?, name, response: {output or error}}
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from knowbound.core.bundle import items_in
from knowbound.core.trace import AgentText, Event, Injection, Outcome, Prompt, Step, ToolCall, ToolKind
from knowbound.traces.calls.finish import finish_call
from knowbound.traces.calls.outcome import STILL_RUNNING
from knowbound.traces.source import Tally

ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "model": "assistant", "ai": "assistant",
    "system": "system", "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
REQUEST_ITEMS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
RESULT_ITEMS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_MOST_OPEN_STEPS = 20  # steps that may wait for a late result; the oldest of more is handed on without it

# Texts of a client in the user's role.
_CLIENT_TEXT = re.compile(
    r"\s*<(?:system[-_]reminder|environment_(?:context|details)|user_instructions|session_context|state_snapshot"
    r"|hook_context|command-name|local-command-\w+)\b"
)
_ERROR_REPORT = re.compile(
    r"""\s*(?:error(?:\s+\w+){0,4}\s*[:\]]|\[error|<(?:tool_use_)?error>|traceback \(most recent"""
    r"""|[\w.]{0,80}(?:error|exception):\s"""
    r"""|\{\s*"(?:error|isError)"\s*:\s*(?!null|false|""|\{\})|(?:file|path|directory) (?:not found|does not exist))""",
    re.IGNORECASE,
)


class ToolRequest(msgspec.Struct, frozen=True):
    """A tool call that the agent asks for."""

    id: str
    name: str
    input: dict[str, Any]
    kind: ToolKind | None = None  # if the name does not say it


class ToolResult(msgspec.Struct, frozen=True):
    """Result of a tool call. Without an id it belongs to the first open call of its name."""

    id: str
    output: str
    is_error: bool = False
    name: str = ""
    exit_code: int | None = None
    outcome: tuple[Outcome, str] | None = None  # if the client's structured result has decided
    agent_id: str = ""  # the sub-agent that the call started

    @property
    def failed(self) -> bool | None:
        """The client's own flag; None if the exit code decides."""
        return self.is_error or (None if self.exit_code is not None else False)


class Message(msgspec.Struct, frozen=True):
    """A message of any dialect."""

    role: str  # user, assistant, system, tool
    id: str
    texts: tuple[str, ...] = ()
    requests: tuple[ToolRequest, ...] = ()
    results: tuple[ToolResult, ...] = ()
    joins: bool = False  # an item that belongs to the message before it (Responses)
    time: str = ""
    line: int = 0
    tokens: int | None = None  # as in `Step`
    model: str = ""


def message_of(raw: object, id_: str, line: int = 0) -> Message | None:
    """Return the message in a mapping of any dialect; None if there is none."""
    if not isinstance(raw, dict):
        return None
    kind = text_in(raw, "type")
    time = text_in(raw, "timestamp", "created_at")
    if kind in REQUEST_ITEMS:
        return Message("assistant", id_, requests=(_request(raw),), joins=True, time=time, line=line)
    if kind in RESULT_ITEMS:
        return Message("tool", id_, results=(_result(raw, raw.get("output")),), time=time, line=line)
    role = ROLES.get(text_in(raw, "role"))
    if role is None:
        return None
    id_ = text_in(raw, "id", "uuid") or id_
    content = raw.get("content")
    if content is None:
        content = raw.get("parts")  # as Gemini names it
    if role == "tool" and not _has_parts(content):
        return Message(role, id_, results=(_result(raw, content),), time=time, line=line)
    texts, requests, results = read_parts(content)
    calls = raw.get("tool_calls")
    requests += [_request(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if isinstance(legacy := raw.get("function_call"), dict):
        requests.append(_request(legacy))
    joins = kind == "message"  # an item of the Responses API
    return Message(role, id_, tuple(texts), tuple(requests), tuple(results), joins, time, line)


def read_parts(content: object) -> tuple[list[str], list[ToolRequest], list[ToolResult]]:
    """Return the texts, tool calls and results in a message's content, without reasoning and images."""
    texts: list[str] = []
    requests: list[ToolRequest] = []
    results: list[ToolResult] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            texts.append(part)
        if not isinstance(part, dict) or part.get("thought") is True:
            continue
        kind = text_in(part, "type")
        if kind in ("tool_use", "tool_call", "server_tool_use"):
            requests.append(_request(part))
        elif kind == "tool_result":
            results.append(_result(part, part.get("content")))
        elif kind == "tool_call_response":
            results.append(_result(part, part.get("response", part.get("result"))))
        elif isinstance(call := part.get("functionCall"), dict):
            requests.append(_request(call))
        elif isinstance(answer := part.get("functionResponse"), dict):
            results.append(_function_response(answer))
        elif not kind or kind in _TEXT_PARTS:
            texts.append(text_in(part, "text", "content"))
    return [text for text in texts if text.strip()], requests, results


def follow(messages: Iterable[Message], path: str = "", agent_id: str = "") -> Iterator[Event]:
    """Yield the events of a conversation in order; a step waits for the results of its calls."""
    unfinished: deque[_UnfinishedStep] = deque()
    for message in messages:
        for result in message.results:
            any(step.assign(result) for step in unfinished)  # by the first step that has a call for it
        if message.role == "assistant":
            if message.joins and unfinished and not unfinished[-1].results:  # a result ends a step
                unfinished[-1].add(message)
            else:
                unfinished.append(_UnfinishedStep(message))
        elif message.texts:
            while unfinished:
                yield unfinished.popleft().step(path, agent_id)
            yield from _prompt_or_injections(message, path)
        while len(unfinished) > _MOST_OPEN_STEPS or (len(unfinished) > 1 and unfinished[0].is_complete()):
            yield unfinished.popleft().step(path, agent_id)
    while unfinished:
        yield unfinished.popleft().step(path, agent_id)


def _prompt_or_injections(message: Message, path: str) -> Iterator[Event]:
    """Yield the user's own words as a prompt, and text of the system or the client as injections."""
    own = []
    for text in message.texts:
        if message.role == "system":
            yield Injection("system", text, line=message.line)
        elif message.role == "tool" or _CLIENT_TEXT.match(text):
            yield Injection("client", text, line=message.line)
        else:
            own.append(text)
    if own:
        yield Prompt(message.id, "\n".join(own), message.time, path, message.line)


class _UnfinishedStep:
    """A step that waits for results."""

    def __init__(self, message: Message) -> None:
        self.messages: list[Message] = []
        self.requests: list[ToolRequest] = []
        self.results: dict[int, ToolResult] = {}
        self._open_calls: dict[tuple[str, ...], deque[int]] = {}  # open calls in order, by each key that finds them
        self.add(message)

    def add(self, message: Message) -> None:
        """Add a further message of the same step."""
        self.messages.append(message)
        for request in message.requests:
            keys = [("named", request.name), ("any",)]
            keys += [("id", request.id)] if request.id else [("named without id", request.name), ("without id",)]
            for key in keys:
                self._open_calls.setdefault(key, deque()).append(len(self.requests))
            self.requests.append(request)

    def assign(self, result: ToolResult) -> bool:
        """Assign a result to the open call of its id; without an id, to the first open call of its name."""
        if result.id:
            keys = [("id", result.id), ("named without id", result.name) if result.name else ("without id",)]
        else:
            keys = [("named", result.name) if result.name else ("any",)]
        numbers = [number for key in keys if (number := self._first_open(key)) is not None]
        if numbers:
            self.results[min(numbers)] = result  # the first in the order of the calls
        return bool(numbers)

    def _first_open(self, key: tuple[str, ...]) -> int | None:
        """Return the number of the first call under a key that lacks its result."""
        numbers = self._open_calls.get(key, ())
        while numbers and numbers[0] in self.results:  # found by another key
            numbers.popleft()
        return numbers[0] if numbers else None

    def is_complete(self) -> bool:
        return len(self.results) == len(self.requests)

    def step(self, path: str, agent_id: str) -> Step:
        """Return the step of the messages; calls whose result never came have no output."""
        first = self.messages[0]
        calls = []
        for number, request in enumerate(self.requests):
            result = self.results.get(number)
            call = finish_call(
                request.id or f"{first.id}#{number}",
                request.name,
                request.input,
                result.output if result else None,
                is_error=result.failed if result else False,
                exit_code=result.exit_code if result else None,
                outcome=result.outcome if result else None,
                kind=request.kind,
                line=first.line,
            )
            calls.append(replace(call, agent_id=result.agent_id) if result and result.agent_id else call)
        said = tuple(AgentText(message.id, text, message.line) for message in self.messages for text in message.texts)
        return Step(first.id, said, tuple(calls), agent_id, first.time, path, first.line, first.tokens, first.model)


def _request(raw: dict[str, Any]) -> ToolRequest:
    """Return a call from a part, an item, or an entry of `tool_calls` (name and arguments in a nested mapping)."""
    id_ = text_in(raw, "call_id", "id")
    if isinstance(action := raw.get("action"), dict):  # the shell item of the Responses API
        return ToolRequest(id_, "local_shell", action)
    call = next((call for nest in ("function", "custom") if isinstance(call := raw.get(nest), dict)), raw)
    arguments = next((call[key] for key in ("input", "arguments", "args") if call.get(key) is not None), None)
    return ToolRequest(id_, text_in(call, "name"), as_input(arguments))


def _result(raw: dict[str, Any], content: object) -> ToolResult:
    """Return a result from a part, an item, or a message of the role tool, which name the call by different keys."""
    ids = raw.get("tool_call_ids")
    id_ = text_in(raw, "tool_use_id", "tool_call_id", "call_id", "id")
    if not id_ and isinstance(ids, list) and ids and isinstance(ids[0], str):
        id_ = ids[0]
    text = as_text(content)
    flag = raw.get("is_error")
    return ToolResult(id_, text, flag if isinstance(flag, bool) else is_error_report(text), text_in(raw, "name"))


def _function_response(raw: dict[str, Any]) -> ToolResult:
    """Return a result of Gemini, whose `response` has `output` or `error`."""
    response, failed = raw.get("response"), False
    if isinstance(response, dict) and (response.get("error") or "output" in response):
        failed = bool(response.get("error"))
        response = response["error" if failed else "output"]
    return ToolResult(text_in(raw, "id"), as_text(response), failed, text_in(raw, "name"))


def is_error_report(text: str) -> bool:
    """Report whether an output starts like an error report, for dialects without a flag for errors."""
    return _ERROR_REPORT.match(text[:200]) is not None


def as_input(value: object) -> dict[str, Any]:
    """Return a call's input as a mapping, from a mapping or JSON text. Other text is kept under `input`."""
    if isinstance(value, str):
        try:
            parsed = msgspec.json.decode(value)
        except (ValueError, RecursionError):
            return {"input": value} if value else {}
        value = parsed if isinstance(parsed, dict) else {"input": value}
    return value if isinstance(value, dict) else {}


def as_text(content: object) -> str:
    """Return a content as text: itself, the texts of its parts, or its JSON."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if _has_parts(content):
        return "\n".join(read_parts(content)[0])
    try:
        return json.dumps(content, ensure_ascii=False)
    except (ValueError, RecursionError):
        return str(type(content))


def text_in(raw: dict[str, Any], *keys: str) -> str:
    """Return the first of these entries that is a text and not empty; "" if there is none."""
    for key in keys:
        value = raw.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _has_parts(content: object) -> bool:
    return isinstance(content, list) and any(
        isinstance(part, dict) and ("type" in part or "text" in part or "functionResponse" in part) for part in content
    )


# ---- state that readers of typed lines share

_MAX_INJECTED = 30_000  # characters kept of an injected text: memory tools inject 16,000
MAX_REASON = 300  # characters kept of the reason of a failure
_MAX_RUNNING = 4_000  # characters kept of the output of a running command


class PendingCall(msgspec.Struct):
    """A call without its result."""

    name: str
    input: dict[str, Any]
    line: int
    failed: bool | None = None  # by an event beside the result


class OpenStep(msgspec.Struct):
    """A message of the agent whose calls may lack results."""

    id: str
    time: str
    path: str
    line: int
    agent_id: str = ""
    said: list[AgentText] = []
    calls: dict[str, PendingCall | ToolCall] = {}
    answers: int = 0  # calls that have their result
    tokens: int | None = None  # as in `Step`
    model: str = ""

    def answer(self, call: ToolCall) -> None:
        """Put a call with its result in place of the pending one."""
        self.answers += isinstance(self.calls[call.id], PendingCall)
        self.calls[call.id] = call

    @property
    def is_answered(self) -> bool:
        """True if every call has its result."""
        return self.answers == len(self.calls)

    def step(self, unanswered: tuple[Outcome, str] | None = None) -> Step:
        """Return the step; `unanswered` is the outcome of calls without a result, if the trace names it."""
        calls = list[ToolCall]()
        for id_, call in self.calls.items():
            if isinstance(call, ToolCall):
                calls.append(call)
            else:
                calls.append(finish_call(id_, call.name, call.input, None, outcome=unanswered, line=call.line))
        origin = (self.agent_id, self.time, self.path, self.line)
        return Step(self.id, tuple(self.said), tuple(calls), *origin, tokens=self.tokens, model=self.model)


class RunningCommands:
    """Commands that outlive their call: a later look at a shell is judged as its command, with all its output."""

    def __init__(self, tool: str, key: str) -> None:
        self._shell_tool, self._command_key = tool, key  # the shell tool, and the name of its command in the input
        self._by_shell: dict[str, tuple[str, str]] = {}  # by shell: the command and its output so far

    def finish(
        self,
        id_: str,
        request: PendingCall,
        output: str,
        *,
        looks_at: str,
        runs_in: str,
        failed: bool,
        exit_code: int | None,
        folder: str,
        outcome: tuple[Outcome, str] | None = None,
    ) -> ToolCall:
        """Return a call with its result; a look at a shell is judged as the command that runs there.

        `looks_at` is the shell that the call looks at, `runs_in` the one in which its command goes on.
        """
        name, input_ = request.name, request.input
        if looks_at in self._by_shell:
            command, earlier = self._by_shell[looks_at]  # kept there: clients do not always say that it has ended
            name, input_, output = self._shell_tool, {self._command_key: command}, earlier + output
            self._by_shell[looks_at] = (command, output[:_MAX_RUNNING])
        if runs_in:
            self._by_shell[runs_in] = (text_in(input_, self._command_key), output[:_MAX_RUNNING])
        call = finish_call(
            id_,
            name,
            input_,
            output,
            is_error=failed or None,  # otherwise the exit code decides
            exit_code=exit_code,
            outcome=STILL_RUNNING if runs_in else outcome,
            folder=folder,
            line=request.line,
        )
        return replace(call, name=request.name)


class KnownIds:
    """Ids that a session already had: its files may repeat messages, which count once."""

    def __init__(self, tally: Tally, *, is_single_file: bool = False) -> None:
        self._tally = tally
        self._hashes: set[int] | None = None if is_single_file else set()

    def is_new(self, id_: Hashable, *, is_message: bool = True) -> bool:
        """Take in an id, and report whether it is new; a repeated message is counted."""
        if self._hashes is None:  # a single file repeats nothing
            return True
        before = len(self._hashes)
        self._hashes.add(hash(id_))
        if len(self._hashes) == before:
            self._tally.duplicates += is_message  # a repeated call or event is no repeated message
            return False
        return True


def injected(source: str, text: str, line: int, path: str = "") -> Injection:
    """Return an injection with the start of its text."""
    return Injection(source, text[:_MAX_INJECTED], path, line)


def split_by_item(injection: Injection) -> list[Injection]:
    """Return an injection for each item of a bundle of knowbound, with its id; the injection itself for other text."""
    items = items_in(injection.content)
    return [replace(injection, content=item.content, item=item.id) for item in items] or [injection]
