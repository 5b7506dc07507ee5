"""The trend: series, readings, the nudge, the table in every format, and the verbs on a real store."""

from __future__ import annotations

import json
import os
import re
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowbound.cli.main import main
from knowbound.report import PAGE_FORMATS, PageFormat
from knowbound.report.evals.comparison import render_trend
from knowbound.stats.evaluation import EvaluationHead, Origin
from knowbound.stats.figures import WARNING, RateKind, Watermark
from knowbound.stats.gate import GateOutcome, Limits, evaluation_gates
from knowbound.stats.rate import Rate
from knowbound.stats.trend import NUDGE, OLD_SET, Reading, direction_of, nudge, trend
from knowbound.store.evaluations import Evaluations
from tests.evaluation_examples import evaluation_of, sample_run
from tests.trend_examples import FIRST_SET, SECOND_SET, evaluation, falling, head, with_break

GOLDEN = Path(__file__).parents[1] / "golden"


def rates(*gaps: int, n: int = 24) -> list[EvaluationHead]:
    return [head(number, gap, n) for number, gap in enumerate(gaps, 1)]


# The four readings (specification 1, section 6)


@pytest.mark.parametrize(
    ("heads", "reading"),
    [
        (rates(14, 10, 6, 4), Reading.FALLING),
        (rates(4, 8, 12, 16), Reading.RISING),
        (rates(8, 9, 8, 9), Reading.FLAT),
        (rates(14, 10, 6, 3, 1), Reading.NEAR_ZERO),
        (rates(14), Reading.BASELINE),
        (rates(1), Reading.NEAR_ZERO),
        (rates(10, 8), Reading.INCONCLUSIVE),
        (rates(8, 8), Reading.INCONCLUSIVE),  # two are not yet a flat line
        (rates(14, 7, 2, 12), Reading.RISING),  # it fell, and rose again: the present movement counts
        (rates(2, 12, 20, 6), Reading.FALLING),
        (rates(3, 2, 3, n=5), Reading.INCONCLUSIVE),  # 20 points, but 5 samples
        ([*rates(14, 10), head(3, 0, 0)], Reading.UNKNOWN),
        ([], Reading.UNKNOWN),
    ],
)
def test_a_series_is_read(heads: list[EvaluationHead], reading: Reading) -> None:
    assert direction_of(heads)[0] is reading


def test_what_the_intervals_cannot_tell_apart_is_said() -> None:
    assert "24 samples these cannot be told apart" in direction_of(rates(10, 8))[1]
    assert "cannot be told apart" in direction_of(rates(8, 9, 8, 9))[1]
    assert "cannot be told apart" in direction_of(rates(3, 2))[1]  # near zero, and no movement either
    assert "cannot be told apart" not in direction_of(rates(14, 1))[1]


def test_a_reading_names_both_ends_and_the_interval_of_the_difference() -> None:
    assert (
        direction_of(rates(14, 10, 6, 4))[1]
        == "Falling: 58.3% (3e74b8e) → 16.7% (9c23ce3) over 4 evaluations, −41.7 points (95% −65 to −8)."
    )


def test_a_last_step_against_the_movement_is_mentioned() -> None:
    assert "but the last step was 16.7% → 20.8%" in direction_of(rates(18, 10, 4, 5))[1]


@given(st.lists(st.integers(0, 24), min_size=2, max_size=12))
def test_a_mirrored_series_is_read_the_other_way(gaps: list[int]) -> None:
    mirror = {Reading.FALLING: Reading.RISING, Reading.RISING: Reading.FALLING}
    there = direction_of(rates(*gaps))[0]
    back = direction_of(rates(*(24 - gap for gap in gaps)))[0]
    if Reading.NEAR_ZERO not in (there, back):
        assert back is mirror.get(there, there)


def test_noise_in_a_long_series_is_not_taken_for_a_movement() -> None:
    noise = [7, 9, 6, 11, 8, 5, 10, 7, 9, 4, 8, 6, 10, 7, 12, 8, 5, 9, 7, 6]
    assert direction_of(rates(*noise))[0] in (Reading.FLAT, Reading.INCONCLUSIVE)


@pytest.mark.parametrize(
    ("gaps", "advice"),
    [
        ((20, 14, 8, 4), "Each addition to the knowledge base lowered it (5daf155, 7ce971c, 9c23ce3): a healthy"),
        ((20, 21, 8, 4), "Lowered with 7ce971c, 9c23ce3; not with 5daf155: what these added hit no gap."),
        ((20, 14, 14, 4), "Lowered with 5daf155, 9c23ce3; not with 7ce971c: what these added hit no gap."),
    ],
)
def test_each_addition_is_said_to_lower_the_rate_only_where_each_did(gaps: tuple[int, ...], advice: str) -> None:
    assert trend(rates(*gaps)).panels[0].series[0].advice.startswith(advice)


def test_a_rate_that_fell_without_a_change_of_the_knowledge_says_so() -> None:
    heads = [msgspec.structs.replace(one, knowledge={"a.md": "1"}) for one in rates(20, 14, 8, 4)]
    assert trend(heads).panels[0].series[0].advice.startswith("The knowledge did not change where it fell")


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_table_has_sample_set_and_count_at_every_width(width: int) -> None:
    table = render_trend(trend(with_break()), "text", width=width).partition("\nEvaluations\n")[2].splitlines()
    assert {"gap_rate", "Sample set", "Sample count"} <= set(re.split(r"\s{2,}", table[0].strip()))
    for hash_, count in [("5f0c2a9e", "24")] * 4 + [("81be22d0", "40")] * 3:
        line = next(line for line in table if hash_ in line)
        assert re.search(rf"%.*{hash_}.* {count}\b", line), line
        table.remove(line)


def test_readings_say_what_to_check() -> None:
    advice = {heads: trend(rates(*heads)).panels[0].series[0].advice for heads in ((8, 9, 8), (2, 14), (3, 1))}
    assert "uncovered files" in advice[8, 9, 8]
    assert "knowledge base was broken" in advice[2, 14]
    assert "Not a moment to celebrate" in advice[3, 1]


# Series


def test_running_again_is_no_advice_where_the_answer_is_always_the_same() -> None:
    series = {
        executor: trend([head(1, 5, executor=executor), head(2, 9, executor=executor)]).panels[0].series[0]
        for executor in ("claude", "investigate")
    }
    assert {one.reading for one in series.values()} == {Reading.INCONCLUSIVE}
    assert "--repeat" in series["claude"].advice
    assert "--repeat" not in series["investigate"].advice


def test_a_movement_says_over_how_many_of_the_shown_evaluations_it_went() -> None:
    assert "over 2 evaluations" in direction_of([head(1, 20), head(2, 2)])[1]
    assert "over the last 2 of 4 evaluations" in direction_of([head(1, 2), head(2, 0, 0), head(3, 2), head(4, 20)])[1]


@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_two_evaluations_are_compared_only_where_they_have_one_test_set(format_: PageFormat) -> None:
    alone = render_trend(trend([head(1, 5), head(2, 9, sha256=SECOND_SET)]), format_)
    assert "knowbound compare" not in alone
    assert "knowbound compare previous latest" in render_trend(trend(falling()), format_)


@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_the_star_behind_a_commit_is_explained_where_there_is_one(format_: PageFormat) -> None:
    assert "uncommitted changes" in render_trend(trend([head(1, 5, dirty=True)]), format_)
    assert "uncommitted changes" not in render_trend(trend([head(1, 5)]), format_)


def test_another_hash_begins_another_series_in_the_same_panel() -> None:
    (panel,) = trend(with_break()).panels
    assert [len(series.rows) for series in panel.series] == [4, 3]
    assert [row.head.id for row in panel.rows if row.breaks] == [5]
    assert panel.series[1].also_changed == ["the executor (claude → codex)"]


def test_a_test_set_that_comes_back_is_the_same_series_and_still_two_breaks() -> None:
    heads = [head(1, 9), head(2, 8, sha256=SECOND_SET), head(3, 4)]
    (panel,) = trend(heads).panels
    assert [[row.head.id for row in series.rows] for series in panel.series] == [[1, 3], [2]]
    assert [row.breaks for row in panel.rows] == [False, True, True]


def test_hedges_judged_by_another_model_or_prompt_are_another_series() -> None:
    heads = [head(1, 9), head(2, 4, hedges="hedging-2-aa/claude-cli:haiku"), head(3, 4, hedges="hedging-3-bb/openai:m")]
    (panel,) = trend(heads).panels
    assert [[row.head.id for row in series.rows] for series in panel.series] == [[1], [2], [3]]
    assert [row.breaks for row in panel.rows] == [False, True, True]


def test_questions_of_probe_are_a_panel_of_their_own() -> None:
    heads = [head(1, 9), head(2, 3, origin=Origin.PROBED), head(3, 8), head(4, 2, origin=Origin.PROBED)]
    assert [[row.head.id for row in panel.rows] for panel in trend(heads).panels] == [[1, 3], [2, 4]]


def test_another_samples_file_is_a_panel_of_its_own_and_a_renamed_one_is_not() -> None:
    other = head(2, 3, sha256=SECOND_SET, watermark=Watermark("other.yaml", 24, SECOND_SET[:8]))
    renamed = head(3, 2, watermark=Watermark("moved.yaml", 24, FIRST_SET[:8]))
    panels = trend([head(1, 9), other, renamed]).panels
    assert [[row.head.id for row in panel.rows] for panel in panels] == [[1, 3], [2]]
    assert not any(row.breaks for panel in panels for row in panel.rows)


def test_other_versions_are_left_out_unless_asked_for() -> None:
    heads = [head(1, 9), head(2, 4, against="main"), head(3, 8)]
    assert [row.head.id for row in trend(heads).rows] == [1, 3]
    assert trend(heads).left_out == 1
    assert [row.head.id for row in trend(heads, with_others=True).rows] == [1, 2, 3]


def test_the_knowledge_change_is_since_the_evaluation_before() -> None:
    rows = trend([head(1, 9, files=3), head(2, 8, files=5), head(3, 8, files=4)]).rows
    assert [row.change and str(row.change) for row in rows] == [None, "+2", "−1"]
    assert [str(row.change) for row in trend([head(1, 9, files=3), head(2, 8, files=5)], last=1).rows] == ["+2"]


# The nudge (specification 1, section 8)


@pytest.mark.parametrize(
    ("heads", "nudged"),
    [
        (rates(2, 2, 2), True),
        (rates(14, 2, 1, 0), True),
        (rates(2, 2), False),
        (rates(2, 3, 2), False),
        (rates(2, 2, 2, 3), False),
        (rates(1, 1, 1, n=10), True),  # 10% is at most 10%
        ([*rates(0, 0), head(3, 0, 0)], False),  # nothing counted is no low rate
        ([*rates(0, 0), head(3, 0, sha256=SECOND_SET)], False),  # another test set begins anew
        ([head(1, 0), head(2, 0, sha256=SECOND_SET), head(3, 0), head(4, 0)], True),
        ([head(1, 0), head(2, 0, against="main"), head(3, 0)], False),
        ([head(1, 0), head(2, 0, origin=Origin.PROBED), head(3, 0)], False),
        ([], False),
    ],
)
def test_three_low_evaluations_of_one_test_set_in_a_row_are_nudged(heads: list[EvaluationHead], nudged: bool) -> None:
    assert nudge(heads) == (NUDGE if nudged else None)


@pytest.mark.parametrize(
    ("last", "origin", "proposed"),
    [
        ("2026-12-31T09:00:00Z", Origin.WRITTEN, False),
        ("2027-02-02T09:00:00Z", Origin.WRITTEN, True),
        ("2027-02-02T09:00:00Z", Origin.PROBED, False),
    ],
)
def test_a_test_set_of_a_quarter_is_to_be_replaced_by_a_new_series(last: str, origin: Origin, proposed: bool) -> None:
    first, second = (msgspec.structs.replace(one, origin=origin) for one in rates(20, 18))
    heads = [msgspec.structs.replace(first, made="2026-11-04T09:00:00Z"), msgspec.structs.replace(second, made=last)]
    said = nudge(heads)
    assert (said == OLD_SET.format(days=90)) is proposed
    shown = " ".join(render_trend(trend(heads), "text").split())
    assert "in use since 2026-11-04" in shown
    assert (OLD_SET.format(days=90) in shown) is proposed


def test_the_nudge_is_the_specifications_word_for_word() -> None:
    assert NUDGE == (
        "⚠ The current sample set's gap rate has been below 10% for 3 evaluations in a row. Consider expanding the "
        'sample set to probe new areas, otherwise the drop in gap rate may only reflect "sample domestication" rather '
        'than "knowledge filled in."'
    )


@pytest.mark.parametrize("format_", PAGE_FORMATS)
def test_every_format_shows_the_nudge(format_: PageFormat) -> None:
    shown = render_trend(trend(rates(2, 1, 1)), format_, width=1000)
    unescaped = shown.replace("&#x27;", "'").replace("&quot;", '"').replace('\\"', '"')
    assert NUDGE in unescaped


# The formats


@pytest.mark.parametrize("format_", ["text", "markdown"])
@pytest.mark.parametrize("example", ["falling", "break"])
def test_a_trend_reads_as_before(format_: PageFormat, example: str) -> None:
    shown = render_trend(trend(falling() if example == "falling" else with_break()), format_)
    golden = GOLDEN / f"trend-{example}.{format_}"
    if os.environ.get("KNOWBOUND_UPDATE_GOLDEN"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8"), "KNOWBOUND_UPDATE_GOLDEN=1 writes the golden files anew"


@pytest.mark.parametrize("format_", PAGE_FORMATS)
def test_every_format_has_the_watermark_of_every_test_set(format_: PageFormat) -> None:
    shown = render_trend(trend(with_break()), format_).replace("&#x27;", "'")
    assert shown.count(WARNING) >= 2
    for sha256 in (FIRST_SET, SECOND_SET):
        assert sha256[:8] in shown


def test_the_table_has_the_columns_of_the_specification() -> None:
    shown = render_trend(trend(falling()), "markdown")
    head_line = next(line for line in shown.splitlines() if line.startswith("| # |"))
    columns = [cell.strip() for cell in head_line.strip("|").split("|")]
    wanted = ["Time", "git commit", "composite", "coverage", "gap_rate", "Sample set", "Sample count", "Cost"]
    assert [column for column in columns if column in wanted] == wanted
    assert {"weighted", "open"} <= set(columns)
    assert "`5f0c2a9e samples.yaml`" in shown


@pytest.mark.parametrize("format_", PAGE_FORMATS)
def test_what_is_not_known_is_unknown_and_never_zero(format_: PageFormat) -> None:
    shown = render_trend(trend([head(1, 0, 0, usd=None)]), format_)
    assert ("null" if format_ == "json" else "unknown") in shown
    assert "$0.00" not in shown


def test_json_has_series_that_are_never_joined() -> None:
    document = json.loads(render_trend(trend(with_break()), "json"))
    assert document["format"] == "knowbound.trend/1"
    assert [series["evaluations"] for series in document["series"]] == [[1, 2, 3, 4], [5, 6, 7]]
    assert document["series"][1]["reading"] == "rising"
    last = document["evaluations"][-1]
    assert last["breaks"] is False
    assert last["test_set"] == {"path": "samples.yaml", "sha256": SECOND_SET, "samples": 40}
    assert last["knowledge_change"]["removed"] == ["docs/04.md", "docs/05.md", "docs/06.md"]
    assert set(last["gap"]) == {"k", "n", "value", "low", "high"}


@pytest.mark.parametrize("text", ["<script>x</script>", '"><img src=x onerror=y>', "| `a` | @b", "a\x1b[31mb\u202e"])
def test_hostile_text_is_shown_and_never_obeyed(text: str) -> None:
    def hostile(words: str) -> list[EvaluationHead]:
        more = {"commit": words, "subject": words, "executor": words, "watermark": Watermark(words, 24, FIRST_SET[:8])}
        second, third = (msgspec.structs.replace(head(number, 8), **more) for number in (2, 3))
        return [head(1, 9), second, msgspec.structs.replace(third, knowledge={words: "1"})]

    found, harmless = trend(hostile(text)), trend(hostile("x" * 12))
    tags = [re.findall(r"<(\w+)", render_trend(one, "html")) for one in (found, harmless)]
    assert tags[0] == tags[1]
    parser = MarkdownIt("commonmark").enable("table")
    tags = [re.findall(r"<(\w+)", parser.render(render_trend(one, "markdown"))) for one in (found, harmless)]
    assert tags[0] == tags[1]
    assert not set("\x1b\u202e") & set(render_trend(found, "text"))


# The verbs, on a real store


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Four evaluations: one falls to another, then another test set, then knowledge is gone."""
    store = Evaluations(tmp_path / ".knowbound")
    other = {"sha256": SECOND_SET, "watermark": Watermark("samples.yaml", 10, SECOND_SET[:8])}
    store.keep(evaluation("gggggg....", made="2026-11-03T09:00:00Z", commit="a" * 40))
    store.keep(evaluation("gg........", made="2026-11-04T09:00:00Z", commit="b" * 40))
    store.keep(evaluation("g.........", made="2026-11-05T09:00:00Z", commit="c" * 40, **other))
    store.keep(evaluation("gggggggg..", made="2026-11-06T09:00:00Z", commit="d" * 40, **other))
    store.close()
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(list(args))
    captured = capsys.readouterr()
    assert isinstance(end.value.code, int)
    return end.value.code, captured.out, captured.err


def test_trend_shows_all_evaluations_and_the_break(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "trend", "--root", str(project))
    assert code == 0
    assert "4 evaluations · 2 test sets" in out
    assert "the test set changed: 5f0c2a9e → 81be22d0" in out
    assert out.count(WARNING) == 2


def test_trend_of_one_test_set_and_of_the_last(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(run(capsys, "trend", "--root", str(project), "--samples", "81be", "--format", "json")[1])
    assert [row["id"] for row in document["evaluations"]] == [3, 4]
    document = json.loads(run(capsys, "trend", "--root", str(project), "--last", "1", "--format", "json")[1])
    assert [row["id"] for row in document["evaluations"]] == [4]


def test_trend_writes_the_chart_alone_to_an_svg_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "trend", "--root", str(project), "-o", str(project / "trend.svg"))[0] == 0
    chart = (project / "trend.svg").read_text("utf-8")
    assert chart.startswith("<svg ")
    assert "--accent" in chart


def test_trend_without_evaluations_names_the_next_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "trend", "--root", str(tmp_path))
    assert (code, out) == (2, "")
    assert "knowbound eval" in err


def test_compare_takes_the_last_two_of_a_test_set(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "compare", "--root", str(project), "--format", "json")
    assert code == 0
    document = json.loads(out)
    assert (document["before"]["id"], document["after"]["id"]) == (3, 4)
    assert document["samples"]["broken"] == 7


def test_compare_refuses_different_test_sets(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "compare", "bbbb", "4", "--root", str(project))
    assert (code, out) == (2, "")
    assert "[different-test-sets]" in err


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--max-gap-rate", "0.9"], 0),
        (["--max-gap-rate", "0.8"], 0),  # not strictly greater
        (["--max-gap-rate", "0.5"], 1),
        (["--max-gap-rate", "0.9", "--strict"], 3),
        (["--gap-rate-regression", "0.1"], 1),
        (["--gap-rate-regression", "0.7"], 0),
        (["--max-gap-rate", "0.9", "--gap-rate-regression", "0.1"], 1),
        ([], 2),
        (["--max-gap-rate", "10"], 2),
    ],
)
def test_check_gates_the_newest_run(
    options: list[str], code: int, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "check", "--root", str(project), *options)[0] == code


def test_check_takes_its_gates_from_the_config(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "knowbound.toml").write_text("[gate]\nmax_gap_rate = 0.5\n", encoding="utf-8")
    code, out, _ = run(capsys, "check", "--root", str(project))
    assert code == 1
    assert "gap rate 80% (8 of 10, 95% 49–94%) is above 0.5: fails." in out


def test_check_without_a_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "check", "--root", str(tmp_path), "--max-gap-rate", "0.1")
    assert code == 2
    assert "[no-run]" in err


def test_check_may_pass_where_no_run_is_stored_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "--root", str(tmp_path), "--max-gap-rate", "0.1", "--allow-none"])
    assert ended.value.code == 0
    assert "nothing was checked" in capsys.readouterr().err


def test_check_without_an_earlier_run_of_the_test_set_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Evaluations(tmp_path / ".knowbound")
    store.keep(evaluation("g........."))
    store.close()
    code, out, _ = run(capsys, "check", "--root", str(tmp_path), "--gap-rate-regression", "0.1")
    assert code == 0
    assert "no earlier run with the same test set" in out
    assert run(capsys, "check", "--root", str(tmp_path), "--gap-rate-regression", "0.1", "--strict")[0] == 3


def test_the_nudge_of_check_is_a_note_and_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Evaluations(tmp_path / ".knowbound")
    for _ in range(3):
        store.keep(evaluation("." * 40))
    store.close()
    code, out, _ = run(capsys, "check", "--root", str(tmp_path), "--max-gap-rate", "0.1", "--format", "json")
    assert code == 0
    assert json.loads(out)["nudge"] == NUDGE
    assert msgspec.json.decode(out)["exit_code"] == 0


def counted_anew(before: EvaluationHead) -> EvaluationHead:
    """The evaluation as a version makes it that counts undecided misses apart."""
    gap = msgspec.structs.replace(before.gap, open_most=before.gap.open)
    return msgspec.structs.replace(before, gap=gap)


def test_another_way_to_count_open_misses_is_marked_and_the_gap_rate_goes_on() -> None:
    heads = falling()
    found = trend([*heads[:2], *map(counted_anew, heads[2:])])
    assert [row.breaks_open for row in found.rows] == [False, False, True, False, False]
    assert found.panels[0].series[0].reading is trend(heads).panels[0].series[0].reading
    for format_ in ("text", "html", "markdown"):
        assert render_trend(found, format_).count("counted anew") == 2  # the row, and what it means
        assert "counted anew" not in render_trend(trend(heads), format_)
    rows = json.loads(render_trend(found, "json"))["evaluations"]
    assert [row["breaks_open"] for row in rows] == [False, False, True, False, False]


def test_a_gate_compares_no_open_rates_that_are_counted_in_different_ways() -> None:
    before = evaluation_of([sample_run(1), sample_run(2)])
    now = msgspec.structs.replace(before, gap=msgspec.structs.replace(before.gap, open_most=Rate(2, 2)))
    old = msgspec.structs.replace(before, gap=msgspec.structs.replace(before.gap, open_most=Rate()))
    for kind, outcome in ((RateKind.OPEN, GateOutcome.NO_BASELINE), (RateKind.RAW, GateOutcome.PASSED)):
        (result,) = evaluation_gates(Limits(gap_rate_regression=Fraction(0), kind=kind), now, old)
        assert result.outcome is outcome
