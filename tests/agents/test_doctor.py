"""`doctor` against the real clients: what it says of an installation is what the client does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.clients import Codex
from tests.agents.codex_server import codex_server, hooks, trust_hooks
from tests.agents.sandbox import Sandbox

PORT = "The orders service listens on port 8080 behind the internal gateway."


def checks(sandbox: Sandbox, cwd: Path | None = None) -> dict[str, dict[str, Any]]:
    document = json.loads(sandbox.knowbound("doctor", "--format", "json", cwd=cwd, codes=(0, 2)))
    return {check["name"]: check for check in document["checks"]}


@pytest.fixture
def codex(tmp_path: Path, possible: None) -> Sandbox:
    """Only Codex asks its user to review hooks."""
    return Sandbox(Codex(), tmp_path)


def test_it_proves_an_installation_from_a_subfolder_and_records_nothing(sandbox: Sandbox) -> None:
    sub = sandbox.project / "src"
    sub.mkdir()
    sandbox.add(PORT)
    sandbox.install(cwd=sub)
    found = checks(sandbox, cwd=sub)
    assert "an item came back" in found[f"{sandbox.client.name} (user) hooks"]["found"]
    assert found[f"{sandbox.client.name} (user) MCP server"]["state"] == "ok"
    assert not (sandbox.data / "hook.log").exists()
    assert not (sandbox.data / "ended").exists()


def test_it_says_of_codex_hooks_what_codex_says(codex: Sandbox) -> None:
    codex.install()
    with codex_server(codex) as server:
        assert {hook["trustStatus"] for hook in hooks(server, codex)} == {"untrusted"}
        assert "untrusted" in checks(codex)["codex (user) trust"]["found"]
        trust_hooks(server, codex)
    with codex_server(codex) as server:
        assert {hook["trustStatus"] for hook in hooks(server, codex)} == {"trusted"}
    assert checks(codex)["codex (user) trust"]["state"] == "ok"
    settings = codex.home / ".codex" / "hooks.json"
    settings.write_text(settings.read_text("utf-8").replace('"timeout": 5', '"timeout": 6', 1), "utf-8")
    with codex_server(codex) as server:
        assert sorted(hook["trustStatus"] for hook in hooks(server, codex))[:2] == ["modified", "trusted"]
    assert "(modified)" in checks(codex)["codex (user) trust"]["found"]


@pytest.mark.parametrize("matcher", [None, "startup|resume"])
@pytest.mark.parametrize("handler", [{}, {"timeout": 60}, {"statusMessage": "Überblick", "async": False}])
def test_the_hash_of_a_hook_is_what_codex_makes_it(
    codex: Sandbox, matcher: str | None, handler: dict[str, Any]
) -> None:
    from knowbound.agent.doctor.installations import find_installations, hash_of

    group: dict[str, Any] = {"hooks": [{"type": "command", "command": "/x/knowbound-hook \"a\" 'ß'"} | handler]}
    group |= {"matcher": matcher} if matcher else {}
    document = {"hooks": {"SessionStart": [group], "UserPromptSubmit": [group]}}
    (codex.home / ".codex" / "hooks.json").write_text(json.dumps(document), "utf-8")
    [found] = find_installations(codex.project, {"HOME": str(codex.home)})
    with codex_server(codex) as server:
        theirs = sorted(hook["currentHash"] for hook in hooks(server, codex))
    assert theirs == sorted(hash_of(hook) for hook in found.hooks)
