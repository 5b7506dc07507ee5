from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.item import content_sha, folded, is_version_of, spaced_sha

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "bench/same_content_pairs.jsonl").read_text("utf-8").splitlines()
]
WORDS = st.text(alphabet="abcXYZäÖß", min_size=2, max_size=6)


def test_pairs_that_are_the_same_content_or_not() -> None:
    assert [
        pair for pair in PAIRS if (content_sha(pair["one"]) == content_sha(pair["other"])) is not pair["same"]
    ] == []


@given(st.lists(WORDS, min_size=1, max_size=6), st.sampled_from(["", ".", "!", "…", " ", "\n"]))
def test_white_space_and_the_end_of_the_sentence_do_not_count(words: list[str], end: str) -> None:
    assert content_sha("  \n".join(words) + end) == content_sha(" ".join(words))


@pytest.mark.parametrize(("one", "other"), [("Call f(a, b).", "Call g(a, b)."), ("Call f().", "Call f.")])
def test_a_call_is_not_the_same_as_its_arguments_or_its_name(one: str, other: str) -> None:
    assert content_sha(one) != content_sha(other)


@given(st.text(max_size=60), st.text(max_size=60))
def test_texts_with_other_letters_or_digits_are_never_the_same(one: str, other: str) -> None:
    if folded(one) == folded(other):
        assert _letters(one) == _letters(other)


@given(st.text(max_size=60))
def test_a_text_is_the_same_in_every_normal_form_of_its_characters(text: str) -> None:
    assert content_sha(unicodedata.normalize("NFD", text)) == content_sha(unicodedata.normalize("NFC", text))


def test_a_comma_after_a_number_counts_only_before_a_number() -> None:
    assert folded("Ports 1, 2 and 3") != folded("Ports 1 2 and 3")
    assert folded("In step 1, restart") == folded("In step 1 restart")


def test_the_hash_of_earlier_versions_is_still_computed() -> None:
    assert spaced_sha("The  API\nbinds to 8004.") == spaced_sha("The API binds to 8004.")
    assert spaced_sha("The API binds to 8004.") != spaced_sha("the API binds to 8004")
    assert spaced_sha("The API binds to 8004.")[:16] == "6fbf1ce52cab9586"


def _letters(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).lower()
    return "".join(sign for sign in unicodedata.normalize("NFKC", plain) if sign.isalnum())


def test_a_noted_version_is_known_by_its_first_digits() -> None:
    sha = content_sha("The port is 8080.")
    assert is_version_of(sha[:16], sha)
    assert is_version_of(sha, sha)
    assert not is_version_of(content_sha("The port is 9090.")[:16], sha)
    assert not is_version_of("", sha)
