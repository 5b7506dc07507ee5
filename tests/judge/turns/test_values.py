"""The values of a text have one spelling each."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.judge.turns import ValueKind, values_of


def keys(text: str) -> set[tuple[ValueKind, str]]:
    return {(value.kind, value.key) for value in values_of(text)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 minutes", "300 s"),
        ("five minutes", "5 min"),
        ("24 h", "1 day"),
        ("十分钟", "10 minutes"),
        ("两天", "48 hours"),
        ("1,204 rows", "1204 rows"),
        ("2 GB", "2048 MB"),
        ("v1.4.2", "1.4.2"),
        ("Thursday", "周四"),
        ("80 %", "80%"),
        ("src/app/main.py", "./src/app/main.py"),
    ],
)
def test_one_value_in_two_spellings(one: str, other: str) -> None:
    assert keys(one) & keys(other)


@pytest.mark.parametrize(
    ("text", "kind", "key"),
    [
        ("listens on 8080", ValueKind.NUMBER, "8080"),
        ("pass --dry-run first", ValueKind.FLAG, "dry-run"),
        ("see deploy/prod.yml", ValueKind.PATH, "deploy/prod.yml"),
        ("call fetchInvoice() twice", ValueKind.NAME, "fetchinvoice"),
        ("MAX_ROWS is set", ValueKind.NAME, "max_rows"),
        ("at 04:30", ValueKind.TIME, "4:30"),
        ("on 2024-05-14", ValueKind.DATE, "2024-05-14"),
        ("超时 30 秒", ValueKind.DURATION, "30"),
    ],
)
def test_what_a_value_is(text: str, kind: ValueKind, key: str) -> None:
    assert (kind, key) in keys(text)


def test_plain_words_are_no_values() -> None:
    assert not values_of("the worker reads from the queue and writes to the table")


@given(st.text(max_size=400))
def test_values_are_pieces_of_the_text_in_their_order(text: str) -> None:
    found = values_of(text)
    assert all(0 <= value.start < value.end <= len(text) and value.key == value.key.lower() for value in found)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
