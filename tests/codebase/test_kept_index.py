from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from knowbound.codebase.definitions import definitions_in
from knowbound.codebase.kept_index import STALE_SECONDS, KeptTree, open_tree
from knowbound.codebase.kept_index_update import Updated, open_index, update_index


class Project:
    """A source tree and a data folder."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "tree", folder / "home"
        self.root.mkdir()
        self.home.mkdir()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def update(self) -> Updated:
        with closing(open_index(self.home)) as database:
            return update_index(database, self.root)

    def tree(self) -> KeptTree:
        found = open_tree(str(self.home), str(self.root), work_seconds=60)
        assert found is not None
        return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        (
            "a.py",
            "class Cart:\n    size: int\n    def run(self): ...\nLIMIT = 3\nif x == 1:\n    pass\n",
            "Cart run LIMIT size",
        ),
        (
            "a.ts",
            "export interface Job {\n  state?: string;\n}\nconst go = () => 1;\n  await stop();\n",
            "Job state go",
        ),
        ("a.rs", "pub struct Vault {\n    pub key: u8,\n}\npub async fn open_it() {}\n", "Vault key open_it"),
        ("a.go", "func (s *Server) Listen() error {\ntype Server struct {\n", "Listen Server"),
        ("A.java", "public class Cart {\n    public int total() {\n", "Cart total"),
        ("a.c", "static int count_rows(int n)\n{\n#define MOST 3\n", "count_rows MOST"),
        ("run.sh", "deploy() {\nexport TARGET=x\n", "deploy TARGET"),
        (".env.example", "IPFS_PROVIDER=local\n", "IPFS_PROVIDER"),
        ("ci.yml", "jobs:\n  build: x\n", "jobs build"),
        ("a.sql", "CREATE TABLE IF NOT EXISTS device_approvals (id int);\n", "device_approvals"),
        ("notes.txt", "class Nothing:\n", ""),
    ],
)
def test_lines_that_define_names(path: str, text: str, names: str) -> None:
    assert {one.name for one in definitions_in(text, path)} == set(names.split())


def test_definitions_have_their_lines_also_where_a_file_ends_its_lines_with_carriage_returns() -> None:
    found = definitions_in("\r\n\r\nclass Cart:\r\n    pass\r\n", "a.py")
    assert [(one.name, one.line, one.kind) for one in found] == [("Cart", 3, "type")]


def test_only_what_changed_is_read_again(project: Project) -> None:
    project.write("src/cart.py", "class Cart:\n    pass\n")
    project.write("src/orders.py", "class Order:\n    pass\n")
    assert project.update().read == 2
    assert project.update().read == 0
    project.write("src/cart.py", "\n\nclass Basket:\n    pass\n")
    (project.root / "src" / "orders.py").unlink()
    assert project.update()[:2] == (1, 1)
    tree = project.tree()
    assert tree.paths == ["src/cart.py"]
    assert [(one.path, one.line) for one in tree.defined(["basket"])] == [("src/cart.py", 3)]
    assert tree.defined(["cart", "order"]) == []


def test_files_are_found_by_parts_of_their_words_in_any_case(project: Project) -> None:
    project.write("a.py", "handleDeleteEvaluation(metadata)\n")
    project.write("b.py", "handle = 1\n")
    project.update()
    tree = project.tree()
    assert tree.files_with([["deleteeval"]]) == ["a.py"]
    assert tree.files_with([["handle", "metadata"], ["nowhere"]]) == ["a.py"]
    assert tree.files_with([["handle"]]) == ["a.py", "b.py"]
    assert tree.files_with([["nowhere"]]) == []


def test_two_trees_of_one_data_folder_are_kept_apart(project: Project, tmp_path: Path) -> None:
    project.write("a.py", "class Cart:\n    pass\n")
    project.update()
    other = tmp_path / "worktree"
    other.mkdir()
    (other / "b.py").write_text("class Cart:\n    pass\n", "utf-8")
    with closing(open_index(project.home)) as database:
        update_index(database, other)
    assert [one.path for one in project.tree().defined(["cart"])] == ["a.py"]


def test_what_is_ignored_binary_or_a_place_for_secrets_is_not_read(project: Project) -> None:
    secret = "s3cr3tV4lu3Of9Th1ngs"
    project.write(".gitignore", "build\n")
    os.makedirs(project.root / ".git")
    project.write("build/out.py", "class Built:\n    pass\n")
    project.write(".env", f"API_PASSPHRASE=open-sesame-{secret}\n")
    project.write("config.py", f"TOKEN = '{secret}'\n")
    (project.root / "logo.png").write_bytes(b"\x89PNG\0class Image:\n")
    project.update()
    tree = project.tree()
    assert tree.paths == [".env", ".gitignore", "config.py", "logo.png"]
    assert tree.files_with([["sesame"], ["passphrase"]]) == []
    assert tree.defined(["image"]) == []
    data = b"".join(path.read_bytes() for path in project.home.glob("codebase.db*")).lower()
    assert secret.lower().encode() not in data
    assert b"sesame" not in data


def test_the_index_knows_when_a_file_came_or_went(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("src/a.py", "x = 1\n")
    for folder in (project.root, project.root / "src"):
        os.utime(folder, (1_000_000_000, 1_000_000_000))
    project.update()
    assert project.tree().has_same_names()
    project.write("src/b.py", "y = 1\n")
    assert not project.tree().has_same_names()


def test_an_index_that_nobody_looked_after_is_stale(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("a.py", "x = 1\n")
    project.update()
    assert not project.tree().is_stale
    later = time.time() + STALE_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert project.tree().is_stale


def test_an_index_that_another_made_or_that_is_damaged_is_not_read(project: Project) -> None:
    project.write("a.py", "x = 1\n")
    project.update()
    path = project.home / "codebase.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET value = 'somebody else'")
    assert open_tree(str(project.home), str(project.root), work_seconds=5) is None
    for ending in ("-wal", "-shm"):
        (project.home / f"codebase.db{ending}").unlink(missing_ok=True)
    path.write_bytes(b"no database " * 100)
    assert open_tree(str(project.home), str(project.root), work_seconds=5) is None
    assert open_tree(str(project.home / "nowhere"), str(project.root), work_seconds=5) is None


def test_a_link_out_of_the_tree_is_not_followed(project: Project, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("class Outside:\n    pass\n", "utf-8")
    project.write("a.py", "x = 1\n")
    project.update()
    (project.root / "a.py").unlink()
    (project.root / "a.py").symlink_to(tmp_path / "outside.py")
    project.update()
    tree = project.tree()
    assert tree.read("a.py") is None
    assert tree.defined(["outside"]) == []
