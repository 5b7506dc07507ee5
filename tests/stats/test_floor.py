from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from knowbound.stats.floor import (
    FLOORS,
    FloorPoint,
    FloorTarget,
    Trial,
    calibrate_floor,
    curve_floors,
    held_out_rates,
    missing_prompts,
    more_to_settle,
    rates_at,
    recommended_floor,
)
from knowbound.stats.rate import Rate

RIGHT, TOPIC, OFF = "right", "topic", "off"
WANTED = FloorTarget(precision=0.8, left_alone=0.9)


def trial(name: str, scores: dict[str, float], *, needs: bool = True) -> Trial:
    """A prompt whose items have these scores: `right` is its answer, `topic` is on topic, others are not."""

    def inject(floor: float, most: int) -> Sequence[str]:
        ranked = sorted(scores, key=lambda id_: -scores[id_])
        return [id_ for id_ in ranked[:most] if scores[id_] >= floor]

    return Trial(name, frozenset({RIGHT} if needs else ()), frozenset({TOPIC}), inject)


def test_right_on_topic_and_left_alone_are_counted_apart() -> None:
    trials = [
        trial("a", {RIGHT: 0.9, TOPIC: 0.6, OFF: 0.5}),
        trial("b", {OFF: 0.8, RIGHT: 0.3}),
        trial("c", {TOPIC: 0.7}, needs=False),  # on topic, and still not left alone
        trial("d", {OFF: 0.4}, needs=False),
    ]
    point = rates_at(trials, 0.5, 3)
    assert (point.right.k, point.right.n) == (1, 2)
    assert (point.on_topic.k, point.on_topic.n) == (3, 5)
    assert (point.left_alone.k, point.left_alone.n) == (1, 2)
    assert (point.prompts.k, point.prompts.n) == (3, 4)
    assert rates_at(trials, 0.5, 1).on_topic.n == 3


def test_items_of_one_prompt_count_as_alike() -> None:
    alike = [trial(str(n), {RIGHT: 0.9, TOPIC: 0.8} if n % 2 else {OFF: 0.9, "off2": 0.8}) for n in range(20)]
    assert rates_at(alike, 0.5, 2).on_topic.design == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize("seed", range(6))
def test_the_recommended_floor_gives_what_is_wanted_and_no_lower_one_does(seed: int) -> None:
    chance = random.Random(seed)
    trials = [
        trial(str(n), {RIGHT: chance.random(), TOPIC: chance.random() / 2, OFF: chance.random() / 2}) for n in range(8)
    ]
    trials += [trial(f"q{n}", {OFF: chance.random() / 2}, needs=False) for n in range(4)]
    best = recommended_floor(trials, WANTED, (1, 3))
    assert best is not None
    assert best.meets(WANTED)
    lower = [floor for floor in FLOORS if floor < best.floor]
    assert lower
    assert not any(rates_at(trials, floor, best.most_items).meets(WANTED) for floor in lower)


def test_among_equals_fewer_items_are_recommended() -> None:
    trials = [trial("a", {RIGHT: 0.9, TOPIC: 0.8}), trial("b", {OFF: 0.2}, needs=False)]
    best = recommended_floor(trials, WANTED)
    assert best is not None
    assert (best.floor, best.most_items) == (0.21, 1)


def test_the_present_settings_are_kept_where_a_lower_floor_gives_no_more_prompts_a_right_item() -> None:
    trials = [trial(f"a{n}", {RIGHT: 0.9}) for n in range(20)]
    trials += [trial(f"q{n}", {OFF: 0.1}, needs=False) for n in range(20)]
    found = calibrate_floor(trials, WANTED, floor=0.3, most=3)
    assert found.recommended == found.present
    assert found.held_out is None
    too_high = calibrate_floor(trials, WANTED, floor=0.95, most=3)
    assert too_high.recommended is not None
    assert (too_high.recommended.floor, too_high.recommended.most_items) == (0.11, 1)


def test_where_nothing_is_injected_nothing_is_recommended() -> None:
    assert recommended_floor([trial("a", {}), trial("b", {}, needs=False)], WANTED) is None


def test_held_out_figures_are_about_every_prompt_once() -> None:
    trials = [trial(f"a{n}", {RIGHT: 0.6, OFF: 0.1}) for n in range(10)]
    trials += [trial(f"b{n}", {OFF: 0.05}, needs=False) for n in range(10)]
    trials += [trial("worst", {OFF: 0.5}, needs=False)]
    found = held_out_rates(trials, FloorTarget(precision=0.8, left_alone=1.0), [1])
    assert found is not None
    assert (found.right.n, found.left_alone.n) == (10, 11)
    assert found.left_alone.k == 10  # the floor that is chosen without the worst is too low for it


def test_too_few_prompts_say_how_many_more_it_takes() -> None:
    trials = [trial(str(n), {RIGHT: 0.9}) for n in range(15)] + [trial("q", {}, needs=False)]
    assert missing_prompts(trials, FloorTarget(left_alone=0.95)) == (5, 19)
    assert missing_prompts(trials, FloorTarget(left_alone=0.5)) == (5, 1)
    found = calibrate_floor(trials, FloorTarget(), floor=0.3, most=3)
    assert found.is_too_small
    assert found.recommended is None
    assert found.present.right.k == 15


def test_what_went_wrong_is_named_items_off_topic_first() -> None:
    trials = [trial("good", {RIGHT: 0.9}), trial("missed", {RIGHT: 0.1}), trial("wrong", {OFF: 0.95, RIGHT: 0.1})]
    found = calibrate_floor(trials, FloorTarget(), floor=0.5, most=1)
    assert [(case.name, case.off_topic, case.missed) for case in found.cases] == [
        ("wrong", (OFF,), (RIGHT,)),
        ("missed", (), (RIGHT,)),
    ]


@pytest.mark.parametrize(("rate", "share"), [(Rate(31, 32), 0.95), (Rate(18, 20), 0.85), (Rate(70, 100, 2.0), 0.8)])
def test_that_many_more_settle_it_and_one_fewer_do_not(rate: Rate, share: float) -> None:
    more = more_to_settle(rate, share)
    assert more

    def is_inside(n: int) -> bool:
        low, high = Rate(round(1e6 * rate.k / rate.n), 10**6, 10**6 / n * rate.design).interval or (0, 1)
        return low < share <= high

    assert is_inside(rate.n + more - 1)
    assert not is_inside(rate.n + more)


def test_what_is_settled_needs_no_more_and_what_is_on_the_line_never_will() -> None:
    assert more_to_settle(Rate(200, 200), 0.95) == 0
    assert more_to_settle(Rate(19, 20), 0.95) is None
    assert more_to_settle(Rate(), 0.95) is None
    assert more_to_settle(Rate(9, 9), 1.0) is None  # no interval is above 1, however many counts


def test_a_curve_shows_floors_around_both_settings() -> None:
    floors = curve_floors(0.33, 0.6)
    assert {0.33, 0.6} <= set(floors)
    assert (floors[0], floors[-1]) == (0.15, 0.78)
    assert curve_floors(0.0)[0] == 0.0


# At the limits


def point(right: Rate, on_topic: Rate, left_alone: Rate) -> FloorPoint:
    return FloorPoint(0.5, 3, right, on_topic, left_alone, Rate())


@pytest.mark.parametrize(
    ("on_topic", "left_alone", "meets"),
    [
        (Rate(8, 10), Rate(9, 10), True),  # exactly what is wanted
        (Rate(7, 10), Rate(9, 10), False),
        (Rate(8, 10), Rate(8, 10), False),
        (Rate(), Rate(9, 10), False),
        (Rate(8, 10), Rate(), False),
        (Rate(1, 1), Rate(1, 1), True),
    ],
)
def test_a_setting_meets_its_target_in_both_shares(on_topic: Rate, left_alone: Rate, meets: bool) -> None:
    assert point(Rate(), on_topic, left_alone).meets(WANTED) is meets


def test_a_share_that_cannot_be_written_exactly_is_met_by_its_counts() -> None:
    target = FloorTarget(precision=0.7, left_alone=0.1)
    assert point(Rate(), Rate(7, 10), Rate(3, 30)).meets(target)
    assert not point(Rate(), Rate(6, 10), Rate(3, 30)).meets(target)


@pytest.mark.parametrize(
    ("needing", "alone", "left_alone", "missing"),
    [
        (20, 20, 0.95, (0, 0)),
        (19, 19, 0.95, (1, 1)),
        (25, 10, 0.9, (0, 0)),
        (0, 0, 0.5, (20, 2)),
        (20, 0, 1.0, (0, 20)),
        (20, 0, 0.999999, (0, 100_000)),
        (20, 0, 0.0, (0, 1)),
    ],
)
def test_prompts_that_need_nothing_are_enough_if_one_wrong_injection_keeps_the_target(
    needing: int, alone: int, left_alone: float, missing: tuple[int, int]
) -> None:
    trials = [trial(str(n), {RIGHT: 0.9}) for n in range(needing)]
    trials += [trial(f"q{n}", {}, needs=False) for n in range(alone)]
    assert missing_prompts(trials, FloorTarget(left_alone=left_alone)) == missing


@pytest.mark.parametrize(
    ("rate", "share", "more"),
    [
        (Rate(31, 32), 0.95, 488),
        (Rate(18, 20), 0.85, 176),
        (Rate(70, 100, 2.0), 0.8, 23),
        (Rate(200, 200), 0.95, 0),
        (Rate(0, 200), 0.05, 0),
        (Rate(), 0.5, None),
        (Rate(1, 2), 0.5, None),
    ],
)
def test_further_counts_until_the_interval_is_on_one_side(rate: Rate, share: float, more: int | None) -> None:
    assert more_to_settle(rate, share) == more


def test_a_curve_has_six_steps_on_either_side_between_0_and_1() -> None:
    assert curve_floors(0.5) == [0.32, 0.35, 0.38, 0.41, 0.44, 0.47, 0.5, 0.53, 0.56, 0.59, 0.62, 0.65, 0.68]
    assert curve_floors(0.05) == [0.02, 0.05, 0.08, 0.11, 0.14, 0.17, 0.2, 0.23]
    assert curve_floors(1.0)[-1] == 1.0
    assert curve_floors(0.5, 0.56)[-1] == 0.74


def test_the_floor_of_a_calibration_is_shown_with_its_curves_and_wrong_prompts() -> None:
    trials = [trial(f"a{n}", {RIGHT: 0.6, OFF: 0.3}) for n in range(20)]
    trials += [trial(f"q{n}", {OFF: 0.2}, needs=False) for n in range(20)]
    found = calibrate_floor(trials, WANTED, floor=0.1, most=2)
    assert found.recommended is not None
    assert (found.recommended.floor, found.recommended.most_items, found.is_too_small) == (0.21, 1, False)
    assert found.shown == found.recommended
    assert found.held_out is not None
    assert (found.held_out.right, found.held_out.left_alone) == (Rate(20, 20), Rate(20, 20))
    assert (found.present.right, found.present.left_alone, found.present.prompts) == (
        Rate(20, 20), Rate(0, 20), Rate(40, 40)
    )  # fmt: skip
    assert [one.floor for one in found.by_floor] == curve_floors(0.1, 0.21)
    assert {one.most_items for one in found.by_floor} == {1}
    assert [one.most_items for one in found.by_number] == [1, 2, 3, 6]
    assert {one.floor for one in found.by_number} == {0.21}
    assert found.cases == ()
    present_shown = calibrate_floor(trials[:1], WANTED, floor=0.1, most=4)
    assert (present_shown.shown, present_shown.missing_needing, present_shown.missing_left_alone) == (
        present_shown.present, 19, 10
    )  # fmt: skip
    assert [(one.name, one.off_topic, one.missed) for one in present_shown.cases] == [("a0", (OFF,), ())]
    assert [one.most_items for one in present_shown.by_number] == [1, 2, 3, 4, 6]


def test_of_two_numbers_the_one_with_more_right_prompts_is_recommended() -> None:
    trials = [trial("a", {TOPIC: 0.9, RIGHT: 0.8}), trial("b", {RIGHT: 0.9, TOPIC: 0.85})]
    trials += [trial("q", {OFF: 0.5}, needs=False)]
    best = recommended_floor(trials, WANTED, (3, 1))
    assert best is not None
    assert (best.most_items, best.floor, best.right) == (3, 0.51, Rate(2, 2))


def test_present_settings_that_miss_the_target_are_not_kept() -> None:
    trials = [trial(f"a{n}", {RIGHT: 0.6}) for n in range(20)]
    trials += [trial(f"q{n}", {OFF: 0.3}, needs=False) for n in range(20)]
    kept = calibrate_floor(trials, WANTED, floor=0.5, most=1)
    assert (kept.recommended, kept.held_out) == (kept.present, None)
    missed = calibrate_floor(trials, WANTED, floor=0.2, most=1)
    assert missed.recommended is not None
    assert (missed.recommended.floor, missed.held_out is None) == (0.31, False)


def test_floors_go_from_0_to_1_in_hundredths() -> None:
    assert (FLOORS[0], FLOORS[1], FLOORS[29], FLOORS[-1], len(FLOORS)) == (0.0, 0.01, 0.29, 1.0, 101)
