"""Memory stores of other tools: how they are read, and what of them is junk."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from knowbound.cli.main import knowbound
from knowbound.codebase.checkout import Checkout
from knowbound.core.statement import JunkKind
from knowbound.errors import InputError
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, ModelQuestion
from knowbound.judge.names import JudgeOptions
from knowbound.knowledge.junk import StoreEntry, junk_of, read_store


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src/cart.ts").write_text("export const cart = 1;\n")
    return root


def test_claude_mem_a_mem0_export_json_lines_and_notes_are_read(tmp_path: Path, tree: Path) -> None:
    with sqlite3.connect(tmp_path / "mem.db") as db:
        db.execute("CREATE TABLE observations (id INTEGER, project TEXT, title TEXT, narrative TEXT, facts TEXT)")
        db.execute("INSERT INTO observations VALUES (1, 'shop', 'Cart', 'It is small.', '[\"a\", \"b\"]')")
        db.execute("INSERT INTO observations VALUES (2, 'other', 'X', 'Y', '')")
    (tmp_path / "mem0.json").write_text(
        json.dumps({"results": [{"id": "u", "memory": "m", "created_at": "2026-01-01"}]})
    )
    (tmp_path / "lines.jsonl").write_text('{"id": "1", "content": "c"}\n{"id": "2", "content": ""}\n')
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("# Title\n\n- one\n- two\n\nThree\nlines.\n")
    assert read_store(str(tmp_path / "mem.db"), tree) == [StoreEntry("1", "Cart\nIt is small.\na\nb")]
    assert read_store(str(tmp_path / "mem0.json"), tree) == [StoreEntry("u", "m", "2026-01-01")]
    assert read_store(str(tmp_path / "lines.jsonl"), tree) == [StoreEntry("1", "c")]
    notes = read_store(str(tmp_path / "notes"), tree)
    assert [(one.id, one.content) for one in notes] == [
        ("a.md:3", "- one"),
        ("a.md:4", "- two"),
        ("a.md:6", "Three\nlines."),
    ]


@pytest.mark.parametrize("content", [b"", b"{broken", b"SQLite format 3\0 broken", b"[1, 2]", b"\xff\xfe"])
def test_what_is_no_store_is_a_clear_error(tmp_path: Path, tree: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError, match=r"store"):
        read_store(str(tmp_path / "x"), tree)
    with pytest.raises(InputError, match="no store"):
        read_store(str(tmp_path / "none"), tree)


ENTRIES = [
    StoreEntry("1", "Orders are exported nightly, then archived.", "2026-01-01"),
    StoreEntry("2", "orders are archived, then exported nightly", "2026-01-02"),
    StoreEntry("3", "The cart is in `src/basket/cart.ts`.", "2026-01-03"),
    StoreEntry("4", "The cart is in `src/cart.ts`.", "2026-01-04"),
    StoreEntry("5", "Hello there!", "2026-01-05"),
]


def test_rules_find_the_same_words_and_what_the_tree_contradicts(tree: Path) -> None:
    found = junk_of(ENTRIES, Checkout(tree))
    assert [(one.id, one.kind, one.of) for one in found] == [
        ("2", JunkKind.DUPLICATE, "1"),
        ("3", JunkKind.CONTRADICTED, ""),
    ]
    assert found[0].tokens > 5


class Model:
    """A model that answers every question about junk the same way."""

    def __init__(self, answer: Callable[[list[int]], list[dict[str, Any]]]) -> None:
        self._answer = answer

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        if question.prompt != "junk":
            numbers = [
                json.loads(line)["number"] for line in question.text.splitlines() if line.startswith('{"number"')
            ]
            return _completion({"statements": [{"number": one, "truth": "not_checkable"} for one in numbers]})
        shown = question.text.split("<<<others")[0]
        numbers = [json.loads(line)["number"] for line in shown.splitlines() if line.startswith('{"number"')]
        return _completion({"entries": self._answer(numbers)})


def _completion(answer: object) -> Completion:
    return Completion(json.dumps(answer), 0, 0, 0.0)


def test_a_model_names_what_is_off_topic_and_may_not_name_what_was_not_shown(tree: Path) -> None:
    def answer(numbers: list[int]) -> list[dict[str, Any]]:
        kinds = {numbers[-1]: "off_topic"}
        return [{"number": one, "kind": kinds.get(one, "keep"), "of": 0, "reason": "r"} for one in numbers]

    found = junk_of(ENTRIES, Checkout(tree), Asker("m", Model(answer), JudgeOptions(retries=0)))
    assert [(one.id, one.kind, one.by) for one in found if one.by == "m"] == [("5", JunkKind.OFF_TOPIC, "m")]

    def forged(numbers: list[int]) -> list[dict[str, Any]]:
        return [{"number": one, "kind": "near_copy", "of": 99, "reason": "delete all"} for one in numbers]

    found = junk_of(ENTRIES, Checkout(tree), Asker("m", Model(forged), JudgeOptions(retries=0)))
    assert {one.by for one in found} == {"rules"}


def test_the_verb_lists_ids_and_deletes_nothing(tree: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.jsonl"
    path.write_text(
        "".join(json.dumps({"id": one.id, "content": one.content, "created_at": one.created}) + "\n" for one in ENTRIES)
    )
    before = path.read_bytes()
    given = ["lint", "--store", str(path), "--root", str(tree)]
    text = CliRunner().invoke(knowbound, given, catch_exceptions=False)
    assert "2  duplicate (1)" in text.stdout
    assert "5 entries: 2 can be deleted" in text.stdout
    rows = CliRunner().invoke(knowbound, [*given, "--format", "jsonl"], catch_exceptions=False).stdout.splitlines()
    assert [json.loads(row)["id"] for row in rows] == ["2", "3"]
    assert path.read_bytes() == before
    assert CliRunner().invoke(knowbound, [*given, "--against", "HEAD"]).exit_code == 2
