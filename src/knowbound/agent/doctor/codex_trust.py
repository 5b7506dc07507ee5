"""Trust of our hooks in Codex, which skips hooks without a word until its user has reviewed them.

Trust is in the user's `config.toml`, also for the hooks of a project: `hooks.state`, by file, event and place, with a
hash of the hook as it was reviewed: of its definition as compact JSON with sorted keys.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from knowbound.agent.clients import settings_files
from knowbound.agent.doctor import NOTE, OK, PROBLEM, HealthCheck
from knowbound.agent.doctor.installations import Installation, OurHook

_REVIEW = "open Codex, enter /hooks and trust them"
_DEFAULT_SECONDS = 600
_NO_MATCHER = ("UserPromptSubmit", "Stop")  # events whose matcher Codex ignores


def check_codex_trust(found: list[Installation], root: Path, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Check that each installation in Codex is reviewed as it is now, and not switched off."""
    for one in found:
        if one.agent == "codex" and one.hooks:
            yield _check(one, root, _config(root, environ))


def _check(one: Installation, root: Path, config: Mapping[str, Any] | None) -> HealthCheck:
    name = f"{one.name} trust"
    if config is None:
        return HealthCheck(
            name, NOTE, "unknown: Codex's config.toml cannot be read", "knowbound explain settings-broken"
        )
    features = config.get("features")
    if isinstance(features, dict) and features.get("hooks") is False:
        return HealthCheck(
            name, PROBLEM, "Codex's hooks are switched off: features.hooks", "codex features enable hooks"
        )
    if one.scope == "project" and not _is_trusted_project(config, root):
        found = f"Codex reads no settings of {root}, because you have not trusted it there"
        return HealthCheck(name, PROBLEM, found, "open Codex there and trust the project")
    [file] = [file.path for file in one.files if file.has_hooks]
    states = {hook.event: trust_of(hook, file, config) for hook in one.hooks}
    wrong = [f"{event} ({state})" for event, state in states.items() if state != "trusted"]
    if wrong:
        return HealthCheck(name, PROBLEM, f"Codex does not run {', '.join(wrong)}", _REVIEW)
    return HealthCheck(name, OK, f"{', '.join(states)} reviewed in Codex")


def trust_of(hook: OurHook, file: Path, config: Mapping[str, Any]) -> str:
    """Return Codex's word: `trusted`, `untrusted` (not reviewed), `modified` (since the review) or `disabled`."""
    hooks = config.get("hooks")
    states = hooks.get("state") if isinstance(hooks, dict) else None
    key = f"{file}:{_snake(hook.event)}:{hook.group}:{hook.handler}"
    state = states.get(key) if isinstance(states, dict) else None
    if not isinstance(state, dict) or not state.get("trusted_hash"):
        return "untrusted"
    if state["trusted_hash"] != hash_of(hook):
        return "modified"
    return "disabled" if state.get("enabled") is False else "trusted"


def hash_of(hook: OurHook) -> str:
    """Return the hash of a hook as Codex 0.166 makes it."""
    entry = hook.entry
    handler: dict[str, Any] = {
        "type": "command",
        "command": hook.command,
        "timeout": entry.get("timeout", _DEFAULT_SECONDS),
        "async": bool(entry.get("async", False)),
    }
    handler |= {key: entry[key] for key in ("statusMessage", "additionalContextLimit") if entry.get(key) is not None}
    definition: dict[str, Any] = {"event_name": _snake(hook.event), "hooks": [handler]}
    if hook.matcher is not None and hook.event not in _NO_MATCHER:
        definition["matcher"] = hook.matcher
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _config(root: Path, environ: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Read the user's own config; Codex reads trust from no other."""
    path = settings_files("codex", "user", root, environ)[1].path
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None


def _is_trusted_project(config: Mapping[str, Any], root: Path) -> bool:
    projects = config.get("projects")
    project = projects.get(str(root)) if isinstance(projects, dict) else None
    return isinstance(project, dict) and project.get("trust_level") == "trusted"


def _snake(event: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()
