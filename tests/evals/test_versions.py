"""Versions of a knowledge base: copies of their own, at any commit, complete or not there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from knowbound.errors import InputError
from knowbound.evals.knowledge import DOCUMENTS, commit_of, files_of, folder_state, state_of
from knowbound.evals.variants import Copies, Variant, Version, current_version
from knowbound.files import rg


def git(folder: Path, *arguments: str) -> str:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    given = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ("git", "-C", str(folder), *given, *arguments), check=True, capture_output=True, text=True, env=environ
    ).stdout


def this_version(copies: Copies, root: Path) -> Version:
    return copies.versions(root, (Variant(),), ())[-1]


def other_version(copies: Copies, root: Path, source: str) -> Version:
    return copies.versions(root, (Variant("a", source), Variant("b")), ())[0]


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


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copies:
    """Copies of a run, in a temporary folder of the test's own."""
    own = tmp_path / "temporary"
    own.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(own))
    return Copies(tmp_path / "home" / "evals" / "1", tmp_path / "home", DOCUMENTS)


def test_a_commit_is_laid_out_as_it_was(base: Path, copies: Copies) -> None:
    version = other_version(copies, base, "HEAD~1")
    assert (version.folder / "docs" / "refunds.md").read_text() == "# Refunds\nold\n"
    assert not (version.folder / "docs" / "ledger.md").exists()
    assert not (version.folder / "outside.md").exists()
    assert version.commit.subject == "First words"


def test_the_repository_is_left_as_it_was(base: Path, copies: Copies) -> None:
    before = (git(base, "status", "--porcelain"), git(base, "worktree", "list"), git(base, "stash", "list"))
    other_version(copies, base, "HEAD~1")
    assert (git(base, "status", "--porcelain"), git(base, "worktree", "list"), git(base, "stash", "list")) == before


def test_a_copy_has_all_knowledge_and_of_the_rest_what_git_would_track(base: Path, copies: Copies) -> None:
    (base / "docs" / "draft.md").write_text("# Draft\n")
    (base / ".gitignore").write_text("built/\n")
    (base / "built").mkdir()
    (base / "built" / "made.md").write_text("# Made\n")
    (base / "built" / "made.o").write_text("made")
    version = this_version(copies, base)
    assert files_of(version.folder, DOCUMENTS) == files_of(base, DOCUMENTS)
    assert "built/made.md" in files_of(version.folder, DOCUMENTS)
    assert not (version.folder / "built" / "made.o").exists()


def test_a_copy_has_the_files_of_submodules(base: Path, copies: Copies, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.mkdir()
    git(part, "init", "-q")
    (part / "inner.txt").write_text("inner")
    git(part, "add", "-A")
    git(part, "commit", "-qm", "Part")
    git(base, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")
    assert (this_version(copies, base).folder / "part" / "inner.txt").read_text() == "inner"


def test_what_git_does_not_keep_is_in_both_versions(base: Path, copies: Copies, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.mkdir()
    git(part, "init", "-q")
    (part / "inner.md").write_text("# Inner\n")
    git(part, "add", "-A")
    git(part, "commit", "-qm", "Part")
    git(base, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")
    (base / ".gitignore").write_text("local.md\n")
    (base / "local.md").write_text("# Local\n")
    git(base, "add", "-A")
    git(base, "commit", "-qm", "With a part")
    (base / "docs" / "new.md").write_text("# New\n")
    this, other = (
        files_of(one.folder, DOCUMENTS) for one in (this_version(copies, base), other_version(copies, base, "HEAD"))
    )
    assert sorted(set(this) - set(other)) == ["docs/new.md"]  # what is not committed yet is the change
    assert {"local.md", "part/inner.md"} <= set(other)


def test_a_copy_never_lies_in_the_knowledge_base(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(base))
    with pytest.raises(InputError, match="inside of it"):
        this_version(Copies(tmp_path / "home" / "evals" / "1", tmp_path / "home", DOCUMENTS), base)


def test_a_folder_that_git_ignores_is_copied_whole(base: Path, copies: Copies) -> None:
    (base / ".gitignore").write_text("built/\n")
    inner = base / "built" / "kb"
    inner.mkdir(parents=True)
    (inner / "code.py").write_text("x = 1\n")
    assert (this_version(copies, inner).folder / "code.py").exists()


def test_a_search_in_a_copy_finds_what_is_there(base: Path, copies: Copies) -> None:
    (base / ".gitignore").write_text("home/\n")
    found = rg(this_version(copies, base).folder, ["--files-with-matches", "Ledger"], 20)
    assert found.out.decode().split() == ["docs/ledger.md"]


def test_no_folder_above_a_copy_belongs_to_the_knowledge_base(base: Path, copies: Copies) -> None:
    for version in (this_version(copies, base), other_version(copies, base, "HEAD~1")):
        assert base.resolve() not in version.folder.resolve().parents
        assert not any((above / ".git").exists() for above in version.folder.resolve().parents)


def test_a_resumed_run_finds_its_copies_as_they_were(base: Path, copies: Copies) -> None:
    first = other_version(copies, base, "HEAD~1")
    git(base, "commit", "-q", "--allow-empty", "-m", "The ref moves on")
    assert other_version(copies, base, "HEAD~1") == first
    copies.drop()
    assert not first.folder.exists()


def test_our_own_data_is_not_copied(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home = base / "data"
    (home / "evals").mkdir(parents=True)
    (home / "evals" / "trace.json").write_text("the answers")
    assert not (this_version(Copies(home / "evals" / "1", home, DOCUMENTS), base).folder / "data").exists()


def test_a_temporary_folder_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"knowbound-{os.getuid()}").mkdir()
    (tmp_path / f"knowbound-{os.getuid()}").chmod(0o777)
    with pytest.raises(InputError, match="not ours alone"):
        this_version(Copies(tmp_path / "home" / "evals" / "1", tmp_path / "home", DOCUMENTS), tmp_path / "base")


def test_what_an_agent_writes_in_a_copy_stays_there(base: Path, copies: Copies) -> None:
    version = this_version(copies, base)
    (version.folder / "docs" / "refunds.md").write_text("overwritten")
    assert (base / "docs" / "refunds.md").read_text() == "# Refunds\nnew\n"


def test_links_that_lead_out_are_left_behind(base: Path, copies: Copies, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n")
    (base / "docs" / "link.md").symlink_to(tmp_path / "secret.md")
    (base / "docs" / "inner.md").symlink_to(base / "docs" / "ledger.md")
    assert "docs/link.md" not in files_of(base, DOCUMENTS)
    folder = this_version(copies, base).folder
    assert not (folder / "docs" / "link.md").exists()
    assert (folder / "docs" / "inner.md").read_text() == "# Ledger\n"
    assert not (folder / "docs" / "inner.md").is_symlink()


def test_a_folder_is_a_version_without_git(copies: Copies, tmp_path: Path) -> None:
    old = tmp_path / "old"
    (old / "node_modules" / "x").mkdir(parents=True)
    (old / "a.md").write_text("# A\n")
    (old / "node_modules" / "x" / "readme.md").write_text("# X\n")
    version = other_version(copies, tmp_path / "new", str(old))
    assert files_of(version.folder, DOCUMENTS) == ["a.md"]
    assert version.commit.hash == ""


@pytest.mark.parametrize("name", ["no-such-ref", "-n", "HEAD~99"])
def test_a_version_that_is_not_there_is_an_error(base: Path, copies: Copies, name: str) -> None:
    with pytest.raises(InputError, match="neither a file, a folder nor a commit"):
        other_version(copies, base, name)
    assert not copies.folder("other").exists()


def test_a_copy_that_was_cut_off_is_made_again(base: Path, copies: Copies) -> None:
    cut = copies.folder("other").with_name("base.making")
    cut.mkdir(parents=True)
    cut.parents[1].chmod(0o700)
    (cut / "half.md").write_text("half")
    version = other_version(copies, base, "HEAD")
    assert not (version.folder / "half.md").exists()


def test_only_knowledge_makes_a_knowledge_base_dirty(base: Path) -> None:
    assert not commit_of(base, DOCUMENTS).dirty
    (base / "eval-samples.yaml").write_text("[]\n")
    assert not commit_of(base, DOCUMENTS).dirty
    (base / "docs" / "ledger.md").write_text("# Ledger\nchanged\n")
    assert commit_of(base, DOCUMENTS).dirty


def test_a_folder_of_a_version_lies_in_the_version(base: Path, copies: Copies, tmp_path: Path) -> None:
    version = this_version(copies, base)
    assert version.inside((base / "docs").resolve()) == version.folder / "docs"
    assert version.inside(tmp_path) == tmp_path
    assert current_version(base, DOCUMENTS).inside((base / "docs").resolve()) == base / "docs"


def test_the_state_of_a_folder_changes_with_any_file(base: Path, tmp_path: Path) -> None:
    states = [folder_state(base, DOCUMENTS)]
    (base / "new.txt").write_text("one")
    states.append(folder_state(base, DOCUMENTS))
    (base / "new.txt").write_text("two")
    states.append(folder_state(base, DOCUMENTS))
    git(base, "add", "-A")
    git(base, "commit", "-qm", "More")
    states.append(folder_state(base, DOCUMENTS))
    assert len(set(states)) == 4
    assert folder_state(base, DOCUMENTS) == states[-1]


def test_the_state_of_knowledge_is_by_content(base: Path) -> None:
    before = state_of(base, files_of(base, DOCUMENTS))
    os.utime(base / "docs" / "ledger.md", (0, 0))
    assert state_of(base, files_of(base, DOCUMENTS)) == before


def test_the_test_set_is_no_knowledge(base: Path) -> None:
    hidden = base / "docs" / "ledger.md"
    assert files_of(base, DOCUMENTS, (hidden,)) == ["docs/refunds.md"]
