"""One stem for the forms of a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.text.english import common_start, stem


@pytest.mark.parametrize(
    "forms",
    [
        "approve approved approving approval",
        "serialize serializes serialized serialization serialise",
        "dependency dependencies",
        "cache caches cached caching",
        "write wrote written",
        "colour color",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("pair", ["import export", "cat cats1", "is as"])
def test_other_words_have_another_stem(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)


@given(st.text(st.characters(codec="ascii"), max_size=20))
def test_every_word_begins_with_its_common_start(word: str) -> None:
    assert word.lower().startswith(common_start(word))
