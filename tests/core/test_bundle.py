"""A bundle is read back as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.bundle import OPENING, is_bundle, items_in
from knowbound.injection import bundle
from knowbound.kms.search.ranking import FoundItem

_TEXTS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"), include_characters="\n"), max_size=200
)


def found_item(id_: str, content: str, file: str = "") -> FoundItem:
    return FoundItem(id_, "sqlite", "sha", confidence=1.0, content=content, timestamp="2026-10-01", anchor_file=file)


@pytest.mark.parametrize("intro", [bundle.FOR_A_PROMPT, bundle.FOR_A_SESSION])
def test_every_bundle_is_known_by_its_opening(intro: str) -> None:
    assert intro.startswith(OPENING)
    assert is_bundle(f"\n{intro}\n[k1] (from sqlite) x")


@given(st.lists(_TEXTS.filter(str.strip), min_size=1, max_size=4))
def test_what_was_written_is_read_back_item_by_item(contents: list[str]) -> None:
    items = [found_item(f"k{number}", content) for number, content in enumerate(contents)]
    written = bundle.compose(items, budget=20_000, intro=bundle.FOR_A_PROMPT)
    found = items_in(written.text)
    assert [(item.id, item.source) for item in found] == sorted((item.id, "sqlite") for item in written.items)
    assert [item.content for item in found] == [
        bundle.cleaned(item.content) for item in sorted(written.items, key=lambda item: item.id)
    ]


def test_the_source_of_an_item_is_read() -> None:
    item = found_item("k1", "Use pnpm.", "docs/how to (old), part 2.md")
    (found,) = items_in(bundle.compose([item], budget=2_000, intro=bundle.FOR_A_SESSION).text)
    assert found.source.startswith("docs/how to")
    assert found.content == "Use pnpm."


@pytest.mark.parametrize("text", ["", "[k1] (from sqlite) x", "Something else\n[k1] (from sqlite) x"])
def test_other_text_is_no_bundle(text: str) -> None:
    assert items_in(text) == []
