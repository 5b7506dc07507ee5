"""A bundle is read back as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.bundle import (
    INDEX_OPENING,
    OPENING,
    SELF_MARKING,
    SUGGESTED_OPENING,
    is_bundle,
    is_ours,
    items_in,
)
from knowbound.injection import bundle, session_start
from knowbound.kms.index.ranking import FoundItem

_TEXTS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"), include_characters="\n"), max_size=200
)


def found_item(id_: str, content: str, file: str = "") -> FoundItem:
    return FoundItem(id_, "sqlite", "sha", confidence=1.0, content=content, timestamp="2026-10-01", anchor_file=file)


def test_every_bundle_is_known_by_its_opening() -> None:
    assert bundle.INTRO.startswith(OPENING)
    assert is_bundle(f"\n{bundle.INTRO}\n[k1] (from sqlite) x")


def test_an_index_is_ours_and_its_lines_are_no_items() -> None:
    index = f"{session_start.INTRO}\n```\n# shop\n[k1] (from sqlite) Use pnpm.\n[k2] Releases\n```\nIn all 2 entries."
    assert is_ours(index)
    assert not is_bundle(index)
    assert items_in(index) == []
    assert is_ours(bundle.INTRO)
    assert not is_ours("Entries of somebody else")


@given(st.lists(_TEXTS.filter(str.strip), min_size=1, max_size=4))
def test_what_was_written_is_read_back_item_by_item(contents: list[str]) -> None:
    items = [found_item(f"k{number}", content) for number, content in enumerate(contents)]
    written = bundle.compose(items, budget=20_000)
    found = items_in(written.text)
    assert [(item.id, item.source) for item in found] == sorted((item.id, "sqlite") for item in written.items)
    assert [item.content for item in found] == [
        bundle.cleaned(item.content) for item in sorted(written.items, key=lambda item: item.id)
    ]


def test_indented_lines_belong_to_the_item_right_above_them() -> None:
    text = f"{OPENING}\n    no\n[k1] one\n    two\nOther words\n    no\n[k2] three\n    four\n        five"
    assert items_in(text) == [("k1", "", "one\ntwo"), ("k2", "", "three\nfour\n    five")]


def test_the_source_of_an_item_is_read() -> None:
    item = found_item("k1", "Use pnpm.", "docs/how to (old), part 2.md")
    (found,) = items_in(bundle.compose([item], budget=2_000).text)
    assert found.source.startswith("docs/how to")
    assert found.content == "Use pnpm."


@pytest.mark.parametrize("text", ["", "[k1] (from sqlite) x", "Something else\n[k1] (from sqlite) x"])
def test_other_text_is_no_bundle(text: str) -> None:
    assert items_in(text) == []


def test_an_item_names_its_source_among_its_marks_or_has_none() -> None:
    text = f"{OPENING}\n[k1] (unverified, from docs/a.md, old) one\n[k2] (unverified) two\n[k3] (from a) three (from b)"
    assert items_in(text) == [("k1", "docs/a.md", "one"), ("k2", "", "two"), ("k3", "a", "three (from b)")]


def test_every_text_that_our_hooks_write_at_a_start_is_ours() -> None:
    for opening in (INDEX_OPENING, SUGGESTED_OPENING, SELF_MARKING):
        assert is_ours(f"\n{opening} and more")
        assert not is_bundle(opening)
