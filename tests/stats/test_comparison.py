"""Two evaluations of one test set: samples, pairs, caveats, refusals, names."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.errors import InputError
from knowbound.stats.comparison import (
    Change,
    Verdict,
    answered_pairs,
    answers,
    changed_pairs,
    compare,
    differences,
    find_evaluation,
    is_answered,
    mean_difference,
    pairs_of,
    sample_changes,
)
from knowbound.stats.evaluation import AssertionGrade, Evaluation, Grade, Origin, RunEnding, SampleRun
from knowbound.stats.figures import RateKind, Watermark
from knowbound.stats.rate import Mean, Rate
from tests.evaluation_examples import FOUND_LATER, REVENUE, UNSURE, evaluation_of, sample_run
from tests.trend_examples import SECOND_SET, evaluation, falling, head, runs_with_gaps

marks = st.text(alphabet="g.x", min_size=8, max_size=8)


# Samples


def test_every_sample_is_fixed_broken_the_same_or_unknown() -> None:
    found = compare(evaluation("gg..x"), evaluation("g.gg."))
    assert {row.sample: row.change for row in found.rows} == {
        "s001": Change.SAME,
        "s002": Change.FIXED,
        "s003": Change.BROKEN,
        "s004": Change.BROKEN,
        "s005": Change.UNKNOWN,
    }
    assert [row.change for row in found.rows[:2]] == [Change.BROKEN, Change.BROKEN]
    assert (found.count(Change.FIXED), found.count(Change.SAME)) == (1, 1)


@pytest.mark.parametrize(
    ("was", "is_now", "change"),
    [(False, True, Change.FIXED), (True, False, Change.BROKEN), (True, True, Change.SAME), (None, True, Change.SAME)],
)
def test_an_assertion_changes_a_sample_without_a_gap(was: bool | None, is_now: bool, change: Change) -> None:
    def evaluated(passed: bool | None) -> Evaluation:
        grade = Grade(assertions=(AssertionGrade("contains", "8080", passed=passed),))
        return evaluation_of([sample_run(1, grade=grade)])

    assert [row.change for row in compare(evaluated(was), evaluated(is_now)).rows] == [change]


def test_a_sample_that_is_not_complete_on_one_side_leaves_the_pairs_and_says_why() -> None:
    found = compare(evaluation("gx..x"), evaluation("gg.x."))
    assert found.pairs.n == 2
    assert [row.why for row in found.rows if row.change is Change.UNKNOWN] == [
        "before: crashed",
        "after: crashed",
        "before: crashed",
    ]
    assert any("3 samples are not complete on both sides" in caveat for caveat in found.caveats)


@given(marks, marks)
def test_exchanging_the_sides_exchanges_fixed_and_broken(one: str, other: str) -> None:
    there, back = compare(evaluation(one), evaluation(other)), compare(evaluation(other), evaluation(one))
    assert there.count(Change.FIXED) == back.count(Change.BROKEN) == there.pairs.fixed
    assert there.count(Change.UNKNOWN) == back.count(Change.UNKNOWN)
    assert there.pairs.p == back.pairs.p
    assert there.pairs.n == sum(a != "x" and b != "x" for a, b in zip(one, other, strict=True))


def test_kinds_and_composites_stand_beside_each_sample() -> None:
    before = evaluation_of([sample_run(1, grade=Grade(composite=3.0))], id=1)
    after = evaluation_of([sample_run(1, grade=Grade(composite=4.5))], id=2)
    (row,) = compare(before, after).rows
    assert (row.before.composite, row.after.composite) == (3.0, 4.5)
    (row,) = compare(evaluation("."), evaluation("g")).rows
    assert (row.before.types, row.after.types) == ([], ["failed_search"])


def test_the_composite_difference_is_over_samples_that_have_one_on_both_sides() -> None:
    before = evaluation_of([sample_run(at, grade=Grade(composite=3.0 + at / 10)) for at in range(6)])
    after = evaluation_of([sample_run(at, grade=Grade(composite=4.0 if at else None)) for at in range(6)])
    difference = compare(before, after).composite
    assert difference.n == 5
    assert difference.value == pytest.approx(0.7)
    assert difference.low is not None
    assert difference.low <= 0.7


# Clusters


def test_repeats_of_a_sample_are_one_pair() -> None:
    def repeated(gaps: str) -> list[SampleRun]:
        return [msgspec.structs.replace(run, repeat=repeat) for repeat in (1, 2, 3) for run in runs_with_gaps(gaps)]

    found = compare(evaluation_of(repeated("gg.."), repeat=3), evaluation_of(repeated("...."), repeat=3))
    assert (found.pairs.n, found.pairs.clusters) == (4, 4)
    assert found.pairs.p == 0.5
    assert (found.rows[0].before.gap.k, found.rows[0].before.gap.n) == (3, 3)


def test_samples_that_share_a_session_on_either_side_are_one_cluster() -> None:
    def in_sessions(gaps: str, sessions: str) -> list[SampleRun]:
        return [
            msgspec.structs.replace(run, session=session.strip("-"))
            for run, session in zip(runs_with_gaps(gaps), sessions, strict=True)
        ]

    before, after = in_sessions("gggg", "aa--"), in_sessions("....", "-bb-")
    assert pairs_of(evaluation_of(before), evaluation_of(after)).shifts == (-3, -1)


def test_a_sample_is_a_pair_however_often_each_side_ran_it() -> None:
    twice = [msgspec.structs.replace(run, repeat=repeat) for repeat in (1, 2) for run in runs_with_gaps("g..")]
    found = compare(evaluation("..."), evaluation_of(twice, repeat=2))
    assert (found.pairs.n, found.pairs.broken, found.count(Change.BROKEN)) == (3, 1, 1)
    assert any("the repeat (1 → 2)" in caveat for caveat in found.caveats)


def test_a_gap_in_one_of_three_runs_breaks_nothing() -> None:
    runs = [msgspec.structs.replace(run, repeat=at) for at, gap in enumerate("g..", 1) for run in runs_with_gaps(gap)]
    found = compare(evaluation("."), evaluation_of(runs, repeat=3))
    assert (found.rows[0].change, found.rows[0].after.gap) == (Change.SAME, Rate(1, 3))


# What else differs


def test_the_same_knowledge_on_both_sides_is_said() -> None:
    assert any("own variation" in caveat for caveat in compare(evaluation("g."), evaluation("..")).caveats)


def test_what_differs_besides_the_knowledge_is_named() -> None:
    found = compare(evaluation("g."), evaluation("..", executor="codex", model="", judge="rules"))
    assert (
        "Besides the knowledge, these differ: the executor (claude → codex), the model (sonnet → none), "
        "the judge (openai:small → rules). The difference may not be the knowledge's."
    ) in found.caveats


# Refusals


def test_different_test_sets_are_refused_with_both_named() -> None:
    before = evaluation("g.", id=1)
    after = evaluation("g..", id=2, sha256=SECOND_SET, watermark=Watermark("samples.yaml", 3, SECOND_SET[:8]))
    with pytest.raises(InputError) as refused:
        compare(before, after)
    assert refused.value.slug == "different-test-sets"
    for words in ("(2 samples, sha256 5f0c2a9e)", "(3 samples, sha256 81be22d0)", "A gap rate belongs to its test set"):
        assert words in str(refused.value)


def test_written_samples_are_not_compared_with_questions_of_probe() -> None:
    with pytest.raises(InputError, match="never mixed"):
        compare(evaluation("g."), evaluation("g.", origin=Origin.PROBED))


# Names of evaluations


def test_an_evaluation_is_called_by_id_commit_latest_or_previous() -> None:
    heads = falling()
    assert find_evaluation(heads, "3") is heads[2]
    assert find_evaluation(heads, heads[1].commit[:7]) is heads[1]
    assert find_evaluation(heads, "latest") is heads[4]
    assert find_evaluation(heads, "previous") is heads[3]


def test_previous_has_the_test_set_of_the_latest() -> None:
    heads = [head(1, 3), head(2, 3, sha256=SECOND_SET), head(3, 2, against="main"), head(4, 2)]
    assert find_evaluation(heads, "previous").id == 1
    with pytest.raises(InputError, match="first one of"):
        find_evaluation([head(1, 3), head(2, 3, sha256=SECOND_SET)], "previous")


def test_the_newest_evaluation_of_a_commit_is_meant() -> None:
    heads = [head(1, 3), msgspec.structs.replace(head(2, 5), commit=head(1, 3).commit)]
    assert find_evaluation(heads, heads[0].commit[:8]).id == 2


@pytest.mark.parametrize("name", ["99", "deadbeef", "abc", "", "LATEST"])
def test_a_name_that_nothing_has_is_an_error(name: str) -> None:
    with pytest.raises(InputError) as wrong:
        find_evaluation(falling(), name)
    assert wrong.value.slug == "no-such-evaluation"


def test_without_evaluations_the_next_command_is_named() -> None:
    with pytest.raises(InputError, match="knowbound eval"):
        find_evaluation([], "latest")


# Answers


def graded(*passed: bool | None, judge: float | None = None) -> Grade:
    return Grade(tuple(AssertionGrade("contains", str(at), passed=one) for at, one in enumerate(passed)), judge=judge)


@pytest.mark.parametrize(
    ("grade", "signals", "answered"),
    [
        (Grade(), [], True),
        (Grade(), [REVENUE], False),  # without a grade a gap decides
        (graded(None), [REVENUE], False),
        (graded(None), [], True),
        (graded(True, True), [REVENUE], True),
        (graded(True, False), [], False),
        (graded(True, None), [], True),
        (graded(judge=3.0), [REVENUE], True),  # from 3 points on
        (graded(judge=2.9), [], False),
        (graded(True, judge=3.5), [], True),
        (graded(True, judge=2.0), [], False),
        (graded(False, judge=5.0), [], False),
    ],
)
def test_a_run_answers_its_sample_if_all_that_was_graded_passes(
    grade: Grade, signals: Sequence[object], answered: bool
) -> None:
    assert answers(sample_run(1, grade=grade, signals=list(signals))) is answered


@pytest.mark.parametrize(("runs", "answered"), [("..g", True), (".g", False), (".gg", False), (".", True)])
def test_a_sample_is_answered_by_more_than_half_of_its_runs(runs: str, answered: bool) -> None:
    ungraded = [msgspec.structs.replace(run, grade=Grade()) for run in runs_with_gaps(runs)]
    assert is_answered(ungraded) is answered


def runs_of(sample: int, *grades: Grade, **more: object) -> list[SampleRun]:
    return [sample_run(sample, repeat=at, grade=grade, **more) for at, grade in enumerate(grades, 1)]


def test_an_assertion_passes_in_more_than_half_of_the_runs_that_decided_it() -> None:
    before = evaluation_of(runs_of(1, graded(True, False, True), graded(True, False, False), graded(None, True, None)))
    after = evaluation_of(runs_of(1, graded(False, True, True), graded(True, True, None), graded(False, False, True)))
    (row,) = sample_changes(before, after)
    assert (row.failing, row.passing) == (
        ["contains 0"],
        ["contains 1", "contains 2"],
    )  # half of the runs is not more than half
    assert row.change is Change.BROKEN  # what broke outweighs what was fixed
    (back,) = sample_changes(after, before)
    assert (back.failing, back.passing, back.change) == (["contains 1", "contains 2"], ["contains 0"], Change.BROKEN)


def test_an_assertion_that_is_not_on_both_sides_changes_nothing() -> None:
    before, after = evaluation_of(runs_of(1, graded(True))), evaluation_of(runs_of(1, graded(None)))
    for sides in ((before, after), (after, before)):
        (row,) = sample_changes(*sides)
        assert (row.change, row.failing, row.passing) == (Change.SAME, [], [])


def test_the_kind_of_the_rate_says_which_signals_are_gaps() -> None:
    before, after = evaluation_of([sample_run(1)]), evaluation_of([sample_run(1, signals=[FOUND_LATER])])
    assert [row.change for row in sample_changes(before, after)] == [Change.BROKEN]
    assert [row.change for row in sample_changes(before, after, RateKind.OPEN)] == [Change.SAME]
    assert pairs_of(before, after).broken == 1
    assert pairs_of(before, after, RateKind.OPEN).neither == 1


def test_each_side_of_a_sample_is_summed_up_from_its_complete_runs() -> None:
    runs = [
        sample_run(1, repeat=1, answer="", signals=[UNSURE, REVENUE], grade=Grade(composite=2.0)),
        sample_run(1, repeat=2, answer="Second.", grade=Grade(composite=3.0)),
        sample_run(1, repeat=3, answer="Third.", grade=Grade(composite=None)),
        sample_run(1, repeat=4, answer="Crashed.", ending=RunEnding.CRASHED, grade=Grade(composite=1.0)),
    ]
    (row,) = sample_changes(evaluation_of(runs), evaluation_of([sample_run(1, ending=RunEnding.TIMEOUT)]))
    assert row.before.gap == Rate(1, 3)
    assert row.before.types == ["failed_search", "hedging"]
    assert (row.before.composite, row.before.answered, row.before.answer) == (2.5, True, "Second.")
    assert (row.after.gap, row.after.answered, row.after.answer) == (Rate(), None, "")
    assert (row.change, row.why) == (Change.UNKNOWN, "before: crashed; after: timeout")


def test_a_sample_that_one_side_never_ran_is_unknown() -> None:
    (first, second) = sample_changes(evaluation("."), evaluation(".."))
    assert (first.sample, first.change, first.why) == ("s002", Change.UNKNOWN, "before: not run")
    assert (second.sample, second.change, second.why) == ("s001", Change.SAME, "")


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("gggggggggggg........", "....................", Verdict.BETTER),
        ("....................", "gggggggggggg........", Verdict.WORSE),
        ("gggg....", "....gggg", Verdict.UNDECIDED),
        ("xxxx", "xxxx", Verdict.UNDECIDED),
    ],
)
def test_the_answered_samples_decide(before: str, after: str, verdict: Verdict) -> None:
    def ungraded(gaps: str) -> Evaluation:
        return evaluation_of([msgspec.structs.replace(run, grade=Grade()) for run in runs_with_gaps(gaps)])

    found = compare(ungraded(before), ungraded(after))
    assert found.verdict is verdict
    assert found.answered == answered_pairs(ungraded(before), ungraded(after))
    assert found.answered.fixed == sum(one == "g" != other for one, other in zip(before, after, strict=True))


def test_the_sides_are_called_by_their_variants_or_their_numbers() -> None:
    found = compare(evaluation("g.", id=4), evaluation("..", id=5, variant="with hooks"))
    assert found.names == ("evaluation 4", "with hooks")


def test_costs_are_compared_where_both_sides_know_them_and_ran() -> None:
    before = [
        sample_run(1, usd=0.25, tokens_in=100, tokens_out=10, steps=4, seconds=8.0),
        sample_run(2, usd=0.5, tokens_in=100, tokens_out=None, steps=4, seconds=2.0, cached=True),
        sample_run(3, usd=None, tokens_in=None, tokens_out=5, steps=4, seconds=1.0),
    ]
    after = [
        sample_run(1, usd=0.5, tokens_in=50, tokens_out=20, steps=5, seconds=4.0),
        sample_run(2, usd=1.0, tokens_in=50, tokens_out=20, steps=6, seconds=4.0),
        sample_run(3, usd=1.0, tokens_in=50, tokens_out=20, steps=10, seconds=4.0),
    ]
    found = compare(evaluation_of(before), evaluation_of(after))
    assert (found.usd, found.tokens) == (Mean(1, 0.25), Mean(1, -40.0))
    assert (found.steps.n, found.steps.value) == (3, 3.0)
    assert (found.seconds.n, found.seconds.value) == (2, -0.5)


def test_a_mean_difference_is_drawn_over_clusters_of_sessions() -> None:
    def side(*steps: int) -> Evaluation:
        return evaluation_of([sample_run(at, steps=one, session=f"s{at // 2}") for at, one in enumerate(steps)])

    alone = mean_difference(side(1, 1, 1, 1), side(2, 4, 3, 7), lambda run: float(run.steps))
    assert (alone.n, alone.value) == (4, 3.0)
    assert (alone.low, alone.high) == (2.0, 4.0)


@pytest.mark.parametrize(
    ("injects", "served"), [((False, True), Rate(1, 2)), ((True, False), Rate(0, 1)), ((False, False), Rate())]
)
def test_served_samples_are_counted_on_the_side_with_injection(injects: tuple[bool, bool], served: Rate) -> None:
    before = evaluation_of([sample_run(1), sample_run(2, ending=RunEnding.CRASHED)], inject=injects[0])
    after = evaluation_of([sample_run(1, injected=["item"]), sample_run(2)], inject=injects[1])
    assert compare(before, after).served == served


def test_pairs_by_the_change_of_the_whole_sample() -> None:
    before, after = evaluation("gg..x"), evaluation("g.gg.")
    pairs = changed_pairs(before, after, sample_changes(before, after))
    assert (pairs.broken, pairs.fixed, pairs.neither, pairs.both) == (2, 1, 1, 0)


def test_samples_connected_by_sessions_of_either_side_are_one_cluster() -> None:
    def in_sessions(*sessions: str) -> Evaluation:
        runs = runs_with_gaps("gggggg")
        return evaluation_of(
            [msgspec.structs.replace(run, session=name) for run, name in zip(runs, sessions, strict=True)]
        )

    before, after = in_sessions("a", "b", "c", "d", "", ""), in_sessions("e", "e", "f", "e", "f", "")
    pairs = pairs_of(before, msgspec.structs.replace(after, runs=[
        msgspec.structs.replace(run, signals=[]) for run in after.runs
    ]))  # fmt: skip
    assert sorted(pairs.shifts) == [-3, -2, -1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, []),
        ({"executor": "codex"}, ["the executor (claude → codex)"]),
        ({"model": ""}, ["the model (sonnet → none)"]),
        ({"repeat": 3}, ["the repeat (1 → 3)"]),
        ({"inject": True}, ["the injection (off → on)"]),
        ({"version": "0.2.0"}, ["the version of knowbound (0.1.0 → 0.2.0)"]),
    ],
)
def test_every_difference_besides_the_knowledge_is_named(more: dict[str, object], said: list[str]) -> None:
    assert differences(evaluation("g."), evaluation("g.", **more)) == said


SAME_FILES = "The knowledge files are the same on both sides: what differs is"


@pytest.mark.parametrize(
    ("more", "caveats"),
    [
        ({}, [f"{SAME_FILES} the agent's own variation."]),
        ({"inject": True}, [f"{SAME_FILES} injection."]),
        (
            {"inject": True, "repeat": 2},
            [
                "Besides the knowledge, these differ: the repeat (1 → 2), the injection (off → on). "
                "The difference may not be the knowledge's.",
                f"{SAME_FILES} the agent's own variation.",
            ],
        ),
        (
            {"inject": True, "knowledge": {"a.md": "1"}},
            [
                "Besides the knowledge, these differ: the injection (off → on). "
                "The difference may not be the knowledge's.",
            ],
        ),
        ({"knowledge": {"a.md": "1"}}, []),
    ],
)
def test_the_caveats_of_a_comparison(more: dict[str, object], caveats: list[str]) -> None:
    assert compare(evaluation("g."), evaluation("g.", **more)).caveats == caveats


def test_what_was_not_seen_or_not_complete_is_a_caveat() -> None:
    before, after = evaluation("g.", knowledge={}), evaluation("gx", knowledge={})
    unseen = msgspec.structs.replace(after, gap=msgspec.structs.replace(after.gap, unseen=2))
    assert compare(before, unseen).caveats == [
        "The tool calls of 2 samples left no trace after: gaps there may be missing.",
        "1 sample is not complete on both sides and not among the pairs.",
    ]
    assert compare(unseen, before).caveats[0].startswith("The tool calls of 2 samples left no trace before:")


def test_names_of_evaluations_that_are_variants_or_probes_do_not_count_as_latest() -> None:
    heads = [head(1, 3), head(2, 3), head(3, 3, against="main"), head(4, 3, origin=Origin.PROBED)]
    assert [find_evaluation(heads, name).id for name in ("latest", "previous", "4")] == [2, 1, 4]
    with pytest.raises(InputError, match="There is no stored evaluation"):
        find_evaluation(heads[2:], "3")


def test_previous_was_run_like_the_latest() -> None:
    heads = [head(1, 3), head(2, 3, inject=True), head(3, 3)]
    assert find_evaluation(heads, "previous").id == 1
    with pytest.raises(InputError, match=r"first one of samples.yaml \(24 samples, sha256 5f0c2a9e\)\."):
        find_evaluation(heads[1:], "previous")


def test_a_commit_names_its_last_clean_evaluation() -> None:
    commit = "abcd" + "0" * 36
    clean, dirty, newer = (head(at, 3, commit=commit, dirty=at != 1) for at in (1, 2, 3))
    other = head(4, 3, commit="abce" + "0" * 36)
    assert find_evaluation([clean, dirty, newer], "ABCD").id == 1
    assert find_evaluation([dirty, newer], "abcd").id == 3
    assert find_evaluation([clean, head(5, 3, commit=commit, origin=Origin.PROBED)], "abcd").id == 1
    with pytest.raises(InputError, match="neither an id nor the start of a commit"):
        find_evaluation([clean], "abc")
    with pytest.raises(InputError, match="several commits start with it"):
        find_evaluation([head(1, 3, commit="abcde" + "0" * 35), head(2, 3, commit="abcdf" + "0" * 35)], "abcd")
    assert find_evaluation([clean, other], "abce").id == 4
