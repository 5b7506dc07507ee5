"""The embedded judge of turns, on small turns written for it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from knowbound.core.quality import ItemVerdict, JudgedCall, JudgedItem, JudgedTurn
from knowbound.judge.turns import RulesTurnJudge

JUDGE = RulesTurnJudge()


def judged(
    prompt: str, response: str, *items: str, calls: tuple[JudgedCall, ...] = (), judge: RulesTurnJudge = JUDGE
) -> list[ItemVerdict]:
    several = tuple(JudgedItem(f"item-{at}", content) for at, content in enumerate(items))
    (found,) = judge.judge([JudgedTurn("t1", prompt, response, several, calls)])
    assert not found.problem
    assert [one.item for one in found.verdicts] == [one.id for one in several]
    return list(found.verdicts)


def test_a_restated_fact_is_used_and_on_topic() -> None:
    (used, other) = judged(
        "Which port does the parcel tracker listen on?",
        "The parcel tracker listens on port 9417, set by TRACKER_PORT in deploy/tracker.env.",
        "parcel tracker listens on port 9417 (TRACKER_PORT in deploy/tracker.env).",
        "User likes oat milk in the office kitchen.",
    )
    assert (used.on_topic, used.used, used.contradicted) == (True, True, False)
    assert (other.on_topic, other.used, other.contradicted) == (False, False, False)


def test_every_verdict_names_the_judge_and_a_reason() -> None:
    (verdict,) = judged("What is the port?", "It is 9417.", "The tracker listens on port 9417.")
    assert verdict.judge == JUDGE.version
    assert JUDGE.version.startswith("rules-turns-")
    assert verdict.reason
    assert not JUDGE.costs


@pytest.mark.parametrize("text", ["", " ", "\n\n", "```", "|", "→", "。", "\x00", "🎉" * 50, "-" * 3000])
def test_odd_texts_get_a_verdict(text: str) -> None:
    assert len(judged(text, text, text, "", calls=(JudgedCall("", {"a": [text, {"b": text}]}, text),))) == 2


def test_a_turn_without_items_has_no_verdicts() -> None:
    assert judged("hello", "hi") == []


@drawn(st.text(max_size=300), st.text(max_size=600), st.lists(st.text(max_size=200), max_size=4), st.text(max_size=100))
def test_no_text_makes_it_raise(prompt: str, response: str, items: list[str], told: str) -> None:
    call = JudgedCall(told, {told: told}, told)
    assert len(judged(prompt, response, *items, calls=(call,))) == len(items)


def test_the_order_of_items_does_not_matter() -> None:
    items = [
        "The mail queue retries 5 times.",
        "Mail templates live in mail/templates.",
        "User prefers tabs.",
        "The mail queue is drained by worker-3.",
    ]
    prompt, response = "How often does the mail queue retry?", "It retries 8 times; worker-3 drains the queue."
    first = dict(zip(items, judged(prompt, response, *items), strict=True))
    for seed in range(5):
        shuffled = random.Random(seed).sample(items, len(items))
        for content, found in zip(shuffled, judged(prompt, response, *shuffled), strict=True):
            expected = first[content]
            assert (found.on_topic, found.used, found.contradicted, found.correction, found.reason) == (
                expected.on_topic,
                expected.used,
                expected.contradicted,
                expected.correction,
                expected.reason,
            )


def test_the_same_turn_gets_the_same_verdicts() -> None:
    turn = ("Which queue?", "Use `parcel-fast`, not `parcel-slow`.", "Parcels go to parcel-slow.", "Parcels are boxes.")
    assert judged(*turn) == judged(*turn) == judged(*turn, judge=RulesTurnJudge())


# Use


def test_a_value_in_a_tool_input_is_use() -> None:
    call = JudgedCall("Bash", {"command": "tern-cli replay --shard heron-12 --since 2031-04-02"}, "ok")
    (verdict,) = judged(
        "replay the lost events", "Done.", "Replays run with tern-cli replay --shard heron-12.", calls=(call,)
    )
    assert verdict.used


def test_a_value_in_a_tool_output_alone_is_no_use() -> None:
    call = JudgedCall("Bash", {"command": "cat notes.txt"}, "Replays run with tern-cli replay --shard heron-12.")
    (verdict,) = judged(
        "what is for lunch?", "Soup.", "Replays run with tern-cli replay --shard heron-12.", calls=(call,)
    )
    assert not verdict.used


def test_a_chinese_fact_that_is_restated_is_used() -> None:
    used, other = judged(
        "对账任务几点跑？",
        "对账任务每天 03:20 在 recon-2 上执行，配置在 jobs/recon.yaml。",
        "对账任务每天 03:20 在 recon-2 上执行。",
        "用户喜欢深色主题。",
    )
    assert (used.on_topic, used.used, used.contradicted) == (True, True, False)
    assert (other.on_topic, other.used) == (False, False)


# Contradiction


def test_a_fact_that_is_called_outdated_is_contradicted_and_corrected() -> None:
    (verdict,) = judged(
        "Which port does the parcel tracker listen on?",
        "My notes said the parcel tracker listens on port 9417, but that is outdated and wrong. "
        "The parcel tracker now listens on port 9522.",
        "The parcel tracker listens on port 9417.",
    )
    assert verdict.contradicted
    assert verdict.on_topic
    assert "9522" in verdict.correction


@pytest.mark.parametrize(
    ("tool", "given", "contradicted"),
    [
        ("kms_supersede", {"id": "item-0", "content": "The tracker listens on 9522."}, True),
        ("kms_supersede", {"id": "other", "also": ["item-0"], "content": "x"}, True),
        ("kms_delete", {"id": "item-0"}, True),
        ("kms_flag", {"id": "item-0", "flag": "RETRACTED"}, True),
        ("kms_flag", {"id": "item-0", "flag": "UNVERIFIED"}, False),
        ("kms_supersede", {"id": "other", "by_id": "item-0"}, False),
        ("kms_supersede", {"id": "other", "content": "Mail templates live in mail/."}, False),
        ("kms_search", {"id": "item-0"}, False),
    ],
)
def test_a_call_that_withdraws_an_item_by_its_id_contradicts_it(
    tool: str, given: dict[str, object], contradicted: bool
) -> None:
    call = JudgedCall(f"mcp__kms__{tool}", given)
    (verdict,) = judged("tidy up", "Done.", "The parcel tracker listens on port 9417.", calls=(call,))
    assert verdict.contradicted == contradicted


def test_where_the_response_is_silent_the_correcting_call_says_what_is_true() -> None:
    call = JudgedCall("mcp__kms__kms_supersede", {"id": "item-0", "content": "The tracker listens on 9522."})
    (verdict,) = judged("tidy up", "Done.", "The parcel tracker listens on port 9417.", calls=(call,))
    assert verdict.correction == "The tracker listens on 9522."


def test_a_chinese_denial_contradicts() -> None:
    (verdict,) = judged(
        "对账任务的超时是多少？",
        "知识库里写的对账任务超时是 30 秒，这个不对，已经过时了：现在配置里对账任务超时是 90 秒。",
        "对账任务的超时是 30 秒。",
    )
    assert verdict.contradicted
    assert "90" in verdict.correction


@pytest.mark.parametrize(
    "response",
    [
        "The parcel tracker listens on port 9417.",  # agreement
        "I could not check the parcel tracker's port, the host did not answer.",
        "If the load grows I would suggest a second tracker next quarter.",
        "Done.",  # leaving it out
    ],
)
def test_what_is_no_contradiction(response: str) -> None:
    (verdict,) = judged("Which port does the tracker use?", response, "The parcel tracker listens on port 9417.")
    assert not verdict.contradicted
    assert verdict.correction == ""


def test_a_correction_is_made_of_the_responses_own_words() -> None:
    response = "The note is wrong. The mail queue no longer retries 5 times. It retries 8 times since May. Bye."
    (verdict,) = judged("How often does the mail queue retry?", response, "The mail queue retries 5 times.")
    assert verdict.contradicted
    assert all(part.strip() in response for part in verdict.correction.split(". "))


@pytest.mark.parametrize("response", ["", "I cannot say.", "An API error ended the turn."])
def test_an_item_that_says_what_was_asked_is_on_topic_whatever_the_answer_says(response: str) -> None:
    item = JudgedItem("i", "The orders service listens on port 8080 behind the internal gateway.")
    turn = JudgedTurn("t", "On which port does the orders service listen?", response, (item,))
    ((verdict,),) = (found.verdicts for found in JUDGE.judge([turn]))
    assert (verdict.on_topic, verdict.used, verdict.contradicted) == (True, False, False)


@pytest.mark.parametrize(
    ("response", "contradicted"),
    [
        ("The orders service listens on port 9090, not 8080: the gateway config says 9090.", True),
        ("It runs on `9090` rather than `8080`.", True),
        ("The config has **9090** instead of port 8080.", True),
        ("It listens on port 8080, not 9090.", False),
        ("It is not 8080 bytes long.", False),
    ],
)
def test_a_value_that_is_set_aside_for_another_is_contradicted(response: str, contradicted: bool) -> None:
    text = "The orders service listens on port 8080 behind the internal gateway."
    (verdict,) = judged("On which port does the orders service listen?", response, text)
    assert verdict.contradicted == contradicted
    assert ("9090" in verdict.correction) == contradicted
