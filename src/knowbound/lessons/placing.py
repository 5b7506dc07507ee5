"""The knowledge file that a lesson belongs in: the one nearest to its subject that agents are given."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from knowbound.lessons.material import Material
from knowbound.lessons.tree import Tree

_INCLUDES = re.compile(r"\s*@(?P<path>[\w./-]+\.md)\s*")


def knowledge_file(subject: str, tree: Tree | None, materials: Sequence[Material]) -> str:
    """CLAUDE.md or AGENTS.md in the subject's folder or the nearest above it; the agents' own where there is none."""
    agents = Counter(material.agent for material in materials)
    claude_first = not agents or agents.most_common(1)[0][0] == "claude-code"
    names = ("CLAUDE.md", "AGENTS.md") if claude_first else ("AGENTS.md", "CLAUDE.md")
    if tree is not None:
        for folder in _upwards(subject):
            for name in (*names, f".claude/{names[0]}") if not folder else names:
                path = f"{folder}/{name}" if folder else name
                if path in tree.files:
                    return _included(path, tree)
    return names[0]


def _upwards(subject: str) -> Iterator[str]:
    folder = subject.rstrip("/")
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def _included(path: str, tree: Tree) -> str:
    """A file that only names another (`@AGENTS.md`) stands for that one."""
    found = _INCLUDES.fullmatch(tree.text(path))
    if found is None:
        return path
    other = f"{path.rpartition('/')[0]}/{found['path']}".lstrip("/")
    return other if other in tree.files else path
