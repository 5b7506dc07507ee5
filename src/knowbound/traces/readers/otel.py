"""OpenTelemetry GenAI spans (semantic conventions for generative AI, their older forms, OpenInference, Langfuse).

- `otel_spans` reads the spans out of a document, or out of lines.
- `gen_ai.operation.name`: chat and similar spans have `gen_ai.input.messages` (the whole history, every time) and
  `gen_ai.output.messages`; execute_tool has one call; invoke_agent spans an agent's run.
- Older forms of the messages: span events `gen_ai.{system,user,assistant,tool}.message` and `gen_ai.choice`; events or
  attributes with `gen_ai.prompt` and `gen_ai.completion`; attributes `gen_ai.prompt.0.role`,
  `gen_ai.completion.0.content`.
- Content is optional in the conventions: spans without it still show tool calls and errors.
- A session is a `gen_ai.conversation.id`, or else a trace. Its spans may be anywhere in the file.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from knowbound.core.trace import AgentText, Broken, Event, Injection, Prompt, Start, Step
from knowbound.traces.calls.finish import finish_call
from knowbound.traces.dialogue import Message, ToolRequest, ToolResult, as_input, as_text, message_of, text_in
from knowbound.traces.readers.otel_spans import FAMILIES, GenAiSpan, is_observation, is_protobuf, is_span, spans_of
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally
from knowbound.traces.values import decode, first_value

_HELD_SPANS = 20_000  # spans held to put sessions together; then their events are yielded
_INPUTS = ("gen_ai.input.messages", "gen_ai.prompt")
_OUTPUTS = ("gen_ai.output.messages", "gen_ai.completion")
_MODELS = ("gen_ai.response.model", "gen_ai.request.model")
_MESSAGE_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message")
_NUMBERED = re.compile(r"gen_ai\.(prompt|completion)\.([0-9]{1,6})\.(.+)")
_POSITION = re.compile(r"([0-9]{1,2})\.(.+)")
_ANCESTORS = 50  # levels climbed to find the agent of a span


class OpenTelemetry:
    """The reader of OpenTelemetry GenAI spans."""

    name = "otel"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise the shape of spans together with an attribute of the `gen_ai` family."""
        if is_protobuf(head):
            return Identity("")
        if not any(family in head for family in FAMILIES):
            return None
        value = first_value(head)
        for key in ("data", "observations"):
            value = value.get(key, value) if isinstance(value, dict) else value
            value = next(iter(value), None) if isinstance(value, list) else value
        is_otlp = isinstance(value, dict) and any(key in value for key in ("resourceSpans", "resource_spans"))
        return Identity("") if is_otlp or is_span(value) or is_observation(value) else None

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of each session in the files, a Start before each."""
        for path in files:
            sessions: dict[str, _SpanSession] = {}
            held_spans = 0
            for span in spans_of(path, tally):
                sessions.setdefault(span.session, _SpanSession(span.session, str(path))).spans.append(span)
                held_spans += 1
                if held_spans == _HELD_SPANS:  # memory is bounded: yield what is there
                    held_spans = 0
                    for session in sessions.values():
                        yield from session.events()
            _join_traces(sessions)
            for session in sessions.values():
                yield from session.events()


class _SpanSession:
    """The spans of one session, and the messages and calls that were yielded."""

    def __init__(self, session: str, path: str) -> None:
        self.session, self.path = session, path
        self.spans: list[GenAiSpan] = []
        self._yielded: Counter[tuple[str, ...]] = Counter()  # times that each message was yielded
        self._yielded_calls: set[str] = set()  # ids of the yielded calls

    def events(self) -> Iterator[Event]:
        """Yield the events of the held spans by time: inputs as a span starts, outputs as it ends."""
        spans, self.spans = sorted(self.spans, key=lambda span: span.start), []
        if not any(span.operation for span in spans):
            return  # web requests and other spans without an agent
        first = spans[0]
        yield Start(self.session, OpenTelemetry.name, "", text_in(first.resource, "service.version"), first.time())
        by_id = {span.id: span for span in spans}
        messages = {span.id: _messages(span) for span in spans}
        requests = [
            request for sides in messages.values() for side in sides for message in side for request in message.requests
        ]
        requested_ids = {request.id for request in requests}
        _name_calls(spans, requests)
        results = _results(spans, messages)
        # A failure is reported once, by its innermost span.
        parents_of_failed = {span.parent for span in spans if span.failed and span.operation != "execute_tool"}
        moments = [(span.start, 0, span) for span in spans] + [(span.end, 1, span) for span in spans]
        for _, is_end, span in sorted(moments, key=lambda moment: moment[:2]):
            agent_id = _sub_agent(span, by_id)
            if span.operation == "execute_tool":
                if is_end and _call_id(span) not in requested_ids and _call_id(span) not in self._yielded_calls:
                    yield self._step(_tool_message(span), agent_id, results)
                continue
            for message in self._new_messages(messages[span.id][is_end], agent_id):
                yield from self._event(message, agent_id, results)
            if is_end and span.operation and span.failed and span.id not in parents_of_failed:
                yield Broken(span.reason or "error", span.line)

    def _new_messages(self, messages: list[Message], agent_id: str) -> Iterator[Message]:
        """Yield the messages that no earlier span had: each span repeats the history of the span before."""
        seen_here: Counter[tuple[str, ...]] = Counter()
        for message in messages:
            ids = [request.id for request in message.requests]
            if ids and all(id_ and id_ in self._yielded_calls for id_ in ids):
                continue  # the texts beside a call may be recorded or not
            key = (agent_id, message.role, *message.texts, *(request.name for request in message.requests))
            seen_here[key] += 1
            if seen_here[key] > self._yielded[key]:
                self._yielded[key] = seen_here[key]
                yield message

    def _event(self, message: Message, agent_id: str, results: dict[str, ToolResult]) -> Iterator[Event]:
        """Yield a message as a step, context or a prompt; a sub-agent's prompts are the agent's own words."""
        if message.role == "assistant" and (message.texts or message.requests):
            yield self._step(message, agent_id, results)
        elif message.role == "system":
            for text in message.texts:
                yield Injection("system", text, line=message.line)
        elif message.role == "user" and message.texts and not agent_id:
            yield Prompt(message.id, "\n".join(message.texts), message.time, self.path, message.line)

    def _step(self, message: Message, agent_id: str, results: dict[str, ToolResult]) -> Step:
        """Return the step of a message, with those of its calls that were not yielded yet."""
        calls = []
        for number, request in enumerate(message.requests):
            id_ = request.id or f"{message.id}#{number}"
            if id_ in self._yielded_calls:
                continue
            self._yielded_calls.add(id_)
            result = results.get(id_)
            output = result.output if result else None
            failed = bool(result and result.is_error)
            calls.append(finish_call(id_, request.name, request.input, output, is_error=failed, line=message.line))
        said = tuple(AgentText(message.id, text, message.line) for text in message.texts)
        origin, usage = (message.time, self.path, message.line), (message.tokens, message.model)
        return Step(message.id, said, tuple(calls), agent_id, *origin, *usage)


def _tool_message(span: GenAiSpan) -> Message:
    """Return a message that asks for the call of a span."""
    name = text_in(span.attributes, "gen_ai.tool.name")
    request = ToolRequest(_call_id(span), name, as_input(span.attributes.get("gen_ai.tool.call.arguments")))
    return Message("assistant", span.id, requests=(request,), time=span.time(), line=span.line)


def _messages(span: GenAiSpan) -> tuple[list[Message], list[Message]]:
    """Return the input and output messages of a span, from any of the forms."""
    inputs: list[Any] = []
    outputs: list[Any] = []
    numbered: dict[tuple[str, int], dict[str, Any]] = {}  # by side and number, of flattened attributes
    for key, value in span.attributes.items():
        if found := _NUMBERED.fullmatch(key):
            message = numbered.setdefault((found[1], int(found[2])), {})
            _set_flattened(message, found[3], value)
    for (kind, _), message in sorted(numbered.items()):
        if kind == "prompt":
            inputs.append({"role": "user", **message})
        else:
            outputs.append({"role": "assistant", **message})
    for name, attributes in [("", span.attributes), *span.events]:
        if instructions := attributes.get("gen_ai.system_instructions"):
            inputs.insert(0, {"role": "system", "content": _decoded(instructions)})
        for keys, side, role in ((_INPUTS, inputs, "user"), (_OUTPUTS, outputs, "assistant")):
            for key in keys:
                side.extend(_as_messages(attributes.get(key), role))
        if found := _MESSAGE_EVENT.fullmatch(name):
            inputs.append({"role": found[1], **{key: _decoded(value) for key, value in attributes.items()}})
        elif name == "gen_ai.choice":
            body = {key: _decoded(value) for key, value in attributes.items() if key != "id"}
            inner = body.get("message")
            outputs.append({"role": "assistant", **(inner if isinstance(inner, dict) else {"content": inner, **body})})
    return _parsed(inputs, span, "in"), _parsed(outputs, span, "out")


def _parsed(raws: list[Any], span: GenAiSpan, side: str) -> list[Message]:
    """Return the messages of a side ("in", "out"); only an output has the tokens and the model of the span."""
    found = []
    for number, raw in enumerate(raws):
        message = message_of(raw, f"{span.id}:{side}{number}", span.line)
        if message is not None:
            time = span.time(ends=side == "out")
            tokens, model = (span.new_tokens, text_in(span.attributes, *_MODELS)) if side == "out" else (None, "")
            id_ = f"{span.id}:{side}{number}"
            found.append(msgspec.structs.replace(message, id=id_, time=time, tokens=tokens, model=model))
    return found


def _as_messages(value: object, role: str) -> list[Any]:
    """Return the messages of a list, of its JSON text, or of a plain text of this role."""
    value = _decoded(value)
    if isinstance(value, dict):
        value = value.get("messages", [value])
    if isinstance(value, str) and value.strip():
        return [{"role": role, "content": value}]
    return value if isinstance(value, list) else []


def _results(spans: list[GenAiSpan], messages: dict[str, tuple[list[Message], list[Message]]]) -> dict[str, ToolResult]:
    """Return the result of each call id, from the span that ran it or from a later message."""
    found: dict[str, ToolResult] = {}
    for sides in messages.values():
        for message in [*sides[0], *sides[1]]:
            for result in message.results:
                found.setdefault(result.id.strip(), result)
    for span in spans:
        if span.operation != "execute_tool":
            continue
        id_ = _call_id(span)
        value = span.attributes.get("gen_ai.tool.call.result")
        if value is not None or span.failed:
            found[id_] = ToolResult(id_, as_text(_decoded(value)) if value is not None else span.reason, span.failed)
    return found


def _name_calls(spans: list[GenAiSpan], requests: list[ToolRequest]) -> None:
    """Give each tool span without a call's id the first one asked for by its name that no span has."""
    tool_spans = [span for span in spans if span.operation == "execute_tool"]
    named_ids = {text_in(span.attributes, "gen_ai.tool.call.id") for span in tool_spans}
    requested = dict.fromkeys(
        (request.name, request.id) for request in requests if request.id and request.id not in named_ids
    )
    free_ids: dict[str, deque[str]] = {}
    for name, id_ in requested:
        free_ids.setdefault(name, deque()).append(id_)
    for span in tool_spans:
        ids = free_ids.get(text_in(span.attributes, "gen_ai.tool.name"))
        if ids and not text_in(span.attributes, "gen_ai.tool.call.id"):
            span.attributes["gen_ai.tool.call.id"] = ids.popleft()


def _call_id(span: GenAiSpan) -> str:
    return text_in(span.attributes, "gen_ai.tool.call.id").strip() or span.id


def _sub_agent(span: GenAiSpan, by_id: dict[str, GenAiSpan]) -> str:
    """Return the sub-agent of a span: its run was started by another agent's run or tool. "" for the main agent."""
    run: GenAiSpan | None = None
    ancestor: GenAiSpan | None = span
    for _ in range(_ANCESTORS):
        if ancestor is None:
            break
        if run is not None and ancestor.operation in ("invoke_agent", "execute_tool"):
            return text_in(run.attributes, "gen_ai.agent.id", "gen_ai.agent.name") or run.id
        if run is None and ancestor.operation == "invoke_agent":
            run = ancestor
        ancestor = by_id.get(ancestor.parent)
    return ""


def _join_traces(sessions: dict[str, _SpanSession]) -> None:
    """Move spans without a conversation id to the conversation of their trace, if it has exactly one."""
    owners: dict[str, set[str]] = {}
    for name, session in sessions.items():
        for span in session.spans:
            if span.session != span.trace:  # it names its conversation
                owners.setdefault(span.trace, set()).add(name)
    for trace, names in owners.items():
        if len(names) == 1 and trace in sessions:
            sessions[names.pop()].spans += sessions[trace].spans
            sessions[trace].spans = []


def _decoded(value: object) -> object:
    """Return a value, decoded if it was recorded as JSON text."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return decode(value.encode("utf-8", "surrogatepass"))
        except ValueError:
            return value
    return value


def _set_flattened(message: dict[str, Any], path: str, value: object) -> None:
    """Put an attribute such as `tool_calls.0.name` into the message it was flattened from."""
    name, _, rest = path.partition(".")
    if not rest:
        message[name] = _decoded(value)
        return
    entries = message.setdefault(name, [])
    position = _POSITION.fullmatch(rest)
    if position and isinstance(entries, list):
        while len(entries) <= int(position[1]):
            entries.append({})
        if isinstance(entry := entries[int(position[1])], dict):
            entry[position[2]] = value
