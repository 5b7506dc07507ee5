"""Tables opened by DuckDB, events taken by OpenTelemetry's own types, spans sent by its own SDK."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from knowbound.cli.main import knowbound
from knowbound.core.trace import Outcome
from knowbound.demo import TRACES
from knowbound.report.export import TABLES
from knowbound.traces.registry import recognise
from knowbound.traces.source import Tally, read_head
from tests.reading import calls, prompts

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"


def export(folder: Path, *options: str) -> Result:
    words = ["export", str(folder / "out"), str(TRACES), "--all", "--root", str(folder), *options]
    done = CliRunner().invoke(knowbound, words, env={"KNOWBOUND_HOME": str(folder / "home")}, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A server on loopback that keeps what it is sent."""
    received: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_every_question_of_the_page_is_answered_by_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    export(tmp_path)
    monkeypatch.chdir(tmp_path / "out")
    questions = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    answers = [duckdb.sql(question).fetchall() for question in questions]
    assert len(answers) == 5
    assert all(answers[:4])


def test_json_lines_have_the_same_rows_as_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    export(tmp_path)
    export(tmp_path, "--format", "jsonl")
    for name, columns in TABLES.items():
        lines = [json.loads(line) for line in (tmp_path / "out" / f"{name}.jsonl").read_text().splitlines()]
        table = parquet.read_table(tmp_path / "out" / f"{name}.parquet")
        assert table.column_names == list(columns)
        assert table.to_pylist() == lines


def test_the_page_names_every_column() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \|$", PAGE.read_text(), re.MULTILINE))
    assert {name: text.split(", ") for name, text in rows.items()} == {
        name: list(columns) for name, columns in TABLES.items()
    }


def test_a_collector_receives_an_event_for_each_verdict(tmp_path: Path) -> None:
    logs = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
    json_format = pytest.importorskip("google.protobuf.json_format")
    with collector() as (address, received):
        export(tmp_path, "--format", "telemetry", "--otlp", f"{address}/v1/logs")
    ((path, body),) = received
    assert path == "/v1/logs"
    request = json_format.Parse(body, logs.ExportLogsServiceRequest())
    records = request.resource_logs[0].scope_logs[0].log_records
    lines = (tmp_path / "out" / "annotations.jsonl").read_text().splitlines()
    assert len(records) == len(lines) > 10
    assert {record.event_name for record in records} == {"gen_ai.evaluation.result"}
    named = {attribute.key for attribute in records[0].attributes}
    assert {"gen_ai.evaluation.name", "gen_ai.evaluation.score.label", "gen_ai.conversation.id"} <= named
    assert {json.loads(line)["annotator_kind"] for line in lines} == {"CODE"}


def test_spans_that_the_sdk_sends_are_read_from_protobuf(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    with collector() as (address, received):
        provider = TracerProvider()
        exporter = OTLPSpanExporter(f"{address}/v1/traces", compression=Compression.NoCompression)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer("test")
        asked = [{"role": "user", "parts": [{"type": "text", "content": "Where is the rota?"}]}]
        call = {"type": "tool_call", "id": "c1", "name": "grep", "arguments": {"pattern": "rota"}}
        about = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "s1"}
        with tracer.start_as_current_span("chat", attributes=about) as span:
            span.set_attribute("gen_ai.input.messages", json.dumps(asked))
            span.set_attribute("gen_ai.output.messages", json.dumps([{"role": "assistant", "parts": [call]}]))
        about = {"gen_ai.operation.name": "execute_tool", "gen_ai.conversation.id": "s1", "gen_ai.tool.name": "grep"}
        with tracer.start_as_current_span("tool", attributes=about) as span:
            span.set_attribute("gen_ai.tool.call.id", "c1")
            span.set_attribute("gen_ai.tool.call.result", "No matches found")
        provider.shutdown()
    events = []
    for number, (_, body) in enumerate(received):
        path = tmp_path / f"{number}.pb"
        path.write_bytes(body)
        known = recognise(read_head(path))
        assert known is not None
        assert known[0].name == "otel"
        tally = Tally(skipped=[])
        events += list(known[0].read([path], {}, tally))
        assert not tally.skipped_by_reason
    assert prompts(events) == ["Where is the rota?"]
    assert Outcome.EMPTY in [one.outcome for one in calls(events)]
