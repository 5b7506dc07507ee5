"""Codex's command line as a plain model, by the user's own login (`codex-cli:MODEL`).

The run has a private CODEX_HOME: the login is a link to the user's, and of the user's config only the model provider is
carried over. So no tool, hook, MCP server, skill, AGENTS.md or `notify` program acts in it, and nothing is kept. Codex
offers tools by its catalogue of models, so the run has a catalogue in which the model has none. Hooks that an
administrator pins cannot be switched off: then the client is not asked. Each of these was tried in the real program
(docs/decisions/models.md).
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from knowbound.core.paths import MODEL_FOLDER
from knowbound.judge.models.claude_client import limit_reached, tokens_of
from knowbound.judge.models.completion import Completion, CompletionError, ModelQuestion, ended, run_program, shown
from knowbound.process import agent_environment, find_client

_FLAGS = ("exec", "--json", "--skip-git-repo-check", "--ephemeral", "--ignore-rules", "--sandbox", "read-only")
_CONFIG: dict[str, Any] = {
    "web_search": "disabled",
    "project_doc_max_bytes": 0,
    "notify": [],
    "developer_instructions": "",
    "project_root_markers": [],  # else skills of a repository around the temporary folder
    "include_permissions_instructions": False,
    "include_environment_context": False,
    "include_apps_instructions": False,
    "include_collaboration_mode_instructions": False,
    "check_for_update_on_startup": False,
    "history": {"persistence": "none"},
    "analytics": {"enabled": False},
    "tools": {"experimental_request_user_input": {"enabled": False}, "update_plan": {"enabled": False}},
}
_FEATURES = (
    "shell_tool unified_exec view_image goals multi_agent multi_agent_v2 apps plugins tool_suggest image_generation "
    "hooks skill_search sleep_tool browser_use computer_use memories shell_snapshot skill_mcp_dependency_install "
    "unbounded_connection_retries"
).split()
_CARRIED_KEYS = (
    "model_provider",
    "openai_base_url",
    "chatgpt_base_url",
    "forced_login_method",
    "forced_chatgpt_workspace_id",
)
_WITHOUT_TOOLS = {
    "shell_type": "disabled",
    "apply_patch_tool_type": None,
    "experimental_supported_tools": [],
    "supports_search_tool": False,
    "tool_mode": "direct",
    "multi_agent_version": "disabled",
    "multi_agent_reasoning_effort": None,
    "node_repl_disabled": True,
    "input_modalities": ["text"],
}
SYSTEM = Path("/etc/codex")
_CATALOGUE_SECONDS = 20.0


class CodexModel:
    """Completes a prompt by running `codex exec`."""

    def __init__(self, model: str) -> None:
        self._model = model

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Run the client once, in an empty folder with a home of its own."""
        if reason := forced_by_administrator(SYSTEM):
            raise CompletionError(reason, hopeless=True)
        catalogue = self._catalogue
        with tempfile.TemporaryDirectory(prefix=MODEL_FOLDER) as folder:
            home, empty = Path(folder) / "home", Path(folder) / f"{MODEL_FOLDER}empty"
            home.mkdir(0o700)
            empty.mkdir()
            if (login := user_home() / "auth.json").exists():
                (home / "auth.json").symlink_to(login)
            (home / "instructions.md").write_text(question.instructions, "utf-8")
            (home / "catalog.json").write_text(catalogue, "utf-8")
            (home / "config.toml").write_text(_config(home), "utf-8")
            command = [_program(), *_FLAGS, "--color", "never", "--model", self._model, "-C", str(empty)]
            if question.schema:
                (home / "schema.json").write_text(json.dumps(strict(question.schema)), "utf-8")
                command += ["--output-schema", str(home / "schema.json")]
            environment = agent_environment() | {"CODEX_HOME": str(home)}
            ran = run_program([*command, "-"], question.text, seconds, empty, environment)
        answer: str | None = None
        usage: object = None
        for event in _events(ran.out):
            kind, item = event.get("type"), event.get("item")
            if kind == "item.completed" and isinstance(item, dict) and item.get("type") == "agent_message":
                answer = str(item.get("text", ""))
            elif kind == "turn.completed":
                usage = event.get("usage")
            elif kind == "turn.failed":  # events of the type "error" also come in runs that succeed
                error = event.get("error")
                raise _failure(shown(str(error.get("message")) if isinstance(error, dict) else "no reason given"))
        if ran.code != 0:
            raise ended("codex", ran)
        if answer is None:
            raise CompletionError("codex ended without an answer", again=True, usd=None)
        tokens_in, tokens_out = tokens_of(usage, "input_tokens"), tokens_of(usage, "output_tokens")
        return Completion(answer, tokens_in, tokens_out, usd=None, model=self._model)

    @cached_property
    def _catalogue(self) -> str:
        """Codex's own catalogue with this model alone, without tools."""
        try:
            models = _known_models()
            entry = next((model for model in models if model.get("slug") == self._model), models[0])
            changed = {name: value for name, value in _WITHOUT_TOOLS.items() if value is not None}
            return json.dumps({"models": [{key: entry[key] for key in entry if key not in _WITHOUT_TOOLS} | changed]})
        except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError, AttributeError):
            problem = (
                "this codex cannot be asked without its tools (codex debug models). Update it, or name another model"
            )
            raise CompletionError(problem, hopeless=True) from None


def _events(out: bytes) -> Iterator[dict[str, Any]]:
    """Yield the events in the output, one on each line; lines of other text are left out."""
    for line in out.splitlines():
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            event = msgspec.json.decode(line)
            if isinstance(event, dict):
                yield event


def _failure(said: str) -> CompletionError:
    """Return the error of a failed run. Codex reports no code: its words are all there is."""
    low = said.lower().replace("’", "'")
    if any(words in low for words in ("usage limit", "quota exceeded", "upgrade to plus")):
        return CompletionError(limit_reached("codex", said), hopeless=True, limit=True)
    if any(words in low for words in ("status 401", "status 403", "missing environment variable", "oauth/token")):
        return CompletionError(f"codex is not logged in ({said}). Run: codex login", hopeless=True)
    if "incomplete response" in low:
        return CompletionError(f"codex's answer was cut ({said})", usd=None)
    return CompletionError(f"codex failed: {said}", again=True, usd=None)


# The home of the run


def user_home() -> Path:
    """Return the user's own CODEX_HOME."""
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")


def _program() -> str:
    return find_client("codex") or "codex"


def usual_model() -> str:
    """Return the model that the user's config names, or the first of Codex's catalogue; "" if neither is known."""
    named = read_toml(user_home() / "config.toml").get("model")
    if isinstance(named, str):
        return named
    with contextlib.suppress(CompletionError, msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError):
        return str(_known_models()[0]["slug"])
    return ""


def _known_models() -> Any:
    """Return the models of the installed client's catalogue, as it describes them."""
    ran = run_program([_program(), "debug", "models"], "", _CATALOGUE_SECONDS, Path.home(), agent_environment())
    if ran.code != 0:
        raise CompletionError(f"codex cannot be asked: {shown(ran.err.decode('utf-8', 'replace'))}", hopeless=True)
    return msgspec.json.decode(ran.out)["models"]


def _config(home: Path) -> str:
    """Return the config of the run: the user's model provider, and everything else switched off."""
    users = read_toml(user_home() / "config.toml")
    config = _CONFIG | {name: users[name] for name in _CARRIED_KEYS if name in users}
    providers = users.get("model_providers")
    provider = users.get("model_provider")
    if isinstance(providers, dict) and provider in providers:
        config["model_providers"] = {provider: providers[provider]}
    folders = (Path.home() / ".agents" / "skills", SYSTEM / "skills")
    skills = sorted(path for folder in folders for path in folder.glob("**/SKILL.md"))
    config["model_instructions_file"] = str(home / "instructions.md")
    config["model_catalog_json"] = str(home / "catalog.json")
    config["skills"] = {
        "include_instructions": False,
        "bundled": {"enabled": False},
        "config": [{"path": str(path), "enabled": False} for path in skills],
    }
    config["features"] = dict.fromkeys(_FEATURES, False)
    servers = [name for path in SYSTEM.glob("*.toml") for name in _table(read_toml(path), "mcp_servers")]
    if servers:
        config["mcp_servers"] = {name: {"enabled": False} for name in servers}
    return toml_text(config)


def forced_by_administrator(folder: Path) -> str:
    """Return why the client cannot be a plain model here: hooks that an administrator pins. "" if there are none."""
    required, managed = folder / "requirements.toml", folder / "managed_config.toml"
    pinned, over_ours = read_toml(required), read_toml(managed)
    servers = _table(over_ours, "mcp_servers").values()
    acting = {
        required: _switched_on(_table(pinned, "features")) or _switched_on(_table(pinned, "feature_requirements")),
        managed: _switched_on(_table(over_ours, "features"))
        or not _CONFIG.keys().isdisjoint(over_ours)
        or any(isinstance(server, dict) and server.get("enabled") for server in servers),
    }
    for path, acts in acting.items():
        if acts:
            return f"{path} switches on what would act in every run of codex, also in ours: it is not asked"
    return ""


def _switched_on(features: Mapping[str, Any]) -> bool:
    return any(features.get(name) is True for name in _FEATURES)


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema as OpenAI's strict mode wants it: every property required, and no other."""
    changed = {name: _strict_part(part) for name, part in schema.items() if name not in ("default", "title")}
    if isinstance(changed.get("properties"), dict):
        changed |= {"required": list(changed["properties"]), "additionalProperties": False}
    return changed


def _strict_part(part: Any) -> Any:
    if isinstance(part, dict):
        return strict(part)
    return [_strict_part(member) for member in part] if isinstance(part, list) else part


def _table(of: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = of.get(name)
    return found if isinstance(found, dict) else {}


def read_toml(path: Path) -> dict[str, Any]:
    """Return the values of a TOML file; none if it cannot be read."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


def toml_text(config: Mapping[str, Any]) -> str:
    """Return a config as TOML, one key a line. What JSON and TOML write in the same way is written as JSON."""
    return "".join(f"{json.dumps(name)} = {_toml_value(value)}\n" for name, value in config.items())


def _toml_value(value: Any) -> str:
    """Return a value as TOML; tables are inline."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(name))} = {_toml_value(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(value if isinstance(value, str | int | float) else str(value), ensure_ascii=False)
