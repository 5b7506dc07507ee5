"""The embedded judge of turns, on small turns written for it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowbound.core.quality import ItemVerdict, JudgedCall, JudgedItem, JudgedTurn
from knowbound.judge.turns.rules import RulesTurnJudge

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
    assert JUDGE.version.startswith("rules-turns-1-")
    assert verdict.reason
    assert not JUDGE.costs


@pytest.mark.parametrize("text", ["", " ", "\n\n", "```", "|", "→", "。", "\x00", "🎉" * 50, "-" * 3000])
def test_odd_texts_get_a_verdict(text: str) -> None:
    assert len(judged(text, text, text, "", calls=(JudgedCall("", {"a": [text, {"b": text}]}, text),))) == 2


def test_a_turn_without_items_has_no_verdicts() -> None:
    assert judged("hello", "hi") == []


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(max_size=600), st.lists(st.text(max_size=200), max_size=4), st.text(max_size=100))
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
