"""The specific words of a text, and how rare they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.text.specific_words import MOST_CHARACTERS, all_terms, places, readable, usual_weight


def terms(text: str) -> list[tuple[str, ...]]:
    return [of_place for _, of_place in places(readable(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Why does fetchInvoice fail?", [("fetchinvoice", "fetch", "invoic"), ("fail",)]),
        ("the user_id in GUNI_BIND=8004", [("user_id", "user", "id"), ("guni_bind", "gun", "bind"), ("8004",)]),
        ("retrying, retried, retries", [("retr",)]),
        ("a résumé and a resume", [("resum",)]),
        ("ops/nginx.conf:12", [("ops/nginx.conf", "nginx.conf", "ops/", "ops", "nginx", "conf"), ("12",)]),
        ("数据库的连接", [("数据",), ("据库",), ("连接",)]),
        ("把pgbouncer重启", [("pgbouncer",), ("重启",)]),
        ("포트 번호", [("포트",), ("번호",)]),
        ("ポートは", [("ポー",), ("ート",)]),
        ("what is the of", []),
        ("🎉 … —", []),
    ],
)  # fmt: skip
def test_words_names_and_pairs_of_ideographs(text: str, expected: list[tuple[str, ...]]) -> None:
    assert terms(text) == expected


def test_a_place_is_where_its_word_begins() -> None:
    text = "bind to port 8004"
    assert [text[start:].split(maxsplit=1)[0] for start, _ in places(text)] == ["bind", "port", "8004"]


def test_a_line_that_is_repeated_says_nothing_new() -> None:
    assert len(terms("connection refused by worker\n" * 500)) == len(terms("connection refused by worker"))


def test_every_part_of_a_long_item_has_terms_and_a_long_query_has_its_ends() -> None:
    text = "alpha " + "filler " * MOST_CHARACTERS + "omega"
    in_the_middle = text[: len(text) // 2] + " pgbouncer " + text[len(text) // 2 :]
    assert {"alpha", "pgbouncer", "omega"} <= all_terms(in_the_middle).keys()
    assert {("alpha",), ("omega",)} <= set(terms(in_the_middle))


def test_what_is_rare_in_text_about_software_says_more() -> None:
    run, port, pool = (usual_weight(term) for term in ("run", "port", "pgbouncer"))
    assert 0 < run < port < pool == 1


@given(st.text(max_size=300))
def test_any_text_has_terms_without_spaces_or_quotes(text: str) -> None:
    for term in all_terms(text):
        assert term
        assert not set(term) & set(" \n\t\"'")
