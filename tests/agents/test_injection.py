from __future__ import annotations

from tests.agents.sandbox import Sandbox
from tests.agents.scripted_model import Say

PORT = "The orders service listens on port 8080 behind the internal gateway."
PROMPT = "On which port does the orders service listen?"


def test_the_item_that_a_prompt_is_about_is_in_the_request_that_the_model_receives(sandbox: Sandbox) -> None:
    item = sandbox.add(PORT)
    sandbox.install()
    run = sandbox.ask(PROMPT, [Say("On port 8080.")]).check()
    assert run.answer == "On port 8080."
    (request,) = run.requests
    (part,) = request.with_text(PORT)
    assert part.role == sandbox.client.injected_role
    assert f"[{item}]" in part.text
