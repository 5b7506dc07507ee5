from __future__ import annotations

import pytest

from knowbound.core import knowledge_paths
from knowbound.core.knowledge_paths import (
    fnmatch_any,
    is_knowledge,
    is_loaded_by_client,
    is_machine_state,
    relative_to,
    split_by_reach,
)
from knowbound.core.paths import (
    extension,
    extensions_of,
    is_changelog,
    is_test,
    is_vendored,
    language_of,
    project_folder,
    project_name,
    source_rank,
    works_in,
)


def test_a_read_glob_reaches_the_files_of_its_own_folder_alone() -> None:
    files = ["docs/a.md", "docs/old/b.md", "README.md", "docs/c.txt"]
    reached = ["README.md", "docs/*.md"]
    assert split_by_reach(files, reached) == (["README.md", "docs/a.md"], ["docs/c.txt", "docs/old/b.md"])
    assert split_by_reach(["b", "a", "a"], []) == ([], ["a", "b"])


@pytest.mark.parametrize(
    ("path", "globs", "is_matched"),
    [
        ("docs/a.md", ("docs/*.md",), True),
        ("docs/a.md", ("x", "docs/*.md"), True),
        ("docs/old/a.md", ("docs/*.md",), False),
        ("docs/a.txt", ("docs/*.md",), False),
        ("docs/a.md", (), False),
    ],
)
def test_a_star_stays_within_its_folder(path: str, globs: tuple[str, ...], is_matched: bool) -> None:
    assert fnmatch_any(path, globs) is is_matched


@pytest.mark.parametrize(
    ("path", "ending"),
    [
        ("a/b.PY", "py"),
        ("a/b.tar.gz", "gz"),
        ("Makefile", ""),
        (".env", ""),
        ("a.b/.env", ""),
        (".eslintrc.json", "json"),
        ("a.b/c", ""),
    ],
)
def test_an_extension_is_that_of_the_name_in_lower_case(path: str, ending: str) -> None:
    assert extension(path) == ending


def test_the_language_of_a_file_is_known_by_its_extension() -> None:
    found = language_of("src/a.tsx")
    assert found is not None
    assert (found.name, found.kind) == ("TypeScript", "javascript")
    assert language_of("notes.md") is None


def test_the_extensions_of_named_languages() -> None:
    assert extensions_of("Go", "F#") == {"go", "fs", "fsx"}
    assert extensions_of() == frozenset()


@pytest.mark.parametrize(
    ("path", "is_state"),
    [
        ("/tmp/a.txt", True),
        ("/private/tmp/a", True),
        ("$TMPDIR/x", True),
        ("~/.cache/x", True),
        ("dist/app.js", True),
        ("logs/app.log.1", True),
        ("src/app.py", False),
        ("~/.claude/CLAUDE.md", False),  # a knowledge file
        ("~/.claude/commands", False),  # a folder of them
        ("~/.claude/commands/", False),
        ("/tmp/" + "x" * (4_096 - 5), True),  # the longest path that systems accept
        ("/tmp/" + "x" * (4_096 - 4), False),
    ],
)
def test_state_of_the_machine_is_no_knowledge(path: str, is_state: bool) -> None:
    assert is_machine_state(path) is is_state


def test_a_project_may_be_below_a_temporary_folder() -> None:
    assert not is_machine_state("/tmp/shop/src/a.py", "/tmp/shop")
    assert is_machine_state("/tmp/shop/dist/a.js", "/tmp/shop")


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("src/a.py", 0),
        ("src/test_a.py", 3),
        ("tests/data.json", 3),
        ("vendor/a.py", 4),
        ("vendor/tests/a.py", 4),
        ("static/a.min.js", 4),
        ("docs/a.py", 2),
        ("notes.md", 2),
        ("README", 2),
        ("build/a.py", 1),
        ("types.d.ts", 1),
        ("config.toml", 1),
    ],
)
def test_a_file_has_its_distance_from_source(path: str, rank: int) -> None:
    assert source_rank(path) == rank
    assert is_test(path) is ("test" in path)
    assert is_vendored(path) is path.startswith("vendor/")


@pytest.mark.parametrize(
    ("path", "is_one"), [("CHANGELOG.md", True), ("docs/changes.rst", True), ("NEWS", True), ("changing.py", False)]
)
def test_a_changelog_is_known_by_its_name(path: str, is_one: bool) -> None:
    assert is_changelog(path) is is_one


@pytest.mark.parametrize(
    ("folder", "main"),
    [
        ("/work/shop/", "/work/shop"),
        ("C:\\work\\shop", "C:/work/shop"),
        ("/work/shop/.claude/worktrees/fix", "/work/shop"),
        ("/work/shop/.worktrees/fix/src", "/work/shop"),
        ("/work/shop.worktrees/fix", "/work/shop"),
        ("", ""),
    ],
)
def test_the_worktrees_of_a_project_belong_to_it(folder: str, main: str) -> None:
    assert project_folder(folder) == main
    assert project_name(folder) == main.rpartition("/")[2]


@pytest.mark.parametrize(
    ("folder", "is_in"),
    [
        ("/work/shop", True),
        ("/work/shop/src", True),
        ("/work/shop/.worktrees/fix", True),
        ("/work/shopping", False),
        ("/work", False),
    ],
)
def test_a_session_works_in_a_root_or_below_it(folder: str, is_in: bool) -> None:
    assert works_in(folder, ["/elsewhere", "/work/shop"]) is is_in
    assert not works_in(folder, [])


def test_everything_is_below_the_root_of_a_disk() -> None:
    assert works_in("/work", ["/"])


@pytest.mark.parametrize(
    ("path", "project", "shown"),
    [
        ("/work/shop/a.md", "/work/shop", "a.md"),
        ("/work/shop/a.md", "/work/shop/", "a.md"),
        ("/work/shopping/a.md", "/work/shop", "/work/shopping/a.md"),
        ("/work/shop", "/work/shop", "/work/shop"),
        ("./a.md", "/work/shop", "a.md"),
        ("./a.md", "", "a.md"),
        ("/a.md", "", "/a.md"),
        ("C:\\shop\\docs\\a.md", "C:\\shop", "docs/a.md"),
        ("docs\\a.md", "/work/shop", "docs\\a.md"),  # a name may have a backslash where folders have none
    ],
)
def test_a_path_is_shown_from_its_project(path: str, project: str, shown: str) -> None:
    assert relative_to(path, project) == shown


@pytest.mark.parametrize(
    ("path", "globs", "is_one"),
    [
        ("CLAUDE.md", (), True),
        ("sub/agents.md", (), True),
        (".cursorrules", (), True),
        (".agents/docs/api.md", (), True),
        (".agents\\docs\\api.md", (), True),
        ("docs/api.md", (), False),
        (".agents/docs/api.py", (), False),
        (".agents/docs/rules", (), False),  # only some names end without an extension
        ("notes.md", (), False),
        (".agents/docs/.md", (), False),  # no document has only an extension
        (".claude/docs/a.md", (), True),
        ("docs/.claude/a.md", (), False),  # below the folder of an agent its own folders count
        (".claude/a.md", (), False),
        ("notes.md", ("*.md",), True),
        ("deep/er/notes.md", ("**/*.md",), True),
        ("notes.md", ("**/*.md",), True),
        ("src\\a.py", ("src/*.py",), True),
        ("a.py", ("*.md", "*.py"), True),
        ("a.py", ("*.md",), False),
    ],
)
def test_a_knowledge_file_is_known_by_its_name_its_folder_or_a_glob(
    path: str, globs: tuple[str, ...], is_one: bool
) -> None:
    assert is_knowledge(path, globs) is is_one


@pytest.mark.parametrize(
    ("path", "is_loaded"), [("CLAUDE.md", True), (".github/copilot-instructions.md", True), ("docs/CLAUDE.md", False)]
)
def test_clients_load_instructions_in_the_root_alone(path: str, is_loaded: bool) -> None:
    assert is_loaded_by_client(path) is is_loaded


def test_no_glob_matches_where_there_is_none() -> None:
    assert knowledge_paths._joined_globs(()).match("") is None
