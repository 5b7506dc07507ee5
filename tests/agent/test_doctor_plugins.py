"""`doctor` knows the plugin: switched on, set up, beside hooks of the user, kept out by managed settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from knowbound.agent.doctor import HealthCheck
from knowbound.agent.doctor.installations import check_plugins, plugin_agents


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def with_plugins(home: Path, *, on: bool = True) -> None:
    write(home / ".claude" / "settings.json", json.dumps({"enabledPlugins": {"knowbound@team": on}}))
    write(home / ".codex" / "config.toml", f'[plugins."knowbound@team"]\nenabled = {str(on).lower()}\n')


def checked(home: Path, environ: dict[str, str], *, hooked: frozenset[str] = frozenset()) -> list[HealthCheck]:
    agents = plugin_agents(home, environ)
    return list(check_plugins(agents, set(hooked), home / "managed", environ))


def test_a_plugin_that_is_switched_on_is_found_in_both_agents(tmp_path: Path, environ: dict[str, str]) -> None:
    assert plugin_agents(tmp_path, environ) == []
    with_plugins(tmp_path)
    assert plugin_agents(tmp_path, environ) == ["claude-code", "codex"]
    with_plugins(tmp_path, on=False)
    assert plugin_agents(tmp_path, environ) == []
    write(tmp_path / ".claude" / "settings.json", "{broken")
    assert plugin_agents(tmp_path, environ) == []


def test_it_says_what_is_left_to_do(tmp_path: Path, environ: dict[str, str]) -> None:
    with_plugins(tmp_path)
    assert [one.do for one in checked(tmp_path, environ)] == [
        "type /knowbound setup in claude-code",
        "type $knowbound setup in codex",
    ]
    write(tmp_path / ".local" / "share" / "knowbound" / "current", "0.1.0-abc\n")
    assert {one.state for one in checked(tmp_path, environ)} == {"ok"}
    first, second = checked(tmp_path, environ, hooked=frozenset({"codex"}))
    assert "answers" in first.found
    assert "gives way" in second.found


def test_managed_settings_that_keep_hooks_out_are_named(tmp_path: Path, environ: dict[str, str]) -> None:
    path = tmp_path / "managed" / "managed-settings.json"
    write(path, json.dumps({"allowManagedHooksOnly": True}))
    [check] = checked(tmp_path, environ)
    assert "managed hooks only" in check.found
    write(path, json.dumps({"allowManagedHooksOnly": True, "enabledPlugins": {"knowbound@team": True}}))
    assert checked(tmp_path, environ) == []
