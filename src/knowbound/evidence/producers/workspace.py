"""A copy of the tree in which a build or a test may do what it likes (specification 3, classes Build and Test).

The user's own files are never built in. The copy is bounded; no link leads out of it; histories, caches, environments
and earlier builds stay behind. Programs run there with a time limit, a home of their own and without the network
where their tool has an option for it. This limits accidents, it is no
sandbox: that is why `--allow-run` has to be given.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from knowbound.core.paths import IGNORED_IN_SOURCES, MADE_BY_TOOLS
from knowbound.evidence.producers.protocol import Context
from knowbound.files import copy_below
from knowbound.process import clean_environment, run
from knowbound.text.printable import counted

MOST_FILES = 100_000
MOST_BYTES = 1_000_000_000
_LEFT_BEHIND = IGNORED_IN_SOURCES | {"CMakeCache.txt", "CMakeFiles"}
_OFFLINE = {
    "CARGO_NET_OFFLINE": "true",
    "PIP_NO_INDEX": "1",
    "UV_OFFLINE": "1",
    "npm_config_offline": "true",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_update_notifier": "false",
    "PYTHONDONTWRITEBYTECODE": "1",
    "CI": "1",
}


class UnableError(Exception):
    """A build or test could not be tried to its end, and why."""


@dataclass(frozen=True, slots=True)
class Output:
    """How a program in the copy ended, and what it printed."""

    code: int
    out: bytes
    text: str  # standard output, then standard error


@dataclass(frozen=True, slots=True)
class Workspace:
    """The copy, and how to run something in it."""

    root: Path
    original: Path
    home: Path
    context: Context

    def run(self, *argv: str, env: Mapping[str, str] | None = None) -> Output:
        """Run a program in the copy; what ends before it has an outcome is no evidence."""
        limits = self.context.limits
        seconds = min(limits.run_seconds, self.context.seconds_left)
        own = {"HOME": str(self.home), "TMPDIR": str(self.home), **_OFFLINE, **_toolchains(), **(env or {})}
        ran = run(argv, self.root, seconds, limits.output_bytes, environment=clean_environment(self.root, own))
        if ran.missing:
            raise UnableError(f"{Path(argv[0]).name} is not installed")
        if ran.timed_out:
            raise UnableError(f"{Path(argv[0]).name} did not finish within {seconds:.0f} s")
        if ran.cut:
            raise UnableError(f"{Path(argv[0]).name} printed more than {limits.output_bytes:,} bytes")
        if ran.code is None:
            raise UnableError(f"{Path(argv[0]).name} could not be started")
        return Output(ran.code, ran.out, self._as_in_the_tree(ran.text + "\n" + ran.err.decode("utf-8", "replace")))

    def _as_in_the_tree(self, text: str) -> str:
        """What was printed, with paths of the tree: the copy is gone before anyone reads where it was."""
        for folder, name in ((self.root, "."), (self.home, "~")):
            for path in dict.fromkeys((str(folder.resolve()), str(folder))):
                text = text.replace(f"{path}/", "" if name == "." else "~/").replace(path, name)
        return text

    def has(self, name: str) -> bool:
        """Whether the copy has this file."""
        return (self.root / name).is_file()


def _toolchains() -> dict[str, str]:
    """Where tools that live in the user's home are, since the copy has a home of its own."""
    found = {name: os.environ[name] for name in ("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN") if name in os.environ}
    cargo = shutil.which("cargo")
    if cargo and Path(cargo).parent.name == "bin":
        own = Path(cargo).parent.parent
        rustup = own.parent / ".rustup"
        found.setdefault("CARGO_HOME", str(own))
        if rustup.is_dir():
            found.setdefault("RUSTUP_HOME", str(rustup))
    return found


@contextmanager
def workspace(context: Context, keep: frozenset[str] = frozenset()) -> Iterator[Workspace]:
    """A copy of the tree for as long as the block lasts; `keep` names folders to copy that are otherwise left."""
    with tempfile.TemporaryDirectory(prefix="knowbound-", ignore_cleanup_errors=True) as temporary:
        copy, home = Path(temporary) / "tree", Path(temporary) / "home"
        home.mkdir()
        copy_tree(context.root, copy, keep)
        yield Workspace(copy, context.root, home, context)


def copy_tree(root: Path, copy: Path, keep: frozenset[str] = frozenset(), most_bytes: int = MOST_BYTES) -> None:
    """Copy files with their times and modes, and links that stay inside; nothing else."""
    inside = root.resolve()
    left_out = _LEFT_BEHIND - keep
    files, size = 0, 0
    folders = [""]
    while folders:
        folder = folders.pop()
        source = root / folder
        if folder and any(os.path.lexists(source / name) for name in MADE_BY_TOOLS):
            continue
        (copy / folder).mkdir(parents=True)
        try:
            with os.scandir(source) as entries:
                here = [entry for entry in entries if entry.name not in left_out]
        except OSError:
            continue
        for entry in here:
            there = copy / folder / entry.name
            if entry.is_symlink():
                _copy_link(Path(entry.path), there, inside, copy)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(os.path.join(folder, entry.name))
            elif entry.is_file(follow_symlinks=False):
                files, size = files + 1, size + entry.stat(follow_symlinks=False).st_size
                if files > MOST_FILES or size > most_bytes:
                    limit = f"{counted(MOST_FILES, 'file')} or {most_bytes:,} bytes"
                    raise UnableError(f"the tree is larger than {limit}: it is not copied, so nothing is run")
                _copy_file(root, os.path.join(folder, entry.name), there)


def _copy_file(root: Path, path: str, there: Path) -> None:
    try:
        copy_below(root, path, there)
    except OSError:  # unreadable, or gone meanwhile: the build will say if it needs it
        there.unlink(missing_ok=True)


def _copy_link(link: Path, there: Path, inside: Path, copy: Path) -> None:
    """A link is copied as a link, if it leads to something inside the tree."""
    try:
        target = link.resolve(strict=True).relative_to(inside)
        there.symlink_to(os.path.relpath(copy / target, there.parent))
    except (OSError, RuntimeError, ValueError):  # leads nowhere, in a circle, or out
        return
