"""Shadow in the real clients: what is chosen is recorded, and the model gets nothing of it."""

from __future__ import annotations

import json

from knowbound.injection.log import read_log
from tests.agents.sandbox import Sandbox
from tests.agents.scripted_model import Say

NAMES = "orders billing search mailer catalog ledger uploads reports gate stock".split()
FACTS = [f"The {name} service listens on port {4000 + number} behind the gateway." for number, name in enumerate(NAMES)]


def test_nothing_reaches_the_agent_until_ten_choices_were_looked_at(sandbox: Sandbox) -> None:
    for fact in FACTS:
        sandbox.add(fact)
    sandbox.install("--shadow")
    for name in NAMES:
        run = sandbox.ask(f"On which port does the {name} service listen?", [Say("I do not know.")]).check()
        texts = [part.text for request in run.requests for part in request.parts]
        assert not any("behind the gateway" in text or "knowbound" in text for text in texts)
        assert not any("unified_search" in str(request.tools) for request in run.requests)
    records = [one for one in read_log(sandbox.data).records if one.event == "user-prompt-submit"]
    assert {(one.outcome, one.delivered) for one in records} == {("shadow", False)}
    assert {item.excerpt for one in records for item in one.items} >= set(FACTS)
    found = json.loads(sandbox.knowbound("quality", "shadow", "--format", "json", cwd=sandbox.project))
    keys = {one["content"]: one["key"] for one in found["choices"]}
    accepted = [part for fact in FACTS[1:] for part in ("--accept", keys[fact])]
    sandbox.knowbound("quality", "shadow", *accepted, "--reject", keys[FACTS[0]], "--start", cwd=sandbox.project)
    (request,) = sandbox.ask("On which port does the billing service listen?", [Say("4001.")]).check().requests
    assert request.with_text(FACTS[1])
    (request,) = sandbox.ask("On which port does the orders service listen?", [Say("Unknown.")]).check().requests
    assert not request.with_text(FACTS[0])
