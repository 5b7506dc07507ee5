"""Models that are already on this machine: agents' command lines, keys in the environment, a server on loopback.

Only when the user runs `knowbound model`: it looks at files and the environment, asks codex for its list of models, and
tries four usual ports of this machine.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from knowbound.judge.models import claude_client, codex_client
from knowbound.judge.models.api import is_installed
from knowbound.process import find_client

_PORTS = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
_SECONDS = 0.3
_MOST_MODELS = 3  # of one server
_CLAUDE_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK")


class FoundModel(msgspec.Struct, frozen=True):
    """A model that could be used, or why it cannot."""

    name: str  # as `judge list` has it
    what: str
    usable: bool
    note: str = ""


def found_models(environ: Mapping[str, str] = os.environ) -> list[FoundModel]:
    """Return the models of this machine, the likeliest choice first."""
    return [*_claude(environ), *_codex(environ), *_keys(environ), *_servers()]


def _claude(environ: Mapping[str, str]) -> Iterator[FoundModel]:
    if find_client("claude") is None:
        return
    name, what = "claude-cli:haiku", "Claude Code on the PATH"
    if reason := claude_client.forced_by_administrator(claude_client.managed_folder()):
        yield FoundModel(name, what, False, reason)
        return
    folder = claude_client.config_folder()
    has_login = (
        any(environ.get(key) for key in _CLAUDE_KEYS)
        or (folder / ".credentials.json").exists()
        or bool(claude_client.carried_login(folder))
        or _has_key(Path.home() / ".claude.json")
    )
    yield FoundModel(name, what, True, "" if has_login else "no login is to be seen here; --try shows whether there is")


def _has_key(path: Path) -> bool:
    with suppress(OSError, ValueError):
        known = json.loads(path.read_bytes())
        return isinstance(known, dict) and bool(known.get("primaryApiKey") or known.get("oauthAccount"))
    return False


def _codex(environ: Mapping[str, str]) -> Iterator[FoundModel]:
    if find_client("codex") is None:
        return
    what, model = "Codex on the PATH", codex_client.usual_model()
    name = f"codex-cli:{model or 'MODEL'}"
    if reason := codex_client.forced_by_administrator(codex_client.SYSTEM):
        yield FoundModel(name, what, False, reason)
        return
    has_login = (codex_client.user_home() / "auth.json").exists() or bool(environ.get("CODEX_API_KEY"))
    note = "" if has_login else "no login is to be seen here; --try shows whether there is"
    yield FoundModel(name, what, bool(model), note)


def _keys(environ: Mapping[str, str]) -> Iterator[FoundModel]:
    note = "" if is_installed() else "needs the extra llm"
    if environ.get("ANTHROPIC_API_KEY"):
        yield FoundModel("anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY is set", is_installed(), note)
    if environ.get("OPENAI_API_KEY"):
        yield FoundModel("openai:MODEL", "OPENAI_API_KEY is set", False, note or "name one of its models")


def _servers() -> Iterator[FoundModel]:
    note = "" if is_installed() else "needs the extra llm"
    for port, program in _PORTS.items():
        for model in _models_at(port)[:_MOST_MODELS]:
            name = f"http://127.0.0.1:{port}/v1#{model}"
            yield FoundModel(name, f"a server on this machine ({program}'s port)", is_installed(), note)


def _models_at(port: int) -> list[str]:
    """Return the models that a server on loopback lists; none if nothing answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", "/v1/models")
        listed = json.loads(connection.getresponse().read(1 << 20))
        return [str(one["id"]) for one in listed["data"]]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return []
    finally:
        connection.close()
