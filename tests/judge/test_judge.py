from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.signal import HedgingVerdict
from knowbound.judge.hedging.rules import HedgingWeights, RulesJudge
from knowbound.judge.hedging.verdict import (
    MAX_CANDIDATES,
    HedgingCandidate,
    HedgingJudge,
    Judged,
    failed_verdict,
    judge_candidates,
)


class Asked:
    """A judge that notes what it is asked and finds doubt in every sentence without a "no"."""

    usd = 0.0

    def __init__(self, *, costs: bool = False, version: str = "asked/1") -> None:
        self.costs, self.version = costs, version
        self.sentences: list[str] = []
        self.given: dict[str, HedgingVerdict] = {}

    def known(self, candidate: HedgingCandidate) -> HedgingVerdict | None:
        return self.given.get(candidate.sentence)

    def judge(self, candidates: Sequence[HedgingCandidate]) -> Sequence[HedgingVerdict]:
        self.sentences += [candidate.sentence for candidate in candidates]
        found = [HedgingVerdict("no" not in c.sentence, 0.9, "said so", self.version) for c in candidates]
        if self.costs:
            self.given |= {one.sentence: verdict for one, verdict in zip(candidates, found, strict=True)}
        return found


class Failing(Asked):
    def __init__(self, problem: str | Exception) -> None:
        super().__init__()
        self.problem = problem

    def judge(self, candidates: Sequence[HedgingCandidate]) -> Sequence[HedgingVerdict]:
        super().judge(candidates)
        if isinstance(self.problem, Exception):
            raise self.problem
        return [failed_verdict(self.problem, self.version)] * len(candidates)


def candidates(*sentences: str) -> list[HedgingCandidate]:
    return [HedgingCandidate(sentence) for sentence in sentences]


def doubts(judged: Judged) -> list[bool | None]:
    """What was said of each candidate; None where nothing was."""
    return [verdict.is_uncertainty if verdict else None for verdict in judged.verdicts]


def test_every_candidate_has_its_verdict() -> None:
    verdicts, warnings = judge_candidates(Asked(), candidates("a", "no", "b"))
    assert [(v.is_uncertainty, v.reason) for v in verdicts if v] == [
        (doubt, "said so") for doubt in (True, False, True)
    ]
    assert warnings == []


def test_the_same_sentence_is_never_judged_twice() -> None:
    judge = Asked(costs=True)
    first = judge_candidates(judge, candidates("a", "b", "a"))
    again = judge_candidates(judge, candidates("b", "a"))
    assert judge.sentences == ["a", "b"]
    assert doubts(first) == [True, True, True]
    assert doubts(again) == [True, True]


def test_a_sentence_that_costs_is_judged_once_and_a_free_one_in_each_context() -> None:
    twice = [
        HedgingCandidate("a", "a. Let me check."),
        HedgingCandidate("a", "a. Done."),
        HedgingCandidate("a", "a. Done."),
    ]
    free, paid = Asked(), Asked(costs=True)
    judge_candidates(free, twice)
    judge_candidates(paid, twice)
    assert (free.sentences, paid.sentences) == (["a", "a", "a"], ["a"])


def test_a_judge_that_costs_is_asked_at_most_fifty_and_the_reader_is_warned() -> None:
    judge = Asked(costs=True)
    judged = judge_candidates(judge, candidates(*(f"s{i}" for i in range(60))))
    assert len(judge.sentences) == MAX_CANDIDATES == 50
    assert doubts(judged) == [True] * 50 + [None] * 10
    assert judged.warnings == ["10 of 60 hedging sentences were not judged: the cap is 50."]


def test_a_judge_that_is_free_has_no_cap_unless_one_is_asked_for() -> None:
    many = candidates(*(f"s{i}" for i in range(60)))
    assert doubts(judge_candidates(Asked(), many)) == [True] * 60
    assert doubts(judge_candidates(Asked(), many, max_candidates=7)) == [True] * 7 + [None] * 53


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (RuntimeError("no network"), "the judge failed: RuntimeError: no network"),
        ("there is nothing about it", "there is nothing about it"),
    ],
)
def test_a_failed_verdict_keeps_the_sentence_names_the_failure_and_is_asked_again(
    problem: str | Exception, reason: str
) -> None:
    judge = Failing(problem)
    for _ in range(2):
        (verdict,), (warning,) = judge_candidates(judge, candidates("a"))
        assert verdict is not None
        assert verdict.is_uncertainty
        assert reason in verdict.reason
        assert reason in warning
    assert judge.sentences == ["a", "a"]


@given(st.lists(st.text(max_size=3), max_size=40), st.integers(1, 10))
def test_no_more_than_the_cap_is_asked_and_order_is_kept(sentences: list[str], cap: int) -> None:
    judge = Asked(costs=True)
    judged = judge_candidates(judge, candidates(*sentences), cap)
    assert len(judge.sentences) == len(set(judge.sentences)) == min(cap, len(set(sentences)))
    asked = set(judge.sentences)
    assert doubts(judged) == ["no" not in one if one in asked else None for one in sentences]
    assert bool(judged.warnings) == (len(set(sentences)) > cap)


def test_the_rules_name_the_word_and_the_traits_that_decided() -> None:
    (verdict,) = RulesJudge().judge(candidates("The issue might be that the cache is stale."))
    assert verdict is not None
    assert verdict.is_uncertainty
    assert 0.5 <= verdict.confidence <= 1
    assert verdict.reason.startswith("“might”: ")
    assert "then a cause" in verdict.reason


def test_the_rules_find_no_doubt_where_no_word_of_doubt_stands() -> None:
    (verdict,) = RulesJudge().judge(candidates("The tests pass."))
    assert verdict is not None
    assert not verdict.is_uncertainty


def test_other_weights_are_another_version() -> None:
    judge: HedgingJudge = RulesJudge(HedgingWeights(0.0, {"might": 1.0}))
    assert judge.version != RulesJudge().version
    assert not judge.costs


@given(st.text(max_size=300))
def test_the_rules_judge_any_text_the_same_way_twice(text: str) -> None:
    judge = RulesJudge()
    assert judge.judge(candidates(text)) == judge.judge(candidates(text))
