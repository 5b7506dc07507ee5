"""OpenTelemetry spans in JSON or in protobuf, of the GenAI conventions, of OpenInference or of Langfuse.

- OTLP: `resourceSpans[].scopeSpans[].spans[]` with attributes as key/value lists
  (`{"key": "a", "value": {"stringValue": "b"}}`), times in nanoseconds, `status.code` 2 for an error.
- Flat, as the console exporters of the SDKs write them: `{"name", "context": {"trace_id", "span_id"},
  "parent_id", "start_time", "status": {"status_code"}, "attributes": {}, "events": []}`.
- Protobuf: the body of a request to `/v1/traces`, read with the extra `telemetry`.
- Phoenix (`/v1/projects/NAME/spans`, also `/otlpv1`): spans of either form below `data`, OpenInference's attributes.
- Langfuse (`/api/public/traces/ID`, `/api/public/observations`): a trace with `observations`, or these below `data`.

OpenInference and Langfuse are translated: what follows knows the names of the GenAI conventions only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from knowbound.traces.dialogue import as_input, text_in
from knowbound.traces.source import Tally, read_document
from knowbound.traces.values import dicts, first_value, head_of, new_tokens, read_values

# Attributes of the GenAI conventions, of OpenInference and of Langfuse, and keys of what Phoenix and Langfuse export.
FAMILIES = (b"gen_ai.", b"openinference.", b"llm.", b"langfuse.", b"span_kind", b"parentObservationId")
_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
_ENDS = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")
_USAGE = ("input_tokens", "cache_read.input_tokens", "output_tokens")
_OPERATIONS = {"llm": "chat", "generation": "chat", "tool": "execute_tool", "agent": "invoke_agent"}
_INPUTS = ("input.value", "langfuse.observation.input")
_OUTPUTS = ("output.value", "langfuse.observation.output")
# Other names → those of the GenAI conventions.
_NAMES = {
    "session.id": "gen_ai.conversation.id",
    "langfuse.session.id": "gen_ai.conversation.id",
    "llm.model_name": "gen_ai.request.model",
    "langfuse.observation.model.name": "gen_ai.request.model",
    "llm.token_count.prompt": "gen_ai.usage.input_tokens",
    "llm.token_count.completion": "gen_ai.usage.output_tokens",
    "llm.token_count.prompt_details.cache_read": "gen_ai.usage.cache_read.input_tokens",
    "tool.name": "gen_ai.tool.name",
    "tool_call.id": "gen_ai.tool.call.id",
    "agent.name": "gen_ai.agent.name",
}
_MESSAGE_ATTRIBUTE = re.compile(r"llm\.(input|output)_messages\.(\d{1,6})\.message\.(.+)")
_EXTRA_LEVEL = re.compile(r"tool_call\.(?:function\.)?|message_content\.")  # levels that only OpenInference has
_SIDES = {"input": "prompt", "output": "completion"}


class GenAiSpan(msgspec.Struct, frozen=True):
    """A span of either form."""

    id: str
    parent: str
    trace: str
    session: str
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    resource: dict[str, Any]
    start: float
    end: float
    failed: bool
    reason: str
    line: int

    @property
    def operation(self) -> str:
        """The operation (chat, execute_tool, invoke_agent, …); "" if the span is not of the `gen_ai` family."""
        if named := text_in(self.attributes, "gen_ai.operation.name"):
            return named
        if "gen_ai.tool.name" in self.attributes:
            return "execute_tool"
        return "chat" if any(key.startswith("gen_ai.") for key in self.attributes) else ""

    @property
    def new_tokens(self) -> int | None:
        """Tokens that were written, and those read for the first time; None if the span has no such numbers."""
        return new_tokens(*(self.attributes.get(f"gen_ai.usage.{key}") for key in _USAGE))

    def time(self, *, ends: bool = False) -> str:
        """Return the start or the end in ISO 8601."""
        moment = self.end if ends else self.start
        return datetime.fromtimestamp(moment, UTC).isoformat() if moment else ""


def spans_of(path: Path, tally: Tally) -> Iterator[GenAiSpan]:
    """Yield the spans of a file; values without a span are counted as foreign."""
    for number, value in _protobuf_values(path, tally) if is_protobuf(head_of(path)) else read_values(path, tally):
        for raw in value if isinstance(value, list) else [value]:
            found = list(_raw_spans(raw))
            if not found:
                tally.skip(str(path), number, "foreign")
            for span, resource in found:
                yield _span(span, resource, number)


def is_protobuf(head: bytes) -> bool:
    """Report whether a file is an OTLP request in protobuf, as exporters send it: field 1, `resource_spans`."""
    return head[:1] == b"\n" and first_value(head) is None and any(family in head for family in FAMILIES)


def _protobuf_values(path: Path, tally: Tally) -> Iterator[tuple[int, object]]:
    """Yield the request of a file as its JSON form; without the extra `telemetry` it is counted as unreadable."""
    content = read_document(path, tally)
    try:
        messages = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
        to_json = import_module("google.protobuf.json_format")
    except ImportError:
        tally.skip(str(path), 1, "unreadable: needs the extra telemetry")
        return
    request = messages.ExportTraceServiceRequest()
    try:
        request.ParseFromString(content or b"")
    except Exception:  # the library raises an error class of its own per implementation
        tally.skip(str(path), 1, "broken")
        return
    yield 1, to_json.MessageToDict(request)


def _raw_spans(raw: object) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the spans of an OTLP export, or a flat span, with the attributes of their resource."""
    if not isinstance(raw, dict):
        return
    if is_span(raw):
        resource = raw.get("resource")
        yield raw, _attributes(resource.get("attributes") if isinstance(resource, dict) else None)
    elif is_observation(raw):
        yield _span_of_observation(raw, ""), {}
    for inner in dicts(raw.get("data")):
        yield from _raw_spans(inner)
    for inner in dicts(raw.get("observations")):
        if is_observation(inner):
            yield _span_of_observation(inner, text_in(raw, "sessionId")), {}
    for of_resource in dicts(raw.get("resourceSpans", raw.get("resource_spans"))):
        resource = of_resource.get("resource")
        resource_attributes = _attributes(resource.get("attributes") if isinstance(resource, dict) else None)
        for scope in dicts(of_resource.get("scopeSpans", of_resource.get("scope_spans"))):
            for span in dicts(scope.get("spans")):
                yield span, resource_attributes


def _span(raw: dict[str, Any], resource: dict[str, Any], line: int) -> GenAiSpan:
    """Return a span of OTLP or a flat span, with its attributes by the names of the GenAI conventions."""
    context = raw.get("context")
    ids = {**raw, **context} if isinstance(context, dict) else raw  # exporters of the console nest them
    attributes = _translated(_attributes(raw.get("attributes")), text_in(raw, "span_kind"), text_in(raw, "name"))
    events = [(text_in(event, "name"), _attributes(event.get("attributes"))) for event in dicts(raw.get("events"))]
    status = raw.get("status")
    status = (
        status if isinstance(status, dict) else {"code": raw.get("status_code"), "message": raw.get("status_message")}
    )
    code = status.get("code", status.get("status_code"))
    error = text_in(attributes, "error.type")
    thrown = next((text_in(about, "exception.message") for name, about in events if name == "exception"), "")
    trace = text_in(ids, "traceId", "trace_id")
    start, end = (_seconds(next((raw[key] for key in keys if key in raw), 0)) for keys in (_STARTS, _ENDS))
    return GenAiSpan(
        id=text_in(ids, "spanId", "span_id", "id") or f"L{line}",
        parent=text_in(raw, "parentSpanId", "parent_span_id", "parent_id", "parentId"),
        trace=trace,
        session=text_in(attributes, "gen_ai.conversation.id") or trace,
        attributes=attributes,
        events=events,
        resource=resource,
        start=start,
        end=max(start, end),
        failed=code in (2, "STATUS_CODE_ERROR", "ERROR") or bool(error),
        reason=text_in(status, "message", "description") or thrown or error,
        line=line,
    )


def is_span(value: object) -> bool:
    """Report whether a value is a flat span."""
    if not isinstance(value, dict) or not isinstance(value.get("attributes"), dict | list):
        return False
    context = value.get("context")
    ids = context if isinstance(context, dict) else value
    return any(key in ids for key in ("trace_id", "traceId"))


def is_observation(value: object) -> bool:
    """Report whether a value is an observation of Langfuse."""
    return isinstance(value, dict) and {"traceId", "type", "startTime", "input"} <= value.keys()


def _span_of_observation(raw: dict[str, Any], session: str) -> dict[str, Any]:
    """Return an observation of Langfuse as a flat span."""
    attributes = {
        "langfuse.observation.type": raw.get("type"),
        "langfuse.observation.input": raw.get("input"),
        "langfuse.observation.output": raw.get("output"),
        "gen_ai.conversation.id": session or text_in(raw, "sessionId"),
        "gen_ai.request.model": raw.get("model"),
        "langfuse.observation.usage_details": raw.get("usageDetails"),
    }
    failed = raw.get("level") == "ERROR"
    status = {"code": 2 if failed else 0, "message": raw.get("statusMessage") or ""}
    return {**raw, "parentId": raw.get("parentObservationId") or "", "attributes": attributes, "status": status}


def _translated(attributes: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    """Return attributes by the names of the GenAI conventions; `kind` and `name` are those of the span."""
    kind = text_in(attributes, "openinference.span.kind", "langfuse.observation.type") or kind
    if not kind:
        return attributes
    found = {_NAMES.get(key, key): value for key, value in attributes.items()}
    operation = _OPERATIONS.get(kind.lower())
    if operation is None or "gen_ai.operation.name" in found:
        return found
    for key in attributes:
        if (flattened := _MESSAGE_ATTRIBUTE.fullmatch(key)) is not None:
            path = _EXTRA_LEVEL.sub("", flattened[3]).replace("contents.", "content.")
            found[f"gen_ai.{_SIDES[flattened[1]]}.{flattened[2]}.{path}"] = found.pop(key)
    usage = as_input(found.pop("langfuse.observation.usage_details", None))
    found |= {f"gen_ai.usage.{side}_tokens": usage[side] for side in _SIDES if side in usage}
    input_key, output_key = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
    if operation == "execute_tool":
        found.setdefault("gen_ai.tool.name", name)
    else:
        has_messages = {side: any(key.startswith(f"gen_ai.{side}.") for key in found) for side in _SIDES.values()}
        input_key, output_key = (
            "" if has_messages[side] or operation != "chat" else f"gen_ai.{side}" for side in _SIDES.values()
        )
    for key, keys in ((input_key, _INPUTS), (output_key, _OUTPUTS)):  # key "": it is there already, or is no message
        value = next((attributes[key] for key in keys if attributes.get(key) is not None), None)
        if key and value is not None:
            found[key] = value
    return {**found, "gen_ai.operation.name": operation}


def _attributes(raw: object) -> dict[str, Any]:
    """Return attributes as a mapping, from a mapping or from OTLP's key/value list."""
    if isinstance(raw, dict):
        return raw
    return {text_in(entry, "key"): _value(entry.get("value")) for entry in dicts(raw)}


def _value(raw: object) -> object:
    """Return a value of OTLP: `{"stringValue": …}`, `{"arrayValue": {"values": […]}}`, `{"kvlistValue": …}`."""
    if not isinstance(raw, dict) or not raw:
        return None
    kind, value = next((entry for entry in raw.items() if entry[1] is not None), ("", None))
    if kind in ("arrayValue", "array_value"):
        return [_value(entry) for entry in dicts(value.get("values") if isinstance(value, dict) else None)]
    if kind in ("kvlistValue", "kvlist_value"):
        return _attributes(value.get("values") if isinstance(value, dict) else None)
    return value


def _seconds(value: object) -> float:
    """Return a time given in nanoseconds (a number or its text) or in ISO 8601; 0 for anything else."""
    try:
        if isinstance(value, int | float) or (isinstance(value, str) and value.isdigit()):
            seconds = float(value) / 1e9
        else:
            seconds = datetime.fromisoformat(value).timestamp() if isinstance(value, str) else 0.0
    except (ValueError, OverflowError, OSError):
        return 0.0
    return seconds if 0 <= seconds < 4e9 else 0.0  # before the year 2096: anything else is no time
