"""The folder in which Claude Code keeps its own notes on a project: `projects/PROJECT/memory/` in its config folder.

`MEMORY.md` is the index, a line for each topic file; the topic files hold the notes, with name, description and type in
their front matter. The index is loaded into every session by the client, so an item of each of its lines would be a
second copy of what the topic file says: only its other text is imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from knowbound.errors import InputError
from knowbound.store.data_dir import main_work_tree, work_tree

INDEX_FILE = "MEMORY.md"
_TOPIC_LINE = re.compile(r"^\s*[-*+]\s*\**\[[^\]\n]*\]\([^)\s]+\.md\)[^\n]*$", re.MULTILINE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]")


def memory_folder(root: Path, environ: Mapping[str, str]) -> Path:
    """The memory folder of a project, or an error that says where it was looked for."""
    config = Path(environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    top = work_tree(str(root))
    for project in dict.fromkeys((main_work_tree(top) if top else "", top, str(root.resolve()))):
        folder = config / "projects" / _NOT_IN_A_NAME.sub("-", project) / "memory"
        if project and folder.is_dir():
            return folder
    looked = config / "projects" / _NOT_IN_A_NAME.sub("-", top or str(root.resolve())) / "memory"
    raise InputError(
        "no-such-path", f"Claude Code has no memory of this project: no {looked}. Try: knowbound kms import FOLDER"
    )


def is_memory_file(path: Path) -> bool:
    """Whether a file is in such a folder."""
    folders = path.resolve().parts[:-1]
    return any(
        folders[place] == "projects" and folders[place + 2] == "memory" for place in range(max(0, len(folders) - 2))
    )


def without_topic_lines(text: str) -> str:
    """The text of an index without the lines that only lead to topic files."""
    return _TOPIC_LINE.sub("", text)
