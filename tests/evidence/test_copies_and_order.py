"""What a copy of a tree leaves behind, and the order in which files with a name are cited."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.core.paths import MADE_BY_TOOLS
from knowbound.evidence.plan import Focus
from knowbound.evidence.producers.references import UsesInFile, file_order
from knowbound.evidence.producers.system import UnableError, copy_tree
from tests.evidence_trees import plant


def test_a_folder_that_a_tool_made_is_left_behind_and_the_root_never(tmp_path: Path) -> None:
    mark = sorted(MADE_BY_TOOLS)[0]
    root = plant(
        tmp_path / "root", {"a.py": "1", mark: "", "src/b.py": "2", f"env/{mark}": "", "env/c.py": "", ".git/d": ""}
    )
    copy_tree(root, tmp_path / "copy")
    copied = sorted(path.relative_to(tmp_path / "copy").as_posix() for path in (tmp_path / "copy").rglob("*.py"))
    assert copied == ["a.py", "src/b.py"]
    assert (tmp_path / "copy/src/b.py").read_text("utf-8") == "2"
    assert not (tmp_path / "copy/.git").exists()


def test_a_tree_of_exactly_the_limit_is_copied(tmp_path: Path) -> None:
    root = plant(tmp_path / "root", {"a": "123", "b/c": "45"})
    copy_tree(root, tmp_path / "copy", most_bytes=5)
    with pytest.raises(UnableError, match="larger than"):
        copy_tree(root, tmp_path / "other", most_bytes=4)


def names(focus: Focus, *files: UsesInFile) -> list[str]:
    return [file.path for file in sorted(files, key=lambda file: file_order(file, focus))]


def test_definitions_come_first_types_before_functions_and_public_names_before_private() -> None:
    files = (
        UsesInFile("g.py", uses=[1]),
        UsesInFile("f.py", calls=[1], uses=[2, 3]),
        UsesInFile("e.py", calls=[1, 2]),
        UsesInFile("d.py", [(1, "x", "parameter")]),
        UsesInFile("c.py", [(1, "_x", "function")]),
        UsesInFile("b.py", [(1, "x", "function")]),
        UsesInFile("a2.py", [(1, "x", "class")]),
        UsesInFile("tests/test_a.py", [(1, "x", "class")]),
    )
    assert names(Focus.DEFINITION, *files) == [
        "a2.py",
        "b.py",
        "c.py",
        "tests/test_a.py",
        "d.py",
        "f.py",
        "e.py",
        "g.py",
    ]


def test_uses_come_by_calls_and_occurrences_by_number() -> None:
    files = (
        UsesInFile("text.py", text=[1]),
        UsesInFile("imports.py", imports=[1]),
        UsesInFile("own.py", [(1, "x", "class")], calls=[1, 2, 3]),
        UsesInFile("uses.py", uses=[1, 2, 3]),
        UsesInFile("calls.py", calls=[1, 2]),
        UsesInFile("more.py", calls=[1, 2], uses=[3]),
    )
    assert names(Focus.USES, *files) == ["more.py", "calls.py", "uses.py", "own.py", "imports.py", "text.py"]
    assert names(Focus.OCCURRENCES, *files)[:3] == ["own.py", "more.py", "uses.py"]
