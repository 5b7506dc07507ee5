"""Files that Claude Code reads and writes itself: what a CLAUDE.md includes, and the memory folder of a project.

A CLAUDE.md includes files by `@path` in its text. A path is relative to the file it is in, absolute, or begins with
`~/`; in code it is text. An included file may include others, up to five hops. An @ that names no file is text: people
are mentioned with @ too.

Claude Code keeps notes on a project in `projects/PROJECT/memory/` of its config folder. `MEMORY.md` is the index, a
line for each topic file; the topic files hold the notes, with name, description and type in their front matter. The
client loads the index into every session, so an item of each of its lines would be a second copy of what the topic file
says: only its other text is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from knowbound.errors import InputError
from knowbound.kms.importing.pieces import without_code
from knowbound.store.data_dir import main_work_tree, work_tree

MOST_HOPS = 5
INDEX_FILE = "MEMORY.md"
_NAMES = ("claude.md", "claude.local.md")
_INCLUDED = re.compile(r"(?:^|(?<=\s))@((?:[^\s\\]|\\ )+)", re.MULTILINE)
_BEGINS = re.compile(r"[A-Za-z0-9._~/-]")
_TOPIC_LINE = re.compile(r"^\s*[-*+]\s*\**\[[^\]\n]*\]\([^)\s]+\.md\)[^\n]*$", re.MULTILINE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]")


def includes_files(path: Path) -> bool:
    """Report whether Claude Code looks for included files in a file of this name."""
    return path.name.lower() in _NAMES


def included(text: str, folder: Path) -> Iterator[Path]:
    """Yield the existing files that a text in this folder includes, in order."""
    for found in _INCLUDED.finditer(without_code(text)):
        name = found[1].replace("\\ ", " ").partition("#")[0]
        for spelled in dict.fromkeys((name, name.rstrip(".,;:!?)'\""))):
            path = folder / Path(spelled).expanduser() if _BEGINS.match(spelled) else None
            if path is not None and _is_file(path):
                yield path
                break


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError, RuntimeError):
        return False


def claude_project(root: Path) -> str:
    """Return the name of the folder that Claude Code keeps the sessions of a project in."""
    return _NOT_IN_A_NAME.sub("-", str(root.resolve()))


def memory_folder(root: Path, environ: Mapping[str, str]) -> Path:
    """Return the memory folder of a project, or raise an error that names the folder that is missing."""
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
    """Report whether a file is in a memory folder."""
    folders = path.resolve().parts[:-1]
    return any(
        folders[place] == "projects" and folders[place + 2] == "memory" for place in range(max(0, len(folders) - 2))
    )


def without_topic_lines(text: str) -> str:
    """Remove the lines of an index that only lead to topic files."""
    return _TOPIC_LINE.sub("", text)
