"""Versions of a knowledge base: copies of their own, at any commit, complete or not there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from knowbound.errors import InputError
from knowbound.evals.knowledge import DOCUMENTS, commit_of, files_of, folder_state, state_of
from knowbound.evals.versions import at_hand, isolated, other


def git(folder: Path, *arguments: str) -> str:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    given = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ("git", "-C", str(folder), *given, *arguments), check=True, capture_output=True, text=True, env=environ
    ).stdout


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A knowledge base below the top of a repository, with two commits."""
    top = tmp_path / "repository"
    root = top / "kb"
    (root / "docs").mkdir(parents=True)
    git(top, "init", "-q")
    (top / "outside.md").write_text("# Outside\n")
    (root / "docs" / "refunds.md").write_text("# Refunds\nold\n")
    (root / ".gitattributes").write_text("docs export-ignore\n")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "First words")
    (root / "docs" / "refunds.md").write_text("# Refunds\nnew\n")
    (root / "docs" / "ledger.md").write_text("# Ledger\n")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "The ledger is told")
    return root


def test_a_commit_is_laid_out_as_it_was(base: Path, tmp_path: Path) -> None:
    version = other(base, DOCUMENTS, "HEAD~1", tmp_path / "copies" / "other")
    assert (version.folder / "docs" / "refunds.md").read_text() == "# Refunds\nold\n"
    assert not (version.folder / "docs" / "ledger.md").exists()
    assert not (version.folder / "outside.md").exists()
    assert version.commit.subject == "First words"


def test_the_repository_is_left_as_it_was(base: Path, tmp_path: Path) -> None:
    before = (git(base, "status", "--porcelain"), git(base, "worktree", "list"), git(base, "stash", "list"))
    other(base, DOCUMENTS, "HEAD~1", tmp_path / "copies" / "other")
    assert (git(base, "status", "--porcelain"), git(base, "worktree", "list"), git(base, "stash", "list")) == before


def test_a_copy_has_what_is_not_committed_and_not_what_is_ignored(base: Path, tmp_path: Path) -> None:
    (base / "docs" / "draft.md").write_text("# Draft\n")
    (base / ".gitignore").write_text("build/\n")
    (base / "build").mkdir()
    (base / "build" / "made.md").write_text("# Made\n")
    version = isolated(base, DOCUMENTS, tmp_path / "copy")
    assert sorted(files_of(version.folder, DOCUMENTS)) == ["docs/draft.md", "docs/ledger.md", "docs/refunds.md"]


def test_what_an_agent_writes_in_a_copy_stays_there(base: Path, tmp_path: Path) -> None:
    version = isolated(base, DOCUMENTS, tmp_path / "copy")
    (version.folder / "docs" / "refunds.md").write_text("overwritten")
    assert (base / "docs" / "refunds.md").read_text() == "# Refunds\nnew\n"


def test_links_that_lead_out_are_left_behind(base: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n")
    (base / "docs" / "link.md").symlink_to(tmp_path / "secret.md")
    (base / "docs" / "inner.md").symlink_to(base / "docs" / "ledger.md")
    folder = isolated(base, DOCUMENTS, tmp_path / "copy").folder
    assert not (folder / "docs" / "link.md").exists()
    assert (folder / "docs" / "inner.md").read_text() == "# Ledger\n"
    assert not (folder / "docs" / "inner.md").is_symlink()


def test_a_folder_is_a_version_without_git(tmp_path: Path) -> None:
    old = tmp_path / "old"
    (old / "node_modules" / "x").mkdir(parents=True)
    (old / "a.md").write_text("# A\n")
    (old / "node_modules" / "x" / "readme.md").write_text("# X\n")
    version = other(tmp_path / "new", DOCUMENTS, str(old), tmp_path / "copy")
    assert files_of(version.folder, DOCUMENTS) == ["a.md"]
    assert version.commit.hash == ""


@pytest.mark.parametrize("name", ["no-such-ref", "-n", "HEAD~99"])
def test_a_version_that_is_not_there_is_an_error(base: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="neither a folder nor a git ref"):
        other(base, DOCUMENTS, name, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_copy_that_was_cut_off_is_made_again(base: Path, tmp_path: Path) -> None:
    cut = tmp_path / "copies" / "other.making"
    cut.mkdir(parents=True)
    (cut / "half.md").write_text("half")
    version = other(base, DOCUMENTS, "HEAD", tmp_path / "copies" / "other")
    assert not (version.folder / "half.md").exists()


def test_only_knowledge_makes_a_knowledge_base_dirty(base: Path) -> None:
    assert not commit_of(base, DOCUMENTS).dirty
    (base / "eval-samples.yaml").write_text("[]\n")
    assert not commit_of(base, DOCUMENTS).dirty
    (base / "docs" / "ledger.md").write_text("# Ledger\nchanged\n")
    assert commit_of(base, DOCUMENTS).dirty


def test_a_folder_of_a_version_lies_in_the_version(base: Path, tmp_path: Path) -> None:
    version = isolated(base, DOCUMENTS, tmp_path / "copy")
    assert version.inside((base / "docs").resolve()) == version.folder / "docs"
    assert version.inside(tmp_path) == tmp_path
    assert at_hand(base, DOCUMENTS).inside((base / "docs").resolve()) == base / "docs"


def test_the_state_of_a_folder_changes_with_any_file(base: Path, tmp_path: Path) -> None:
    states = [folder_state(base)]
    (base / "new.txt").write_text("one")
    states.append(folder_state(base))
    (base / "new.txt").write_text("two")
    states.append(folder_state(base))
    git(base, "add", "-A")
    git(base, "commit", "-qm", "More")
    states.append(folder_state(base))
    assert len(set(states)) == 4
    assert folder_state(base) == states[-1]


def test_the_state_of_knowledge_is_by_content(base: Path) -> None:
    before = state_of(base, files_of(base, DOCUMENTS))
    os.utime(base / "docs" / "ledger.md", (0, 0))
    assert state_of(base, files_of(base, DOCUMENTS)) == before


def test_the_test_set_is_no_knowledge(base: Path) -> None:
    hidden = base / "docs" / "ledger.md"
    assert files_of(base, DOCUMENTS, (hidden,)) == ["docs/refunds.md"]
