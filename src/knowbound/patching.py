"""Changes of files below a root: shown as diffs, applied to the file they were made from, taken back line by line.

A file is written whole and atomically, only if it is a regular file below the root (links that lead out are refused)
and still has the content that the change was made from.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from knowbound.errors import InputError
from knowbound.files import leads_out, replacing


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
        if len(places) != 1 or places[0] < copied:
            return None
        start = places[0] + (old_start - first)
        result += [*lines[copied:start], *new[new_start:new_end]]
        copied = start + (old_end - old_start)
    return FilePatch(patch.path, current, b"".join([*result, *lines[copied:]]))
