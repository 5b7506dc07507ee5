"""What the real clients write is read as what happened: whose text a hook's is, and how calls and turns ended."""

from __future__ import annotations

import json
from pathlib import Path

from knowbound.core.bundle import is_ours
from knowbound.core.signal import Turn
from knowbound.core.trace import Outcome, Step, ToolCall
from knowbound.traces.registry import recognise
from knowbound.traces.source import Tally, read_head
from tests.agents.clients import ClaudeCode, delegating
from tests.agents.sandbox import Sandbox
from tests.agents.scripted_model import Say
from tests.agents.test_injection import after_compaction
from tests.reading import turns_of

PORT = "The orders service listens on port 8080 behind the internal gateway."
PROMPT = "On which port does the orders service listen?"
OTHER = "Releases are frozen this week."
INDEX = "the index"


def other_hooks(sandbox: Sandbox) -> list[str]:
    """Options that give a client hooks of somebody else, beside those that are installed."""
    command = {"type": "command", "command": f"echo {OTHER}", "timeout": 5}
    if isinstance(sandbox.client, ClaudeCode):
        hooks = {event: [{"hooks": [command]}] for event in ("UserPromptSubmit", "SessionStart")}
        return ["--settings", json.dumps({"hooks": hooks})]
    table = f'{{type="command", command="echo {OTHER}", timeout=5}}'
    return [
        word
        for event in ("UserPromptSubmit", "SessionStart")
        for word in ("-c", f"hooks.{event}=[{{hooks=[{table}]}}]")
    ]


def shown(turn: Turn) -> list[tuple[str, str]]:
    """What hooks injected into a turn: source, and the item's id, that it is our index, or the text of others."""
    found = [one for one in turn.injected if one.source.startswith("hook")]
    return [(one.source, one.item or (INDEX if is_ours(one.excerpt) else one.excerpt.strip())) for one in found]


def calls(path: Path) -> list[ToolCall]:
    known = recognise(read_head(path))
    assert known is not None
    events = known[0].read([path], {}, Tally())
    return [call for event in events if isinstance(event, Step) for call in event.calls]


def test_text_of_others_is_theirs_and_items_are_ours(sandbox: Sandbox) -> None:
    port = sandbox.add(PORT)
    sandbox.install()
    sandbox.ask(PROMPT, options=other_hooks(sandbox)).check()
    (transcript,) = sandbox.client.transcripts(sandbox.home)
    (turn,) = turns_of(transcript)
    assert sorted(shown(turn)) == [
        ("hook:SessionStart", OTHER),
        ("hook:SessionStart", INDEX),
        ("hook:UserPromptSubmit", OTHER),
        ("hook:UserPromptSubmit", port),
    ]


def test_a_failed_mcp_call_is_an_error_once(sandbox: Sandbox) -> None:
    sandbox.add(PORT)
    sandbox.install()
    asked = sandbox.client.calls("kms_flag", id="no-such-item", flag="RETRACTED", note="wrong")
    sandbox.ask(PROMPT, [*asked, Say("It cannot be flagged.")]).check()
    (transcript,) = sandbox.client.transcripts(sandbox.home)
    found = [call for call in calls(transcript) if call.name.endswith("kms_flag")]
    assert [call.outcome for call in found] == [Outcome.ERROR], found


def test_a_call_that_starts_a_sub_agent_names_it(sandbox: Sandbox) -> None:
    script = delegating(sandbox.client, PROMPT, "Look it up.", "It is 8080.", "It is 8080.")
    sandbox.ask(PROMPT, script).check()
    (transcript,) = [path for path in sandbox.client.transcripts(sandbox.home) if PROMPT in path.read_text("utf-8")]
    started = [call for call in calls(transcript) if call.agent_id]
    assert [call.name.rpartition("__")[2] for call in started] == [
        "Agent" if isinstance(sandbox.client, ClaudeCode) else "spawn_agent"
    ]


def test_what_a_compaction_injects_belongs_to_the_turn_that_reads_it(sandbox: Sandbox) -> None:
    sandbox.add("Releases are cut on Tuesdays from the branch stable.")  # what the prompts are not about
    sandbox.install()
    reading = sandbox.client.reads(sandbox.project / "README.md")  # one message alone is not compacted
    first = sandbox.ask("Hello", [reading, reading, Say("Hello.", used=90_000)]).check()
    after_compaction(sandbox, first)
    (transcript,) = sandbox.client.transcripts(sandbox.home)
    read = turns_of(transcript)
    assert [turn.prompt for turn in read] == ["Hello", PROMPT]
    assert [shown(turn) for turn in read] == [[("hook:SessionStart", INDEX)]] * 2


def test_what_the_client_prints_is_read_turn_by_turn(sandbox: Sandbox, tmp_path: Path) -> None:
    """The stream has no prompt; Claude Code's has what hooks injected."""
    sandbox.add(PORT)
    sandbox.install()
    run = sandbox.ask("Hello", [sandbox.client.reads(sandbox.project / "README.md"), Say("Hello yourself.")]).check()
    stream = tmp_path / "printed.jsonl"
    stream.write_text("".join(json.dumps(event) + "\n" for event in run.events), "utf-8")
    (turn,) = turns_of(stream)
    assert (turn.prompt, turn.answer, turn.steps, turn.calls) == ("", "Hello yourself.", 2, 1)
    is_claude = isinstance(sandbox.client, ClaudeCode)
    assert shown(turn) == ([("hook:SessionStart", INDEX)] if is_claude else [])
