"""Where rules are silent about a miss, a model names places of the tree, and the tree verifies them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from knowbound.codebase.kept_index import KeptTree
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, ModelQuestion
from knowbound.judge.names import JudgeOptions
from knowbound.lessons.rescue.asking import as_event, indexed, rescues_by_model
from knowbound.lessons.rescue.rescue import rescue
from knowbound.lessons.rescue.words import Rescue
from tests.transcripts import Transcript


class Model:
    """Answers with these places, and keeps the questions."""

    def __init__(self, *places: dict[str, Any]) -> None:
        self.places, self.asked = places, list[ModelQuestion]()

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        self.asked.append(question)
        return Completion(json.dumps({"places": list(self.places)}), 0, 0, 0.0)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[KeptTree]:
    root = tmp_path / "shop"
    for name, text in {"src/billing/ledger.py": "def post_refund():\n    pass\n", "src/cart.py": "x = 1\n"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
        os.utime(folder, (1_700_000_000, 1_700_000_000))  # a folder that just changed may change again unnoticed
    with indexed(root, tmp_path / "home") as found:
        yield found


def said(tree: KeptTree, model: Model, **event: Any) -> Rescue:
    given = as_event("refundBooking", "", "", tree.root) | event
    (one,) = rescues_by_model([given], tree, Asker("m", model, JudgeOptions(retries=0)))
    return one


def test_a_place_of_the_tree_is_suggested_with_its_line(tree: KeptTree) -> None:
    one = said(tree, Model({"path": "src/billing/ledger.py", "line": 1, "why": "posts refunds"}))
    assert (one.status, one.rule) == ("found", "model")
    assert [(place.path, place.line) for place in one.suggestions] == [("src/billing/ledger.py", 1)]
    assert one.text == "`refundBooking` is not there; a model takes `src/billing/ledger.py:1` to be meant."


def test_a_place_that_the_tree_does_not_have_is_not_suggested(tree: KeptTree) -> None:
    wrong = ({"path": "src/refunds.py"}, {"path": "../secret"}, {"path": "/etc/passwd"})
    assert said(tree, Model(*wrong)).status == "silent"
    beyond = said(tree, Model({"path": "src/cart.py", "line": 400}))
    assert [(place.path, place.line) for place in beyond.suggestions] == [("src/cart.py", None)]


def test_a_folder_of_the_tree_is_a_place_without_a_line(tree: KeptTree) -> None:
    one = said(tree, Model({"path": "src/billing/", "line": 1}, {"path": ""}, {"path": "."}))
    assert [(place.path, place.line) for place in one.suggestions] == [("src/billing", None)]


def test_a_model_is_asked_about_a_name_that_is_nowhere_and_not_about_a_place_that_rules_know(tree: KeptTree) -> None:
    nowhere = rescue(as_event("refundBooking", "", "", tree.root), tree)
    assert (nowhere.status, nowhere.is_open) == ("absent", True)
    assert not rescue(as_event("", "lib/ledger.py", "", tree.root), tree).is_open


def test_the_model_sees_the_miss_names_of_the_tree_and_what_was_done_before(tree: KeptTree, tmp_path: Path) -> None:
    transcript = Transcript().user("Book the refund").says("I'll look for it.").grep("refundBooking", id_="a")
    model = Model()
    said(tree, model, transcript_path=str(transcript.write(tmp_path / "t.jsonl")), tool_use_id="a")
    inputs = model.asked[0].inputs
    assert "pattern refundBooking" in inputs["miss"]
    assert inputs["before"] == "user: Book the refund\nagent: I'll look for it."
    assert "src/billing/ledger.py: post_refund (line 1)" in inputs["tree"]


def test_nothing_is_asked_about_a_call_that_found_something_or_only_checked(tree: KeptTree) -> None:
    model = Model()
    found = {"mode": "files_with_matches", "filenames": ["src/cart.py"], "numFiles": 1}
    assert said(tree, model, tool_response=found).status == "silent"
    assert model.asked == []
