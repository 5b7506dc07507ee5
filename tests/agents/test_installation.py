from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.agents.clients import ClaudeCode
from tests.agents.sandbox import Sandbox

PORT = "The orders service listens on port 8080 behind the internal gateway."
PROMPT = "On which port does the orders service listen?"
# Odd on purpose: two spaces, a tab, no newline at the end.
JSON = b'{"theme":  "dark",\n\t"permissions": {"allow": ["Bash(ls:*)"]}}'


@pytest.mark.parametrize(("installed", "started"), [("", "src/api"), ("src/api", ""), ("src/api", "src/api")])
def test_installed_and_started_in_the_root_or_below(
    sandbox: Sandbox, installed: str, started: str, request: pytest.FixtureRequest
) -> None:
    if isinstance(sandbox.client, ClaudeCode) and installed != started:
        request.applymarker(pytest.mark.xfail(strict=True, reason="hooks of a local scope fire in their folder only"))
    (sandbox.project / "src" / "api").mkdir(parents=True)
    sandbox.add(PORT, "--subject", "elsewhere")
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
    files = sandbox.client.settings(sandbox.home, sandbox.project)
    sandbox.install()
    sandbox.ask(PROMPT).check()
    (sandbox.home / "trusted").mkdir()
    settings = files[1]
    if not isinstance(sandbox.client, ClaudeCode):  # what Codex writes when the user trusts a project
        with settings.open("a", encoding="utf-8") as file:
            file.write(f'\n[projects."{sandbox.home}/trusted"]\ntrust_level = "trusted"\n')
    written = values(settings)
    sandbox.knowbound("uninstall", sandbox.client.name, "--yes")
    left = values(settings)
    assert "knowbound" not in settings.read_text("utf-8").replace(str(sandbox.project), "")
    assert without_ours(written) == left
    run = sandbox.ask(PROMPT).check()
    assert "knowbound" not in json.dumps(run.requests[0].body).replace(str(sandbox.project), "")


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
