"""Two evaluations of one test set: pairs, caveats, refusals, every format of `compare`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowbound.report import PAGE_FORMATS, PageFormat
from knowbound.report.evals.comparison import render_comparison
from knowbound.stats.comparison import Comparison, compare
from knowbound.stats.figures import WARNING
from knowbound.stats.printing import probability
from tests.evaluation_examples import everyday_evaluation, hostile_evaluation
from tests.trend_examples import FIRST_SET, evaluation

GOLDEN = Path(__file__).parents[1] / "golden"
marks = st.text(alphabet="g.x", min_size=8, max_size=8)


def example_comparison() -> Comparison:
    before = evaluation("gggg......x...g.........", id=4, commit="9c23ce3" + "0" * 33)
    knowledge = {"AGENTS.md": "0a1b2c3d", "docs/tables.md": "99999999", "docs/rates.md": "8c9d0e1f"}
    return compare(before, evaluation("g........g....g.........", id=5, executor="codex", knowledge=knowledge))


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
