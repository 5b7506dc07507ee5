"""Two evaluations of one test set: pairs, caveats, refusals, every format of `compare`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowbound.errors import InputError
from knowbound.report import PAGE_FORMATS, PageFormat
from knowbound.report.evals.comparison import render_comparison
from knowbound.stats.comparison import Change, Comparison, compare, find_evaluation, pairs_of
from knowbound.stats.evaluation import AssertionGrade, Evaluation, Grade, Origin, SampleRun
from knowbound.stats.figures import WARNING, Watermark
from knowbound.stats.printing import probability
from knowbound.stats.rate import Rate
from tests.evaluation_examples import evaluation_of, everyday_evaluation, hostile_evaluation, sample_run
from tests.trend_examples import FIRST_SET, SECOND_SET, evaluation, falling, head, runs_with_gaps

GOLDEN = Path(__file__).parents[1] / "golden"
marks = st.text(alphabet="g.x", min_size=8, max_size=8)


def example_comparison() -> Comparison:
    before = evaluation("gggg......x...g.........", id=4, commit="9c23ce3" + "0" * 33)
    knowledge = {"AGENTS.md": "0a1b2c3d", "docs/tables.md": "99999999", "docs/rates.md": "8c9d0e1f"}
    return compare(before, evaluation("g........g....g.........", id=5, executor="codex", knowledge=knowledge))


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


# The formats


@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_a_comparison_reads_as_before(format_: PageFormat) -> None:
    shown = render_comparison(example_comparison(), format_)
    golden = GOLDEN / f"comparison.{format_}"
    if os.environ.get("KNOWBOUND_UPDATE_GOLDEN"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8"), "KNOWBOUND_UPDATE_GOLDEN=1 writes the golden files anew"


@pytest.mark.parametrize("format_", PAGE_FORMATS)
def test_every_format_has_the_watermark(format_: PageFormat) -> None:
    shown = render_comparison(example_comparison(), format_).replace("&#x27;", "'")
    assert WARNING in shown
    assert FIRST_SET[:8] in shown


@pytest.mark.parametrize("format_", PAGE_FORMATS)
def test_nothing_in_common_is_shown_as_such(format_: PageFormat) -> None:
    shown = render_comparison(compare(evaluation("x."), evaluation(".x")), format_)
    assert "no sample is complete on both sides" in shown


def test_json_has_the_test_the_interval_and_every_sample() -> None:
    document = json.loads(render_comparison(example_comparison(), "json"))
    assert document["format"] == "knowbound.comparison/1"
    assert document["p"] == pytest.approx(0.625)
    assert document["difference"]["value"] == pytest.approx(-2 / 23)
    assert document["settled"] is False
    assert document["more_samples"] > 0
    assert len(document["rows"]) == 24
    assert document["samples"] == {"fixed": 3, "broken": 1, "same": 19, "unknown": 1}
    assert document["knowledge_change"]["added"] == ["docs/rates.md"]
    assert [signal["query"] for signal in document["inventory"]] == ["topic_1", "topic_10", "topic_15"]


@pytest.mark.parametrize(("p", "shown"), [(1.0, "1"), (0.625, "0.62"), (0.03125, "0.031"), (1e-9, "<0.001")])
def test_a_probability_is_never_shown_as_zero(p: float, shown: str) -> None:
    assert probability(p) == shown


@pytest.mark.parametrize("text", ["<script>x</script>", "| a | `b` @c [d](e)", "$style ${script}", "a\x1b[31mb\u202e"])
def test_hostile_text_is_shown_and_never_obeyed(text: str) -> None:
    found, harmless = (
        compare(hostile_evaluation(one), msgspec.structs.replace(hostile_evaluation(one), executor=one + "2"))
        for one in (text, "x")
    )
    tags = [re.findall(r"<(\w+)", render_comparison(one, "html")) for one in (found, harmless)]
    assert tags[0] == tags[1]
    parser = MarkdownIt("commonmark").enable("table")
    tags = [re.findall(r"<(\w+)", parser.render(render_comparison(one, "markdown"))) for one in (found, harmless)]
    assert tags[0] == tags[1]
    assert not set("\x1b\u202e") & set(render_comparison(found, "text"))


def test_an_everyday_evaluation_can_be_compared_with_itself() -> None:
    found = compare(everyday_evaluation(), everyday_evaluation())
    assert found.pairs.shifts == ()
    assert "No difference: both answer the same" in render_comparison(found, "text")
