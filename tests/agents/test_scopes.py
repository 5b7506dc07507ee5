"""Which settings a client reads from where, and what ours do there."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agents.clients import ClaudeCode
from tests.agents.sandbox import Run, Sandbox

PORT = "The orders service listens on port 8080 behind the internal gateway."
PROMPT = "On which port does the orders service listen?"


def git(folder: Path, *words: str) -> None:
    name = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


def trust_project(sandbox: Sandbox) -> None:
    """Codex reads the settings of a project that the user trusts."""
    if not isinstance(sandbox.client, ClaudeCode):
        with (sandbox.home / ".codex" / "config.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[projects."{sandbox.project}"]\ntrust_level = "trusted"\n')


def times_injected(run: Run) -> int:
    return len(run.check().requests[0].with_text(PORT))


def servers(run: Run) -> dict[str, str]:
    """The MCP servers that Claude Code had when it started, and how they are."""
    [start] = [event for event in run.events if event.get("subtype") == "init"]
    return {str(server["name"]): str(server["status"]) for server in start["mcp_servers"]}


def hook_answers(run: Run) -> list[dict[str, Any]]:
    return [event for event in run.events if event.get("subtype") == "hook_response"]


def test_a_linked_work_tree_and_a_submodule_have_the_items_of_their_project(sandbox: Sandbox, tmp_path: Path) -> None:
    git(sandbox.project, "commit", "-q", "--allow-empty", "-m", "first")
    git(sandbox.project, "worktree", "add", "-q", str(tmp_path / "linked"))
    git(sandbox.project, "submodule", "add", "-q", str(sandbox.project), "module")
    sandbox.add(PORT)
    sandbox.install()
    assert times_injected(sandbox.ask(PROMPT, cwd=tmp_path / "linked")) == 1
    assert times_injected(sandbox.ask(PROMPT, cwd=sandbox.project / "module")) == 1


def test_another_project_without_items_gets_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.add(PORT)
    sandbox.install()
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", str(other))
    run = sandbox.ask(PROMPT, cwd=other).check()
    assert "knowledge store (knowbound)" not in json.dumps(run.requests[0].body)
    assert {path.name for path in other.iterdir()} == {".git"}


def test_shared_settings_disturb_nobody_who_has_no_knowbound(sandbox: Sandbox) -> None:
    trust_project(sandbox)
    sandbox.install("--scope", "project")
    run = sandbox.ask(PROMPT, PATH="/usr/local/bin:/usr/bin:/bin").check()
    assert len(run.requests) == 1
    assert not run.requests[0].with_text("knowbound")
    if isinstance(sandbox.client, ClaudeCode):
        assert len(hook_answers(run)) >= 2
        for answer in hook_answers(run):
            assert (answer["exit_code"], answer["stdout"], answer["stderr"]) == (0, "", "")
    else:
        errors = [event["item"]["message"] for event in run.events if event.get("item", {}).get("type") == "error"]
        assert not [message for message in errors if "bypass-hook-trust" not in message]


def test_shared_settings_work_where_knowbound_is_on_the_path(sandbox: Sandbox) -> None:
    trust_project(sandbox)
    sandbox.add(PORT)
    sandbox.install("--scope", "project")
    assert times_injected(sandbox.ask(PROMPT)) == 1


def test_shared_settings_give_way_to_the_users_own(sandbox: Sandbox) -> None:
    trust_project(sandbox)
    sandbox.add(PORT)
    sandbox.install("--scope", "project")
    sandbox.install()
    assert times_injected(sandbox.ask(PROMPT)) == 1
    assert len(sandbox.outcomes("user-prompt-submit")) == 1


def test_claude_code_reads_local_hooks_in_their_folder_and_servers_by_repository(sandbox: Sandbox) -> None:
    """The facts behind the default scope; where they change, docs/decisions/clients.md changes."""
    if not isinstance(sandbox.client, ClaudeCode):
        pytest.skip("a scope that only Claude Code has")
    sub = sandbox.project / "src"
    sub.mkdir()
    sandbox.add(PORT)
    sandbox.install("--scope", "local", cwd=sub)
    in_root, in_sub = sandbox.ask(PROMPT), sandbox.ask(PROMPT, cwd=sub)
    assert (times_injected(in_root), times_injected(in_sub)) == (1, 0)
    assert "knowbound" in servers(in_root)
    assert "knowbound" in servers(in_sub)


def test_a_local_installation_that_moved_to_the_user_injects_once(sandbox: Sandbox) -> None:
    if not isinstance(sandbox.client, ClaudeCode):
        pytest.skip("a scope that only Claude Code has")
    sandbox.add(PORT)
    sandbox.install("--scope", "local")
    sandbox.ask(PROMPT).check()  # the client rewrites its state
    sandbox.install()
    run = sandbox.ask(PROMPT)
    assert times_injected(run) == 1
    answers = [answer for answer in hook_answers(run) if answer["hook_event"] == "UserPromptSubmit"]
    assert len(answers) == 2  # the server's and the process's
    assert list(servers(run)).count("knowbound") == 1
