"""Telemetry that the agents themselves send: whether it is on, to whom, with which texts, and whether ours joins it.

Claude Code is configured by variables, of the process or in `env` of its settings (a later file wins); Codex by
`[otel]` in its config. Names from code.claude.com/docs (monitoring) and developers.openai.com/codex (config).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from knowbound.agent.doctor import NOTE, OK, HealthCheck
from knowbound.agent.install.clients import SCOPES, SettingsFile, settings_files
from knowbound.agent.install.entries import value_of
from knowbound.judge.models.claude_client import managed_folder

_ENABLED = "CLAUDE_CODE_ENABLE_TELEMETRY"
_SIGNALS = ("METRICS", "LOGS", "TRACES")
_TEXT_VARIABLES = {
    "OTEL_LOG_USER_PROMPTS": "prompts",
    "OTEL_LOG_TOOL_DETAILS": "tools' inputs",
    "OTEL_LOG_TOOL_CONTENT": "tools' inputs and outputs",
    "OTEL_LOG_RAW_API_BODIES": "whole requests",
}
_SESSION_ID = "OTEL_METRICS_INCLUDE_SESSION_ID"


def check_telemetry(root: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Check what each agent sends; an agent that sends nothing has no line."""
    yield from _check_claude_code(_variables(root, environ))
    yield from _check_codex(_settings_in(settings_files("codex", "user", root, environ)[1]).get("otel"))


def _check_claude_code(variables: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Check the variables that say what Claude Code exports."""
    if not _is_on(variables.get(_ENABLED)):
        return
    name = "telemetry of claude-code"
    exporters = {signal: variables.get(f"OTEL_{signal}_EXPORTER", "") for signal in _SIGNALS}
    sent = [signal.lower() for signal, exporter in exporters.items() if exporter not in ("", "none")]
    if not sent:
        yield HealthCheck(name, NOTE, "on, and nothing is exported: no OTEL_…_EXPORTER is set")
        return
    general = variables.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    otlp = [signal for signal in sent if "otlp" in exporters[signal.upper()].split(",")]
    addresses = {variables.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT") or general for signal in otlp}
    summary = f"{', '.join(sent)}{_hosts_words(addresses)}"
    texts = [text for variable, text in _TEXT_VARIABLES.items() if _is_on(variables.get(variable))]
    if texts and "traces" not in sent and "logs" not in sent:  # metrics have no texts
        texts = []
    if texts:
        yield HealthCheck(
            name, NOTE, f"{summary}, with the text of {', '.join(texts)}: secrets in it leave this machine"
        )
    elif variables.get(_SESSION_ID, "").lower() in ("false", "0"):
        yield HealthCheck(
            name, NOTE, f"{summary}, without session ids ({_SESSION_ID}): verdicts that you export join nothing"
        )
    else:
        yield HealthCheck(name, OK, f"{summary}; exported verdicts join it by the session's id")


def _check_codex(otel: object) -> Iterator[HealthCheck]:
    """Check the table `[otel]` of Codex's config."""
    if not isinstance(otel, dict):
        return
    sent, addresses = list[str](), set[str]()
    for key, signal in (("exporter", "logs"), ("trace_exporter", "traces"), ("metrics_exporter", "metrics")):
        exporter = otel.get(key)
        if isinstance(exporter, dict):  # {"otlp-http": {"endpoint": …}}
            sent.append(signal)
            addresses |= {
                str(options.get("endpoint", "")) for options in exporter.values() if isinstance(options, dict)
            }
        elif isinstance(exporter, str) and exporter != "none":
            sent.append(signal)
    if not sent:
        return
    name, summary = "telemetry of codex", f"{', '.join(sent)}{_hosts_words(addresses)}"
    if otel.get("log_user_prompt") is True:
        yield HealthCheck(name, NOTE, f"{summary}, with the text of prompts: secrets in it leave this machine")
    else:
        yield HealthCheck(name, OK, f"{summary}; exported verdicts join it by the conversation's id")


def _variables(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Claude Code runs with: those of its settings count before those of the process."""
    variables = dict(environ)
    files = [settings_files("claude-code", scope, root, environ)[0] for scope in SCOPES]
    for file in (*files, SettingsFile(managed_folder() / "managed-settings.json", has_hooks=True)):
        env = _settings_in(file).get("env")
        variables |= {str(name): str(value) for name, value in env.items()} if isinstance(env, dict) else {}
    return variables


def _settings_in(file: SettingsFile) -> Mapping[str, Any]:
    """Read a file of settings; one that is not there or cannot be read says nothing (other checks name it)."""
    try:
        return value_of(file, file.path.read_text("utf-8"))
    except Exception:
        return {}


def _is_on(value: str | None) -> bool:
    return (value or "").strip().lower() not in ("", "0", "false", "no", "off")


def _hosts_words(addresses: set[str]) -> str:
    """Return the hosts; an address can hold a password."""
    hosts = sorted({urlsplit(address).hostname or "" for address in addresses} - {""})
    return f" to {', '.join(hosts)}" if hosts else ""
