from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.item import Item, content_hashes, content_sha, folded, is_version_of, spaced_sha

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


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        # Line starts, emphasis and quotes go.
        ("- Use **pnpm** always.", "use pnpm always"),
        ("* [ ] Task one\n## Head\n> Quote", "task one head quote"),
        ("> 3 is more", "> 3 is more"),
        ("*a*b /*c* **d** e**f**", "*a*b /*c* d e**f**"),
        ('\'quoted\' "quoted words" 「好」 $ "', 'quoted quoted words 好 $ "'),
        ("it’s O'Brien's, the players' ball", "it's o'brien's the players ball"),
        ("d'amis' l'd'amis'", "d'amis' l'd'amis"),
        # In a block of code lines keep their starts.
        ("```\n- x\n```\n- y", "- x y"),
        ("~~~\n# x\n~~~\n# y", "~~~ # x ~~~ y"),
        ("# x\n```\n# y\n~~~\n# z", "x ``` # y ~~~ # z"),
        # Characters have one spelling, if that changes no value.
        ("e\u0301 ٣ ½ ① \u200bﬁ 10²", "é 3 ½ ① fi 10²"),
        ("您好。使用pnpm吧", "您 好 使 用 pnpm 吧"),
        ("x\r\ny\rz", "x y z"),
        ("10–20 ms, –5 degrees, a – b — c", "10-20 ms -5 degrees a b c"),
        # Sentence marks around words go; those that belong to a name, a number or an operator stay.
        ("key: value; x, y a : b · c", "key value x y a b c"),
        ("Really? Wait!? ok?! ok!?", "really ? wait ? ok? ok ?"),
        ("¿Qué? ¡Hola! n! ab! (! a/!", "qué ? hola n! ab (! a/!"),
        ("../.. .. a.b. etc... ... .", "../.. .. a.b etc ."),
        ("(see docs) f() (a) (b) ( a ) (b a)b) a (b)). (a)b", "see docs f() a b a b a)b a b (a)b"),
        ("a,b x?y $$ +1 [ ]", "a,b x?y $$ +1 [ ]"),
        # A comma counts after a negation and between numbers.
        ("No, use never, a no – b never,", "no , use never , a no , b never"),
        ("Ports 1, 2 and 3, x 1,", "ports 1 , 2 and 3 x 1"),
        ("Ports 1, (2 and `3, 4`", "ports 1 , 2 and 3 , 4"),
        # A dash between numbers is a minus; at an end it stays, alone it is the text.
        ("1 - 2 a - b 1 – x", "1 - 2 a b 1 x"),
        ("x1 - 2x 1x - 2 1 - x2", "x1 - 2x 1x 2 1 x2"),
        ("in x1, 2x, 1x, x2", "in x1 , 2x 1x x2"),
        ("a -", "a -"),
        ("- -", "- -"),
        # The case of plain words goes; that of names, and of code, stays.
        ("API Api api state-of-the-Art v2 Now", "api api api state-of-the-art v2 now"),
        ("apI aPI-Key getUser X1", "apI aPI-Key getUser X1"),
        ("`API` and Api `git -X` `A b` C", "API and api git -X A b c"),
        ("`One Two Three` Four", "One Two Three four"),
        ("", ""),
        ("...", "..."),
    ],
)
def test_only_what_cannot_distinguish_two_facts_is_folded(text: str, plain: str) -> None:
    assert folded(text) == plain


def test_removed_content_is_known_by_both_hashes() -> None:
    assert content_hashes("Use  pnpm.") == (content_sha("use pnpm"), spaced_sha("Use pnpm."))
    assert Item("k1", "Use pnpm.").content_sha == content_sha("use pnpm")
