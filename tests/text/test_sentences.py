import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.text.sentences import HIDDEN, mask, sentences, shape


def split(text: str) -> list[str]:
    return [sentence.text for sentence in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One is here. Two is there! Three?", ["One is here.", "Two is there!", "Three?"]),
        ("Tools, e.g. grep, i.e. search. Done.", ["Tools, e.g. grep, i.e. search.", "Done."]),
        ("Open main.py and v1.2.3 now. Then stop.", ["Open main.py and v1.2.3 now.", "Then stop."]),
        ("Call `a. b? c!` first. Then go.", ["Call `a. b? c!` first.", "Then go."]),
        ("Wait... it works. Fine.", ["Wait... it works.", "Fine."]),
        ("Well... It works.", ["Well...", "It works."]),
        ('He said "Stop. Now." twice. End.', ['He said "Stop. Now." twice.', "End."]),
        ("**Bold end.** Next one.", ["**Bold end.**", "Next one."]),
        ("第一句。第二句！第三句？", ["第一句。", "第二句！", "第三句？"]),
        ("1. First item. With more.\n2. Second", ["1. First item.", "With more.", "2. Second"]),
        ("## A title\ntext", ["## A title", "text"]),
        ("| a b | c d |\n|---|---|\n| e | f |", ["| a b", "| c d", "| e", "| f"]),
        ("Before.\n```py\nmaybe = 1.\n```\nAfter.", ["Before.", "After."]),
        ("~~~\ncode\n```\ncode\n~~~\nAfter.", ["After."]),
        ("> quoted. text\nMine.", ["Mine."]),
        ("---\n\n***\n", []),
        ("", []),
    ],
)
def test_text_is_split_into_the_sentences_of_its_prose(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_lines_parted_only_by_the_width_of_a_terminal_are_one_sentence() -> None:
    text = "The worker that reads the queue of the billing service seems to\nstop after an hour. Then it starts."
    assert split(text)[0].endswith("seems to\nstop after an hour.")


def test_a_code_block_inside_a_list_is_dropped() -> None:
    assert split("- Run:\n  ```\n  maybe\n  ```\n- Done") == ["- Run:", "- Done"]


def test_an_unclosed_code_block_lasts_to_the_end() -> None:
    assert split("Before.\n```\nmaybe this") == ["Before."]


def test_code_quotations_and_addresses_are_masked_to_their_length() -> None:
    masked = mask("Use `maybe` or \"might\" or 'could' at https://x.y/may, don't we?")
    assert not any(word in masked for word in ("maybe", "might", "could", "may"))
    assert masked.startswith(f"Use {HIDDEN * 7} or {HIDDEN * 7}")
    assert masked.endswith("don't we?")


def test_neighbours_stand_beside_a_sentence() -> None:
    first, middle, last = sentences("One. Two. Three.")
    assert (first.before, first.after) == ("", "Two.")
    assert (middle.before, middle.after) == ("One.", "Three.")
    assert (last.before, last.after) == ("Two.", "")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("- an item", "item"),
        ("3. an item", "item"),
        ("3.5 is a number", "prose"),
        ("### title", "heading"),
        ("**title**", "heading"),
        ("| cell", "cell"),
        ("plain", "prose"),
    ],
)
def test_the_sign_in_front_tells_the_shape(sentence: str, expected: str) -> None:
    assert shape(sentence) == expected


MARKDOWN = st.text(alphabet=st.sampled_from(list("aB1 .!?。…`\"'“”|>#*-_~\n\r\t()[]:¤你İ")), max_size=200)


@given(st.one_of(st.text(max_size=300), MARKDOWN))
def test_every_sentence_is_a_piece_of_the_text_and_as_long_as_its_mask(text: str) -> None:
    for sentence in sentences(text):
        assert sentence.text
        assert sentence.text in text
        assert len(sentence.masked) == len(sentence.text)


@given(st.sampled_from(list(".`\"'|#*>-_~!?。…([\n 1a")), st.sampled_from(["", "a", " ", "`"]))
def test_a_long_run_of_one_sign_is_read_to_its_end(sign: str, other: str) -> None:
    text = (sign + other) * 20_000 + "a"
    assert all(sentence.text in text for sentence in sentences(text))
