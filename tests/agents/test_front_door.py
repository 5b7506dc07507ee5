"""The way of a wrong line: it misleads sessions of the real client, knowbound proposes its repair, and the next session
starts with the repaired line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from contextlib import suppress

import pytest

from tests.agents.clients import ClaudeCode
from tests.agents.sandbox import Sandbox
from tests.agents.scripted_model import Call, Say

WRONG = "The export of orders is in `src/commands/`, one file for each format."
RIGHT = "The export of orders is in `src/cli/`, one file for each format."
HELD_BACK = "Formats of the export of orders are in `src/commands/formats.ts`."


def test_a_wrong_line_is_found_by_its_misses_repaired_and_gone_from_the_next_first_request(sandbox: Sandbox) -> None:
    knowledge = sandbox.project / ("CLAUDE.md" if isinstance(sandbox.client, ClaudeCode) else "AGENTS.md")
    (sandbox.project / "src/cli").mkdir(parents=True)
    (sandbox.project / "src/cli/export_orders.ts").write_text("export const orders = 1;\n")
    knowledge.write_text(f"# Orders\n\n- {WRONG}\n")
    sandbox.add(HELD_BACK)
    sandbox.install()
    wrong, right = (sandbox.project / f"src/{folder}/export_orders.ts" for folder in ("commands", "cli"))
    question = "Where is the export of orders?"
    sessions = set()
    for _ in range(2):
        first = sandbox.ask(question, [*sandbox.client.misses(wrong), sandbox.client.reads(right), Say("In src/cli.")])
        assert first.check().requests[0].with_text(WRONG)
        assert first.requests[0].with_text(HELD_BACK)  # nobody has checked it yet
        sessions.add(first.session)
    found = json.loads(sandbox.knowbound("review", "--format", "json"))
    repairs = {one["fix"]["file"]: one for one in found["actions"] if one["kind"] == "repair" and one["fix"]}
    action = repairs[knowledge.name]
    assert action["cost"]["sessions"] == 2
    assert {one["session"] for one in action["evidence"]} == sessions
    assert f"+- {RIGHT}" in action["fix"]["diff"]
    sandbox.knowbound("fix", action["id"], "--yes")
    assert knowledge.read_text("utf-8") == f"# Orders\n\n- {RIGHT}\n"
    request = sandbox.ask(question, [Say("In src/cli.")]).check().requests[0]
    assert request.with_text(RIGHT)
    assert not request.with_text(WRONG)
    assert not request.with_text(HELD_BACK)


def test_a_rule_that_sessions_ignored_is_kept_by_a_hook_of_the_real_client(sandbox: Sandbox) -> None:
    if not isinstance(sandbox.client, ClaudeCode):
        pytest.skip("the hook is one of Claude Code's project settings")
    project = sandbox.project
    (project / "CLAUDE.md").write_text("# Orders\n\n- Run `npm run check` before committing.\n")
    (project / "package.json").write_text('{"name": "orders", "scripts": {"check": "test -f checked"}}\n')
    (project / "a.ts").write_text("export const a = 1;\n")
    (project / ".gitignore").write_text(".knowbound/\nchecked\n")
    _git(sandbox, "config", "user.name", "a")
    _git(sandbox, "config", "user.email", "a@b.c")
    _git(sandbox, "add", ".")
    _git(sandbox, "commit", "-qm", "one")
    commit = "git commit -qam work"
    client = sandbox.client
    for number in (2, 3):
        change = {"file_path": str(project / "a.ts"), "content": f"export const a = {number};\n"}
        replies = [client.reads(project / "a.ts"), Call("Write", change), client.runs(commit), Say("Done.")]
        sandbox.ask("Change a and commit.", replies, options=("--permission-mode", "acceptEdits")).check()
    found = json.loads(sandbox.knowbound("review", "--format", "json"))
    (action,) = [one for one in found["actions"] if one["kind"] == "enforce"]
    assert action["fix"]["file"] == ".claude/settings.json"
    _on_a_terminal(sandbox, "fix", action["id"])
    hooks = json.loads((project / ".claude/settings.json").read_text("utf-8"))["hooks"]["PreToolUse"]
    assert any("npm run check" in one["command"] for entry in hooks for one in entry["hooks"])
    before = _git(sandbox, "rev-parse", "HEAD")
    asked = sandbox.ask("Commit.", [client.runs(commit), Say("It was refused.")]).check()
    assert _git(sandbox, "rev-parse", "HEAD") == before
    assert asked.requests[-1].with_text("check")
    (project / "checked").write_text("")
    (project / "a.ts").write_text("export const a = 9;\n")
    sandbox.ask("Commit.", [client.runs(commit), Say("Done.")]).check()
    assert _git(sandbox, "rev-parse", "HEAD") != before


def _git(sandbox: Sandbox, *arguments: str) -> str:
    words = ["git", "-C", str(sandbox.project), *arguments]
    return subprocess.run(words, env=sandbox.environ, check=True, capture_output=True, text=True).stdout.strip()


def _on_a_terminal(sandbox: Sandbox, *arguments: str) -> None:
    """Run knowbound as a person does, who answers yes."""
    program = next(f"{folder}/knowbound" for folder in sandbox.environ["PATH"].split(":"))
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(sandbox.project)
        os.execve(program, [program, *arguments], sandbox.environ)
    shown, is_answered = b"", False
    with suppress(OSError):  # the terminal is closed when the command ends
        while part := os.read(terminal, 65536):
            shown += part
            if not is_answered and b"Write this?" in shown:
                os.write(terminal, b"y\n")
                is_answered = True
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, shown.decode("utf-8", "replace")


def test_a_denied_program_a_commit_hook_and_a_rules_file_work_in_the_real_client(sandbox: Sandbox) -> None:
    if not isinstance(sandbox.client, ClaudeCode):
        pytest.skip("these are settings and rules of Claude Code")
    project, client = sandbox.project, sandbox.client
    rule = "- Commits must follow Conventional Commits; so do notes in `src/api/`."
    lines = ["- Use `pnpm`, not `npm`.", "- Run `npm run check` before committing.", rule]
    (project / "CLAUDE.md").write_text("# Orders\n\n" + "\n".join(lines) + "\n")
    (project / "package.json").write_text('{"name": "orders", "scripts": {"check": "test -f checked"}}\n')
    (project / "src/api").mkdir(parents=True)
    (project / "src/api/a.ts").write_text("export const a = 1;\n")
    (project / ".husky").mkdir()
    (project / ".husky/pre-commit").write_text("true\n")
    (project / ".husky/pre-commit").chmod(0o755)
    (project / ".gitignore").write_text(".knowbound/\nchecked\n")
    for words in (("user.name", "a"), ("user.email", "a@b.c")):
        _git(sandbox, "config", *words)
    _git(sandbox, "add", ".")
    _git(sandbox, "commit", "-qm", "chore: one")
    commit = "git commit -qam work"
    for number in (2, 3):
        change = {"file_path": str(project / "src/api/a.ts"), "content": f"export const a = {number};\n"}
        replies = [client.reads(project / "src/api/a.ts"), Call("Write", change), client.runs("npm --version")]
        replies += [client.runs(commit), Say("Done.")]
        sandbox.ask("Change a and commit.", replies, options=("--permission-mode", "acceptEdits")).check()
    found = json.loads(sandbox.knowbound("review", "--format", "json"))
    by_file = {one["fix"]["file"]: one for one in found["actions"] if one["kind"] == "enforce"}
    assert set(by_file) == {".claude/settings.json", ".husky/pre-commit", ".claude/rules/src-api.md"}
    for file in (".claude/settings.json", ".husky/pre-commit"):  # what runs or is refused needs a person
        _on_a_terminal(sandbox, "fix", by_file[file]["id"])
    sandbox.knowbound("fix", by_file[".claude/rules/src-api.md"]["id"], "--yes")
    _git(sandbox, "config", "core.hooksPath", ".husky")
    (project / "CLAUDE.md").write_text("# Orders\n")  # the rules file alone says it now
    before = _git(sandbox, "rev-parse", "HEAD")
    (project / "src/api/a.ts").write_text("export const a = 9;\n")
    replies = [client.runs("npm --version"), client.runs(commit), client.reads(project / "src/api/a.ts"), Say("Done.")]
    run = sandbox.ask("Go on.", replies).check()
    assert "denied" in run.requests[1].results[-1]
    assert _git(sandbox, "rev-parse", "HEAD") == before  # the check fails
    assert [bool(request.with_text(rule)) for request in run.requests] == [False, False, False, True]
    (project / "checked").write_text("")
    sandbox.ask("Commit.", [client.runs(commit), Say("Done.")]).check()
    assert _git(sandbox, "rev-parse", "HEAD") != before
