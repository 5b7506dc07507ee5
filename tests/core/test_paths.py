from __future__ import annotations

from knowbound.core.knowledge_paths import split_by_reach


def test_a_read_glob_reaches_the_files_of_its_own_folder_alone() -> None:
    files = ["docs/a.md", "docs/old/b.md", "README.md", "docs/c.txt"]
    reached = ["README.md", "docs/*.md"]
    assert split_by_reach(files, reached) == (["README.md", "docs/a.md"], ["docs/c.txt", "docs/old/b.md"])
