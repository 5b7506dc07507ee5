"""How code spells what people say."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.text.terms import canonical, has_phrase, one_edit, phrase_pattern, phrase_spans, spellings, split_words

_WORD = st.text("abcdefghijklmnopqrtuvwxz", min_size=3, max_size=8)


@given(st.lists(_WORD, min_size=2, max_size=4))
def test_every_spelling_of_a_phrase_has_its_words(words: list[str]) -> None:
    for spelling in spellings(words):
        assert has_phrase(split_words(spelling), words), spelling


@given(st.lists(_WORD, min_size=2, max_size=4))
def test_every_spelling_of_a_phrase_is_matched_as_a_phrase(words: list[str]) -> None:
    pattern = re.compile(phrase_pattern(words), re.IGNORECASE)
    for spelling in spellings(words):
        assert list(phrase_spans(f"see {spelling} here", pattern)), spelling


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("class RetryLimit:", True),
        ("retry_limits = 3", True),
        ("the retry-limit", True),
        ("RETRY_LIMIT", True),
        ("websocketRetryLimitError", True),
        ("retry the limit", False),
        ("limit retry", False),
        ("entry limitless", False),
        ("a retry limiter", False),
        ("this long sentence ends with retry\n# limit of the next line", True),
        ("retry\nlimit", False),  # two entries of a list
    ],
)
def test_a_phrase_is_contiguous_and_whole(text: str, found: bool) -> None:
    pattern = re.compile(phrase_pattern(("retry", "limit")), re.IGNORECASE)
    assert bool(list(phrase_spans(text, pattern))) is found


@pytest.mark.parametrize(
    ("one", "many"), [("cache", "caches"), ("dependency", "dependencies"), ("class", "classes"), ("hook", "hooks")]
)
def test_singular_and_plural_are_one(one: str, many: str) -> None:
    assert canonical(one) == canonical(many)


@given(st.text("abcdef", min_size=3, max_size=9), st.integers(0, 8), st.sampled_from("abcdef"))
def test_one_edit_is_symmetric_and_finds_each_kind(word: str, at: int, letter: str) -> None:
    at = min(at, len(word) - 1)
    dropped, added = word[:at] + word[at + 1 :], word[:at] + letter + word[at:]
    changed = word[:at] + letter + word[at + 1 :]
    swapped = word[:at] + word[at : at + 2][::-1] + word[at + 2 :]
    for other in (dropped, added, changed, swapped):
        assert one_edit(word, other) == one_edit(other, word) == (word != other)


def test_two_edits_are_too_many() -> None:
    assert not one_edit("LegacyWindowsTerm", "LegcyWindwsTerm")
