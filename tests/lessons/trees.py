"""Small source trees with an index, and the events of clients that look into them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from knowbound.codebase.kept_index import KeptTree, open_tree
from knowbound.codebase.kept_index_update import open_index, update_index
from knowbound.lessons.rescue.rescue import rescue
from knowbound.lessons.rescue.words import Rescue


def make_tree(folder: Path, files: Mapping[str, str]) -> KeptTree:
    """The files below a folder, indexed."""
    root, home = folder / "tree", folder / "home"
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    for made in (root, *(path for path in root.rglob("*") if path.is_dir())):
        os.utime(made, (1_000_000_000, 1_000_000_000))  # the index does not trust what changed while it was made
    return index(root, home)


def index(root: Path, home: Path) -> KeptTree:
    """The tree as it is now."""
    home.mkdir(exist_ok=True)
    database = open_index(home)
    update_index(database, root)
    database.close()
    tree = open_tree(str(home), str(root), work_seconds=60)
    assert tree is not None
    return tree


def grep(tree: KeptTree, pattern: str, path: str = "", **more: Any) -> Rescue:
    """Claude Code's Grep found nothing."""
    given = {"pattern": pattern} | ({"path": f"{tree.root}/{path}"} if path else {}) | more
    return answered(tree, "Grep", given, {"mode": "files_with_matches", "filenames": [], "numFiles": 0})


def glob(tree: KeptTree, pattern: str) -> Rescue:
    """Claude Code's Glob found nothing."""
    return answered(tree, "Glob", {"pattern": pattern}, {"filenames": [], "numFiles": 0, "truncated": False})


def read(tree: KeptTree, path: str, home: str = "") -> Rescue:
    """Claude Code's Read found no file."""
    event = {"tool_name": "Read", "tool_input": {"file_path": f"{tree.root}/{path}"}, "cwd": tree.root}
    return rescue(event | {"error": "File does not exist.", "is_interrupt": False}, tree, home=home, seconds=60)


def bash(tree: KeptTree, command: str, output: str = "", description: str = "") -> Rescue:
    """A command that Codex ran."""
    given = {"command": command} | ({"description": description} if description else {})
    return answered(tree, "Bash", given, output)


def answered(tree: KeptTree, tool: str, given: dict[str, Any], response: object) -> Rescue:
    """What is said about a call."""
    event = {"tool_name": tool, "tool_input": given, "tool_response": response, "cwd": tree.root}
    return rescue(event, tree, seconds=60)


def places(said: Rescue) -> list[str]:
    """The suggestions as `path:line`."""
    return [f"{one.path}:{one.line}" if one.line else one.path for one in said.suggestions]
