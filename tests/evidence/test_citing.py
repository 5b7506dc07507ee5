"""The answer that is cited, the commonest folders of a project, and files whose names are nearly those asked for."""

from __future__ import annotations

import math
from pathlib import Path

from knowbound.codebase.tree import SourceTree
from knowbound.core.evidence import CitedSource, Evidence, EvidenceClass, Place, Quality, Strength
from knowbound.evidence.citing import answer_of, nearest
from knowbound.evidence.material import project_words
from knowbound.evidence.plan import read_plan
from knowbound.evidence.planner import Collected
from knowbound.evidence.producers.git import GitLog
from tests.evidence_trees import plant


def entry(quality: Quality, note: str, *places: Place) -> Evidence:
    return Evidence(EvidenceClass.GIT_LOG, "git log", "", "", quality, Strength.LOW, places, note=note)


def test_the_first_cited_line_is_the_answer_and_else_the_note_of_an_authority() -> None:
    empty, cited = CitedSource("a.py", 0, "why", ""), CitedSource("b.py", 3, "why", "text")
    noted, bare = entry(Quality.STRONG, "the note", Place("c.py", 4)), entry(Quality.MODERATE, "no place")
    weak, silent = entry(Quality.WEAK, "weak"), entry(Quality.STRONG, "")
    cases: list[tuple[list[CitedSource], list[Evidence], tuple[str, str, int] | None]] = [
        ([empty, cited], [noted], ("text", "b.py", 3)),
        ([empty], [weak, silent, noted], ("the note", "c.py", 4)),
        ([], [bare, noted], ("no place", "", 0)),
        ([empty], [weak, silent], None),
        ([], [], None),
    ]
    for sources, entries, found in cases:
        given = answer_of(sources, entries)
        assert ((given.text, given.path, given.line) if given else None) == found


def test_a_project_is_described_by_its_largest_folders_down_to_the_third(tmp_path: Path) -> None:
    files = {"a/b/c/d/x.py": "", "a/b/y.py": "", "a/z.go": "", "top.py": "", "README.md": ""}
    described = project_words(SourceTree(plant(tmp_path / "one", files), math.inf))
    assert described == "5 files; Python 3, Go 1\na/ 3\na/b/ 2\na/b/c/ 1\nREADME.md\ntop.py"
    many = {f"f{number:02}/a.md": "" for number in range(61)} | {f"t{number:02}.md": "" for number in range(31)}
    lines = project_words(SourceTree(plant(tmp_path / "two", many), math.inf)).split("\n")
    assert (lines[0], len(lines)) == ("92 files; documents", 91)
    assert (lines[60], lines[61], lines[-1]) == ("f59/ 1", "t00.md", "t29.md")


def test_files_with_nearly_the_name_are_near_the_same_stem_first(tmp_path: Path) -> None:
    files = {
        "src/cart.ts": "",
        "src/carts.py": "",
        "tests/cart.py": "",
        "src/chart.py": "",
        "src/total.py": "",
        "x/crt.py": "",
    }
    tree = SourceTree(plant(tmp_path, files), math.inf)
    cases = {
        "cart.js": ["src/cart.ts", "src/carts.py", "tests/cart.py"],
        "crat.py": ["src/carts.py", "src/chart.py", "x/crt.py", "tests/cart.py"],
        "totals.py": ["src/total.py"],
        "zebra.py": [],
    }
    for name, paths in cases.items():
        assert [place.path for place in nearest(read_plan(f"Where is {name}?"), [], [], tree)] == paths, name


def test_a_line_of_the_trail_has_the_target_and_the_note_that_there_are() -> None:
    collected = Collected()
    for target, note in (("x", "why"), ("", "")):
        collected.record(
            Evidence(EvidenceClass.GIT_LOG, "git log", "", target, Quality.WEAK, Strength.LOW, note=note), GitLog()
        )
    assert collected.trail == ["git log 'x' → GitLog weak, 0 found (why)", "git log → GitLog weak, 0 found"]


def test_what_is_quoted_and_no_name_stays_in_the_question() -> None:
    assert [term.text for term in read_plan("Where is `?!` and `cart`, a tax rate?").terms] == ["cart tax rate"]
    assert [term.text for term in read_plan('Where is "cart" of the tax_rate?').terms] == ["cart", "tax_rate"]
