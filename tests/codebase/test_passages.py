"""A file as definitions and passages, and the passages of a tree in the order of a question."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.codebase.languages import imported_from
from knowbound.codebase.passages import outline_of, passages_of, word_stem, word_stems
from knowbound.codebase.tree import SourceTree
from knowbound.codebase.tree_search import wanted_word

SOURCES = {
    "a.py": ("class Pool:\n    def take(self):\n        return 1\n", [("Pool", ""), ("take", "Pool")]),
    "a.ts": ("export class Pool {\n  take(): number {\n    return 1\n  }\n}\n", [("Pool", ""), ("take", "Pool")]),
    "a.go": ("package a\n\nfunc (p *Pool) Take() int {\n\treturn 1\n}\n", [("Take", "")]),
    "a.rs": ("impl Pool {\n    fn take(&self) -> u8 {\n        1\n    }\n}\n", [("Pool", ""), ("take", "Pool")]),
    "A.java": ("class Pool {\n  int take() {\n    return 1;\n  }\n}\n", [("Pool", ""), ("take", "Pool")]),
    "a.c": ("static int take(struct pool* p) {\n  return 1;\n}\n", [("take", "")]),
    "a.rb": ("class Pool\n  def take\n    1\n  end\nend\n", [("Pool", ""), ("take", "")]),
}


@pytest.mark.parametrize("path", SOURCES)
def test_definitions_of_a_file_with_what_they_are_inside(path: str) -> None:
    text, named = SOURCES[path]
    assert [(one.name, one.inside) for one in outline_of(path, text)] == named


def test_a_definition_begins_with_its_comment() -> None:
    (one,) = outline_of("a.go", "package a\n\n// Take lends one.\n// It blocks.\nfunc Take() {\n}\n")
    assert (one.first, one.line, one.last) == (3, 5, 6)


def test_a_long_definition_is_cut_into_windows_that_keep_its_name() -> None:
    text = "def long():\n" + "".join(f"    step_{number} = {number}\n" for number in range(150))
    found = passages_of("a.py", text)
    assert len(found) > 3
    assert {one.name for one in found} == {"long"}
    assert {number for one in found for number in range(one.first, one.last + 1)} >= set(range(1, 152))


def test_a_section_has_the_headings_above_it_and_fences_have_none() -> None:
    text = "# Guide\n\nintro\n\n## Restore\n\nsay it\n\n```sh\n# no heading\nrun\n```\n\nMore\n----\n\nlast\n"
    found = passages_of("guide.md", text)
    assert [(one.name, one.above) for one in found] == [("Guide", ""), ("Restore", "Guide"), ("More", "Guide")]
    assert (found[1].first, found[1].last) == (5, 13)


@pytest.mark.parametrize(
    ("one", "other"),
    [("negotiated", "negotiation"), ("replicas", "replica"), ("closed", "closes"), ("associated", "associate")],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert word_stem(one) == word_stem(other)


def test_parts_of_names_are_words() -> None:
    assert {word_stem("idle"), word_stem("timeout")} <= word_stems("maxIdleTimeout = IDLE_TIMEOUT")


@pytest.mark.parametrize(
    ("text", "line", "source"),
    [
        ("from redis.exceptions import (\n    A,\n    LockError,\n)\n", 3, "redis.exceptions"),
        ("import { a,\n  LockError } from 'redis/lock'\n", 2, "redis/lock"),
        ("import com.redis.LockError;\n", 1, "com.redis"),
        ("use redis::errors::LockError;\n", 1, "redis::errors"),
        ("const { LockError } = require('redis')\n", 1, "redis"),
    ],
)
def test_where_an_imported_name_comes_from(text: str, line: int, source: str) -> None:
    assert imported_from(text, line, "LockError") == source


def test_the_product_comes_before_its_tests_and_changelog(tmp_path: Path) -> None:
    body = "def sweep_leases():\n    # sweep expired leases of workers\n    return 0\n"
    for path in ("tests/test_lease.py", "src/lease.py", "vendor/lease.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(body)
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n- sweep expired leases of workers\n")
    tree = SourceTree(tmp_path, time.monotonic() + 30)
    ranked = tree.ranked(
        "where are expired leases swept", [wanted_word(word) for word in ("expired", "leases", "sweep")]
    )
    assert next(one.passage.path for one in ranked) == "src/lease.py"
    assert ranked[-1].passage.path == "CHANGELOG.md" or ranked[-1].passage.path.startswith("vendor/")


def test_one_definition_a_letter_away_is_found_and_two_are_not(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def collect_garbage():\n    pass\n")
    tree = SourceTree(tmp_path, time.monotonic() + 30)
    assert tree.mistyped("colect_garbage") == "collect_garbage"
    (tmp_path / "b.py").write_text("def colect_garbages():\n    pass\n")
    assert SourceTree(tmp_path, time.monotonic() + 30).mistyped("colect_garbage") is None


def test_only_plain_paths_below_the_root_are_read(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.md").write_text("# A\n")
    tree = SourceTree(root, time.monotonic() + 30, only=["a.md", "../secret.md"])
    assert tree.files == ["a.md"]
    outside = SourceTree(root, time.monotonic() + 30, only=["../secret.md"])
    assert (outside.files, outside.matches(["A"], ignore_case=False)) == ([], ([], ""))


@given(st.text(max_size=400))
def test_any_text_is_cut_without_losing_a_line(text: str) -> None:
    for path in ("a.md", "a.py", "a.txt", "a.unknown"):
        count = text.count("\n") + 1
        for one in passages_of(path, text):
            assert 1 <= one.first <= one.last <= count


def test_matches_come_by_path_and_line_whichever_file_was_searched_first(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"part_{number:03}.py").write_text("retry = 1\n" * (1 + number % 7), "utf-8")
    found, _ = SourceTree(tmp_path, time.monotonic() + 30).matches(["retry"], ignore_case=False)
    places = [(hit.path, hit.line) for hit in found]
    assert len(places) == sum(1 + number % 7 for number in range(300))
    assert places == sorted(places)
