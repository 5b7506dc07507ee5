"""OpenTelemetry spans in one of two forms of JSON, or in protobuf.

- OTLP: `resourceSpans[].scopeSpans[].spans[]` with attributes as key/value lists
  (`{"key": "a", "value": {"stringValue": "b"}}`), times in nanoseconds, `status.code` 2 for an error.
- Flat, as the console exporters of the SDKs write them: `{"name", "context": {"trace_id", "span_id"},
  "parent_id", "start_time", "status": {"status_code"}, "attributes": {}, "events": []}`.
- Protobuf: the body of a request to `/v1/traces`, read with the extra `telemetry`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from knowbound.traces.dialogue import text_in
from knowbound.traces.source import Tally, read_document
from knowbound.traces.values import dicts, first_value, head_of, read_values

_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
_ENDS = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")


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
    return head[:1] == b"\n" and first_value(head) is None and (b"gen_ai." in head or b"llm." in head)


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
    for of_resource in dicts(raw.get("resourceSpans", raw.get("resource_spans"))):
        resource = of_resource.get("resource")
        about = _attributes(resource.get("attributes") if isinstance(resource, dict) else None)
        for scope in dicts(of_resource.get("scopeSpans", of_resource.get("scope_spans"))):
            for span in dicts(scope.get("spans")):
                yield span, about


def _span(raw: dict[str, Any], resource: dict[str, Any], line: int) -> GenAiSpan:
    context = raw.get("context")
    ids = {**raw, **context} if isinstance(context, dict) else raw
    attributes = _attributes(raw.get("attributes"))
    events = [(text_in(event, "name"), _attributes(event.get("attributes"))) for event in dicts(raw.get("events"))]
    status = raw.get("status")
    status = status if isinstance(status, dict) else {}
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


def _attributes(raw: object) -> dict[str, Any]:
    """Return attributes as a mapping, from a mapping or from OTLP's key/value list."""
    if isinstance(raw, dict):
        return raw
    return {text_in(entry, "key"): _value(entry.get("value")) for entry in dicts(raw)}


def _value(raw: object) -> object:
    """Return a value of OTLP: `{"stringValue": …}`, `{"arrayValue": {"values": […]}}`, `{"kvlistValue": …}`."""
    if not isinstance(raw, dict) or not raw:
        return None
    kind, value = next(iter(raw.items()))
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
    return seconds if 0 <= seconds < 4e9 else 0.0
