"""Knowledge files: files that are written for agents to read (specification 1, section 2)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatch, translate
from functools import lru_cache

from knowbound.core.lazy_pattern import lazy

_NAMES = (
    r"(?:CLAUDE(?:\.local)?|AGENTS?(?:\.override)?|GEMINI|SKILL)\.md"
    r"|copilot-instructions\.md|\.cursorrules|\.windsurfrules"
)
_NAME = lazy(_NAMES, re.IGNORECASE)
_AGENT_FOLDERS = frozenset(".claude .agents .codex .gemini .cursor .github".split())
_FOLDERS = frozenset("knowledge skill skills rules commands agents docs prompts instructions memory".split())
_DOCUMENTS = (".md", ".mdc", ".txt", ".toml")
_ENDINGS = (*_DOCUMENTS, "rules")
_LOADED = frozenset(
    "claude.md claude.local.md .claude/claude.md agents.md agents.override.md gemini.md .cursorrules .windsurfrules "
    ".github/copilot-instructions.md".split()
)
_ANYWHERE = lazy(r"\*\*/")


@lru_cache(maxsize=64)
def _globs(globs: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression for all globs; `**/` also matches no folder at all."""
    parts = [translate(_ANYWHERE.sub("*", glob)) for glob in globs]
    return re.compile("|".join(f"(?:{part})" for part in parts) or r"(?!)")


def is_knowledge(path: str, globs: tuple[str, ...] = ()) -> bool:
    """Report whether a path, relative to its project, is a knowledge file by name, by folder or by a glob."""
    is_document = path.lower().endswith(_ENDINGS)
    if not (is_document or globs):  # most paths
        return False
    path = path.replace("\\", "/")
    return (is_document and _is_known(path)) or bool(globs and _globs(globs).match(path))


def _is_known(path: str) -> bool:
    """Report whether the name is known, or the path is a document below a folder of knowledge."""
    *folders, name = path.lower().split("/")
    if _NAME.fullmatch(name):
        return True
    at = next((at for at, folder in enumerate(folders) if folder in _AGENT_FOLDERS), len(folders))
    return name.endswith(_DOCUMENTS) and name not in _DOCUMENTS and not _FOLDERS.isdisjoint(folders[at + 1 :])


def is_loaded_by_client(path: str) -> bool:
    """Report whether clients load the file into every session: instructions in the root of the project."""
    return path.lower() in _LOADED


def relative_to(path: str, project: str) -> str:
    """Return the path relative to the project; a path outside is returned unchanged."""
    if "\\" in project:
        path, project = path.replace("\\", "/"), project.replace("\\", "/")
    project = project.rstrip("/")
    if project and path.startswith(project + "/"):
        return path[len(project) + 1 :]
    return path.removeprefix("./")


def split_by_reach(knowledge: Iterable[str], reached: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split knowledge files (relative paths) into reached and unreached ones."""
    seen = set(reached)
    files = sorted(set(knowledge))
    globs = tuple(path for path in seen if "*" in path)  # `cat docs/*.md` reaches every file it expands to
    hits = {path for path in files if path in seen or (globs and fnmatch_any(path, globs))}
    return [path for path in files if path in hits], [path for path in files if path not in hits]


def fnmatch_any(path: str, globs: tuple[str, ...]) -> bool:
    """Report whether a shell glob matches the path: `*` stays within a folder."""
    return any(fnmatch(path, glob) and path.count("/") == glob.count("/") for glob in globs)
