"""Hooks that call the running MCP server, and what a model chooses while the agent works."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from knowbound.injection.log import InjectionRecord, read_log
from tests.agents.clients import ClaudeCode
from tests.agents.sandbox import Run, Sandbox
from tests.agents.scripted_model import Call, Reply, Request, Say
from tests.services import until

PORT = "The orders service listens on port 8080."
RETRY = "Failed payment webhooks are retried three times by the outbox worker."
PROMPT = "Which port does the orders service use?"


class Chooser:
    """A program as the model that chooses: it answers when it may, and chooses every item it is shown."""

    def __init__(self, sandbox: Sandbox, *, may_answer: bool = True) -> None:
        self._folder = sandbox.home / "chooser"
        self._folder.mkdir()
        self.gate = self._folder / "may-answer"
        if may_answer:
            self.gate.touch()
        program = self._folder / "choose.sh"
        program.write_text(
            f"#!/bin/sh\ncat > {self._folder}/asked.$$\n"
            f"while ! [ -e {self.gate} ]; do sleep 0.02; done\n"
            """echo '{"chosen": [{"number": 1, "reason": "r"}, {"number": 2, "reason": "r"}]}'\n"""
        )
        program.chmod(0o755)
        config = sandbox.home / ".config" / "knowbound" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'[model.tasks]\nchoose = "command:{program}"\n', "utf-8")

    def asked(self) -> list[str]:
        return [path.read_text("utf-8") for path in self._folder.glob("asked.*")]


def record(sandbox: Sandbox) -> InjectionRecord:
    """The record of the only prompt."""
    [found] = [one for one in read_log(sandbox.data).records if one.event == "user-prompt-submit"]
    return found


def is_kept(sandbox: Sandbox) -> bool:
    """Whether a choice waits for a tool event."""
    folder = sandbox.data / "late"
    return folder.is_dir() and any(name.endswith(("~items", "~rescue")) for name in os.listdir(folder))


def after(condition: Callable[[], bool], *replies: Reply) -> Callable[[Request], Reply]:
    """A model that gives its first reply when the condition holds, then the others."""
    left = list(replies)

    def reply(_request: Request) -> Reply:
        if len(left) == len(replies):
            until(condition)
        return left.pop(0) if left else Say("Done.")

    return reply


def late_texts(request: Request) -> int:
    return sum(part.text.count(RETRY) for part in request.parts if "Index of this project" not in part.text)


def prepared(sandbox: Sandbox, **more: Any) -> Chooser:
    sandbox.add(PORT)
    sandbox.add(RETRY)
    chooser = Chooser(sandbox, **more)
    sandbox.install()
    return chooser


def test_the_item_is_in_the_second_request_and_not_in_the_first_and_never_twice(sandbox: Sandbox) -> None:
    prepared(sandbox)
    look = sandbox.client.runs("cat README.md")
    run = sandbox.ask(PROMPT, after(lambda: is_kept(sandbox), look, look, Say("8080."))).check()
    first, second, third = run.requests
    assert first.with_text(PORT)
    assert [late_texts(request) for request in (first, second, third)] == [0, 1, 1]
    [item] = record(sandbox).late
    assert item.excerpt == RETRY
    found = record(sandbox)
    assert (found.chooser_outcome, found.late_delivered, found.late_after_edit) == ("late", True, False)
    assert found.late_ms is not None
    again = sandbox.ask("And how often is a failed webhook retried?", resume=run.session).check()
    assert late_texts(again.requests[-1]) == 1  # the context has it


def test_a_model_that_is_slower_than_the_turn_adds_nothing(sandbox: Sandbox) -> None:
    chooser = prepared(sandbox, may_answer=False)
    look = sandbox.client.runs("cat README.md")
    run = sandbox.ask(PROMPT, after(lambda: bool(chooser.asked()), look, look, Say("8080."))).check()
    assert [late_texts(request) for request in run.requests] == [0, 0, 0]
    chooser.gate.touch()
    until(lambda: is_kept(sandbox))
    chooser.gate.unlink()
    other = sandbox.ask("Say hello.", [look, Say("Hello.")], resume=run.session).check()
    assert late_texts(other.requests[-1]) == 0  # its turn is over
    [first, _] = [one for one in read_log(sandbox.data).records if one.event == "user-prompt-submit"]
    assert (bool(first.late), first.late_delivered) == (True, None)


def test_a_sub_agent_gets_nothing_and_the_main_agent_gets_it_afterwards(sandbox: Sandbox) -> None:
    prepared(sandbox)
    task = "Read README.md."
    sub: list[Request] = []
    look = sandbox.client.runs("cat README.md")

    def script(request: Request) -> Reply:
        if not any(part.role == "user" and PROMPT in part.text for part in request.parts):
            until(lambda: is_kept(sandbox))
            sub.append(request)
            return look if len(request.results) == 0 else Say("It says Orders.")
        return sandbox.client.delegates(task, request) or Say("8080.")

    run = sandbox.ask(PROMPT, script).check()
    assert len(sub) >= 2
    assert all(late_texts(request) == 0 for request in sub)
    main = [one for one in run.requests if one not in sub]
    assert late_texts(main[0]) == 0
    assert late_texts(main[-1]) == 1


def test_parallel_tools_deliver_once(sandbox: Sandbox) -> None:
    prepared(sandbox)
    looks = [sandbox.client.runs(command) for command in ("cat README.md", "ls", "pwd", "echo 1")]
    assert all(isinstance(look, Call) for look in looks)
    several = replace(looks[0], beside=tuple(looks[1:]))  # type: ignore[arg-type]
    run = sandbox.ask(PROMPT, after(lambda: is_kept(sandbox), several, Say("8080."))).check()
    assert [late_texts(request) for request in run.requests] == [0, 1]
    assert len(run.requests[-1].results) == 4


def test_off_is_respected(sandbox: Sandbox) -> None:
    prepared(sandbox)
    look = sandbox.client.runs("cat README.md")

    def kept_and_off() -> bool:
        if is_kept(sandbox):
            sandbox.knowbound("off")
            return True
        return False

    run = sandbox.ask(PROMPT, after(kept_and_off, look, Say("8080."))).check()
    assert [late_texts(request) for request in run.requests] == [0, 0]
    assert is_kept(sandbox)


def test_after_an_edit_the_record_says_so(sandbox: Sandbox) -> None:
    chooser = prepared(sandbox, may_answer=False)
    readme = sandbox.project / "README.md"
    if isinstance(sandbox.client, ClaudeCode):
        edit: list[Reply] = [
            Call("Read", {"file_path": str(readme)}),
            Call("Edit", {"file_path": str(readme), "old_string": "# Orders", "new_string": "# All orders"}),
        ]
        options = ["--permission-mode", "acceptEdits"]
    else:
        patch = "*** Begin Patch\n*** Update File: README.md\n@@\n-# Orders\n+# All orders\n*** End Patch\n"
        edit = [sandbox.client.runs(f"apply_patch <<'EOF'\n{patch}EOF")]
        options = ["--sandbox", "workspace-write"]
    left = [*edit, sandbox.client.runs("cat README.md"), Say("Done.")]

    def script(request: Request) -> Reply:
        if len(left) == 2:
            chooser.gate.touch()
            until(lambda: is_kept(sandbox))
        return left.pop(0)

    prompt = "Change the title to All orders; which port does the orders service use?"
    run = sandbox.ask(prompt, script, options=options).check()
    assert "# All orders" in readme.read_text()
    assert late_texts(run.requests[-1]) == 1
    assert record(sandbox).late_delivered
    assert record(sandbox).late_after_edit is isinstance(sandbox.client, ClaudeCode)


def test_the_tool_of_hooks_is_not_listed_and_the_agent_cannot_call_it(sandbox: Sandbox) -> None:
    prepared(sandbox)
    forged = {"event": "PostToolUse", "session_id": "s", "prompt_id": "p", "turn_id": "p", "cwd": str(sandbox.project)}
    wait = [Call("WaitForMcpServers", {})] if isinstance(sandbox.client, ClaudeCode) else []
    run = sandbox.ask(PROMPT, [*wait, *sandbox.client.calls("hook_event", **forged), Say("8080.")])
    assert not any(tool.endswith("hook_event") for request in run.requests for tool in request.tools)
    assert "Entries of this project" not in "".join(run.requests[-1].results)


def test_a_project_s_shared_settings_and_users_without_a_chooser_have_no_hook_for_every_tool(sandbox: Sandbox) -> None:
    sandbox.add(PORT)
    sandbox.install()
    hooks = json.loads(sandbox.client.settings(sandbox.home, sandbox.project)[0].read_text())["hooks"]
    assert all(group["matcher"] for group in hooks["PostToolUse"])
    sandbox.knowbound("uninstall", sandbox.client.name, "--yes")
    Chooser(sandbox)
    sandbox.install("--scope", "project")
    shared = [path for path in sandbox.project.rglob("*.json") if ".knowbound" not in path.parts]
    assert shared
    assert not any("mcp_tool" in path.read_text() for path in shared)


def test_uninstall_leaves_the_settings_as_they_were(sandbox: Sandbox) -> None:
    hooks = sandbox.client.settings(sandbox.home, sandbox.project)[0]
    hooks.parent.mkdir(parents=True, exist_ok=True)
    hooks.write_text('{"hooks": {}}\n')
    prepared(sandbox)
    assert "mcp_tool" in hooks.read_text()
    sandbox.knowbound("uninstall", sandbox.client.name, "--yes")
    assert hooks.read_text() == '{"hooks": {}}\n'


def test_a_dead_server_fails_nothing(sandbox: Sandbox) -> None:
    prepared(sandbox)
    settings = sandbox.client.settings(sandbox.home, sandbox.project)[1]
    settings.write_text(settings.read_text().replace('"mcp"', '"no-such-verb"'))
    look = sandbox.client.runs("cat README.md")
    run = sandbox.ask(PROMPT, after(lambda: is_kept(sandbox), look, Say("8080."))).check()
    assert run.answer == "8080."
    assert [late_texts(request) for request in run.requests] == [0, 0]


# What both clients do with hooks that call a server, which all of this rests on


class Probe:
    """An MCP server that notes the calls of hooks, and gives each the answer of a file."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._folder = sandbox.home / "probe"
        self._folder.mkdir()
        program = self._folder / "server.py"
        program.write_text(_SERVER.replace("FOLDER", repr(str(self._folder))))
        command = {"command": sys.executable, "args": [str(program)]}
        hooks, servers = sandbox.client.settings(sandbox.home, sandbox.project)
        hooks.parent.mkdir(parents=True, exist_ok=True)
        self._hooks = hooks
        if isinstance(sandbox.client, ClaudeCode):
            servers.write_text(json.dumps({"mcpServers": {"probe": {"type": "stdio", **command}}}))
        else:
            table = "\n".join(f"{name} = {json.dumps(value)}" for name, value in command.items())
            servers.write_text(f"{servers.read_text()}\n[mcp_servers.probe]\n{table}\n")

    def hook(self, *events: str) -> None:
        turn = "prompt_id" if isinstance(self._sandbox.client, ClaudeCode) else "turn_id"

        def handler(event: str) -> dict[str, Any]:
            given = {"event": event} | {name: f"${{{name}}}" for name in ("session_id", "cwd", turn)}
            return {"type": "mcp_tool", "server": "probe", "tool": "unlisted", "input": given, "timeout": 20}

        self._hooks.write_text(json.dumps({"hooks": {event: [{"hooks": [handler(event)]}] for event in events}}))

    def answer(self, text: str) -> None:
        (self._folder / "answer").write_text(text)

    def calls(self) -> list[dict[str, Any]]:
        noted = self._folder / "calls"
        return [json.loads(line) for line in noted.read_text().splitlines()] if noted.exists() else []


_SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, params = asked["method"], asked.get("params") or {}
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "probe", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": []}
    elif method == "tools/call":
        given = params["arguments"]
        with open(FOLDER + "/calls", "a") as file:
            file.write(json.dumps(given) + "\\n")
        with open(FOLDER + "/answer") as file:
            text = file.read().replace("EVENT", given["event"])
        result = {"content": [{"type": "text", "text": text}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
ADDED = '{"hookSpecificOutput": {"hookEventName": "EVENT", "additionalContext": "A heron on the roof."}}'
HERON = "A heron on the roof."


def herons(run: Run) -> list[int]:
    return [sum(part.text.count(HERON) for part in request.parts) for request in run.requests]


def test_an_unlisted_tool_is_called_with_the_fields_of_the_event_and_its_context_reaches_the_next_request(
    sandbox: Sandbox,
) -> None:
    probe = Probe(sandbox)
    probe.hook("PostToolUse")
    probe.answer(ADDED)
    options = ["--settings", "{}"] if isinstance(sandbox.client, ClaudeCode) else []
    run = sandbox.ask("Hello.", [sandbox.client.runs("echo 1"), Say("Done.")], options=options).check()
    [call] = probe.calls()
    assert call["event"] == "PostToolUse"
    assert call["session_id"] == run.session
    assert call["cwd"] == str(sandbox.project)
    assert call.get("prompt_id") or call.get("turn_id")
    assert herons(run) == [0, 1]


def test_the_prompt_s_context_is_in_the_same_request_and_the_ids_of_one_turn_are_equal(sandbox: Sandbox) -> None:
    probe = Probe(sandbox)
    probe.hook("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
    probe.answer("{}")
    sandbox.environ["MCP_CONNECTION_NONBLOCKING"] = "false"  # else Claude Code 2.1.197 does not wait for the server
    sandbox.ask("Hello.", [sandbox.client.runs("echo 1"), Say("Done.")]).check()
    calls = probe.calls()
    assert [call["event"] for call in calls] == ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"]
    assert len({call.get("prompt_id") or call.get("turn_id") for call in calls}) == 1
    probe.hook("UserPromptSubmit")
    probe.answer(ADDED)
    assert herons(sandbox.ask("Hello again.", [Say("Hello.")]).check()) == [1]


def test_plain_text_after_a_tool_reaches_nobody_and_an_error_changes_nothing(sandbox: Sandbox) -> None:
    probe = Probe(sandbox)
    probe.hook("PostToolUse")
    of_another = ADDED.replace("EVENT", "Stop") if isinstance(sandbox.client, ClaudeCode) else ""  # Codex takes it
    for text in (HERON, "", of_another):
        probe.answer(text)
        run = sandbox.ask("Hello.", [sandbox.client.runs("echo 1"), Say("Done.")]).check()
        assert run.answer == "Done."
        assert herons(run) == [0, 0]
