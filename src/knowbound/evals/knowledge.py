"""The knowledge base that an evaluation is about: its files, their content hashes, and its commit.

Coverage counts these files (specification 1, section 2), and the state distinguishes two evaluations: whether the
knowledge changed between them, and whether a run is identical to one that was made before.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from knowbound.core.knowledge_paths import is_knowledge
from knowbound.files import Walk, links_not_followed, open_below
from knowbound.git import run_git
from knowbound.text.digest import digest_of
from knowbound.text.redact import redact
from knowbound.traces.corpus import knowledge_files

# Where no knowledge is configured: what is written.
DOCUMENTS = ("**/*.md", "**/*.mdc", "**/*.markdown", "**/*.rst", "**/*.adoc")
_GIT_SECONDS = 60.0
_GIT_BYTES = 256_000_000  # the list of all files of a large repository


class KnowledgeCommit(msgspec.Struct, frozen=True):
    """The commit that is checked out in the knowledge base; empty where it is not in git."""

    hash: str = ""
    subject: str = ""
    dirty: bool = False


def knowledge_globs(configured: tuple[str, ...]) -> tuple[str, ...]:
    """The globs of the knowledge files in a knowledge base."""
    return configured or DOCUMENTS


def files_of(root: Path, globs: tuple[str, ...], hidden: Iterable[Path] = ()) -> list[str]:
    """The knowledge files of a knowledge base as relative paths, without what must stay hidden from the agent."""
    hidden = [path.resolve() for path in hidden]
    files, _ = knowledge_files(root, globs)
    return [path for path in files if not any((root / path).resolve().is_relative_to(folder) for folder in hidden)]


def links_out(root: Path, globs: tuple[str, ...]) -> list[str]:
    """A warning where knowledge files are links that lead out: whoever follows one reads another knowledge base."""
    _, links = knowledge_files(root, globs)
    return [f"{links_not_followed(links, root)}."] if links else []


def state_of(root: Path, files: Iterable[str]) -> dict[str, str]:
    """Knowledge file → the first 8 hex digits of the SHA-256 of its content."""
    return {path: _content_hash(root, path)[:8] or "unreadable" for path in files}


def commit_of(root: Path, globs: tuple[str, ...]) -> KnowledgeCommit:
    """The commit that is checked out, and whether the knowledge files differ from it."""
    commit = named_commit(root)
    if commit is None:
        return KnowledgeCommit()
    prefix = (git(root, "rev-parse", "--show-prefix") or "").strip()  # git names files from the repository's top
    is_dirty = any(is_knowledge(path.removeprefix(prefix), globs) for path in _changed(root))
    return msgspec.structs.replace(commit, dirty=is_dirty)


def named_commit(root: Path, *ref: str) -> KnowledgeCommit | None:
    """Return the commit that is checked out, or the one that a ref names; None if there is none."""
    line = (git(root, "log", "-1", "--format=%H%n%s", *ref) or "").strip()
    hash_, _, subject = line.partition("\n")
    return KnowledgeCommit(hash_, redact(subject)) if line else None


def _changed(root: Path) -> list[str]:
    """Files that differ from the commit, as git names them: from the top of the repository."""
    listed = git(root, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", ".") or ""
    return [entry[3:] for entry in listed.split("\0") if entry]


def folder_state(root: Path, globs: tuple[str, ...]) -> str:
    """A digest of all that an agent in the folder may read: every file, and the knowledge that git ignores, too."""
    knowledge = [f"{path} {state}" for path, state in state_of(root, files_of(root, globs)).items()]
    tree = git(root, "rev-parse", "HEAD:./")
    if tree is not None:
        top = Path((git(root, "rev-parse", "--show-toplevel") or str(root)).strip())
        return digest_of([tree, *(f"{path} {_content_hash(top, path)}" for path in _changed(root)), *knowledge])
    # Without a commit every file is read, except our own data.
    files = sorted(os.path.relpath(entry.path, root) for entry in Walk(root, ignored=(".knowbound",)))
    return digest_of([*(f"{path} {_content_hash(root, path)}" for path in files), *knowledge])


def _content_hash(root: Path, path: str) -> str:
    """Return the SHA-256 of a file's content; "" if it cannot be read."""
    try:
        with open_below(root, path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def git(root: Path, *arguments: str) -> str | None:
    """Return the output of a git command in a folder; None if it fails: no repository, or git is not installed."""
    ran = run_git(root, *arguments, seconds=_GIT_SECONDS, output_bytes=_GIT_BYTES)
    return ran.out.decode("utf-8", "surrogateescape") if ran.code == 0 else None
