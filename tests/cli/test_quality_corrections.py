"""`knowbound quality corrections` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from knowbound.cli.main import knowbound
from knowbound.core.item import Item
from tests.quality.measured_project import MeasuredProject, logged, turn

PORT = Item("kport", "The API server listens on port 8080.")
RIGHT = "The API server listens on port 9090."


@pytest.fixture
def project(tmp_path: Path) -> MeasuredProject:
    made = MeasuredProject(tmp_path, [PORT])
    said = "The server listens on port 9090, not 8080."
    made.log([turn("2026-11-16", 1, [logged(PORT, "tc", correction=said)])])
    return made


def run(project: MeasuredProject, *words: str) -> Result:
    return CliRunner().invoke(knowbound, ["quality", "corrections", *words, "--root", str(project.root)])


def must(project: MeasuredProject, *words: str) -> str:
    done = run(project, *words)
    assert done.exit_code == 0, done.output
    return done.stdout


def listed(project: MeasuredProject) -> list[dict[str, object]]:
    document = json.loads(must(project, "--format", "json"))
    assert document["format"] == "knowbound.corrections/1"
    return list(document["suggestions"])


def served(project: MeasuredProject) -> list[str]:
    store = project.store()
    found = [one.item.content for one in store.index.all_items() if one.served]
    store.close()
    return found


def test_the_list_says_what_was_contradicted_what_would_replace_it_and_how_to_answer(project: MeasuredProject) -> None:
    text = " ".join(must(project).split())
    assert "1 suggested correction waiting for an answer" in text
    assert "The server listens on port 9090, not 8080." in text
    assert RIGHT in text
    assert "knowbound quality corrections accept kport" in text
    assert "knowbound quality corrections dismiss kport" in text
    (one,) = listed(project)
    assert (one["item"], one["draft"], one["missing"], one["contradictions"]) == ("kport", RIGHT, None, 1)


def test_an_empty_list_says_so(tmp_path: Path) -> None:
    assert "Nothing: no item that is served was contradicted" in must(MeasuredProject(tmp_path, [PORT]))


def test_accept_and_undo(project: MeasuredProject) -> None:
    assert RIGHT in must(project, "accept", "kport")
    assert (listed(project), served(project)) == ([], [RIGHT])
    must(project, "undo", "kport")
    assert ([one["item"] for one in listed(project)], served(project)) == (["kport"], [PORT.content])


def test_dismiss_and_undo(project: MeasuredProject) -> None:
    must(project, "dismiss", "kport", "--note", "only in staging")
    assert (listed(project), served(project)) == ([], [PORT.content])
    must(project, "undo", "kport")
    assert [one["item"] for one in listed(project)] == ["kport"]


def test_edit_accepts_what_is_saved_and_nothing_else(
    project: MeasuredProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    assert "nothing was changed" in must(project, "edit", "kport")
    assert served(project) == [PORT.content]
    monkeypatch.setenv("EDITOR", "sed -i -e s/9090/9191/")
    must(project, "edit", "kport")
    assert served(project) == [RIGHT.replace("9090", "9191")]


def test_an_unknown_id_is_an_error_with_a_next_step(project: MeasuredProject) -> None:
    done = run(project, "accept", "k-none")
    assert done.exit_code != 0
