from __future__ import annotations

import signal

import pytest

from knowbound.core.bundle import INDEX_OPENING, OPENING
from knowbound.injection.log import read_log
from tests.agents.clients import ClaudeCode, delegating
from tests.agents.sandbox import Run, Sandbox
from tests.agents.scripted_model import Begin, Fail, Request, Say

PORT = "The orders service listens on port 8080 behind the internal gateway."
RETRY = "Failed payment webhooks are retried three times with exponential backoff."
PROMPT = "On which port does the orders service listen?"
OTHER_PROMPT = "How often are failed payment webhooks retried?"
MARKUP = 'Deploy with <sha> of the build, "${TAG}" & co:\n```sh\n./deploy.sh <sha>\n```\nNever by hand.'


def count(request: Request, text: str) -> int:
    return sum(part.text.count(text) for part in request.parts)


def test_a_session_opens_with_the_index_and_a_prompts_items_come_right_after_it(sandbox: Sandbox) -> None:
    opening = sandbox.add("Releases are cut on Tuesdays from the branch stable.")
    item = sandbox.add(PORT)
    sandbox.install()
    run = sandbox.ask(PROMPT, [Say("On port 8080.")]).check()
    assert run.answer == "On port 8080."
    (request,) = run.requests
    (part,) = request.with_text(PORT)
    assert part.role == sandbox.client.injected_role
    assert f"[{item}]" in part.text
    texts = [one.text for one in request.parts]
    assert texts.index(PROMPT) + 1 == texts.index(part.text)
    (index,) = request.with_text(INDEX_OPENING)
    assert index.role == sandbox.client.injected_role
    assert f"[{opening}] Releases are cut on Tuesdays" in index.text
    assert f"[{item}] The orders service listens" in index.text


def test_a_prompt_that_needs_nothing_gets_nothing(sandbox: Sandbox) -> None:
    sandbox.add(PORT)
    sandbox.install()
    run = sandbox.ask("Write a limerick about autumn leaves.").check()
    assert [count(request, OPENING) for request in run.requests] == [0]
    assert [count(request, PORT) for request in run.requests] == [0]
    assert sandbox.outcomes("user-prompt-submit") == ["nothing"]
    records = read_log(sandbox.data).records
    assert [record.items for record in records if record.event == "user-prompt-submit"] == [()]


def test_a_resumed_session_gets_neither_an_item_nor_the_index_twice(sandbox: Sandbox) -> None:
    sandbox.add(PORT)
    sandbox.add(RETRY)
    sandbox.install()
    first = sandbox.ask(PROMPT).check()
    second = sandbox.ask(f"{PROMPT} {OTHER_PROMPT}", resume=first.session).check()
    assert second.session == first.session
    (request,) = second.requests
    assert count(request, PORT) == 1
    assert count(request, RETRY) == 1
    assert count(request, INDEX_OPENING) == 1


def test_after_a_compaction_the_item_and_the_index_come_again(sandbox: Sandbox) -> None:
    sandbox.add(PORT)
    sandbox.install()
    reading = sandbox.client.reads(sandbox.project / "README.md")  # one message alone is not compacted
    first = sandbox.ask(PROMPT, [reading, reading, Say("On port 8080.", used=90_000)]).check()
    request = after_compaction(sandbox, first).requests[-1]
    assert count(request, "A summary of nothing.") == 1
    assert count(request, PORT) == 1
    assert request.with_text(PORT)[0].role == sandbox.client.injected_role
    assert count(request, INDEX_OPENING) == 1


def after_compaction(sandbox: Sandbox, first: Run) -> Run:
    """The same prompt in the same session, after the client has replaced the conversation by a summary."""
    summary = Say("<summary>A summary of nothing.</summary>")
    if isinstance(sandbox.client, ClaudeCode):
        assert len(sandbox.ask("/compact", [summary], resume=first.session).check().requests) == 1
        return sandbox.ask(PROMPT, resume=first.session).check()
    # Codex has no command for it without a terminal: it compacts by itself when the model has read too much.
    full = ["-c", "model_auto_compact_token_limit=50000"]
    return sandbox.ask(PROMPT, [summary], resume=first.session, options=full).check()


def test_text_arrives_as_it_was_stored_in_a_fence_that_it_cannot_close(sandbox: Sandbox) -> None:
    item = sandbox.add(MARKUP)
    sandbox.install()
    (request,) = sandbox.ask("How do I deploy the build with deploy.sh?").check().requests
    indented = MARKUP.replace("\n", "\n    ")  # no line of it begins like an item
    (part,) = request.with_text(indented)
    assert f"\n````\n[{item}]" in part.text
    assert f"{indented}\n````\n" in part.text


def test_every_event_that_we_hook_fires(sandbox: Sandbox) -> None:
    from knowbound.agent.install.clients import HOOKED

    sandbox.add(PORT)
    sandbox.install()
    if isinstance(sandbox.client, ClaudeCode):
        sandbox.ask(PROMPT, lambda request: Fail(), CLAUDE_CODE_MAX_RETRIES="0")
    else:
        sandbox.ask(PROMPT, [Begin("It listens ")], interrupt=signal.SIGINT)
    sandbox.ask(PROMPT, delegating(sandbox.client, PROMPT, "Look it up.", "It is 8080.", "It is 8080.")).check()
    sandbox.ask(PROMPT, sandbox.client.misses(sandbox.project / "docs" / "port.md")).check()
    fired = {event: sandbox.outcomes(event) for event in HOOKED[sandbox.client.name]}
    assert all(fired.values()), fired
    assert "failed" not in {outcome for outcomes in fired.values() for outcome in outcomes}, fired


def test_off_is_silent_and_on_injects_again(sandbox: Sandbox) -> None:
    sandbox.add(PORT)
    sandbox.install()
    sandbox.knowbound("off")
    (silent,) = sandbox.ask(PROMPT).check().requests
    sandbox.knowbound("on")
    (injected,) = sandbox.ask(PROMPT).check().requests
    assert (count(silent, PORT), count(injected, PORT)) == (0, 1)


@pytest.mark.parametrize("broken", ["index", "home"])
def test_a_hook_that_fails_does_not_disturb_the_client(sandbox: Sandbox, broken: str) -> None:
    sandbox.add(PORT)
    sandbox.install()
    if broken == "index":
        (sandbox.data / "index.db").write_bytes(b"no database " * 1000)
        run = sandbox.ask(PROMPT, [Say("I do not know.")])
        assert sandbox.outcomes("user-prompt-submit") == ["failed"]
    else:
        run = sandbox.ask(PROMPT, [Say("I do not know.")], KNOWBOUND_HOME=str(sandbox.project / "README.md" / "data"))
    assert run.check().answer == "I do not know."
    (request,) = run.requests
    assert count(request, PROMPT) == 1
    assert count(request, PORT) == 0
