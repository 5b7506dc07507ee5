from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from knowbound.store.data_dir import data_folder, main_work_tree, project_root, work_tree


@pytest.fixture(autouse=True)
def _no_given_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KNOWBOUND_HOME", raising=False)


def git(folder: Path, *words: str) -> None:
    name = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a data folder, a subfolder, and a linked work tree beside it."""
    root = tmp_path / "repository"
    (root / "sub" / "deep").mkdir(parents=True)
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    (root / ".knowbound").mkdir()
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    (tmp_path / "linked" / "sub").mkdir()
    return root


def test_a_subfolder_has_the_data_of_its_project(repository: Path) -> None:
    for folder in (repository, repository / "sub", repository / "sub" / "deep"):
        assert data_folder(str(folder)) == (str(repository), str(repository / ".knowbound"))
        assert project_root(str(folder)) == str(repository)


def test_the_nearest_data_folder_counts(repository: Path) -> None:
    (repository / "sub" / ".knowbound").mkdir()
    assert project_root(str(repository / "sub" / "deep")) == str(repository / "sub")


def test_a_linked_work_tree_has_the_data_of_the_main_one(repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    assert data_folder(str(linked / "sub")) == (str(repository), str(repository / ".knowbound"))
    (linked / ".knowbound").mkdir()
    assert data_folder(str(linked / "sub")) == (str(linked), str(linked / ".knowbound"))


def test_a_linked_work_tree_of_a_bare_repository_has_no_main_one(repository: Path, tmp_path: Path) -> None:
    bare, linked = tmp_path / "bare.git", tmp_path / "of-bare"
    git(repository, "clone", "-q", "--bare", str(repository), str(bare))
    git(bare, "worktree", "add", "-q", str(linked), "-b", "other")
    assert main_work_tree(str(linked)) == str(bare)
    assert data_folder(str(linked)) == (str(linked), "")
    assert project_root(str(linked)) == str(linked)


def test_a_submodule_is_inside_the_project_around_it(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "submodule", "add", "-q", str(other), "module")
    assert main_work_tree(str(repository / "module")) == ""
    assert work_tree(str(repository / "module")) == str(repository / "module")
    assert data_folder(str(repository / "module"))[0] == str(repository)


@pytest.mark.parametrize("content", ["", "gitdir:", "gitdir: \0", "x" * 9000, "gitdir: {repository}/.git"])
def test_a_file_that_only_claims_to_be_linked_leads_nowhere(repository: Path, tmp_path: Path, content: str) -> None:
    """An archive may bring one: the items of another project must not come into an agent's context there."""
    claimed = tmp_path / "claimed"
    claimed.mkdir()
    (claimed / ".git").write_text(content.format(repository=repository))
    assert data_folder(str(claimed)) == (str(claimed), "")


def test_a_claim_that_the_repository_does_not_confirm_leads_nowhere(repository: Path, tmp_path: Path) -> None:
    claimed = tmp_path / "claimed"
    claimed.mkdir()
    [entry] = os.listdir(repository / ".git" / "worktrees")
    (claimed / ".git").write_text(f"gitdir: {repository}/.git/worktrees/{entry}\n")
    assert main_work_tree(str(claimed)) == ""
    assert data_folder(str(claimed))[1] == ""


def test_without_git_and_data_a_folder_is_its_own_project(tmp_path: Path) -> None:
    assert work_tree(str(tmp_path)) == ""
    assert project_root(str(tmp_path)) == str(tmp_path)
