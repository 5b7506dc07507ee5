"""Which folder is taken for the source tree that an agent works in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from knowbound.agent.hook.rescue import tree_of


@pytest.fixture(autouse=True)
def _no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KNOWBOUND_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "users" / "me"))


@pytest.mark.parametrize("folder", ["/", "HOME", "ABOVE"])
def test_the_machine_and_the_home_folder_are_nobodys_source_tree(folder: str, tmp_path: Path) -> None:
    folder = {"HOME": str(tmp_path / "users" / "me"), "ABOVE": str(tmp_path / "users")}.get(folder, folder)
    assert tree_of(folder, folder) == ""


def test_a_project_below_the_home_folder_is_one(tmp_path: Path) -> None:
    project = tmp_path / "users" / "me" / "shop"
    os.makedirs(project)
    assert tree_of(str(project), str(project)) == str(project)
