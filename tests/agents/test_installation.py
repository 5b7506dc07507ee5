from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.agents.clients import Codex
from tests.agents.codex_server import codex_server, hooks, trust_hooks
from tests.agents.sandbox import Sandbox

PORT = "The orders service listens on port 8080 behind the internal gateway."
PROMPT = "On which port does the orders service listen?"
# Odd on purpose: two spaces, a tab, no newline at the end.
JSON = b'{"theme":  "dark",\n\t"permissions": {"allow": ["Bash(ls:*)"]}}'


@pytest.mark.parametrize(("installed", "started"), [("", "src/api"), ("src/api", "")])
def test_installed_and_started_in_the_root_or_below(sandbox: Sandbox, installed: str, started: str) -> None:
    (sandbox.project / "src" / "api").mkdir(parents=True)
    sandbox.add(PORT)
    sandbox.install(cwd=sandbox.project / installed)
    run = sandbox.ask(PROMPT, cwd=sandbox.project / started).check()
    assert len(run.requests[0].with_text(PORT)) == 1


def test_uninstall_gives_the_files_back_byte_for_byte(sandbox: Sandbox) -> None:
    files = sandbox.client.settings(sandbox.home, sandbox.project)
    hooks = files[0]
    hooks.parent.mkdir(exist_ok=True)
    hooks.write_bytes(JSON)
    before = {path: content(path) for path in files}
    sandbox.install()
    assert all(content(path) != before[path] for path in files)
    sandbox.knowbound("uninstall", sandbox.client.name, "--yes")
    assert {path: content(path) for path in files} == before


def test_uninstall_keeps_what_the_client_wrote_meanwhile(sandbox: Sandbox) -> None:
    sandbox.install()
    sandbox.ask(PROMPT).check()
    if isinstance(sandbox.client, Codex):  # a run leaves its settings alone; trusting a hook does not
        with codex_server(sandbox) as server:
            trust_hooks(server, sandbox)
    settings = sandbox.client.settings(sandbox.home, sandbox.project)[1]
    written = values(settings)
    sandbox.knowbound("uninstall", sandbox.client.name, "--yes")
    assert values(settings) == without_ours(written)
    run = sandbox.ask(PROMPT).check()
    assert "knowbound" not in json.dumps(run.requests[0].body)


def test_hooks_that_nobody_trusts_do_not_run_in_codex(untrusting: Sandbox) -> None:
    untrusting.add(PORT)
    untrusting.install()
    (request,) = untrusting.ask(PROMPT).check().requests
    assert request.with_text(PORT) == []
    with codex_server(untrusting) as server:
        assert {hook["trustStatus"] for hook in hooks(server, untrusting)} == {"untrusted"}
        trust_hooks(server, untrusting)
        assert {hook["trustStatus"] for hook in hooks(server, untrusting)} == {"trusted"}
    (request,) = untrusting.ask(PROMPT).check().requests
    assert len(request.with_text(PORT)) == 1


@pytest.fixture
def untrusting(tmp_path: Path, possible: None) -> Sandbox:
    return Sandbox(Codex(bypasses_trust=False), tmp_path)


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def values(path: Path) -> Any:
    text = path.read_text("utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)


def without_ours(value: Any) -> Any:
    """Without the MCP server `knowbound`, and without a table that held nothing else."""
    if not isinstance(value, dict):
        return value
    left = {key: without_ours(inner) for key, inner in value.items() if key != "knowbound"}
    return {key: inner for key, inner in left.items() if inner != {} or value[key] == {}}
