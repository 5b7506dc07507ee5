"""The lint of our own finds what it is for, and nothing in a clean tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.house import LARGEST_ROOM, LONGEST_MODULE, problems


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def test_a_clean_tree_has_no_problem(tmp_path: Path) -> None:
    write(tmp_path, "core/a.py", '"""A value."""\nclass Answer:\n    """An answer."""\n')
    write(tmp_path, "core/b.py", "class _Answer:\n    pass\n")
    assert list(problems(tmp_path)) == []


@pytest.mark.parametrize("first", ["What", "Whether", "Which,", "how"])
def test_a_docstring_that_begins_like_a_question_is_found(tmp_path: Path, first: str) -> None:
    write(tmp_path, "core/a.py", f'def f() -> None:\n    """{first} it does."""\n')
    assert [problem.split(" ")[0] for problem in problems(tmp_path)] == ["core/a.py:2:"]


def test_two_public_classes_of_one_name_are_found_in_every_room(tmp_path: Path) -> None:
    write(tmp_path, "core/a.py", "class Place:\n    pass\n")
    write(tmp_path, "gaps/b.py", "class Place:\n    pass\n")
    assert list(problems(tmp_path)) == ["gaps/b.py:1: class Place is also in core/a.py:1; one name has one meaning"]


def test_a_module_that_is_too_long_is_found(tmp_path: Path) -> None:
    write(tmp_path, "core/a.py", "\n" * (LONGEST_MODULE + 1))
    assert len(list(problems(tmp_path))) == 1


def test_a_room_of_too_many_modules_is_found(tmp_path: Path) -> None:
    for number in range(LARGEST_ROOM):
        write(tmp_path, f"core/part_{number}.py", "")
    assert list(problems(tmp_path)) == []
    write(tmp_path, "core/__init__.py", "")
    assert [problem.split(":")[0] for problem in problems(tmp_path)] == ["core"]
