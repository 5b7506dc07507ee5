"""The plugin in the real clients: added from a marketplace, silent until its set-up, then answering."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from knowbound.injection.bundle import INTRO
from tests.agents.clients import ClaudeCode, Codex
from tests.agents.sandbox import Run, Sandbox
from tests.agents.scripted_model import Reply, Request, Say
from tests.marketplaces import Marketplace, set_up
from tests.services import until

PORT = "The orders service listens on port 8080."
PROMPT = "Which port does the orders service use?"
SYSTEM = "/usr/local/bin:/usr/bin:/bin"  # no knowbound


def with_plugin(sandbox: Sandbox, marketplace: Marketplace, folder: Path) -> Marketplace:
    """Add the marketplace and install the plugin, by the client's own commands; the marketplace as it was added."""
    sandbox.environ["PATH"] = SYSTEM
    sandbox.environ["MCP_CONNECTION_NONBLOCKING"] = "false"  # else Claude Code 2.1.197 may not wait for the server
    added = marketplace.copy(folder / "marketplace")
    if isinstance(sandbox.client, Codex):
        config = sandbox.home / ".codex" / "config.toml"
        config.write_text(config.read_text("utf-8").replace("plugins = false", "plugins = true"), "utf-8")
    client(sandbox, "plugin", "marketplace", "add", str(added.folder))
    client(sandbox, "plugin", "install" if isinstance(sandbox.client, ClaudeCode) else "add", "knowbound@knowbound")
    return added


def client(sandbox: Sandbox, *words: str) -> str:
    """What a command of the client prints."""
    done = subprocess.run(
        [str(sandbox.program), *words], env=sandbox.environ, cwd=sandbox.project, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
    return done.stdout


def said(run: Run) -> list[str]:
    """What hooks printed, in Claude Code's stream."""
    return [str(event["stdout"]) for event in run.events if event.get("subtype") == "hook_response" and event["stdout"]]


def items(run: Run) -> int:
    """How often the first request has injected items."""
    return sum(part.text.count(INTRO) for part in run.requests[0].parts)


def test_silent_until_the_set_up_then_the_first_prompt_has_its_item(
    sandbox: Sandbox, marketplace: Marketplace, installed_data: Path, tmp_path: Path
) -> None:
    added = with_plugin(sandbox, marketplace, tmp_path)
    sandbox.add(PORT)
    first, second = (sandbox.ask(PROMPT, [Say("8080.")]).check() for _ in range(2))
    assert (items(first), items(second), sandbox.outcomes("user-prompt-submit")) == (0, 0, [])
    if isinstance(sandbox.client, ClaudeCode):
        assert len([one for one in said(first) if "systemMessage" in one]) == 1
        assert [one for one in said(second) if one.strip() != "{}"] == []
        asked = sandbox.ask("/knowbound setup", [Say("Done.")]).check()
        assert f"{added.plugin}/bin/knowbound" in "".join(part.text for part in asked.requests[0].parts)
    else:
        assert "knowbound" in "".join(part.text for part in first.requests[0].parts)  # the skill is offered
    done = set_up(added.plugin, sandbox.environ)
    assert done.returncode == 0, done.stderr
    run = sandbox.ask(PROMPT, [*sandbox.client.misses(sandbox.project / "missing.py")[:1], Say("8080.")]).check()
    assert items(run) == 1
    assert sandbox.outcomes("user-prompt-submit") == ["injected"]
    until(lambda: sandbox.outcomes("stop") == ["queued"])


def test_the_server_of_the_plugin_answers_hooks_and_offers_its_tools(
    sandbox: Sandbox, marketplace: Marketplace, installed_data: Path, tmp_path: Path
) -> None:
    with_plugin(sandbox, marketplace, tmp_path)
    sandbox.environ["XDG_DATA_HOME"] = str(installed_data)
    sandbox.add(PORT)
    marks: list[str] = []

    def script(request: Request) -> Reply:
        if not request.results:
            folder = sandbox.home / ".local" / "state" / "knowbound" / "resident"
            marks.extend(one.name for one in folder.iterdir())
            return sandbox.client.runs("cat README.md")
        return Say("8080.")

    run = sandbox.ask(PROMPT, script).check()
    assert len(marks) == 1  # the server said that it answers this client's events
    assert items(run) == 1
    if isinstance(sandbox.client, ClaudeCode):
        assert [event for event in run.events if event.get("outcome") == "error"] == []
        [init] = [event for event in run.events if event.get("subtype") == "init"]
        assert "mcp__plugin_knowbound_knowbound__unified_search" in init["tools"]


def test_beside_a_classic_installation_nothing_fires_twice(
    sandbox: Sandbox, marketplace: Marketplace, installed_data: Path, tmp_path: Path
) -> None:
    with_plugin(sandbox, marketplace, tmp_path)
    sandbox.environ["XDG_DATA_HOME"] = str(installed_data)
    sandbox.add(PORT)
    sandbox.install()
    run = sandbox.ask(PROMPT, [Say("8080.")]).check()
    assert items(run) == 1
    assert sum(part.text.count("Index of this project's knowledge store") for part in run.requests[0].parts) in (1, 2)
    assert sandbox.outcomes("session-start") == ["indexed"]
    assert sandbox.outcomes("user-prompt-submit") == ["injected"]
    until(lambda: bool(sandbox.outcomes("stop")))
    assert sandbox.outcomes("stop") == ["queued"]
    if isinstance(sandbox.client, ClaudeCode):
        [init] = [event for event in run.events if event.get("subtype") == "init"]
        tools = [name for name in init["tools"] if name.endswith("__unified_search")]
        assert tools == ["mcp__knowbound__unified_search"]


def test_an_update_while_a_session_runs_leaves_the_session_its_server(
    sandbox: Sandbox, marketplace: Marketplace, installed_data: Path, tmp_path: Path
) -> None:
    added = with_plugin(sandbox, marketplace, tmp_path)
    data = tmp_path / "own-data"
    shutil.copytree(installed_data, data, symlinks=True)
    sandbox.environ["XDG_DATA_HOME"] = str(data)
    sandbox.add(PORT)

    def script(request: Request) -> Reply:
        if not request.results:
            newer = added.copy(tmp_path / "newer")
            newer.becomes_another_release()
            assert set_up(newer.plugin, sandbox.environ).returncode == 0
            return sandbox.client.runs("cat README.md")
        return Say("8080.")

    run = sandbox.ask(PROMPT, script).check()
    assert (run.answer, items(run)) == ("8080.", 1)
    until(lambda: sandbox.outcomes("stop") == ["queued"])
    assert sandbox.outcomes("user-prompt-submit") == ["injected"]


def test_uninstalled_by_the_client_nothing_of_it_is_left_in_a_session(
    sandbox: Sandbox, marketplace: Marketplace, installed_data: Path, tmp_path: Path
) -> None:
    with_plugin(sandbox, marketplace, tmp_path)
    sandbox.environ["XDG_DATA_HOME"] = str(installed_data)
    sandbox.add(PORT)
    client(
        sandbox, "plugin", "uninstall" if isinstance(sandbox.client, ClaudeCode) else "remove", "knowbound@knowbound"
    )
    run = sandbox.ask(PROMPT, [Say("8080.")]).check()
    assert items(run) == 0
    assert sandbox.outcomes("user-prompt-submit") == []


def test_claude_code_finds_nothing_wrong_with_the_plugin(
    sandbox: Sandbox, marketplace: Marketplace, tmp_path: Path
) -> None:
    if not isinstance(sandbox.client, ClaudeCode):
        pytest.skip("Codex has no command for it")
    for folder in (marketplace.plugin, marketplace.folder):
        found = client(sandbox, "plugin", "validate", str(folder))
        assert "✔ Validation passed" in found
        # Newer clients add what their public directory of plugins would refuse or like to have.
        assert "⚠" not in found.partition("Plugin directory checks")[0]


def test_managed_settings_decide_whether_it_runs(
    sandbox: Sandbox, marketplace: Marketplace, installed_data: Path, tmp_path: Path
) -> None:
    """`allowManagedHooksOnly` keeps out hooks of plugins, except of those that the administrator switches on."""
    if not isinstance(sandbox.client, ClaudeCode):
        pytest.skip("a setting of Claude Code")
    added = with_plugin(sandbox, marketplace, tmp_path)
    sandbox.environ["XDG_DATA_HOME"] = str(installed_data)
    sandbox.add(PORT)
    only = {"allowManagedHooksOnly": True}
    source = {"source": "directory", "path": str(added.folder)}
    forced = only | {
        "enabledPlugins": {"knowbound@knowbound": True},
        "extraKnownMarketplaces": {"knowbound": {"source": source}},
        "strictKnownMarketplaces": [source],
    }
    assert items(managed(sandbox, tmp_path / "only", only)) == 0
    assert items(managed(sandbox, tmp_path / "forced", forced)) == 1


def managed(sandbox: Sandbox, folder: Path, settings: dict[str, Any]) -> Run:
    """Run with these managed settings, which only a mount namespace of the client has."""
    for name in ("etc/claude-code", "work"):
        (folder / name).mkdir(parents=True)
    (folder / "etc" / "claude-code" / "managed-settings.json").write_text(json.dumps(settings), "utf-8")
    lower = f"lowerdir=/etc,upperdir={folder / 'etc'},workdir={folder / 'work'}"
    mount = ["unshare", "--mount", "sh", "-c", f'mount -t overlay overlay -o {lower} /etc && exec "$@"', "sh"]
    if subprocess.run([*mount, "true"], capture_output=True, timeout=60, check=False).returncode:
        pytest.skip("no overlay can be mounted here")
    program, wrapper = sandbox.program, folder / "claude"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(mount)} "{program}" "$@"\n', "utf-8")
    wrapper.chmod(0o755)
    sandbox.program = wrapper
    try:
        return sandbox.ask(PROMPT, [Say("8080.")]).check()
    finally:
        sandbox.program = program
