from __future__ import annotations

import json
from pathlib import Path

import pytest

from knowbound.agent.doctor.installations import check_telemetry

ON = {"CLAUDE_CODE_ENABLE_TELEMETRY": "1"}
LOGS = ON | {"OTEL_LOGS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "https://key:word@collector.example:4317"}


def found(folder: Path, variables: dict[str, str]) -> list[tuple[str, str]]:
    environ = {"HOME": str(folder / "user"), **variables}
    return [(check.state, check.found) for check in check_telemetry(folder / "project", environ)]


@pytest.mark.parametrize(
    ("variables", "state", "words"),
    [
        (ON, "note", "nothing is exported"),
        (LOGS, "ok", "logs to collector.example;"),
        (LOGS | {"OTEL_LOG_USER_PROMPTS": "1"}, "note", "with the text of prompts"),
        (LOGS | {"OTEL_METRICS_INCLUDE_SESSION_ID": "false"}, "note", "without session ids"),
        (ON | {"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_LOG_USER_PROMPTS": "1"}, "ok", "metrics;"),
    ],
)
def test_what_claude_code_sends_is_named(tmp_path: Path, variables: dict[str, str], state: str, words: str) -> None:
    ((given, text),) = found(tmp_path, variables)
    assert given == state
    assert words in text
    assert "word@" not in text


def test_telemetry_that_is_off_has_no_line(tmp_path: Path) -> None:
    assert found(tmp_path, {}) == []
    assert found(tmp_path, LOGS | {"CLAUDE_CODE_ENABLE_TELEMETRY": "0"}) == []


def test_settings_of_the_project_count_before_the_variables_of_the_process(tmp_path: Path) -> None:
    settings = tmp_path / "project" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"env": {"OTEL_LOG_USER_PROMPTS": "1"}}))
    ((state, _),) = found(tmp_path, LOGS)
    assert state == "note"


@pytest.mark.parametrize(
    ("otel", "expected"),
    [
        ('exporter = "none"', []),
        ('[otel.exporter.otlp-http]\nendpoint = "https://c.example/v1/logs"', ["ok"]),
        ('log_user_prompt = true\n[otel.exporter.otlp-http]\nendpoint = "https://c.example/v1/logs"', ["note"]),
    ],
)
def test_what_codex_sends_is_named(tmp_path: Path, otel: str, expected: list[str]) -> None:
    config = tmp_path / "user" / ".codex" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[otel]\n{otel}\n")
    assert [state for state, _ in found(tmp_path, {})] == expected
