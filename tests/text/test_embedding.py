from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.text.embedding import CODE_BYTES, DIMENSIONS, _rows, _table, code_of, embed, plain_words, similarity


def like(one: str, other: str) -> float:
    return similarity(embed(one), embed(other))


def differing_bits(one: str, other: str) -> int:
    codes = [int.from_bytes(code_of(embed(text)), "big") for text in (one, other)]
    return (codes[0] ^ codes[1]).bit_count()


def test_a_vector_has_256_bytes_and_a_code_32() -> None:
    vector = embed("Staging runs on port 8004.")
    assert (len(vector), len(code_of(vector))) == (DIMENSIONS, CODE_BYTES) == (256, 32)


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("how do I deploy to staging", "release steps for the test environment", "the cake recipe needs three eggs"),
        ("the database connection times out", "queries to the SQL server hang", "she plays the violin every evening"),
        ("a cat sleeps on the sofa", "the kitten naps on a couch", "interest rates rose in the third quarter"),
        ("memory leak in the worker process", "the daemon's RAM usage keeps growing", "a walk along the beach"),
    ],
)
def test_the_same_meaning_in_other_words_is_nearer_than_another_subject(text: str, near: str, far: str) -> None:
    assert like(text, near) > like(text, far) + 0.1
    assert differing_bits(text, near) < differing_bits(text, far)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("getUserName", "get user name"),
        ("get_user_name", "get user name"),
        ("HTTPServer", "http server"),
        ("Café déjà vu", "cafe deja vu"),
        ("the PORT, of: staging!", "the port of staging"),
    ],
)
def test_spelling_case_accents_and_punctuation_do_not_matter(one: str, other: str) -> None:
    assert embed(one) == embed(other)


def test_a_word_is_one_piece_where_the_table_knows_it_else_its_longest_pieces() -> None:
    table = _table()
    pieces = {
        word: [table.name(row) for row in _rows(table, word)] for word in ("database", "kubernetes", "getUserName")
    }
    assert pieces == {
        "database": [b"database"],
        "kubernetes": [b"ku", b"##ber", b"##net", b"##es"],
        "getUserName": [b"get", b"user", b"name"],
    }


def test_every_ideograph_is_a_word() -> None:
    assert plain_words("数据库 is 超时") == ["数", "据", "库", "is", "超", "时"]


def test_chinese_texts_that_share_characters_are_similar() -> None:
    assert like("数据库连接超时", "数据库超时怎么办") > 0.5 > like("数据库连接超时", "今天天气很好")


@pytest.mark.parametrize("text", ["", "   \n", "!?… ---", "🎉🎉", "x" * 500, "\x00\x01", "\ud800"])
def test_a_text_without_a_known_word_has_no_direction(text: str) -> None:
    assert embed(text) == bytes(DIMENSIONS)
    assert similarity(embed(text), embed("anything")) == 0.0


def test_common_words_weigh_next_to_nothing() -> None:
    assert like("the nginx of the staging and of the production", "nginx staging production") > 0.95


def test_a_long_text_is_read_at_both_ends() -> None:
    log = "lorem ipsum " * 100_000
    ends = embed(f"why does nginx fail? {log} why does nginx fail?")
    assert similarity(ends, embed("why does nginx fail?")) > similarity(embed(log), embed("why does nginx fail?"))


def test_many_words_add_up_as_few_do() -> None:
    """More pieces than a lane of 16 bits can add at once."""
    assert like("nginx fails on staging " * 500, "nginx fails on staging") > 0.99


@given(st.text(max_size=300))
def test_any_text_has_a_vector_that_is_most_similar_to_itself(text: str) -> None:
    vector = embed(text)
    assert len(vector) == DIMENSIONS
    assert embed(text) == vector
    if any(vector):
        assert similarity(vector, vector) == pytest.approx(1.0, abs=0.03)  # rounding to bytes


@given(st.text(max_size=60), st.text(max_size=60))
def test_similarity_is_symmetric_and_bounded(one: str, other: str) -> None:
    assert like(one, other) == like(other, one)
    assert -1.0 <= like(one, other) <= 1.0


def test_every_process_makes_the_same_bytes() -> None:
    text = "Why does GUNICORN_BIND differ from nginx's upstream? 数据库 naïve kubernetes"
    code = "import sys; from knowbound.text.embedding import embed; print(embed(sys.argv[1]).hex())"
    outputs = {
        subprocess.run([sys.executable, "-c", code, text], capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    }
    assert outputs == {embed(text).hex()}


def test_nothing_slow_is_imported() -> None:
    """The hook loads it for every prompt."""
    code = "import sys, knowbound.text.embedding; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, env=_path(), check=True
    ).stdout.split()
    assert "knowbound.text.embedding" in loaded
    assert not {"typing", "dataclasses", "inspect", "numpy", "msgspec", "json", "pathlib"} & set(loaded)


def _path() -> dict[str, str]:
    import os

    import knowbound

    return {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(knowbound.__file__))}
