"""The way of a wrong line: it misleads sessions of the real client, knowbound proposes its repair, and the next session
starts with the repaired line."""

from __future__ import annotations

import json

from tests.agents.clients import ClaudeCode
from tests.agents.sandbox import Sandbox
from tests.agents.scripted_model import Say

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
