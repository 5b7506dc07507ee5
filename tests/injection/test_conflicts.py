from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from bench.conflicts import PARTS, conflicting, pairs
from hypothesis import given
from hypothesis import strategies as st

from knowbound.injection.bundle import compose
from knowbound.injection.conflict_rules import conflicting as by_the_rules
from knowbound.injection.conflict_statements import statement
from knowbound.injection.conflicts import sentences
from knowbound.kms.search.ranking import FoundItem
from tests.hook_project import Project

OLD, NEW = "The orders service listens on port 8080.", "The orders service listens on port 9090."
NO_CONFLICT = [pair for part in PARTS for pair in pairs(part) if not pair["conflict"]]
PROMISED = [pair for part in PARTS for pair in pairs(part) if "kind" in pair]  # what the rules are for
MISSED = (
    "Bob owns",  # a name is no value
    "The changelog is in",  # one word beside the path is not enough
    "We switched from Yarn",  # one word in common
    "Use pnpm, not npm",  # "not" before a word that is no code or path
)


def item(id_: str, content: str, date: str = "", flag: str = "", *, stale: bool = False) -> FoundItem:
    return FoundItem(id_, "sqlite", id_, flag=flag, stale=stale, content=content, timestamp=date)


def text_of(*items: FoundItem) -> str:
    return compose(items, budget=5_000).text


def test_items_that_agree_or_speak_of_different_things_do_not_conflict() -> None:
    assert [pair for pair in NO_CONFLICT if conflicting(pair["a"], pair["b"])] == []


def test_another_value_in_the_same_sentence_a_retired_name_and_an_opposite_conflict() -> None:
    missed = [pair["b"] for pair in PROMISED if not conflicting(pair["a"], pair["b"])]
    assert missed == [pair["b"] for pair in PROMISED if pair["b"].startswith(MISSED)]


def test_the_first_look_misses_nothing_that_the_rules_find() -> None:
    for pair in (pair for part in PARTS for pair in pairs(part)):
        found = by_the_rules(sentences(pair["a"]), sentences(pair["b"]))
        assert conflicting(pair["a"], pair["b"]) == found, pair


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The public API returns JSON.", "The internal API returns JSON."),
        ("S3 keeps the daily backups of orders.", "S3 keeps the weekly backups of orders."),
        ("On Monday the release train leaves.", "On Friday the release train leaves."),
        ("Deploys of the API are automatic.", "Deploys of the API docs are manual."),
        ("The `old_sync` job in Kubernetes was removed.", "Every job runs in Kubernetes."),
        ("The flag is enabled for guests.", "The flag is not enabled for guests until May."),
        ("The temp table was deleted after the import of orders.", "The import of orders fills the temp table."),
        ("Tests need Docker.", "Unit tests do not need Docker."),
    ],
)
def test_two_things_of_which_both_hold_do_not_conflict(a: str, b: str) -> None:
    assert not conflicting(a, b)


@pytest.mark.parametrize("denial", ["do not", "don't", "don’t", "no longer", "never"])
def test_a_negation_in_the_same_sentence_conflicts(denial: str) -> None:
    assert conflicting("Refunds need an approval.", f"Refunds {denial} need an approval.")


@given(st.sampled_from([pair for part in PARTS for pair in pairs(part)]))
def test_the_order_of_two_items_does_not_matter(pair: dict[str, str]) -> None:
    assert conflicting(pair["a"], pair["b"]) == conflicting(pair["b"], pair["a"])


@given(st.text(max_size=400), st.text(max_size=400))
def test_no_text_breaks_the_rules(a: str, b: str) -> None:
    assert conflicting(a, b) == conflicting(b, a)
    assert not conflicting(a, a)


@pytest.mark.parametrize("sign", ["不(", "not, ", "no longer: ", "a, "])
def test_the_work_on_one_sentence_is_bounded(sign: str) -> None:
    read = statement(f"The service is {sign * 1_000}")
    assert len(list(read.clauses())) <= 12
    assert len(read.tokens) <= 60


@pytest.mark.parametrize("label", ["Fact number {}.", "Work on shard {} is done.", "The worker in zone {} is idle."])
def test_a_number_that_is_a_name_is_no_value(label: str) -> None:
    assert not conflicting(label.format(1), label.format(2))


@pytest.mark.parametrize(
    ("a", "b"), [("库支持 Python 3.10。", "库支持 Python 3.12。"), ("服务依赖 libs/a。", "服务依赖 libs/b。")]
)
def test_what_may_have_several_values_is_known_in_chinese(a: str, b: str) -> None:
    assert not conflicting(a, b)


def test_the_newer_comes_first_and_the_conflict_is_named() -> None:
    text = text_of(item("k-1", OLD, "2026-01-05T08:00:00Z"), item("k-2", NEW, "2026-11-02T08:00:00Z"))
    assert text.index("[k-2] (") < text.index("[k-1] (")
    assert "Conflict: [k-2] and [k-1] contradict each other; [k-2] is newer." in text


def test_one_that_is_not_confirmed_comes_after_one_that_is_whatever_its_date() -> None:
    sure, doubtful = item("k-2", OLD, "2026-01-05"), item("k-1", NEW, "2026-11-02", "UNVERIFIED")
    assert "Conflict: [k-2] and [k-1] contradict each other; [k-1] is UNVERIFIED." in text_of(sure, doubtful)
    assert text_of(sure, doubtful).index("[k-2] (") < text_of(sure, doubtful).index("[k-1] (")
    stale = item("k-1", NEW, "2026-11-02", stale=True)
    assert "[k-1] is STALE." in text_of(sure, stale)


def test_where_no_date_is_known_it_is_said_that_neither_is_known_to_hold() -> None:
    text = text_of(item("k-1", OLD), item("k-2", NEW))
    assert "Conflict: [k-1] and [k-2] contradict each other; which of them holds is not known." in text


def test_a_conflict_with_an_item_that_found_no_room_is_not_named() -> None:
    long = NEW + " word" * 300
    text = compose([item("k-1", OLD), item("k-2", long)], budget=110).text
    assert "[k-2]" not in text


def test_the_same_items_are_the_same_text_in_any_order() -> None:
    items = [item("k-1", OLD, "2026-01-05"), item("k-2", NEW, "2026-11-02"), item("k-3", "Retries stop after 3.")]
    assert text_of(*items) == text_of(*reversed(items))
    assert not re.search(r"^\[", text_of(*items).partition("Conflict:")[2], re.M)  # nothing else begins like an item


def test_the_rules_are_loaded_only_where_two_items_are_alike() -> None:
    code = (
        "import sys; from knowbound.injection.conflicts import conflicts_among as among\n"
        "from knowbound.kms.search.ranking import FoundItem as F\n"
        "items = [F('a', '', 'a', content='Retries stop after 3.'), F('b', '', 'b', content='The port is 8080.')]\n"
        "assert among(items) == []; print('knowbound.injection.conflict_rules' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_prompt_that_two_contradicting_items_fit_gets_both_with_the_conflict_named(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    project = Project(root)
    [old] = project.store(OLD, timestamp="2026-01-05T08:00:00Z")
    [new] = project.store(NEW, timestamp="2026-11-02T08:00:00Z")
    text = project.ask()
    assert f"Conflict: [{new}] and [{old}] contradict each other; [{new}] is newer." in text
    [record] = project.records()
    assert {one.item for one in record.items} == {old, new}
