"""What means the same: the table is that of its lines, and its terms are found in texts."""

from __future__ import annotations

import pytest
from bench.make_thesaurus import SHIPPED, made

from knowbound.text import thesaurus
from knowbound.text.thesaurus import links_of, terms_in, words_of_term


def linked(one: str, other: str) -> bool:
    others = {to for term in terms_in(one) for to, _ in links_of(term)}
    return bool(others & terms_in(other).keys())


def test_the_table_is_made_of_the_lines_beside_it() -> None:
    assert SHIPPED.read_text("utf-8") == made(), "run: python -m bench.make_thesaurus, and raise thesaurus.VERSION"


def test_a_link_goes_both_ways() -> None:
    table = thesaurus._table()
    for number in range(0, len(table.terms), 50):
        for other, worth in links_of(number):
            assert (number, worth) in links_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("we ship on Fridays", "a release is rolled out on Friday"),
        ("shipped yesterday", "deployments"),
        ("the jobs of celery", "background job"),
        ("什么时候部署", "deploy"),
    ],
)
def test_terms_are_found_in_any_form(one: str, other: str) -> None:
    assert linked(one, other)
    assert not linked(one, "three eggs and a cup of sugar")


def test_a_phrase_is_found_whole_or_not_at_all() -> None:
    found = {" ".join(words_of_term(number)) for number in terms_in("roll it out")}
    assert "rol out" not in found
    assert "rol out" in {" ".join(words_of_term(number)) for number in terms_in("roll out")}
