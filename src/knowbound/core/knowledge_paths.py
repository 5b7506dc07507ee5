"""Paths as a project sees them: relative to it, its knowledge files, and state of the machine, which has none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatch, translate
from functools import lru_cache

from knowbound.core.lazy_pattern import lazy

_LONGEST_PATH = 4_096  # the longest path that systems accept

# Temporary files, logs, sockets, build output, files of version control, settings below the home folder.
_HOME = r"(?:~|\$HOME|\$\{HOME\}|/home/[^/]+|/Users/[^/]+|/root)"
_MACHINE_STATE = lazy(
    r"(?:/private)?/(?:tmp|var/(?:folders|tmp|log|run|lib)|proc|sys|dev|run|etc)(?:/|\Z)"
    r"|\$\{?(?:TMPDIR|TMP|TEMP|XDG_RUNTIME_DIR)\b"
    rf"|{_HOME}/(?:\.(?!cargo/registry)|Library/|AppData/)"
    r"|(?:.*/)?(?:dist|coverage|htmlcov|test-results|playwright-report|\.next|\.nuxt|\.turbo|\.cache|\.git|__pycache__"
    r"|target/(?:debug|release))(?:/|\Z)"
    r"|.*\.(?:log(?:\.\w+)*|pid|sock|socket)\Z"
)


def is_machine_state(path: str, project: str = "") -> bool:
    """Report whether a path is state of the machine or of a program, not knowledge of a project or its agents.

    The project itself may be below a temporary folder.
    """
    path = relative_to(path, project)
    if len(path) > _LONGEST_PATH or _MACHINE_STATE.match(path) is None:
        return False
    return not is_knowledge(path) and not is_knowledge(f"{path.rstrip('/')}/any.md")  # a folder of knowledge files


_KNOWLEDGE_NAMES = (
    r"(?:CLAUDE(?:\.local)?|AGENTS?(?:\.override)?|GEMINI|SKILL)\.md"
    r"|copilot-instructions\.md|\.cursorrules|\.windsurfrules"
)
_KNOWLEDGE_NAME = lazy(_KNOWLEDGE_NAMES, re.IGNORECASE)
_AGENT_FOLDERS = frozenset(".claude .agents .codex .gemini .cursor .github".split())
_KNOWLEDGE_FOLDERS = frozenset("knowledge skill skills rules commands agents docs prompts instructions memory".split())
_DOCUMENT_ENDINGS = (".md", ".mdc", ".txt", ".toml")
_KNOWLEDGE_ENDINGS = (*_DOCUMENT_ENDINGS, "rules")
_LOADED_BY_CLIENTS = frozenset(
    "claude.md claude.local.md .claude/claude.md agents.md agents.override.md gemini.md .cursorrules .windsurfrules "
    ".github/copilot-instructions.md".split()
)
_ANY_FOLDERS = lazy(r"\*\*/")


@lru_cache(maxsize=64)
def _joined_globs(globs: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression for all globs; `**/` also matches no folder at all."""
    parts = [translate(_ANY_FOLDERS.sub("*", glob)) for glob in globs]
    return re.compile("|".join(f"(?:{part})" for part in parts) or r"(?!)")


def is_knowledge(path: str, globs: tuple[str, ...] = ()) -> bool:
    """Report whether a path, relative to its project, is a knowledge file by name, by folder or by a glob."""
    is_document = path.lower().endswith(_KNOWLEDGE_ENDINGS)
    if not (is_document or globs):  # most paths end here
        return False
    path = path.replace("\\", "/")  # of Windows
    return (is_document and _is_knowledge_document(path)) or bool(globs and _joined_globs(globs).match(path))


def _is_knowledge_document(path: str) -> bool:
    """Report whether the name is a knowledge file's, or the path is a document below a folder of knowledge."""
    *folders, name = path.lower().split("/")
    if _KNOWLEDGE_NAME.fullmatch(name):
        return True
    # Only folders below the folder of an agent count.
    agent_folder = next((index for index, folder in enumerate(folders) if folder in _AGENT_FOLDERS), len(folders))
    is_document = name.endswith(_DOCUMENT_ENDINGS) and name not in _DOCUMENT_ENDINGS  # not the dotfile `.md`
    return is_document and not _KNOWLEDGE_FOLDERS.isdisjoint(folders[agent_folder + 1 :])


def is_loaded_by_client(path: str) -> bool:
    """Report whether clients load the file into every session: instructions in the root of the project."""
    return path.lower() in _LOADED_BY_CLIENTS


def relative_to(path: str, project: str) -> str:
    """Return the path relative to the project; a path outside is returned unchanged."""
    if "\\" in project:  # a trace of Windows; elsewhere a name may have a backslash
        path, project = path.replace("\\", "/"), project.replace("\\", "/")
    project = project.rstrip("/")
    if project and path.startswith(project + "/"):
        return path[len(project) + 1 :]
    return path.removeprefix("./")


def split_by_reach(knowledge: Iterable[str], reached: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split knowledge files (relative paths) into reached and unreached files."""
    reached_paths = set(reached)
    files = sorted(set(knowledge))
    globs = tuple(path for path in reached_paths if "*" in path)  # `cat docs/*.md` reaches every file it expands to
    hits = {path for path in files if path in reached_paths or fnmatch_any(path, globs)}
    return [path for path in files if path in hits], [path for path in files if path not in hits]


def fnmatch_any(path: str, globs: tuple[str, ...]) -> bool:
    """Report whether a shell glob matches the path: `*` stays within a folder."""
    return any(fnmatch(path, glob) and path.count("/") == glob.count("/") for glob in globs)
