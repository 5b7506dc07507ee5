"""Series of evaluations: groups, rows, directions and advice, value by value (specification 1, sections 6 and 8)."""

from __future__ import annotations

import msgspec
import pytest

from knowbound.stats.evaluation import EvaluationHead, Origin
from knowbound.stats.figures import Watermark
from knowbound.stats.rate import Rate
from knowbound.stats.trend import (
    NUDGE,
    OLD_SET,
    Reading,
    days_in_use,
    direction_of,
    is_near_zero,
    nudge,
    trend,
)
from tests.trend_examples import FIRST_SET, SECOND_SET, head


def rates(*gaps: int, n: int = 24) -> list[EvaluationHead]:
    return [head(number, gap, n) for number, gap in enumerate(gaps, 1)]


def unseen(one: EvaluationHead, count: int) -> EvaluationHead:
    return msgspec.structs.replace(one, gap=msgspec.structs.replace(one.gap, unseen=count))


@pytest.mark.parametrize(
    ("gaps", "n", "hidden", "is_low"),
    [(1, 10, 0, True), (2, 10, 0, False), (0, 10, 1, True), (1, 10, 1, False), (0, 0, 0, False), (0, 1, 0, True)],
)
def test_exactly_a_tenth_is_near_zero_and_an_unseen_sample_may_have_a_gap(
    gaps: int, n: int, hidden: int, is_low: bool
) -> None:
    assert is_near_zero(unseen(head(1, gaps, n), hidden)) is is_low


@pytest.mark.parametrize(
    ("heads", "reading", "words"),
    [
        ([], Reading.UNKNOWN, "The gap rate of the last evaluation is unknown."),
        ([*rates(5), head(2, 0, 0)], Reading.UNKNOWN, "The gap rate of the last evaluation is unknown."),
        (rates(12), Reading.BASELINE, "A single evaluation: gap rate 50% (12 of 24, 95% 31–69%)."),
        (rates(2), Reading.NEAR_ZERO, "A single evaluation: gap rate 8.3% (2 of 24, 95% 2–26%)."),
        (
            rates(18, 10, 4, 5), Reading.FALLING,
            "Falling: 75% (3e74b8e) → 20.8% (9c23ce3) over 4 evaluations, −54.2 points (95% −74 to −20); "
            "but the last step was 16.7% → 20.8%.",
        ),
        (
            rates(20, 14, 4, 12), Reading.RISING,
            "Rising: 16.7% (7ce971c) → 50% (9c23ce3) over the last 2 of 4 evaluations, "
            "+33.3 points (95% +1 to +58).",
        ),
        (
            rates(10, 8), Reading.INCONCLUSIVE,
            "Not settled: 41.7% (3e74b8e) → 33.3% (5daf155) over 2 evaluations, −8.3 points (95% −33 to +18); "
            "at 24 samples these cannot be told apart.",
        ),
        (
            rates(8, 9, 8), Reading.FLAT,
            "Flat: 33.3% (3e74b8e) → 33.3% (7ce971c) over 3 evaluations, 0 points (95% −28 to +28); "
            "at 24 samples these cannot be told apart.",
        ),
        (
            rates(14, 1), Reading.NEAR_ZERO,
            "Near zero: 58.3% (3e74b8e) → 4.2% (5daf155) over 2 evaluations, −54.2 points (95% −72 to −29).",
        ),
        (
            rates(3, 2), Reading.NEAR_ZERO,
            "Near zero: 12.5% (3e74b8e) → 8.3% (5daf155) over 2 evaluations, −4.2 points (95% −24 to +15); "
            "at 24 samples these cannot be told apart.",
        ),
        (
            [*rates(20), head(2, 0, 0), head(3, 4)], Reading.FALLING,
            "Falling: 83.3% (3e74b8e) → 16.7% (7ce971c) over 3 evaluations, −66.7 points (95% −81 to −40).",
        ),
    ],
)  # fmt: skip
def test_a_series_is_read_in_a_sentence(heads: list[EvaluationHead], reading: Reading, words: str) -> None:
    assert direction_of(heads) == (reading, words)


@pytest.mark.parametrize(
    ("gaps", "n", "reading"),
    [
        ((10, 11, 12), 20, Reading.FLAT),  # ten points are flat
        ((10, 12, 13), 20, Reading.INCONCLUSIVE),
        ((10, 10), 20, Reading.INCONCLUSIVE),
        ((500, 540, 600), 1000, Reading.RISING),  # ten points, and certain
        ((12, 12, 12, 12), 24, Reading.FLAT),
    ],
)
def test_up_to_ten_points_of_three_evaluations_are_flat_unless_they_are_certain(
    gaps: tuple[int, ...], n: int, reading: Reading
) -> None:
    assert direction_of(rates(*gaps, n=n))[0] is reading


@pytest.mark.parametrize(
    ("gaps", "start"),
    [
        ((12, 20, 20, 6), 3),  # from the last of the highest
        ((20, 4, 4, 14), 3),  # from the last of the lowest
        ((4, 20, 12), 2),
        ((20, 4, 12), 2),
        ((12, 12, 12), 1),
        ((20, 14, 13), 1),
    ],
)
def test_a_movement_begins_at_the_later_extreme_that_the_last_evaluation_left(
    gaps: tuple[int, ...], start: int
) -> None:
    heads = rates(*gaps)
    assert f"({heads[start - 1].commit[:7]}) → " in direction_of(heads)[1]


def test_an_evaluation_without_a_commit_is_called_by_its_number() -> None:
    heads = [msgspec.structs.replace(one, commit="") for one in rates(20, 4)]
    assert "83.3% (evaluation 1) → 16.7% (evaluation 2)" in direction_of(heads)[1]


def advice(*heads: EvaluationHead) -> str:
    return trend(heads).panels[0].series[0].advice


def test_the_advice_of_a_fall_names_the_additions_that_lowered_the_rate() -> None:
    twenty, same, four = rates(20, 20, 4)
    assert advice(twenty, same, four) == "Lowered with 7ce971c; not with 5daf155: what these added hit no gap."
    known = msgspec.structs.replace(four, knowledge=same.knowledge)
    assert advice(twenty, same, known) == "The knowledge did not change where it fell: look at what else did."
    uncounted = head(2, 0, 0)
    assert advice(twenty, uncounted, four).startswith("Each addition to the knowledge base lowered it (7ce971c): a")


@pytest.mark.parametrize(
    ("executor", "advised"),
    [("claude", "More samples, or --repeat, would settle it."), ("investigate", "More samples would settle it.")],
)
def test_repeating_what_is_deterministic_is_not_advised(executor: str, advised: str) -> None:
    assert advice(head(1, 10, executor=executor), head(2, 8, executor=executor)) == advised
    assert advice(head(1, 12, executor=executor)).startswith("This is the baseline")


def test_what_else_changed_in_a_series_is_named_once() -> None:
    heads = [head(1, 9), head(2, 9, executor="codex"), head(3, 9, executor="codex"), head(4, 9)]
    (series,) = trend(heads).panels[0].series
    assert series.also_changed == ["the executor (claude → codex)", "the executor (codex → claude)"]
    assert series.last is heads[3]
    assert [row.differs for row in series.rows] == [[], series.also_changed[:1], [], series.also_changed[1:]]


def test_files_are_grouped_by_path_or_content() -> None:
    moved = head(2, 8, watermark=Watermark("moved.yaml", 24, FIRST_SET[:8]))
    changed = head(3, 8, sha256=SECOND_SET, watermark=Watermark("moved.yaml", 24, SECOND_SET[:8]))
    other = head(4, 8, sha256="0" * 64, watermark=Watermark("other.yaml", 24, "0" * 8))
    probed = head(5, 8, origin=Origin.PROBED)
    found = trend([head(1, 9), moved, changed, other, probed])
    assert [[row.head.id for row in panel.rows] for panel in found.panels] == [[1, 2, 3], [4], [5]]
    assert [row.head.id for row in found.rows] == [1, 2, 3, 4, 5]
    assert [row.breaks for row in found.rows] == [False, False, True, False, False]


def test_the_last_rows_of_each_panel_keep_their_changes() -> None:
    found = trend(rates(9, 8, 7, 6), last=2)
    assert [row.head.id for row in found.rows] == [3, 4]
    assert [str(row.change) for row in found.rows] == ["+1", "+1"]
    assert [row.change for row in trend(rates(9, 8), last=5).rows][:1] == [None]
    assert len(trend(rates(9, 8, 7)).rows) == 3
    assert len(trend(rates(9, 8, 7), last=3).rows) == 3


def test_broken_samples_are_asked_for_between_evaluations_of_one_test_set() -> None:
    heads = [head(1, 9), head(2, 8), head(3, 8, sha256=SECOND_SET), head(4, 8, sha256=SECOND_SET)]
    found = trend(heads, broken=lambda before, after: [f"{before.id}-{after.id}"])
    assert [row.broken for row in found.rows] == [None, ["1-2"], None, ["3-4"]]
    assert [row.broken for row in trend(heads).rows] == [None] * 4


def test_another_way_to_count_open_misses_breaks_only_the_open_rates() -> None:
    def anew(one: EvaluationHead) -> EvaluationHead:
        return msgspec.structs.replace(one, gap=msgspec.structs.replace(one.gap, open_most=Rate(1, 24)))

    first, second, third = rates(9, 8, 7)
    rows = trend([first, anew(second), anew(third)]).rows
    assert [(row.breaks, row.breaks_open) for row in rows] == [(False, False), (False, True), (False, False)]
    empty = head(2, 0, 0)
    assert [row.breaks_open for row in trend([anew(first), empty]).rows] == [False, False]


@pytest.mark.parametrize(
    ("last", "days"), [("2026-11-05T08:59:59Z", 0), ("2026-11-05T09:00:00Z", 1), ("2026-11-01T09:00:00Z", 0)]
)
def test_the_age_of_a_test_set_is_in_whole_days(last: str, days: int) -> None:
    first = msgspec.structs.replace(head(1, 9), made="2026-11-04T09:00:00Z")
    assert days_in_use([first, msgspec.structs.replace(head(2, 9), made=last)]) == days
    assert days_in_use([first]) == 0


@pytest.mark.parametrize(("last", "is_old"), [("2027-02-01T09:00:00Z", False), ("2027-02-02T09:00:00Z", True)])
def test_a_quarter_has_ninety_days_and_both_advices_can_be_given(last: str, is_old: bool) -> None:
    heads = rates(1, 1, 1)
    heads = [msgspec.structs.replace(one, made="2026-11-04T09:00:00Z") for one in heads[:2]] + [
        msgspec.structs.replace(heads[2], made=last)
    ]
    assert nudge(heads) == (f"{NUDGE} {OLD_SET.format(days=90)}" if is_old else NUDGE)
    assert nudge([]) is None
    assert nudge(rates(9)) is None
