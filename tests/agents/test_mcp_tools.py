from __future__ import annotations

import json

from tests.agents.sandbox import Sandbox
from tests.agents.scripted_model import Say

PORT = "The orders service listens on port 8080 behind the internal gateway."


def test_a_tool_called_by_the_model_has_its_result_in_the_next_request(sandbox: Sandbox) -> None:
    item = sandbox.add(PORT, "--subject", "elsewhere")
    sandbox.install()
    replies = sandbox.client.calls("unified_search", query="port of the orders service")
    run = sandbox.ask("Search for it.", [*replies, Say("Found.")]).check()
    assert run.answer == "Found."
    assert [part.role for part in run.requests[-1].with_text(PORT)] == ["tool"]
    assert item in run.requests[-1].with_text(PORT)[0].text


def test_our_tools_are_there_from_the_first_request(sandbox: Sandbox) -> None:
    sandbox.add(PORT)
    sandbox.install()
    replies = sandbox.client.calls("unified_search", query="port of the orders service")
    first = sandbox.ask("Search for it.", replies[:-1]).check().requests[len(replies) - 1]
    name = "mcp__knowbound__unified_search"
    assert name in first.tools or first.with_text(name)  # newer Claude Codes name tools before they load them


def test_a_correction_carries_the_session_the_turn_and_the_call(sandbox: Sandbox) -> None:
    item = sandbox.add(PORT)
    sandbox.install()
    replies = sandbox.client.calls("kms_flag", id=item, flag="RETRACTED", note="It moved.")
    run = sandbox.ask("It moved: retract it.", [*replies, Say("Retracted.")]).check()
    (correction,) = json.loads(sandbox.knowbound("kms", "show", item, "--format", "json"))["corrections"]
    assert (correction["tool"], correction["by"], correction["session"]) == ("kms_flag", "mcp", run.session)
    known = json.loads(correction["detail"])
    (transcript,) = sandbox.client.transcripts(sandbox.home)
    written = transcript.read_text("utf-8")
    assert f'"{known["turn"]}"' in written
    assert f'"{known["call"]}"' in written
