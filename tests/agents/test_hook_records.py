"""What the hook recorded is what the model of the real client received, and leads to the client's own transcript."""

from __future__ import annotations

from pathlib import Path

from knowbound.injection.log import read_log
from tests.agents.sandbox import Sandbox

NEW = "The orders service listens on port 9090."
PROMPT = "On which port does the orders service listen?"


def test_a_record_is_what_was_delivered_and_leads_to_the_transcript(sandbox: Sandbox) -> None:
    item = sandbox.add(NEW)
    sandbox.install()
    run = sandbox.ask(PROMPT).check()
    records = read_log(sandbox.data).records
    assert [record.event for record in records] == ["session-start", "user-prompt-submit"]
    (transcript,) = sandbox.client.transcripts(sandbox.home)
    for record in records:
        assert (record.agent, record.session, record.delivered) == (sandbox.client.name, run.session, True)
        assert Path(record.transcript) == transcript
    (start, prompt) = records
    assert start.index is not None
    assert (start.outcome, start.index.ids, start.items) == ("indexed", (item,), ())
    assert (prompt.outcome, prompt.index, [one.item for one in prompt.items]) == ("injected", None, [item])
    (request,) = run.requests
    assert sum(part.text.count(f"[{item}] (") for part in request.parts) == 1
    assert prompt.turn_key in transcript.read_text("utf-8")
