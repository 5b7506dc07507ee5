"""The chart: what it shows, what it never joins, and that no label lies on another."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.errors import ConfigError
from knowbound.report.formats.charts import HEIGHT, WIDTH, trend_png, trend_svg, trend_svg_file
from knowbound.report.formats.plain import cells
from knowbound.report.formats.text import text_chart
from knowbound.stats.figures import WARNING
from knowbound.stats.trend import Panel, trend
from tests.trend_examples import SECOND_SET, falling, head, with_break

NAMESPACE = "{http://www.w3.org/2000/svg}"


def panel_of(*gaps: int | None, sets: str = "") -> Panel:
    """A panel of these gap counts (None: nothing counted); `sets` has a letter per evaluation."""
    named = sets or "a" * len(gaps)
    heads = [
        head(at, gap or 0, 0 if gap is None else 24, sha256=format(ord(name), "08x") * 8)
        for at, (gap, name) in enumerate(zip(gaps, named, strict=True))
    ]
    return trend(heads).panels[0]


def elements(drawing: str, name: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(drawing).iter(NAMESPACE + name))


def titles(drawing: str) -> str:
    return "\n".join(one.text or "" for one in elements(drawing, "title"))


def test_the_test_set_and_its_warning_stand_on_the_chart() -> None:
    words = "\n".join(one.text or "" for one in elements(trend_svg(panel_of(9, 5)), "text"))
    assert "Gap rate on samples.yaml" in words
    assert "24 samples · sha256 00000061" in words
    assert WARNING in words


def test_a_line_joins_the_evaluations_of_one_test_set() -> None:
    (line,) = elements(trend_svg(trend(falling()).panels[0]), "polyline")
    assert len(line.attrib["points"].split()) == 5


def test_nothing_is_joined_across_a_change_of_the_test_set() -> None:
    drawing = trend_svg(trend(with_break()).panels[0])
    assert [len(line.attrib["points"].split()) for line in elements(drawing, "polyline")] == [4, 3]
    assert [len(band.attrib["points"].split()) for band in elements(drawing, "polygon")] == [8, 6]
    assert "The test set changed: 5f0c2a9e → 81be22d0" in titles(drawing)
    words = [one.text for one in elements(drawing, "text")]
    assert {"5f0c2a9e", "81be22d0"} <= set(words)


def test_a_test_set_that_comes_back_is_not_joined_to_its_past() -> None:
    drawing = trend_svg(panel_of(9, 8, 4, sets="aba"))
    assert [len(line.attrib["points"].split()) for line in elements(drawing, "polyline")] == [1, 1, 1]


def test_nothing_is_joined_across_an_unknown_rate() -> None:
    drawing = trend_svg(panel_of(9, 8, None, 4, 2))
    assert [len(line.attrib["points"].split()) for line in elements(drawing, "polyline")] == [2, 2]
    assert len(elements(drawing, "circle")) == 4 + 1  # the legend has one
    assert "gap rate unknown" in titles(drawing)


def test_every_point_tells_its_commit_rate_interval_and_knowledge_change() -> None:
    heads = falling()
    told = titles(trend_svg(trend(heads).panels[0]))
    for one in heads:
        assert one.commit[:7] in told
        assert str(one.gap.rate) in told
    assert "added: docs/05.md" in told


def test_knowledge_changes_are_marked_with_what_changed() -> None:
    drawing = trend_svg(trend(with_break()).panels[0])
    words = [one.text for one in elements(drawing, "text")]
    assert words.count("+1") == 5
    assert words.count("−3") == 1


def test_what_was_added_is_written_at_its_mark_and_the_first_commit_has_words_too() -> None:
    first, *others = falling()
    heads = [msgspec.structs.replace(first, subject="Begin the handbook"), *others]
    words = [one.text for one in elements(trend_svg(trend(heads).panels[0]), "text")]
    assert "Begin the handbook" in words
    assert "+05.md" in words
    taken = [word for word in words if word and word.startswith("+") and word.endswith(".md")]
    assert len(taken) == len(heads) - 1


def test_higher_is_a_higher_gap_rate() -> None:
    (line,) = elements(trend_svg(panel_of(24, 12, 0)), "polyline")
    top, middle, bottom = (float(point.split(",")[1]) for point in line.attrib["points"].split())
    assert middle == pytest.approx((top + bottom) / 2)
    assert top < middle < bottom


def _boxes(drawing: str) -> list[tuple[float, float, float, float, str]]:
    """Where texts lie, by a generous guess at their width; the legend is in groups that are moved, and left out."""
    top = ElementTree.fromstring(drawing)
    moved = {id(text) for group in top.iter(NAMESPACE + "g") if "transform" in group.attrib for text in group}
    boxes = []
    for text in top.iter(NAMESPACE + "text"):
        if id(text) in moved:
            continue
        x, y, size = (float(text.attrib[name]) for name in ("x", "y", "font-size"))
        wide = len(text.text or "") * size * (0.62 if "font-family" in text.attrib else 0.54)
        start = {"start": x, "middle": x - wide / 2, "end": x - wide}[text.attrib["text-anchor"]]
        boxes.append((start, y - size * 0.8, start + wide, y + size * 0.2, text.text or ""))
    return boxes


@given(st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 24)), st.sampled_from("aaab")), min_size=1, max_size=220))
def test_no_label_lies_on_another_or_outside(found: list[tuple[int | None, str]]) -> None:
    drawing = trend_svg(panel_of(*(gap for gap, _ in found), sets="".join(name for _, name in found)))
    boxes = _boxes(drawing)
    for box in boxes:
        assert box[0] >= 0
        assert box[1] >= 0
        assert box[2] <= WIDTH + 1, box
        assert box[3] <= HEIGHT
    for at, one in enumerate(boxes):
        for other in boxes[at + 1 :]:
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, (one, other)


@pytest.mark.parametrize("count", [1, 2, 5, 200])
def test_any_number_of_evaluations_is_drawn(count: int) -> None:
    drawing = trend_svg(panel_of(*(at % 25 for at in range(count))))
    assert len(elements(drawing, "circle")) == count + 1
    assert "NaN" not in drawing
    assert "inf" not in re.sub(r">[^<]*<", "><", drawing)


def test_the_chart_has_no_style_of_its_own_on_a_page_and_brings_its_colours_in_a_file() -> None:
    panel = trend(with_break()).panels[0]
    assert not elements(trend_svg(panel), "style")
    assert not re.search(r"\bstyle=", trend_svg(panel))
    (style,) = elements(trend_svg_file(panel), "style")
    used = set(re.findall(r"var\(--(\w+)\)", trend_svg_file(panel)))
    assert used <= set(re.findall(r"--(\w+):", style.text or ""))
    assert "color-scheme: light dark" in (style.text or "")


# In plain characters


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("count", [1, 2, 5, 30, 200])
def test_the_text_chart_keeps_to_its_width(count: int, width: int) -> None:
    lines = list(text_chart(panel_of(*(at % 25 for at in range(count))), width))
    assert all(cells(line) <= width for line in lines)
    marks = sum(line.count("●") for line in lines)
    left = [int(line.split()[0]) for line in lines if "do not fit" in line]
    assert marks + sum(left) == count


def test_the_text_chart_shows_the_break_with_both_hashes() -> None:
    lines = list(text_chart(trend(with_break()).panels[0], 100))
    assert "┊ the test set changed: 5f0c2a9e → 81be22d0; nothing is compared across" in lines
    column = {line.index("┊") for line in lines if "┊" in line and "changed" not in line}
    assert len(column) == 1


def test_the_text_chart_has_rates_changes_commits_and_dates() -> None:
    shown = "\n".join(text_chart(trend(falling()).panels[0], 100))
    for words in ("58.3%", "4.2%", "▲+1", falling()[0].commit[:7], "2026-11-08"):
        assert words in shown


def test_an_unknown_rate_is_a_question_mark() -> None:
    lines = list(text_chart(panel_of(9, None, 4), 80))
    assert "?" in next(line for line in lines if line.startswith("  0% ┤"))


@given(st.lists(st.integers(0, 24), min_size=1, max_size=8))
def test_a_higher_rate_stands_on_a_higher_line(gaps: list[int]) -> None:
    lines = [line for line in text_chart(panel_of(*gaps), 100) if "┤" in line or line.startswith("     │")]
    heights = {line.index("●", at): len(lines) - row for row, line in enumerate(lines) for at in _starts(line)}
    found = [heights[column] for column in sorted(heights)]
    assert len(found) == len(gaps)
    for (one, first), (other, second) in pairwise(zip(gaps, found, strict=True)):
        assert (first - second) * (one - other) >= 0


def _starts(line: str) -> list[int]:
    return [at for at, character in enumerate(line) if character == "●"]


# In a real browser


def test_a_browser_draws_the_chart_in_its_colours(tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("chromium is not installed")
    page = tmp_path / "chart.html"
    drawing = trend_svg_file(trend([*with_break(), head(8, 3, 40, sha256=SECOND_SET)]).panels[0])
    script = (
        "<script>const line = document.querySelector('polyline');"
        "document.title = getComputedStyle(line).stroke + ' ' + (line.getTotalLength() > 100);</script>"
    )
    page.write_text(f"<!doctype html><meta charset='utf-8'>{drawing}{script}", encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile", "--dump-dom"]
    done = subprocess.run([chromium, *options, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert "<title>rgb(35, 72, 168) true</title>" in done.stdout


def test_the_chart_is_a_picture_where_the_extra_is_installed() -> None:
    pytest.importorskip("resvg_py", reason="the extra png is not installed")
    drawn = trend_png(panel_of(9, 5))
    assert drawn.startswith(b"\x89PNG\r\n")
    assert len(set(drawn)) > 50


def test_a_picture_without_the_extra_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ConfigError, match="A PNG needs an extra"):
        trend_png(panel_of(9))
