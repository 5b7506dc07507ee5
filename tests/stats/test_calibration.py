from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from knowbound import language
from knowbound.stats.calibration import (
    Calibration,
    Decision,
    Estimate,
    Pair,
    Share,
    Trust,
    calibrate,
    calibrate_scores,
    cohen_kappa,
    corrected,
    length_bias,
    mean_difference,
    more_labels,
    quadratic_kappa,
    rogan_gladen,
)
from knowbound.stats.rate import Rate
from tests.conftest import some_examples

few = some_examples(0.2)  # each draws intervals, which takes its time
counts = st.integers(0, 60)
shares = st.floats(0, 1)
scores = st.integers(1, 5)


def table(true_yes: int, false_no: int, false_yes: int, true_no: int, weight: float = 1.0) -> list[Pair]:
    cells = (((True, True), true_yes), ((True, False), false_no), ((False, True), false_yes), ((False, False), true_no))
    return [Pair(label, verdict, weight) for (label, verdict), count in cells for _ in range(count)]


@few
@given(counts, counts, counts, counts)
def test_kappa_lies_between_minus_one_and_one_and_in_its_interval(a: int, b: int, c: int, d: int) -> None:
    kappa = calibrate(table(a, b, c, d)).kappa
    if kappa.value is None:
        assert (kappa.low, kappa.high) == (None, None)
    else:
        assert kappa.low is not None
        assert kappa.high is not None
        assert -1 <= kappa.low <= kappa.value <= kappa.high <= 1


@given(counts, counts, counts, counts)
def test_kappa_does_not_care_who_judges_and_what_is_called_yes(a: int, b: int, c: int, d: int) -> None:
    assert cohen_kappa(a, b, c, d) == cohen_kappa(a, c, b, d) == cohen_kappa(d, c, b, a)


@given(counts, counts, counts, counts, st.integers(1, 9))
def test_kappa_is_about_shares_and_not_about_their_number(a: int, b: int, c: int, d: int, times: int) -> None:
    assert cohen_kappa(a, b, c, d) == pytest.approx(cohen_kappa(a * times, b * times, c * times, d * times))


@given(st.integers(1, 60), st.integers(1, 60))
def test_full_agreement_is_one_and_answers_by_chance_are_zero(yes: int, no: int) -> None:
    assert cohen_kappa(yes, 0, 0, no) == 1
    assert cohen_kappa(yes, yes, no, no) == 0
    assert cohen_kappa(yes, 0, 0, 0) is None


def test_a_judge_that_always_says_no_to_a_rare_label_agrees_often_and_is_called_useless() -> None:
    found = calibrate(table(0, 5, 0, 95))
    assert (found.agreement.value, found.kappa.value, found.sensitivity.value) == (0.95, 0, 0)
    assert found.decision.verdict is Trust.BAD
    assert found.decision.why.startswith("it says no to everything, so κ is 0")
    assert corrected(Rate(0, 1000), found).value is None


def test_few_labels_of_a_judge_that_always_says_no_are_underpowered_and_say_so() -> None:
    decision = calibrate(table(0, 1, 0, 19)).decision
    assert decision.verdict is Trust.UNDERPOWERED
    assert "says no to everything" in decision.why


def test_43_of_50_do_not_settle_it() -> None:
    found = calibrate(table(21, 4, 3, 22))
    assert (found.agreement.k, found.agreement.n) == (43, 50)
    assert (round(found.agreement.low or 0, 2), round(found.agreement.high or 0, 2)) == (0.74, 0.93)
    assert found.decision.verdict is Trust.UNDERPOWERED
    assert found.decision.more


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ((190, 10, 10, 190), Trust.GOOD),
        ((120, 80, 80, 120), Trust.BAD),
        ((40, 10, 10, 40), Trust.UNDERPOWERED),
        ((10, 0, 0, 0), Trust.UNDERPOWERED),  # every label says yes
        ((0, 0, 3, 500), Trust.UNDERPOWERED),  # every label says no
        ((0, 0, 0, 0), Trust.UNDERPOWERED),
    ],
)
def test_the_whole_interval_decides(cells: tuple[int, int, int, int], verdict: Trust) -> None:
    assert calibrate(table(*cells)).decision.verdict is verdict


@few
@given(st.integers(5, 40), st.integers(1, 20), st.integers(1, 20), st.integers(5, 40))
def test_so_many_more_labels_of_the_same_kind_decide(a: int, b: int, c: int, d: int) -> None:
    found = calibrate(table(a, b, c, d))
    assume(found.decision.more is not None and found.decision.more < 2000)
    # “About”: the interval is drawn, and of few labels it is narrow on one side. Of 53 labels 26% more were needed.
    times = math.ceil(1 + 1.5 * (found.decision.more or 0) / found.n)
    grown = calibrate(table(a * times, b * times, c * times, d * times))
    assert grown.decision.verdict is not Trust.UNDERPOWERED


def test_no_number_of_labels_tells_a_judge_from_the_level_it_has() -> None:
    decision = calibrate(table(40, 10, 10, 40), wanted=0.6).decision
    assert (decision.verdict, decision.more) == (Trust.UNDERPOWERED, None)


def test_labels_without_a_verdict_are_counted_apart() -> None:
    with_failures = calibrate([*table(20, 2, 3, 25), Pair(True, None), Pair(False, None)])
    assert with_failures.failed == Rate(2, 52)
    assert with_failures.n == 50
    assert with_failures.sensitivity == calibrate(table(20, 2, 3, 25)).sensitivity
    assert calibrate([Pair(True, None)]).decision.verdict is Trust.UNDERPOWERED


@given(shares, shares, shares)
def test_rogan_gladen_finds_the_share_behind_what_the_judge_observes(true: float, hit: float, right: float) -> None:
    assume(hit + right - 1 > 0.01)
    observed = true * hit + (1 - true) * (1 - right)
    assert rogan_gladen(observed, hit, right) == pytest.approx(true, abs=1e-6)


@given(shares, shares, shares)
def test_a_judge_that_tells_nothing_corrects_nothing(observed: float, hit: float, right: float) -> None:
    assume(hit + right <= 1)
    assert rogan_gladen(observed, hit, right) is None


@few
@given(st.integers(1, 40), counts, counts, st.integers(1, 40))
def test_what_the_judge_says_of_the_labels_is_corrected_to_what_people_say(a: int, b: int, c: int, d: int) -> None:
    found = calibrate(table(a, b, c, d))
    assume((found.sensitivity.value or 0) + (found.specificity.value or 0) > 1.001)
    rate = corrected(Rate(a + c, a + b + c + d), found)
    assert rate.value == pytest.approx(found.prevalence.value)
    assert rate.low is not None
    assert rate.high is not None
    assert 0 <= rate.low <= (rate.value or 0) <= rate.high <= 1


def test_the_interval_of_a_corrected_rate_is_the_same_in_every_language() -> None:
    found = calibrate(table(20, 2, 3, 25))
    english = corrected(Rate(30, 80), found)
    language.use("zh")
    try:
        assert corrected(Rate(30, 80), found) == english
    finally:
        language.use("en")


def test_the_interval_of_a_rate_is_that_of_its_count_if_the_judge_is_never_wrong() -> None:
    rate = corrected(Rate(50, 100), calibrate(table(500, 0, 0, 500)))
    assert rate.low == pytest.approx(0.4, abs=0.03)
    assert rate.high == pytest.approx(0.6, abs=0.03)


def test_a_rate_of_nothing_cannot_be_corrected() -> None:
    assert corrected(Rate(0, 0), calibrate(table(20, 2, 3, 25))).value is None


def stratified(kept: tuple[int, int], dropped: tuple[int, int], weights: tuple[float, float]) -> Calibration:
    """Labels (yes, no) of sentences that the judge kept, and of those that it dropped."""
    return calibrate(table(kept[0], 0, kept[1], 0, weights[0]) + table(0, dropped[0], 0, dropped[1], weights[1]))


def test_weights_undo_the_choice_of_what_was_labelled() -> None:
    everything = calibrate(table(90, 60, 10, 840))  # of 1,000 sentences the judge kept 100
    drawn = stratified(kept=(45, 5), dropped=(10, 140), weights=(2.0, 6.0))  # 50 of these, 150 of the 900 others
    for figure in ("sensitivity", "specificity", "precision", "agreement", "prevalence", "said"):
        assert getattr(drawn, figure).value == pytest.approx(getattr(everything, figure).value)
    assert drawn.kappa.value == pytest.approx(everything.kappa.value)
    assert drawn.weighted
    assert not everything.weighted


def test_finding_no_miss_among_few_heavy_labels_does_not_make_a_judge_sure() -> None:
    heavy = stratified(kept=(25, 0), dropped=(0, 25), weights=(0.2, 1.8)).sensitivity
    light = stratified(kept=(25, 0), dropped=(0, 25), weights=(1.0, 1.0)).sensitivity
    assert heavy.value == light.value == 1
    assert (heavy.low or 1) < 0.7 < (light.low or 0)


def test_labels_of_one_session_are_alike_and_tell_less() -> None:
    pairs = table(20, 5, 5, 20)
    alone = calibrate(pairs)
    together = calibrate(pair._replace(session=f"s{at // 5}") for at, pair in enumerate(pairs))
    assert together.kappa.value == alone.kappa.value
    for figure in ("agreement", "kappa"):
        wide, narrow = getattr(together, figure), getattr(alone, figure)
        assert wide.low < narrow.low
        assert wide.high > narrow.high


def test_the_same_labels_always_give_the_same_figures() -> None:
    assert calibrate(table(21, 4, 3, 22)) == calibrate(table(21, 4, 3, 22))
    assert calibrate_scores([(1, 2), (5, 5), (3, 3)]) == calibrate_scores([(1, 2), (5, 5), (3, 3)])


@few
@given(st.lists(st.tuples(scores, scores), max_size=30))
def test_weighted_kappa_lies_between_minus_one_and_one_and_in_its_interval(pairs: list[tuple[int, int]]) -> None:
    found = calibrate_scores(pairs)
    for figure, least, most in ((found.kappa, -1.0, 1.0), (found.difference, 0.0, 4.0)):
        if figure.value is not None and figure.low is not None and figure.high is not None:
            assert least - 1e-9 <= figure.low <= figure.value <= figure.high <= most + 1e-9
    swapped = calibrate_scores([(score, label) for label, score in pairs])
    assert found.kappa.value == pytest.approx(swapped.kappa.value)


@pytest.mark.parametrize(("more_for_long", "bias"), [(0, 0.0), (1, 1.0), (2, 2.0)])
def test_a_judge_that_likes_long_answers_is_measured(more_for_long: int, bias: float) -> None:
    pairs = [(label, label + more_for_long * is_long) for label in (1, 2, 3) for is_long in (0, 1) for _ in range(10)]
    lengths = [1000 + at if score > label else 100 + at for at, (label, score) in enumerate(pairs)]
    found = calibrate_scores(pairs, lengths=lengths).length_bias
    assert found.value == pytest.approx(bias)
    assert found.low == pytest.approx(bias)
    assert found.high == pytest.approx(bias)


def test_few_texts_say_nothing_about_length() -> None:
    pairs = [(3, 3), (3, 5)] * 9
    assert calibrate_scores(pairs, lengths=[10, 1000] * 9).length_bias.value is None
    assert calibrate_scores(pairs * 2, lengths=[10, 1000] * 18).length_bias.value == 2
    assert calibrate_scores(pairs * 2, lengths=[500] * 36).length_bias.value is None  # one length: no longer half


@given(counts, counts, counts, counts)
def test_weighted_kappa_of_two_scores_is_kappa(a: int, b: int, c: int, d: int) -> None:
    assert quadratic_kappa([[a, b], [c, d]]) == pytest.approx(cohen_kappa(a, b, c, d))


def test_a_score_far_off_costs_more_than_one_nearly_right() -> None:
    people = [1, 2, 3, 4, 5]
    near = calibrate_scores(zip(people, [1, 2, 3, 4, 4], strict=True))
    far = calibrate_scores(zip(people, [1, 2, 3, 4, 1], strict=True))
    assert near.agreement == far.agreement == Rate(4, 5)
    assert near.kappa.value == pytest.approx(1 - 5 * 1 / 85)  # squares of differences: 1 seen, 85/5 by chance
    assert (near.kappa.value or 0) > (far.kappa.value or 0)
    assert (near.difference.value, far.difference.value) == (0.2, 0.8)


def test_scores_that_all_agree_have_an_interval_all_the_same() -> None:
    three, many = calibrate_scores([(1, 1), (5, 5)] * 3), calibrate_scores([(1, 1), (5, 5)] * 200)
    assert three.kappa.value == many.kappa.value == 1
    assert (three.kappa.low or 1) < (many.kappa.low or 0)
    assert three.decision.verdict is Trust.UNDERPOWERED
    assert many.decision.verdict is Trust.GOOD


def test_unscored_answers_are_counted_apart_and_one_score_for_all_is_unknown() -> None:
    assert calibrate_scores([(4, None), (4, 4)]).failed == Rate(1, 2)
    assert calibrate_scores([(4, 4)] * 9).kappa.value is None
    assert calibrate_scores([(4, None)]).decision.verdict is Trust.UNDERPOWERED


# Whole figures: intervals are drawn with a fixed seed, so that the same labels always give the same ones


def rounded(*figures: Share | Estimate) -> list[tuple[float, float, float]]:
    return [(round(one.value or 0, 4), round(one.low or 0, 4), round(one.high or 0, 4)) for one in figures]


def test_the_figures_of_50_labels_of_equal_weight() -> None:
    found = calibrate(table(21, 4, 3, 22))
    assert (found.true_yes, found.false_no, found.false_yes, found.true_no) == (21, 4, 3, 22)
    shares = (found.agreement, found.sensitivity, found.specificity, found.precision, found.prevalence, found.said)
    assert [(one.k, one.n, one.effective) for one in shares] == [
        (43, 50, 50), (21, 25, 25), (22, 25, 25), (21, 24, 24), (25, 50, 50), (24, 50, 50)
    ]  # fmt: skip
    assert rounded(*shares, found.kappa) == [
        (0.86, 0.7381, 0.9305),
        (0.84, 0.6535, 0.936),
        (0.88, 0.7004, 0.9583),
        (0.875, 0.69, 0.9566),
        (0.5, 0.3664, 0.6336),
        (0.48, 0.348, 0.6149),
        (0.72, 0.4747, 0.8593),
    ]
    why = "κ is 0.72 (95% 0.47 to 0.86): 50 labels do not distinguish it from 0.6; about 159 more labels would"
    assert found.decision == Decision(Trust.UNDERPOWERED, why, 159)
    assert rounded(corrected(Rate(30, 80), found)) == [(0.3542, 0.1079, 0.5535)]


def test_the_figures_of_few_labels_of_several_weights_and_sessions() -> None:
    found = calibrate(
        [
            Pair(True, True, 2.0, "a"), Pair(True, True, 2.0, "a"), Pair(True, False, 1.0, "b"),
            Pair(False, True, 1.0, "b"), Pair(False, False, 3.0, "c"), Pair(False, False, 1.0),
            Pair(True, True, 1.0, "d"), Pair(False, None, 1.0, "d"),
        ]
    )  # fmt: skip
    shares = (found.agreement, found.sensitivity, found.specificity, found.precision, found.prevalence, found.said)
    assert [(one.k, one.n, round(one.effective, 4)) for one in shares] == [
        (5, 7, 4.0333), (3, 4, 2.8571), (2, 3, 2.5641), (3, 4, 2.8571), (4, 7, 3.6947), (4, 7, 3.6947)
    ]  # fmt: skip
    assert rounded(*shares, found.kappa) == [
        (0.8182, 0.3521, 0.9739),
        (0.8333, 0.3013, 0.983),
        (0.8, 0.2619, 0.9783),
        (0.8333, 0.3013, 0.983),
        (0.5455, 0.166, 0.8785),
        (0.5455, 0.166, 0.8785),
        (0.6333, -0.2405, 0.9177),
    ]
    assert (found.weighted, found.failed, found.decision.more) == (True, Rate(1, 8), 4804)
    assert rounded(corrected(Rate(30, 80, 2.0), found)) == [(0.2763, 0.0, 1.0)]  # it may be as good as a coin


def test_the_figures_of_five_scores() -> None:
    found = calibrate_scores([(1, 2), (5, 5), (3, 3), (2, 2), (4, 5), (4, None)])
    assert found.table == ((0, 1, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 0, 1), (0, 0, 0, 0, 1))
    assert (found.n, found.agreement, found.failed) == (5, Rate(3, 5), Rate(1, 6))
    assert rounded(found.kappa, found.difference) == [(0.9, 0.1888, 0.9396), (0.4, 0.1571, 1.2839)]
    assert (found.decision.verdict, found.decision.more) == (Trust.UNDERPOWERED, 24)
    assert found.length_bias == Estimate()


def test_a_length_bias_has_an_interval_and_the_longest_of_the_short_half_is_short() -> None:
    pairs = [(2, 2 + at % 2) for at in range(10)] + [(2, 3 + at % 3) for at in range(10)]
    assert rounded(length_bias(pairs, [10] * 10 + [20] * 10)) == [(1.4, 0.8, 2.0)]
    assert rounded(length_bias([*pairs, (3, 3)], [10] * 10 + [20] * 10 + [15])) == [(1.4455, 0.8636, 2.0273)]
    assert length_bias(pairs[1:], [10] * 9 + [20] * 10).value is None  # nine in a half
    assert length_bias([], []).value is None
    assert length_bias([(2, None)], [10]).value is None


def test_the_mean_difference_of_scores_is_that_of_their_distance() -> None:
    assert mean_difference([[1, 2, 1], [0, 0, 0], [0, 0, 0]]) == 1.0
    assert mean_difference([[0, 0], [0, 0]]) is None
    assert quadratic_kappa([[0, 0], [0, 0]]) is None


@pytest.mark.parametrize(
    ("value", "low", "high", "more"),
    [
        (0.7, 0.5, 0.9, 151),
        (0.5, 0.3, 0.7, 151),
        (0.6, 0.5, 0.7, None),  # exactly what is wanted: no number of labels decides
        (0.61, 0.5, 0.7, 6000),
        (0.605, 0.4, 0.7, 84_000),
        (0.6002, 0.4, 0.7, None),
        (0.9, 0.89, 1.0, 1),
        (0.5, 0.3, 0.51, 6),  # half the interval counts where one side is short
        (0.7, 0.69, 0.9, 6),
    ],
)
def test_so_many_labels_are_missing_at_constant_shares(value: float, low: float, high: float, more: int | None) -> None:
    assert more_labels(value, low, high, 0.6, 50) == more


def test_the_most_labels_that_anyone_gives_are_a_hundred_thousand() -> None:
    assert more_labels(0.7, 0.5, 0.7, 0.6, 25_000) == 75_000
    assert more_labels(0.7, 0.5, 0.7, 0.6, 25_001) is None


@pytest.mark.parametrize(
    ("cells", "verdict", "why"),
    [
        ((0, 0, 0, 0), Trust.UNDERPOWERED, "the judge gave no verdict on any label"),
        ((9, 1, 0, 0), Trust.UNDERPOWERED, "every label says yes: the judge was not tried on any that says no"),
        ((0, 0, 1, 9), Trust.UNDERPOWERED, "every label says no: the judge was not tried on any that says yes"),
        ((0, 5, 0, 95), Trust.BAD, "it says no to everything, so κ is 0 however often it agrees"),
        ((95, 0, 5, 0), Trust.BAD, "it says yes to everything, so κ is 0 however often it agrees"),
        ((190, 10, 10, 190), Trust.GOOD, "κ is 0.90 (95% 0.84 to 0.93), at least 0.6 was wanted"),
        ((120, 80, 80, 120), Trust.BAD, "κ is 0.20 (95% 0.10 to 0.29), below the 0.6 that was wanted"),
    ],
)
def test_the_reason_of_a_verdict_on_a_judge(cells: tuple[int, int, int, int], verdict: Trust, why: str) -> None:
    assert calibrate(table(*cells)).decision == Decision(verdict, why)


def test_a_judge_that_always_says_yes_to_few_labels_is_named_with_what_is_missing() -> None:
    decision = calibrate(table(1, 0, 1, 0)).decision
    assert decision.verdict is Trust.UNDERPOWERED
    assert decision.why.startswith("it says yes to everything, so κ is 0 however often it agrees; κ is 0.00 (95% ")
    assert decision.more is not None


def test_scores_that_no_one_gave_and_scores_without_an_agreement_are_underpowered() -> None:
    nothing = calibrate_scores([])
    assert nothing.decision == Decision(Trust.UNDERPOWERED, "the judge gave no score for any label")
    assert (nothing.n, nothing.kappa, nothing.difference) == (0, Estimate(), Estimate())
    same = calibrate_scores([(4, 4)] * 9)
    assert same.decision == Decision(Trust.UNDERPOWERED, "κ cannot be known from these labels")
    assert same.difference.value == 0


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (Share(), "unknown"),
        (Share(1, 2, 0.5, 0.1, 0.9), "50% (1 of 2, 95% 10–90%)"),
        (Share(1, 2, 0.5, None, 0.9), "unknown"),
        (Share(1, 2, 0.5, 0.1, None), "unknown"),
    ],
)
def test_a_share_is_shown_with_its_counts_and_interval(share: Share, shown: str) -> None:
    assert str(share) == shown


def test_the_conservative_bound_counts_a_session_once_and_the_next_label_as_the_heaviest() -> None:
    one_session = calibrate([Pair(True, True, 1.0, "a")] * 4)
    assert one_session.sensitivity.effective == 1.0
    two_sessions = calibrate([Pair(True, True, 1.0, "a")] * 3 + [Pair(True, True, 1.0, "b")])
    assert two_sessions.sensitivity.effective == pytest.approx(16 / 10)
    heavy_elsewhere = calibrate([Pair(True, True, 1.0)] * 4 + [Pair(False, False, 2.0)])
    assert heavy_elsewhere.sensitivity.effective == pytest.approx(2.0)
    differing = calibrate([Pair(True, at % 2 == 0, 1.0, "a") for at in range(4)])
    assert differing.sensitivity.effective == 1.0


@pytest.mark.parametrize(
    ("observed", "sensitivity", "specificity", "share"),
    [(0.0, 0.8, 0.9, 0.0), (1.0, 0.8, 0.9, 1.0), (0.45, 0.8, 0.9, 0.5), (0.5, 0.5, 0.5, None), (0.5, 0.4, 0.5, None)],
)
def test_a_corrected_share_stays_between_0_and_1(
    observed: float, sensitivity: float, specificity: float, share: float | None
) -> None:
    found = rogan_gladen(observed, sensitivity, specificity)
    assert found == (None if share is None else pytest.approx(share))


def test_a_rate_is_not_corrected_by_labels_of_one_answer_alone() -> None:
    assert corrected(Rate(1, 2), calibrate(table(9, 1, 0, 0))) == Estimate()
    assert corrected(Rate(1, 2), calibrate(table(0, 0, 1, 9))) == Estimate()
