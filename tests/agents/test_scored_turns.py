"""A turn of the real client is in the quality log once, as it was: what was injected, what came of it, how it ended.

Hooks queue it, and a worker that they leave behind scores it: `claude -p` and `codex exec` have ended by then.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from knowbound.agent.background import SCORING
from knowbound.core.quality import Closing, Discovery, ItemVerdict, LoggedItem, QualityTurn, TurnEnding
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.quality.queue import Queue
from tests.agents.clients import ClaudeCode, Codex, delegating
from tests.agents.sandbox import Sandbox
from tests.agents.scripted_model import Begin, Call, Fail, Reply, Request, Say
from tests.agents.test_reading import OTHER, other_hooks
from tests.services import until

PORT = "The orders service listens on port 8080 behind the internal gateway."
PROMPT = "On which port does the orders service listen?"
USES = "The orders service listens on port 8080."
DENIES = "The orders service does not listen on port 8080 any more: it listens on port 9090."
WRITES = "echo 'orders service: port 8080'"
INVOICES = "Invoices are kept for ten years in the bucket archive."
NEXT_PROMPT = "Thanks. Which colour has a clear sky at noon?"


@pytest.fixture
def item(sandbox: Sandbox) -> str:
    """The id of the one item in the store that the client is connected to."""
    stored = sandbox.add(PORT)
    sandbox.install()
    return stored


def wait_for_worker(sandbox: Sandbox) -> None:
    """Until the workers that hooks started have nothing left to do."""
    until(Queue(sandbox.data).is_empty)
    with (sandbox.data / SCORING.lock).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)


def turns(sandbox: Sandbox) -> list[QualityTurn]:
    """The log, once everything that was queued is in it."""
    wait_for_worker(sandbox)
    with closing(SqliteQualityLog(sandbox.data)) as log:
        return list(log.since(""))


def discoveries(sandbox: Sandbox) -> list[Discovery]:
    wait_for_worker(sandbox)
    with closing(SqliteQualityLog(sandbox.data)) as log:
        return log.discoveries()


def verdict(item: LoggedItem) -> ItemVerdict:
    assert item.verdict is not None
    return item.verdict


def injected(turn: QualityTurn) -> list[tuple[str, bool, bool, bool]]:
    """The items of the four metrics: id, on topic, used, contradicted."""
    verdicts = [verdict(one) for one in turn.injected_items]
    return [(one.item, one.on_topic, one.used, one.contradicted) for one in verdicts]


def endings(sandbox: Sandbox) -> list[tuple[str, TurnEnding]]:
    return [(turn.user_prompt, turn.ending) for turn in turns(sandbox)]


def test_a_turn_is_scored_by_the_worker_that_the_hook_left_behind(sandbox: Sandbox, item: str) -> None:
    run = sandbox.ask(PROMPT, [Say(USES)]).check()
    (turn,) = turns(sandbox)
    assert (turn.session_id, turn.agent, turn.ending) == (run.session, sandbox.client.name, TurnEnding.STOPPED)
    (transcript,) = sandbox.client.transcripts(sandbox.home)
    assert (turn.trace, f'"{turn.turn_id}"' in transcript.read_text("utf-8")) == (str(transcript), True)
    assert (turn.user_prompt, turn.assistant_response, turn.problem) == (PROMPT, USES, "")
    assert injected(turn) == [(item, True, True, False)]
    (logged,) = turn.injected_items
    assert (logged.source_backend, logged.content_excerpt, logged.content_length) == ("sqlite", PORT, len(PORT))
    assert turn.stop_ms is not None
    assert turn.prompt_ms is not None
    runs = [json.loads(line) for line in (sandbox.data / SCORING.log).read_text("utf-8").splitlines()]
    assert {run["event"] for run in runs} == {"scored"}
    assert os.getpid() not in {run["pid"] for run in runs}


def test_a_contradiction_raises_one_correction_that_a_corrective_call_closes(sandbox: Sandbox, item: str) -> None:
    run = sandbox.ask(PROMPT, [Say(DENIES)]).check()
    (turn,) = turns(sandbox)
    assert injected(turn) == [(item, True, True, True)]
    (record,) = discoveries(sandbox)
    assert (record.item, record.session_id, record.turn_id) == (item, run.session, turn.turn_id)
    assert "9090" in record.statement == verdict(turn.injected_items[0]).correction
    assert (record.closing, record.contradictions) == (Closing.OPEN, 1)
    corrects = sandbox.client.calls("kms_flag", id=item, flag="RETRACTED", note="It moved.")
    sandbox.ask("It moved: retract it.", [*corrects, Say("Retracted.")], resume=run.session).check()
    (record,) = discoveries(sandbox)
    assert (record.closing, record.closed_by) == (Closing.RESOLVED, "kms_flag")
    assert [call.corrected for call in turns(sandbox)[1].tool_calls[:1]] == [(item,)]


def test_a_tool_call_with_the_value_of_an_item_uses_it(sandbox: Sandbox, item: str) -> None:
    sandbox.ask(PROMPT, [sandbox.client.runs(WRITES), Say("It is written.")]).check()
    (turn,) = turns(sandbox)
    assert injected(turn) == [(item, True, True, False)]
    assert (turn.tool_calls_count, WRITES in turn.tool_calls[0].input_excerpt) == (1, True)


def test_an_answer_without_the_item_does_not_use_it(sandbox: Sandbox, item: str) -> None:
    sandbox.ask(PROMPT, [Say("I cannot say.")]).check()
    (turn,) = turns(sandbox)
    assert injected(turn) == [(item, True, False, False)]


# How a turn ends


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_turn_is_logged_once_also_where_the_session_goes_on(
    sandbox: Sandbox, item: str, how: signal.Signals
) -> None:
    run = sandbox.ask(PROMPT, [Begin("The orders service ")], interrupt=how)
    if how == signal.SIGINT:  # after a kill nobody is left to say so
        assert endings(sandbox) == [(PROMPT, TurnEnding.INTERRUPTED)]
    sandbox.ask(NEXT_PROMPT, [Say("Blue.")], resume=run.session).check()
    assert endings(sandbox) == [(PROMPT, TurnEnding.INTERRUPTED), (NEXT_PROMPT, TurnEnding.STOPPED)]
    first, second = turns(sandbox)
    assert {first.session_id, second.session_id} == {run.session}
    assert [one.id for one in first.injected_items] == [item]
    assert (second.injected_items, second.assistant_response) == ((), "Blue.")


def test_a_turn_in_which_the_model_failed_says_nothing_and_has_failed(sandbox: Sandbox, item: str) -> None:
    run = sandbox.ask(PROMPT, lambda request: Fail(500), CLAUDE_CODE_MAX_RETRIES="0")
    assert run.code != 0
    (turn,) = turns(sandbox)
    assert (turn.ending, turn.assistant_response, turn.problem) == (TurnEnding.FAILED, "", "")
    assert injected(turn) == [(item, True, False, False)]
    sandbox.ask(NEXT_PROMPT, [Say("Blue.")], resume=run.session).check()
    assert endings(sandbox) == [(PROMPT, TurnEnding.FAILED), (NEXT_PROMPT, TurnEnding.STOPPED)]


def test_a_turn_that_failed_after_a_tool_call_keeps_what_was_done(sandbox: Sandbox, item: str) -> None:
    replies: list[Reply] = [sandbox.client.runs(WRITES)]
    sandbox.ask(PROMPT, lambda request: replies.pop() if replies else Fail(500), CLAUDE_CODE_MAX_RETRIES="0")
    (turn,) = turns(sandbox)
    assert (turn.ending, turn.tool_calls_count) == (TurnEnding.FAILED, 1)
    assert injected(turn) == [(item, True, True, False)]


# What is no injected item


def test_what_the_agent_pulled_is_not_injected(sandbox: Sandbox, item: str) -> None:
    pulled = sandbox.add(INVOICES)
    calls = sandbox.client.calls("kms_show", id=pulled)
    sandbox.ask(PROMPT, [*calls, Say(USES)]).check()
    (turn,) = turns(sandbox)
    assert [one.id for one in turn.injected_items] == [item]
    assert [one.id for one in turn.pulled_items] == [pulled]
    assert all(one.verdict for one in turn.items)


def test_instructions_and_hooks_of_others_are_in_no_metric(sandbox: Sandbox, item: str) -> None:
    """Claude Code's transcript has the instructions of a folder, once a file there was read; Codex's has all."""
    rule = "Amounts are integers in cents."
    billing = sandbox.project / "billing"
    billing.mkdir()
    (billing / "amounts.py").write_text("CENTS = 100\n", "utf-8")
    is_claude = isinstance(sandbox.client, ClaudeCode)
    (billing / "CLAUDE.md" if is_claude else sandbox.project / "AGENTS.md").write_text(f"# Rules\n\n{rule}\n", "utf-8")
    reading = sandbox.client.reads(billing / "amounts.py")
    sandbox.ask(PROMPT, [reading, Say(USES)], options=other_hooks(sandbox)).check()
    (turn,) = turns(sandbox)
    assert [one.id for one in turn.injected_items] == [item]
    assert turn.pulled_items == ()
    others = [(one.source_backend, rule in one.content_excerpt) for one in turn.other_items]
    hooks = [("hook:SessionStart", False), ("hook:UserPromptSubmit", False)]
    assert sorted(others) == [*hooks, ("nested_memory" if is_claude else "instructions", True)]
    assert sum(OTHER in one.content_excerpt for one in turn.other_items) == 2


# Sub-agents


@pytest.mark.parametrize("sandbox", [ClaudeCode()], ids=["claude-code"], indirect=True)
def test_a_sub_agent_of_claude_code_belongs_to_the_turn_that_started_it(sandbox: Sandbox, item: str) -> None:
    """Its prompts are not hooked: nothing is injected into it."""
    script = delegating(sandbox.client, PROMPT, "Look it up.", "It is 8080.", "I had it looked up.")
    run = sandbox.ask(PROMPT, script).check()
    assert len(run.requests) == 3
    (turn,) = turns(sandbox)
    assert (turn.ending, turn.assistant_response) == (TurnEnding.STOPPED, "I had it looked up.")
    assert [call.name for call in turn.tool_calls] == ["Agent"]
    assert [one.id for one in turn.injected_items] == [item]


@pytest.mark.parametrize("sandbox", [ClaudeCode()], ids=["claude-code"], indirect=True)
def test_a_sub_agent_in_the_background_and_what_follows_it_belong_to_the_turn_that_started_it(
    sandbox: Sandbox, item: str
) -> None:
    """It ends after the turn. The client then submits a notice, as a prompt that nobody wrote."""

    def script(request: Request) -> Reply:
        said = [part.text for part in request.parts if part.role == "user"]
        if not any(PROMPT in text for text in said):
            until(lambda: bool(sandbox.outcomes("stop")))
            assert turns(sandbox)  # the turn that started it has ended, and is scored without it
            return Say("It is done.") if request.results else sandbox.client.runs(WRITES)
        if any("<task-notification>" in text for text in said):
            return Say("The sub-agent has ended.")
        task = {"description": "Look it up", "prompt": "Look it up.", "run_in_background": True}
        return Say("I have started a sub-agent.") if request.results else Call("Agent", task)

    sandbox.ask(PROMPT, script).check()
    assert sandbox.outcomes("user-prompt-submit") == ["injected", "nothing"]
    assert sandbox.outcomes("stop") == ["queued", "queued"]
    (turn,) = turns(sandbox)
    assert (turn.user_prompt, turn.ending) == (PROMPT, TurnEnding.STOPPED)
    assert turn.assistant_response == "I have started a sub-agent.\n\nThe sub-agent has ended."
    assert {call.name for call in turn.tool_calls} == {"Agent", "Bash"}
    assert injected(turn) == [(item, True, True, False)]


def test_the_prompts_of_sub_agents_that_are_hooked_are_turns_of_their_own(codex: Sandbox) -> None:
    """Codex hooks them: what is injected for them is used, or not, by the sub-agent."""
    port = codex.add(PORT)
    invoices = codex.add(INVOICES)
    codex.install()
    task = "How long are invoices kept?"
    run = codex.ask(PROMPT, delegating(codex.client, PROMPT, task, INVOICES, USES)).check()
    turn, inner = sorted(turns(codex), key=lambda one: one.user_prompt != PROMPT)
    assert (turn.user_prompt, inner.user_prompt) == (PROMPT, task)
    assert {turn.session_id, inner.session_id} == {run.session}
    assert {turn.ending, inner.ending} == {TurnEnding.STOPPED}
    assert (injected(turn), injected(inner)) == ([(port, True, True, False)], [(invoices, True, True, False)])
    assert (turn.assistant_response, inner.assistant_response) == (USES, INVOICES)
    assert [call.name.rpartition("__")[2] for call in turn.tool_calls] == ["tool_search", "spawn_agent", "wait_agent"]


@pytest.fixture
def codex(tmp_path: Path, possible: None) -> Sandbox:
    return Sandbox(Codex(), tmp_path)
