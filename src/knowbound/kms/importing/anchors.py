"""Anchors of items in the project, and whether the anchored text has changed since (a mark on the item, not a flag).

Checked without a model and without running git: git's id of a file's content is a SHA-1 that anyone can compute.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from knowbound.core.item import Anchor
from knowbound.core.same_content import spaced_sha
from knowbound.errors import InputError
from knowbound.files import open_below
from knowbound.kms.importing.pieces import section, split

MARKDOWN = (".md", ".mdc", ".markdown")
_PART = 16  # hex digits


def blob_id(content: bytes) -> str:
    """Return the id that git gives to a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def part_id(text: str) -> str:
    """Return the fingerprint of a part of a file; white space does not count."""
    return spaced_sha(text)[:_PART]


def anchor_to(root: Path, place: str) -> Anchor:
    """Return the anchor of `src/app.py#symbol`, `docs/setup.md#Heading` or a file, as it is now."""
    file, _, name = place.partition("#")
    content = _content(root, file)
    if content is None:
        raise InputError("item-invalid", f"No file {file!r} under {root} to anchor the item to. Nothing was changed.")
    file = (root / file).resolve().relative_to(root.resolve()).as_posix()
    if not name:
        return Anchor(file, blob=blob_id(content))
    part = _named_part(file, content, name)
    if not part:
        raise InputError("item-invalid", f"{file} has no {name!r} to anchor the item to. Nothing was changed.")
    if file.endswith(MARKDOWN):
        return Anchor(file, heading=name, blob=blob_id(content), part=part_id(part))
    return Anchor(file, symbol=name, blob=blob_id(content), part=part_id(part))


class AnchorChecker:
    """A check of anchors that reads each file once."""

    def __init__(self, root: Path) -> None:
        self._read = cache(lambda file: _content(root, file))
        self._blob = cache(lambda file: blob_id(self._read(file) or b""))
        self._parts = cache(lambda file: _parts(file, self._read(file) or b""))

    def is_stale(self, anchor: Anchor) -> bool:
        """Report whether the anchored text has changed since, or is gone."""
        content = self._read(anchor.file)
        if content is None:
            return True
        if not anchor.blob or self._blob(anchor.file) == anchor.blob:
            return False
        if not anchor.part:
            return True
        named = _named_part(anchor.file, content, anchor.symbol or anchor.heading)
        return part_id(named) != anchor.part and anchor.part not in self._parts(anchor.file)


def _content(root: Path, file: str) -> bytes | None:
    try:
        with open_below(root, file) as opened:
            return opened.read()
    except OSError:
        return None


def _parts(file: str, content: bytes) -> set[str]:
    """Return fingerprints of the lines, and of the pieces that an import would make of the file."""
    text = content.decode("utf-8", "replace")
    pieces = [piece.content for piece in split(text).pieces] if file.endswith(MARKDOWN) else []
    return {part_id(part) for part in (*pieces, *text.splitlines()) if part.strip()}


def _named_part(file: str, content: bytes, name: str) -> str:
    """Return the section of a heading, or the lines that name a symbol."""
    text = content.decode("utf-8", "replace")
    if not name:
        return ""
    if file.endswith(MARKDOWN):
        return section(text, name)
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return "\n".join(line.strip() for line in text.splitlines() if word.search(line))
