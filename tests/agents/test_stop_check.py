"""The check before the real clients stop: the agent gets the sentence, runs the tests, and stops."""

from __future__ import annotations

from tests.agents.sandbox import Sandbox
from tests.agents.scripted_model import Say

PROMPT = "Make sure that the total of the cart in app.py is 2."
CLAIM = "Fixed. All tests pass."
MISSING = 'The answer says "All tests pass.", but a test run is not in the trace.'
TEST = """import unittest, app


class Cart(unittest.TestCase):
    def test_total(self):
        self.assertEqual(app.total, 2)
"""


def prepared(sandbox: Sandbox, mode: str) -> None:
    sandbox.add("Totals of carts are whole numbers.")
    sandbox.install()
    (sandbox.project / "app.py").write_text("total = 2\n")  # Codex may not write in its sandbox
    (sandbox.project / "test_app.py").write_text(TEST)
    (sandbox.project / "knowbound.toml").write_text(f'[audit]\ncheck = "{mode}"\n' if mode else "")


def test_block_sends_the_agent_back_once_and_it_runs_the_tests(sandbox: Sandbox) -> None:
    prepared(sandbox, "block")
    client = sandbox.client
    script = [client.runs("cat app.py"), Say(CLAIM), client.runs("python3 -m unittest 2>&1"), Say(CLAIM)]
    run = sandbox.ask(PROMPT, script).check()
    assert run.answer == CLAIM
    assert len(run.requests) == 4
    assert [bool(request.with_text(MISSING)) for request in run.requests] == [False, False, True, True]
    assert run.requests[3].with_text("Ran 1 test")
    assert run.requests[3].with_text("OK")
    assert sandbox.outcomes("stop") == ["blocked", "queued"]


def test_an_agent_that_insists_is_left_alone(sandbox: Sandbox) -> None:
    prepared(sandbox, "block")
    script = [sandbox.client.runs("cat app.py"), Say(CLAIM), Say(CLAIM)]
    run = sandbox.ask(PROMPT, script).check()
    assert len(run.requests) == 3
    assert sandbox.outcomes("stop") == ["blocked", "queued"]


def test_warn_does_not_send_it_back(sandbox: Sandbox) -> None:
    prepared(sandbox, "warn")
    run = sandbox.ask(PROMPT, [sandbox.client.runs("cat app.py"), Say(CLAIM)]).check()
    assert len(run.requests) == 2
    assert sandbox.outcomes("stop") == ["warned"]


def test_a_supported_answer_is_not_interrupted(sandbox: Sandbox) -> None:
    prepared(sandbox, "block")
    runs = sandbox.client.runs
    script = [runs("cat app.py"), runs("python3 -m unittest 2>&1"), Say(CLAIM)]
    run = sandbox.ask(PROMPT, script).check()
    assert len(run.requests) == 3
    assert sandbox.outcomes("stop") == ["queued"]
