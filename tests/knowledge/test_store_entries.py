"""Entries of memory stores: how each form is read, and which of them are junk by rules and by a model."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from knowbound.core.statement import JunkEntry, JunkKind
from knowbound.errors import InputError
from knowbound.knowledge.junk import JunkAnswer, JunkAnswers, StoreEntry, junk_of, read_store
from tests.knowledge.scripts import Script
from tests.knowledge.trees import Tree

A = StoreEntry("a", "The cart is small and green", "2026-01-01")
B = StoreEntry("b", "The retry limit is five per hour", "2026-02-01")
C = StoreEntry("c", "Lunch is at noon on Fridays", "2026-03-01")


def judged(entries: list[StoreEntry], *answers: JunkAnswer) -> tuple[list[JunkEntry], Script]:
    script = Script(JunkAnswers(list(answers)), *[None] * 9)
    return junk_of(entries, Tree({}), script), script


def test_an_answer_names_every_entry_once_and_others_that_were_shown() -> None:
    cases: list[tuple[list[JunkAnswer], str]] = [
        ([JunkAnswer(1, "keep"), JunkAnswer(2, "keep"), JunkAnswer(3, "keep")], ""),
        ([JunkAnswer(1, "keep"), JunkAnswer(2, "keep")], "not every entry has one answer"),
        ([JunkAnswer(1, "keep"), JunkAnswer(2, "keep"), JunkAnswer(4, "keep")], "not every entry has one answer"),
        ([JunkAnswer(1, "odd"), JunkAnswer(2, "keep"), JunkAnswer(3, "keep")], "'odd' is no kind"),
        ([JunkAnswer(1, "off_topic"), JunkAnswer(2, "keep"), JunkAnswer(3, "off_topic")], ""),
        ([JunkAnswer(1, "near_copy", 2), JunkAnswer(2, "keep"), JunkAnswer(3, "keep")], ""),
        ([JunkAnswer(2, "near_copy", 3), JunkAnswer(1, "keep"), JunkAnswer(3, "keep")], ""),
        ([JunkAnswer(2, "near_copy", 1), JunkAnswer(1, "keep"), JunkAnswer(3, "keep")], ""),
        (
            [JunkAnswer(1, "near_copy"), JunkAnswer(2, "keep"), JunkAnswer(3, "keep")],
            "entry 1 names no other entry that was shown",
        ),
        (
            [JunkAnswer(1, "duplicate", 4), JunkAnswer(2, "keep"), JunkAnswer(3, "keep")],
            "entry 1 names no other entry that was shown",
        ),
        (
            [JunkAnswer(1, "disproved", 1), JunkAnswer(2, "keep"), JunkAnswer(3, "keep")],
            "entry 1 names no other entry that was shown",
        ),
        ([JunkAnswer(1, "disproved", 3), JunkAnswer(2, "keep"), JunkAnswer(3, "keep")], ""),
        (
            [JunkAnswer(1, "keep"), JunkAnswer(2, "keep"), JunkAnswer(3, "disproved", 1)],
            "entry 3 is disproved by an earlier one",
        ),
        ([JunkAnswer(1, "keep"), JunkAnswer(2, "keep"), JunkAnswer(3, "near_copy", 1)], ""),
    ]
    for answers, problem in cases:
        _, script = judged([A, B, C], *answers)
        assert script.problems[0] == problem


def test_an_entry_is_disproved_by_one_of_the_same_time_too() -> None:
    same = StoreEntry("d", "The cart is large and red", A.created)
    _, script = judged([A, same], JunkAnswer(1, "disproved", 2), JunkAnswer(2, "keep"))
    assert script.problems[0] == ""


def test_junk_of_a_model_has_its_reason_and_the_other_entry_in_the_order_of_the_store() -> None:
    found, script = judged(
        [A, B, C],
        JunkAnswer(3, "off_topic", reason="no code"),
        JunkAnswer(1, "near_copy", 2, "says it"),
        JunkAnswer(2, "keep"),
    )
    assert [(junk.id, junk.kind, junk.why, junk.of, junk.by) for junk in found] == [
        ("a", JunkKind.NEAR_COPY, "says it", "b", "m"),
        ("c", JunkKind.OFF_TOPIC, "no code", "", "m"),
    ]
    assert script.materials[0]["entries"].split("\n")[0] == (
        '{"number":1,"created":"2026-01-01","text":"The cart is small and green"}'
    )
    assert script.materials[0]["others"] == ""


def test_twelve_entries_are_one_question_and_each_sees_its_nearest_from_the_others() -> None:
    entries = [StoreEntry(f"{number:02}", f"Entry about number {number} and nothing else") for number in range(13)]
    script = Script(None, None, *[None] * 9)
    assert junk_of(entries, Tree({}), script) == []
    first, second = script.materials[:2]
    assert [first["entries"].count("\n") + 1, second["entries"].count("\n") + 1] == [12, 1]
    assert first["others"].count('"number":13') <= 1
    assert second["entries"].startswith('{"number":1,')
    assert [row.partition(",")[0] for row in second["others"].split("\n")] == [f'{{"number":{n}' for n in (2, 3, 4, 5)]


def test_the_same_words_in_any_order_are_a_duplicate_of_the_earliest() -> None:
    entries = [
        StoreEntry("late", "Green: the cart, (small).", "2026-03"),
        StoreEntry("early", "the small cart - green", "2026-01"),
        StoreEntry("other", "the small cart", "2026-02"),
    ]
    assert [(junk.id, junk.kind, junk.of, junk.why, junk.tokens, junk.by) for junk in junk_of(entries, Tree({}))] == [
        ("late", JunkKind.DUPLICATE, "early", "the same words as an earlier entry", 8, "rules")
    ]


def test_what_the_tree_contradicts_is_junk_and_not_asked_about() -> None:
    wrong = StoreEntry("w", "Carts are in `src/none.ts`")
    tree, script = Tree({"src/cart.ts": ""}), Script(JunkAnswers([JunkAnswer(1, "keep")]), *[None] * 3)
    found = junk_of([wrong, A], tree, script)
    assert [(junk.id, junk.kind, junk.why) for junk in found] == [
        ("w", JunkKind.CONTRADICTED, "src/none.ts is not there")
    ]
    assert "none.ts" not in script.materials[0]["entries"]
    assert "none.ts" in script.materials[0]["others"]


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        (
            "# Title\n\n- one\n- two\n\nThree\nlines.\n",
            [("a.md:3", "- one"), ("a.md:4", "- two"), ("a.md:6", "Three\nlines.")],
        ),
        ("one\n\none\n", [("a.md:1", "one"), ("a.md:3", "one")]),
        ("# Title\nwith text\n\n---\n\n\n  end\n", [("a.md:1", "# Title\nwith text"), ("a.md:7", "end")]),
        ("#\n\n* a\n+ b", [("a.md:3", "* a"), ("a.md:4", "+ b")]),
    ],
)
def test_notes_are_paragraphs_and_bullets_with_their_lines(
    tmp_path: Path, text: str, entries: list[tuple[str, str]]
) -> None:
    (tmp_path / "a.md").write_text(text, "utf-8")
    assert [(entry.id, entry.content) for entry in read_store(str(tmp_path), tmp_path)] == entries


def test_an_export_is_a_list_an_object_or_lines(tmp_path: Path) -> None:
    cases: list[tuple[str, list[tuple[str, ...]]]] = [
        ('[{"id": 1, "content": "x"}]', [("1", "x", "")]),
        ('[{"content": "x"}, {"memory": "y", "updated_at": "t"}]', [("1", "x", ""), ("2", "y", "t")]),
        ('{"results": [{"text": "x", "created_at": "c", "updated_at": "u"}]}', [("1", "x", "c")]),
        ('{"memories": [{"content": "", "data": "x"}]}', [("1", "x", "")]),
        ('{"content": "x"}\n\n{"content": "y"}\n', [("1", "x", ""), ("2", "y", "")]),
        ('[1, {"content": "x"}]', [("2", "x", "")]),
        ('[{"content": " "}, {"content": "x"}]', [("2", "x", "")]),
    ]
    for raw, entries in cases:
        (tmp_path / "x.json").write_text(raw, "utf-8")
        found = read_store(str(tmp_path / "x.json"), tmp_path)
        assert [(entry.id, entry.content, entry.created) for entry in found] == entries


@pytest.mark.parametrize(
    ("columns", "rows", "entries"),
    [
        (
            "id, project, title, narrative, created_at",
            [(1, "shop", "T", "N", "c"), (2, "else", "X", "", "")],
            [("1", "T\nN", "c")],
        ),
        ("id, project, title", [(2, "else", "X"), (1, "else", "Y")], [("1", "Y", ""), ("2", "X", "")]),
        ("id, text, facts", [(1, "", '["a", 2]'), (2, "[no", "")], [("1", "a\n2", ""), ("2", "[no", "")]),
    ],
)
def test_observations_of_the_project_are_read_and_of_every_project_without_any(
    tmp_path: Path, columns: str, rows: list[tuple[object, ...]], entries: list[tuple[str, ...]]
) -> None:
    with sqlite3.connect(tmp_path / "mem.db") as db:
        db.execute(f"CREATE TABLE observations ({columns})")
        db.executemany(f"INSERT INTO observations VALUES ({', '.join('?' * len(rows[0]))})", rows)
    found = read_store(str(tmp_path / "mem.db"), tmp_path / "shop")
    assert [(entry.id, entry.content, entry.created) for entry in found] == entries


@pytest.mark.parametrize("columns", ["title", "id, other"])
def test_a_table_without_ids_or_texts_is_a_clear_error(tmp_path: Path, columns: str) -> None:
    with sqlite3.connect(tmp_path / "mem.db") as db:
        db.execute(f"CREATE TABLE observations ({columns})")
    with pytest.raises(InputError, match="no table of observations"):
        read_store(str(tmp_path / "mem.db"), tmp_path)
