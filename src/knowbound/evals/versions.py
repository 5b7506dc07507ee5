"""Versions of the knowledge base: the one at hand, and another one to compare it with (`eval --against`).

Two versions are run from copies of their own, so that neither agent can see or touch the other's files: the model and
the samples are fixed, and only the knowledge varies.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from knowbound.errors import InputError
from knowbound.evals.knowledge import Commit, commit_of, git

_Fill = Callable[[Path], None]
_NOT_COPIED = frozenset({".git", ".knowbound", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache"})


class Version(msgspec.Struct, frozen=True):
    """One version of the knowledge base, and where it lies."""

    name: str  # "" for the knowledge base itself, else what --against named
    folder: Path
    commit: Commit
    root: Path  # the knowledge base that it is a version of

    def inside(self, folder: Path) -> Path:
        """A folder of the knowledge base in this version; one outside of it as it is."""
        root = self.root.resolve()
        return self.folder / folder.relative_to(root) if folder.is_relative_to(root) else folder


def at_hand(root: Path, globs: tuple[str, ...]) -> Version:
    """The knowledge base as it is."""
    return Version("", root, commit_of(root, globs), root)


def isolated(root: Path, globs: tuple[str, ...], place: Path) -> Version:
    """The knowledge base as it is, in a copy of its own."""
    if not place.is_dir():
        _as_a_whole(place, lambda folder: _copy(root, folder))
    return Version("", place, commit_of(root, globs), root)


def other(root: Path, globs: tuple[str, ...], against: str, place: Path) -> Version:
    """Another version in a copy of its own: a folder, or a git ref of the knowledge base."""
    folder = Path(against).expanduser()
    if folder.is_dir():
        if not place.is_dir():
            _as_a_whole(place, lambda copy: _copy(folder, copy))
        return Version(against, place, commit_of(folder, globs), root)
    known = git(root, "log", "-1", "--format=%H%n%s", f"{against}^{{commit}}", "--")
    if not known or against.startswith("-"):
        raise InputError(
            "no-such-version",
            f"--against {against}: neither a folder nor a git ref of {root}. Try: --against HEAD~1",
        )
    hash_, _, subject = known.strip().partition("\n")
    if not place.is_dir():
        _as_a_whole(place, lambda copy: _check_out(root, hash_, copy))
    return Version(against, place, Commit(hash_, subject), root)


def _as_a_whole(place: Path, fill: _Fill) -> None:
    """A copy is complete or it is not there: one that was cut off would look like missing knowledge."""
    place.parent.mkdir(parents=True, exist_ok=True)
    making = place.with_name(place.name + ".making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    fill(making)
    making.rename(place)


def _check_out(root: Path, commit: str, folder: Path) -> None:
    """The files of the root at a commit, by an index of their own: the repository stays as it is."""
    prefix = (git(root, "rev-parse", "--show-prefix") or "").strip()
    tree = f"{commit}:{prefix}" if prefix else commit
    environ = {**os.environ, "GIT_INDEX_FILE": str(folder.with_name(folder.name + ".index"))}
    try:
        for arguments in (("read-tree", tree), ("checkout-index", "--all", f"--prefix={folder}/")):
            # checkout-index writes paths of the index: it must stand at the top, where they begin
            top = (git(root, "rev-parse", "--show-toplevel") or str(root)).strip()
            ran = subprocess.run(
                ("git", "-C", top, *arguments), env=environ, capture_output=True, text=True, check=False
            )
            if ran.returncode != 0:
                raise InputError(
                    "no-such-version", f"{root} cannot be had as it was at {commit[:12]}: {ran.stderr.strip()}"
                )
    finally:
        Path(environ["GIT_INDEX_FILE"]).unlink(missing_ok=True)


def _copy(root: Path, folder: Path) -> None:
    """Every file that belongs to the folder; links that lead out of it are left behind."""
    inside = root.resolve()
    for path in _belonging(root):
        source, target = root / path, folder / path
        if not source.resolve().is_relative_to(inside) or not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)


def _belonging(root: Path) -> Iterable[str]:
    listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is not None:
        return [path for path in listed.split("\0") if path and not path.startswith(".knowbound/")]
    return _walked(root)


def _walked(root: Path) -> Iterable[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _NOT_COPIED]
        yield from (os.path.relpath(os.path.join(folder, name), root) for name in files)
