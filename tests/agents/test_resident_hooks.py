"""Hooks that the running MCP server answers, and the processes that stand by, in the real clients."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from knowbound.agent.hook import log as hook_log
from knowbound.injection.bundle import INTRO
from knowbound.injection.log import read_log
from knowbound.lessons.rescue.scores import read_rescues
from tests.agents.sandbox import Run, Sandbox
from tests.agents.scripted_model import Reply, Request, Say
from tests.services import until

PORT = "The orders service listens on port 8080."
PROMPT = "Which port does the orders service use?"
PLACE = "src/orders/export.py"


def prepared(sandbox: Sandbox) -> None:
    sandbox.add(PORT)
    place = sandbox.project / PLACE
    place.parent.mkdir(parents=True)
    place.write_text("def export() -> None: ...\n")
    sandbox.environ["MCP_CONNECTION_NONBLOCKING"] = "false"  # else Claude Code 2.1.197 may not wait for the server
    sandbox.install()


def servers(sandbox: Sandbox) -> list[int]:
    """The processes that have said that they answer for their client."""
    folder = sandbox.home / ".local" / "state" / "knowbound" / "resident"
    return [int(name.partition(".")[2]) for name in os.listdir(folder)] if folder.is_dir() else []


def failed_hooks(run: Run) -> list[str]:
    return [str(event.get("output")) for event in run.events if event.get("outcome") == "error"]


def turn(sandbox: Sandbox, in_between: Callable[[], None] = lambda: None) -> Run:
    """A turn that misses a file, does something in between, and runs a command that finds something."""
    left: list[Reply] = [*sandbox.client.misses(sandbox.project / "src" / "export.py")[:1]]
    left += [sandbox.client.runs("cat README.md"), Say("8080.")]
    count = len(left)

    def script(_request: Request) -> Reply:
        if len(left) == count - 1:
            in_between()
        return left.pop(0)

    return sandbox.ask(PROMPT, script).check()


def test_every_event_is_answered_once_and_by_the_server(sandbox: Sandbox) -> None:
    prepared(sandbox)
    sandbox.environ["KNOWBOUND_QUALITY_JUDGE"] = "rules"
    sandbox.ask("Say hello.", [Say("Hello.")]).check()  # makes the index of the tree
    until((sandbox.data / "codebase.log").exists)
    for folder in ("injections", "ended", "rescues"):
        for path in (sandbox.data / folder).glob("*"):
            path.unlink()
    seen: list[int] = []
    run = turn(sandbox, lambda: seen.extend(servers(sandbox)))
    assert failed_hooks(run) == []
    assert len(seen) == 1
    [rescue] = read_rescues(sandbox.data)
    assert (rescue.status, rescue.delivered) == ("found", True)
    assert any(PLACE in part.text for part in run.requests[1].parts)
    [record] = [one for one in read_log(sandbox.data).records if one.event == "user-prompt-submit"]
    assert (record.outcome, record.delivered) == ("injected", True)
    assert sum(part.text.count(INTRO) for part in run.requests[0].parts) == 1
    assert {one["outcome"] for one in hook_log.runs(str(sandbox.data))} <= {
        "injected", "indexed", "queued", "nothing", "rescued"
    }  # fmt: skip


def test_after_its_server_was_killed_processes_answer(sandbox: Sandbox) -> None:
    prepared(sandbox)
    killed: list[int] = []

    def kill() -> None:
        killed.extend(servers(sandbox))
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    run = turn(sandbox, kill)
    assert len(killed) == 1
    assert run.answer == "8080."
    until(lambda: "queued" in sandbox.outcomes("stop"))
    assert sandbox.outcomes("stop").count("queued") == 1
    again = sandbox.ask(PROMPT, [Say("8080.")]).check()
    assert sum(part.text.count(PORT) for part in again.requests[0].parts) >= 1
