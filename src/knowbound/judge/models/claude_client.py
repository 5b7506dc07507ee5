"""Claude Code's command line as a plain model, by the user's own login (`claude-cli:MODEL`).

Nothing of anybody may act in the run: no tool, hook, MCP server, plugin, command, memory or attached file, and no
session is kept. The settings of the user are not loaded; of them, only what the login needs is carried over: the helper
that prints a key, and the variables of gateways and clouds. What an administrator forces (managed hooks, managed MCP
servers) cannot be switched off: then the client is not asked. Each of these was tried in the real program
(docs/decisions/models.md).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from knowbound.core.paths import MODEL_FOLDER
from knowbound.judge.models.completion import Completion, CompletionError, ModelQuestion, ended, run_program, shown
from knowbound.process import agent_environment, find_client

_FLAGS = (
    *("-p", "--output-format", "json", "--verbose", "--tools", "", "--setting-sources", "", "--strict-mcp-config"),
    *("--no-session-persistence", "--disable-slash-commands", "--no-chrome", "--max-turns", "3"),
)
_SWITCHES = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",  # else `@path` in a question sends that file
    "CLAUDE_CODE_SAFE_MODE": "1",  # plugins that an administrator enabled
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",  # by default it tries for minutes
    "DISABLE_AUTOUPDATER": "1",
    "MAX_THINKING_TOKENS": "0",  # a verdict is short
}
_SETTINGS = {"disableAllHooks": True, "permissions": {"deny": ["Read(//**)"], "defaultMode": "dontAsk"}}
_LOGIN = ("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "forceLoginMethod")
_LOGIN_VARIABLES = (
    *("ANTHROPIC_", "AWS_", "GOOGLE_", "GCLOUD_", "CLOUD_ML_REGION", "VERTEX_REGION_", "CLAUDE_CODE_USE_"),
    *("CLAUDE_CODE_SKIP_", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_API_KEY_HELPER", "CLAUDE_CODE_CLIENT_"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"),
)
_MANAGED_FOLDERS = {"darwin": "/Library/Application Support/ClaudeCode", "win32": "C:\\Program Files\\ClaudeCode"}
_FIRST_LINE = "Judge the material below.\n"  # a question that begins with a slash would be a command


class ClaudeModel:
    """Completes a prompt by running `claude -p`."""

    def __init__(self, model: str) -> None:
        self._model = model

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Run the client once, in an empty folder."""
        if reason := forced_by_administrator(managed_folder()):
            raise CompletionError(reason, hopeless=True)
        with tempfile.TemporaryDirectory(prefix=MODEL_FOLDER) as folder:
            private, empty = Path(folder) / "private", Path(folder) / f"{MODEL_FOLDER}empty"
            private.mkdir(0o700)
            empty.mkdir()
            settings, system = private / "settings.json", private / "system.md"
            settings.write_text(json.dumps(_SETTINGS | carried_login(config_folder())), "utf-8")
            system.write_text(question.instructions, "utf-8")
            command = [find_client("claude") or "claude", *_FLAGS, "--model", self._model]
            command += ["--settings", str(settings), "--system-prompt-file", str(system)]
            if question.schema:
                command += ["--json-schema", json.dumps(question.schema)]
            ran = run_program(command, _FIRST_LINE + question.text, seconds, empty, agent_environment() | _SWITCHES)
        events = list(_events(ran.out))
        result = next((event for event in reversed(events) if event.get("type") == "result"), None)
        if result is None:  # it ended before it answered
            raise ended("claude", ran)
        if result.get("is_error"):
            raise _failure(events, result)
        return _completion(result)


def _completion(result: Mapping[str, Any]) -> Completion:
    """Return the answer from the client's last event: its structured output if there is one, else its text."""
    answer = result.get("structured_output")
    usage, models = result.get("usage"), result.get("modelUsage")
    return Completion(
        text=json.dumps(answer, ensure_ascii=False) if answer is not None else str(result.get("result") or ""),
        tokens_in=tokens_of(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        tokens_out=tokens_of(usage, "output_tokens"),
        usd=_number(result.get("total_cost_usd")),
        model=next(iter(models), "") if isinstance(models, dict) else "",
    )


def _events(out: bytes) -> Iterator[dict[str, Any]]:
    """Yield the events in the output: those of a list, or the only one; none if it is no JSON."""
    try:
        value = msgspec.json.decode(out)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    for event in value if isinstance(value, list) else [value]:
        if isinstance(event, dict):
            yield event


def tokens_of(usage: object, *names: str) -> int | None:
    """Add the tokens of these names; None if the output has none of them."""
    values = [usage.get(name) for name in names] if isinstance(usage, dict) else []
    counts = [count for count in values if isinstance(count, int) and not isinstance(count, bool)]
    return sum(counts) if counts else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# Failures, by the client's own fields


def _failure(events: list[dict[str, Any]], result: Mapping[str, Any]) -> CompletionError:
    """Return the error of a failed run. The field `subtype` is "success" for every failure of the API."""
    kind = next((str(event["error"]) for event in reversed(events) if event.get("error")), "")
    said = shown(str(result.get("result") or result.get("subtype") or "no reason given"))
    usd = _number(result.get("total_cost_usd"))
    if kind == "authentication_failed":
        return CompletionError(f"claude is not logged in ({said}). Start claude once and log in", hopeless=True)
    if kind == "billing_error":
        return CompletionError(f"the account has no credit left ({said})", hopeless=True, limit=True)
    if kind == "model_not_found":
        return CompletionError(f"claude knows no such model ({said})", hopeless=True)
    if kind == "rate_limit" and (limits := _rejected(events)) is not None:
        return CompletionError(limit_reached("claude", said, limits), hopeless=True, limit=True)
    if kind == "max_output_tokens":
        return CompletionError(f"claude's answer was cut ({said})", usd=usd)
    if result.get("subtype") == "error_max_turns":
        return CompletionError("claude answered with tool calls or in another shape", again=True, usd=usd)
    return CompletionError(f"claude failed: {said}", again=True, usd=usd)


def _rejected(events: list[dict[str, Any]]) -> float | None:
    """Return when a limit of the plan ends (epoch seconds, 0 if unknown); None if no such limit was reported."""
    for event in reversed(events):
        info = event.get("rate_limit_info")
        if isinstance(info, dict) and info.get("status") == "rejected":
            return _number(info.get("resetsAt")) or 0.0
    return None


def limit_reached(program: str, said: str, until: float = 0.0) -> str:
    """Return the sentence for a limit of the user's plan."""
    when = f" until {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC" if until else ""
    return f"the plan's limit of {program} is reached{when} ({said}). What was answered is kept: run it again later"


# Settings


def config_folder() -> Path:
    """Return the folder of the user's own settings of Claude Code."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def managed_folder() -> Path:
    """Return the folder of an administrator's settings."""
    return Path(_MANAGED_FOLDERS.get(sys.platform, "/etc/claude-code"))


def carried_login(folder: Path) -> dict[str, object]:
    """Return what the login needs of the user's settings: everything else stays behind."""
    given = _json(folder / "settings.json")
    carried = {name: given[name] for name in _LOGIN if isinstance(given.get(name), str)}
    variables = given.get("env")
    env = {
        name: value
        for name, value in (variables.items() if isinstance(variables, dict) else ())
        if isinstance(value, str) and name.upper().startswith(_LOGIN_VARIABLES)
    }
    return carried | ({"env": env} if env else {})


def forced_by_administrator(folder: Path) -> str:
    """Return what an administrator forces into every run, so that the client is no plain model; "" if nothing."""
    if (folder / "managed-mcp.json").exists():
        return f"{folder / 'managed-mcp.json'} starts MCP servers in every run of claude, also in ours: it is not asked"
    hooks: Path | None = None
    are_off = False
    for path in (folder / "managed-settings.json", *sorted((folder / "managed-settings.d").glob("*.json"))):
        settings = _json(path)
        hooks = path if settings.get("hooks") else hooks
        are_off = bool(settings.get("disableAllHooks", are_off))  # the last file wins
    if hooks is None or are_off:
        return ""
    return f"hooks in {hooks} would run in every run of claude, also in ours: it is not asked"


def _json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one if the file has none."""
    try:
        value = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
