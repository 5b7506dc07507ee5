"""A model names the place that a miss meant, after the hook has ended; a later tool event of the turn delivers it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from knowbound.agent.hook.interruptions import note_late_hook
from knowbound.agent.mcp.server import HookTool
from knowbound.judge.choice import Permission, keep_permission
from knowbound.lessons.rescue.scores import RescueRecord, judge, read_rescues
from knowbound.traces.turns import session_of, turns_in
from tests.agent.test_rescue_hook import NOTHING, Project
from tests.fault_server import FaultServer, Reply, chat, serving, status
from tests.transcripts import Transcript

SENTENCE = "`settleInvoice` is not there; a model takes `src/billing/ledger.py:1` to be meant."
PLACE = {"path": "src/billing/ledger.py", "line": 1, "why": "posts what is due"}
MISS = {"tool_name": "Grep", "tool_input": {"pattern": "settleInvoice", "path": "src"}, "tool_response": NOTHING}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project whose hooks can deliver later, and whose rules are silent about the miss."""
    made = Project(tmp_path)
    ledger = made.root / "src" / "billing" / "ledger.py"
    ledger.parent.mkdir()
    ledger.write_text("def post_refund():\n    pass\n", "utf-8")
    for number in range(9):  # in many files, so that rules neither name one place nor call it absent
        (made.root / f"n{number}.md").write_text("settleInvoice\n", "utf-8")
    made.index()
    note_late_hook("claude-code", is_installed=True)
    return made


def allowed(server: FaultServer) -> None:
    keep_permission(Permission(server.judge, background=True, rescuing=True))


def places(*given: dict[str, Any]) -> Reply:
    return chat(json.dumps({"places": list(given)}))


def miss(project: Project, **more: Any) -> str:
    return project.hook("post-tool-use", MISS | {"tool_use_id": "toolu_1"} | more)


def tool_event(project: Project, **more: Any) -> str:
    """What the running server says after a later tool call of the turn; its answer was sent."""
    given = {"event": "PostToolUse", "session_id": "s1", "prompt_id": "p1", "tool_name": "Bash"}
    later: list[Any] = []
    answer = HookTool().run(given | {"cwd": str(project.root)} | more, {}, later)
    for work in later:
        work()
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def test_the_answer_comes_with_a_later_tool_event_of_the_turn_once_and_is_recorded(project: Project) -> None:
    with serving(places(PLACE)) as server:
        allowed(server)
        assert miss(project) == ""  # the hook did not wait
    assert (tool_event(project), tool_event(project)) == (SENTENCE, "")
    [record] = read_rescues(project.home)
    assert (record.status, record.rule, record.delivered, record.model) == ("found", "model", True, server.judge)
    assert record.places == (("src/billing/ledger.py", 1),)
    assert record.late_at
    assert record.is_said


def test_another_turn_another_session_and_a_sub_agent_get_nothing(project: Project) -> None:
    with serving(places(PLACE)) as server:
        allowed(server)
        miss(project)
    assert tool_event(project, prompt_id="p2") == ""
    assert tool_event(project, session_id="s2") == ""
    assert tool_event(project, agent_id="a1") == ""
    [record] = read_rescues(project.home)
    assert (record.status, record.delivered, record.is_said) == ("found", False, False)


@pytest.mark.parametrize("event", [{"agent_id": "a1"}, {"prompt_id": ""}])
def test_no_model_is_asked_for_a_sub_agent_or_without_an_id_of_the_turn(
    project: Project, event: dict[str, str]
) -> None:
    with serving(places(PLACE)) as server:
        allowed(server)
        miss(project, **event)
    assert server.asked == []


@pytest.mark.parametrize(
    "permission",
    [
        Permission(background=True, choosing=True),  # of an earlier version
        Permission(commands=True, rescuing=True),
    ],
)
def test_no_model_is_asked_without_the_permission(project: Project, permission: Permission) -> None:
    with serving(places(PLACE)) as server:
        keep_permission(msgspec.structs.replace(permission, name=server.judge))
        miss(project)
    assert server.asked == []


def test_no_model_is_asked_without_the_hook_that_would_deliver(project: Project) -> None:
    note_late_hook("claude-code", is_installed=False)
    with serving(places(PLACE)) as server:
        allowed(server)
        miss(project)
    assert server.asked == []


def test_the_same_miss_is_asked_about_once_in_a_session(project: Project) -> None:
    with serving(places(PLACE)) as server:
        allowed(server)
        miss(project)
        miss(project, tool_use_id="toolu_2")
    assert len(server.asked) == 1


def test_what_the_rules_answer_is_not_asked(project: Project) -> None:
    with serving(places(PLACE)) as server:
        allowed(server)
        assert project.read("src/commands/export.ts")
    assert server.asked == []


def test_a_place_that_the_tree_does_not_have_is_not_delivered(project: Project) -> None:
    with serving(places({"path": "src/billing/invoices.py"}, {"path": "/etc/passwd"})) as server:
        allowed(server)
        miss(project)
    assert tool_event(project) == ""
    [record] = read_rescues(project.home)
    assert (record.status, record.model) == ("silent", server.judge)


def test_a_model_that_fails_is_recorded_with_its_reason_and_says_nothing(project: Project) -> None:
    with serving(status(401, {"error": "key sk-ant-api03-" + "a1B2" * 20})) as server:
        allowed(server)
        assert miss(project) == ""
    assert tool_event(project) == ""
    [record] = read_rescues(project.home)
    assert "the key is refused" in record.problem
    assert "a1B2a1B2" not in record.problem


def session_with_a_read(project: Project) -> Path:
    """A session in which the agent reads the file itself, in its fourth line."""
    made = Transcript(project=str(project.root)).user("Where are invoices settled?")
    made.grep("settleInvoice", id_="toolu_1").read(f"{project.root}/src/billing/ledger.py", id_="toolu_2")
    return made.write(project.root)


def test_what_the_agent_has_found_meanwhile_is_not_delivered(project: Project) -> None:
    with serving(places(PLACE)) as server:
        allowed(server)
        miss(project, transcript_path=str(session_with_a_read(project)))
    assert len(server.asked) == 1
    assert tool_event(project) == ""


@pytest.mark.parametrize(("delivered", "used"), [("2026-10-01T10:00:03.5Z", True), ("2026-10-01T10:00:04.5Z", False)])
def test_a_late_rescue_is_scored_by_the_calls_after_its_delivery(project: Project, delivered: str, used: bool) -> None:
    turns = list(turns_in(session_of(session_with_a_read(project))))
    record = RescueRecord(
        "2026-10-01T10:00:02Z", "1", call="toolu_1", status="found", places=(("src/billing/ledger.py", 1),),
        delivered=True, late_at=delivered,
    )  # fmt: skip
    assert judge(record, turns) == (used, False)
