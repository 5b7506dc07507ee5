"""What is known about a turn, joined: for the log cut and cleared, for the judge whole (specification 2, section 3)."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from knowbound.core.quality import EXCERPT, LONGEST_TEXT, TurnEnding
from knowbound.core.trace import Outcome, ToolCall, ToolKind
from knowbound.injection.log import InjectedItem, InjectionRecord, PullRecord
from knowbound.quality.ended import answer_sum
from knowbound.quality.joining import StoredText, TurnSources, corrected_by, is_complete, join
from knowbound.quality.queue import EndedRecord
from knowbound.traces.turns import TraceTurn, session_of, turns_in
from tests.transcripts import SESSION, Transcript

PROMPT = "On which port does the orders service listen?"
ANSWER = "It listens on port 8080."
TOKEN = "ghp_" + "a1B2" * 9
LONG = "The orders service listens on port 8080. " * 40


def injected(*items: InjectedItem, delivered: bool | None = True) -> InjectionRecord:
    return InjectionRecord(
        "2026-10-01T10:00:00Z", "i1", SESSION, agent="claude-code", prompt_id="p1", prompt=PROMPT, items=items,
        delivered=delivered, tokens=90, ms=80.0,
    )  # fmt: skip


def one(id_: str = "k1", text: str = LONG, sha: str = "v1") -> InjectedItem:
    return InjectedItem(id_, "sqlite", text[:EXCERPT], len(text), confidence=0.8, rank=1, sha=sha)


def ended(answer: str | None = ANSWER, event: str = "stop", text: str = ANSWER) -> EndedRecord:
    sum_ = answer_sum(text) if text else ""
    return EndedRecord(
        "2026-10-01T10:01:00Z", "e1", event, SESSION, "claude-code", prompt_id="p1", answer_sum=sum_, answer=answer,
        answer_length=len(answer or ""), ms=40.0,
    )  # fmt: skip


def trace(tmp_path: Path, transcript: Transcript) -> TraceTurn:
    path = transcript.write(tmp_path)
    (turn,) = turns_in(session_of(path))
    return turn


def nothing(_: str) -> None:
    return None


def test_the_log_has_the_beginning_of_an_item_and_the_judge_all_of_it() -> None:
    joined = join(TurnSources(ended(), injected(one())), lambda _: StoredText(LONG, "v1", "technical"))
    (logged,) = joined.turn.injected_items
    assert (logged.content_excerpt, logged.content_length) == (LONG[:500], len(LONG))
    assert (logged.confidence, logged.source_backend, logged.source) == (0.8, "sqlite", "technical")
    (judged,) = joined.judged.items
    assert (judged.content, judged.is_whole) == (LONG, True)


def test_an_item_that_was_changed_since_is_judged_as_it_was() -> None:
    joined = join(TurnSources(ended(), injected(one())), lambda _: StoredText("another text", "v2", "technical"))
    (judged,) = joined.judged.items
    assert (judged.content, judged.is_whole) == (LONG[:500], False)


def test_what_a_model_chose_later_counts_where_it_was_delivered() -> None:
    late = replace(one(), item="k2")
    for delivered, ids, tokens in ((True, ["k1", "k2"], 120), (None, ["k1"], 90)):
        known = replace(injected(replace(one(), item="k1")), late=(late,), late_tokens=30, late_delivered=delivered)
        turn = join(TurnSources(ended(), known), nothing).turn
        assert [item.id for item in turn.injected_items] == ids
        assert turn.injected_tokens == tokens
    known = replace(injected(delivered=False), late=(late,), late_tokens=30, late_delivered=True)
    assert [item.id for item in join(TurnSources(ended(), known), nothing).turn.injected_items] == ["k2"]


def test_what_was_not_delivered_is_not_counted() -> None:
    assert join(TurnSources(ended(), injected(one(), delivered=False)), nothing).turn.injected_items == ()
    assert join(TurnSources(ended(), injected(one(), delivered=None)), nothing).turn.injected_items == ()


def test_a_delivery_that_nobody_noted_counts_where_the_trace_shows_it(tmp_path: Path) -> None:
    bundle = (
        "Entries of this project's knowledge store (knowbound) that match the prompt, each with its id:\n"
        "[k1] (from sqlite) The orders service listens on port 8080."
    )
    told = {"type": "hook_additional_context", "content": [bundle], "hookEvent": "UserPromptSubmit"}
    found = trace(tmp_path, Transcript().user(PROMPT, promptId="p1").line("attachment", attachment=told).says(ANSWER))
    joined = join(TurnSources(ended(), injected(one(), delivered=None), found), nothing)
    assert [item.id for item in joined.turn.injected_items] == ["k1"]


def test_the_last_message_wins_where_the_trace_is_late(tmp_path: Path) -> None:
    late = trace(tmp_path, Transcript().user(PROMPT, promptId="p1").says("Let me look."))
    joined = join(TurnSources(ended(), injected(one()), late), nothing)
    assert joined.judged.response == f"Let me look.\n\n{ANSWER}"
    assert not is_complete(late, ended())


def test_a_trace_that_has_the_last_message_is_complete_and_says_it_once(tmp_path: Path) -> None:
    whole = trace(tmp_path, Transcript().user(PROMPT, promptId="p1").says(ANSWER))
    assert is_complete(whole, ended())
    assert join(TurnSources(ended(), None, whole), nothing).judged.response == ANSWER


def test_texts_are_cut_and_cleared_of_secrets_and_their_lengths_stated(tmp_path: Path) -> None:
    prompt = f"deploy with {TOKEN} " + "x" * 5000
    found = trace(tmp_path, Transcript().user(prompt, promptId="p1").says(f"used {TOKEN}").says("y" * 5000))
    turn = join(TurnSources(None, None, found), nothing).turn
    assert TOKEN not in turn.user_prompt + turn.assistant_response
    assert (len(turn.user_prompt), turn.user_prompt_length) == (LONGEST_TEXT, len(prompt))
    assert (len(turn.assistant_response), turn.assistant_response_length > 5000) == (LONGEST_TEXT, True)


@pytest.mark.parametrize(
    ("sources", "ending"),
    [
        (TurnSources(ended(), injected()), TurnEnding.STOPPED),
        (TurnSources(ended(None, "stop-failure", ""), injected()), TurnEnding.FAILED),
        (TurnSources(None, injected()), TurnEnding.INTERRUPTED),
    ],
    ids=["stopped", "an API error", "no hook said that it ended"],
)
def test_how_a_turn_ended(sources: TurnSources, ending: TurnEnding) -> None:
    assert join(sources, nothing).turn.ending is ending


def test_what_was_pulled_is_kept_apart_and_an_injected_item_is_not_pulled() -> None:
    pull = PullRecord("2026-10-01T10:00:30Z", "p", SESSION, items=(one("k1"), one("k2"), one("k2")))
    turn = join(TurnSources(ended(), injected(one("k1")), None, (pull,)), nothing).turn
    assert [item.id for item in turn.injected_items] == ["k1"]
    assert [item.id for item in turn.pulled_items] == ["k2"]


def test_what_others_injected_is_kept_apart_in_pieces(tmp_path: Path) -> None:
    memory = "# Ports\n\nThe orders service listens on port 8080.\n\n# Style\n\nUse tabs everywhere in this project."
    told = {"type": "hook_additional_context", "content": [memory], "hookEvent": "UserPromptSubmit"}
    found = trace(tmp_path, Transcript().user(PROMPT, promptId="p1").line("attachment", attachment=told).says(ANSWER))
    turn = join(TurnSources(ended(), None, found), nothing).turn
    assert turn.injected_items == ()
    assert [item.content_excerpt.split(":")[0] for item in turn.other_items] == ["Ports", "Style"]
    assert {item.source_backend for item in turn.other_items} == {"hook:UserPromptSubmit"}


def test_a_list_that_another_tool_injected_is_logged_item_by_item(tmp_path: Path) -> None:
    memory = f"[KMS Context]\n1. [mem0] [87%] Port 8080 is for orders. (id: 4f2)\n2. The token is {TOKEN}"
    told = {"type": "hook_additional_context", "content": [memory], "hookEvent": "UserPromptSubmit"}
    found = trace(tmp_path, Transcript().user(PROMPT, promptId="p1").line("attachment", attachment=told).says(ANSWER))
    joined = join(TurnSources(ended(), None, found), nothing)
    first, second = joined.turn.other_items
    assert (first.source, first.source_backend, first.own_id) == ("kms", "hook:UserPromptSubmit", "4f2")
    assert (first.origin, first.confidence, first.content_excerpt) == ("mem0", 0.87, "Port 8080 is for orders.")
    assert (second.own_id, second.confidence, TOKEN in second.content_excerpt) == ("", 1.0, False)
    assert [item.id for item in joined.judged.items] == [first.id, second.id]


@pytest.mark.parametrize(
    ("name", "outcome", "given", "corrected"),
    [
        ("mcp__kms__kms_supersede", Outcome.OK, {"old_id": "k1", "new_content": "x"}, ("k1",)),
        ("mcp__mem0__update_memory", Outcome.OK, {"memory_id": "m1", "text": "x"}, ("m1",)),
        ("mcp__knowbound__kms_supersede", Outcome.OK, {"id": "k1", "also": ["k2"]}, ("k1", "k2")),
        ("mcp__plugin_x_knowbound__kms_flag", Outcome.OK, {"id": "k1", "flag": "RETRACTED"}, ("k1",)),
        ("kms_update", Outcome.UNKNOWN, {"id": "k1"}, ("k1",)),
        ("kms_delete", Outcome.ERROR, {"id": "k1"}, ()),
        ("kms_flag", Outcome.REJECTED, {"id": "k1"}, ()),
        ("mcp__knowbound__kms_show", Outcome.OK, {"id": "k1"}, ()),
        ("mcp__knowbound__kms_update", Outcome.OK, {"id": 7, "also": "k2"}, ()),
    ],
)
def test_corrective_calls_name_their_items(
    name: str, outcome: Outcome, given: dict[str, object], corrected: tuple[str, ...]
) -> None:
    assert corrected_by(ToolCall("c", name, ToolKind.OTHER, outcome, input=given)) == corrected


def test_corrective_calls_come_first_in_the_log(tmp_path: Path) -> None:
    transcript = Transcript().user(PROMPT, promptId="p1")
    for number in range(60):
        transcript.read(f"src/{number}.py")
    transcript.calls("mcp__knowbound__kms_supersede", {"id": "k1", "content": "x"}, "toolu_s").result("toolu_s", "done")
    turn = join(TurnSources(None, None, trace(tmp_path, transcript)), nothing).turn
    assert turn.tool_calls[0].corrected == ("k1",)
    assert (len(turn.tool_calls), turn.tool_calls_count) == (50, 61)
