from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from knowbound.core.bundle import INDEX_OPENING
from knowbound.injection.log import read_log
from tests.agents.clients import ClaudeCode
from tests.agents.sandbox import Sandbox
from tests.agents.scripted_model import Say

# Stands in for the client's program: gives it one prompt after the other, each when the last one was answered.
CONVERSATION = """\
#!{python}
import json, subprocess, sys

words = ["{program}", "-p", "--input-format", "stream-json", *sys.argv[3:]]
client = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for prompt in json.loads(sys.argv[2]):
    message = {{"role": "user", "content": prompt}}
    print(json.dumps({{"type": "user", "message": message}}), file=client.stdin, flush=True)
    for line in client.stdout:
        print(line, end="", flush=True)
        if json.loads(line)["type"] == "result":
            break
client.stdin.close()
sys.exit(client.wait())
"""
PORT = "The orders service listens on port 8080 behind the internal gateway."


def test_our_tools_are_there_from_the_first_request_and_a_call_has_its_result_in_the_next(sandbox: Sandbox) -> None:
    item = sandbox.add(PORT)
    sandbox.install()
    replies = sandbox.client.calls("unified_search", query="port of the orders service")
    run = sandbox.ask("Search for it.", [*replies, Say("Found.")]).check()
    name, first = "mcp__knowbound__unified_search", run.requests[len(replies) - 1]  # in Codex after the tool search
    assert name in first.tools or first.with_text(name)  # newer Claude Codes name tools before they load them
    assert run.answer == "Found."
    (part,) = run.requests[-1].with_text(PORT)
    assert part.role == "tool"
    assert item in part.text


def test_an_entry_of_the_index_is_pulled_recorded_and_not_injected_again(sandbox: Sandbox) -> None:
    item = sandbox.add(PORT)
    sandbox.install()
    replies = sandbox.client.calls("kms_show", id=item)
    run = sandbox.ask("Hello, what is in the store?", [*replies, Say("I see.")]).check()
    (index,) = run.requests[0].with_text(INDEX_OPENING)
    assert f"[{item}] The orders service listens" in index.text
    assert not run.requests[0].with_text(PORT)
    (part,) = run.requests[-1].with_text(PORT)
    assert part.role == "tool"
    log = read_log(sandbox.data)
    assert [one.items for one in log.records] == [(), ()]
    (pull,) = log.pulls
    assert (pull.session, pull.agent, pull.tool, pull.query) == (run.session, sandbox.client.name, "kms_show", item)
    assert [(one.item, one.excerpt) for one in pull.items] == [(item, PORT)]
    (transcript,) = sandbox.client.transcripts(sandbox.home)
    assert f'"{pull.prompt_id or pull.turn_id}"' in transcript.read_text("utf-8")
    (request,) = sandbox.ask("On which port does the orders service listen?", resume=run.session).check().requests
    assert len(request.with_text(PORT)) == 1
    assert len(request.with_text(INDEX_OPENING)) == 1


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


@pytest.mark.parametrize("sandbox", [ClaudeCode()], ids=["claude-code"], indirect=True)
def test_after_clear_a_correction_carries_the_new_session(sandbox: Sandbox, tmp_path: Path) -> None:
    """The client keeps the server, whose environment has the old one."""
    item = sandbox.add(PORT)
    sandbox.install()
    conversation = tmp_path / "conversation"
    conversation.write_text(CONVERSATION.format(python=sys.executable, program=sandbox.program), "utf-8")
    conversation.chmod(0o755)
    sandbox.program = conversation
    script = [
        *sandbox.client.calls("kms_flag", id=item, flag="UNVERIFIED"),
        Say("Flagged."),
        *sandbox.client.calls("kms_flag", id=item, flag="RETRACTED"),
        Say("Retracted."),
    ]
    run = sandbox.ask(json.dumps(["Is it true?", "/clear", "It is not."]), script).check()
    sessions = list(dict.fromkeys(event["session_id"] for event in run.events if event.get("session_id")))
    corrections = json.loads(sandbox.knowbound("kms", "show", item, "--format", "json"))["corrections"]
    assert len(sessions) == 2
    assert [correction["session"] for correction in corrections] == sessions


def test_a_lesson_that_the_agent_proposes_waits_for_a_person(sandbox: Sandbox) -> None:
    (sandbox.project / "billing").mkdir()
    (sandbox.project / "billing" / "tax.py").write_text("def vat(net):\n    return net * 0.19\n", "utf-8")
    sandbox.install()
    line = "The VAT rate is in `billing/tax.py`, not in the settings."
    replies = sandbox.client.calls("propose_lesson", text=line, kind="location", path="billing/tax.py", symbol="vat")
    run = sandbox.ask("Remember where the rate is.", [*replies, Say("Proposed.")]).check()
    (part,) = run.requests[-1].with_text("knowbound fix ")
    assert part.role == "tool"
    (lesson,) = json.loads(sandbox.knowbound("learn", "--format", "json"))["lessons"]
    assert (lesson["text"], lesson["status"]) == (line, "new")
    sandbox.knowbound("fix", lesson["id"], "--to", "rescue", "--yes")
    (accepted,) = json.loads(sandbox.knowbound("learn", "--status", "--format", "json"))["lessons"]
    assert (accepted["id"], accepted["status"]) == (lesson["id"], "accepted")


def test_an_agent_asks_with_terms_and_gets_a_cited_answer_or_an_honest_refusal(sandbox: Sandbox) -> None:
    (sandbox.project / "orders.py").write_text("def settle_invoice(total: int) -> int:\n    return total\n")
    sandbox.install()
    for question, terms, shown in (
        ("Where is settle_invoice defined?", ["settle_invoice"], '"path":"orders.py"'),
        ("Where is the zeppelin moored?", ["zeppelin", "mooring mast"], "insufficient_evidence"),
    ):
        replies = sandbox.client.calls("investigate", question=question, kind="locate", terms=terms)
        run = sandbox.ask(question, [*replies, Say("Done.")]).check()
        told = [part.text.replace(" ", "") for request in run.requests for part in request.parts if part.role == "tool"]
        assert any(shown.replace(" ", "") in text.replace("\\", "") for text in told), told
