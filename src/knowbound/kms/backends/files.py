"""Items in files of the project (`items.files`): a section or a bullet each, as `kms import` makes them.

The working tree is the store: another commit that is checked out brings its own items. The id of an item is made from
its text, so it survives edits of other lines and a move of the text, and is the same on every machine. Nothing is
written: a correction is a diff of the file, which `knowbound fix` shows, writes, or commits on a branch.

The text is of whoever wrote the checkout. It is read only after `knowbound trust`, without links that lead out of the
root, screened when it enters the index, and shown in a fence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from knowbound.config import Settings
from knowbound.core.item import Anchor, Item, ItemSource, ItemType
from knowbound.errors import ConfigError, InputError
from knowbound.files import read_text
from knowbound.kms.backends.outside import OutsideBackend, Planned
from knowbound.kms.backends.protocol import Swap
from knowbound.kms.importing import markdown_items
from knowbound.kms.pieces import MARKDOWN

_MOST_FILES, _MOST_BYTES = 2_000, 1_000_000
_ID_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # of other ids, without letters that look alike


def open_backend(settings: Settings) -> FilesBackend:
    """Open the backend of the project's files."""
    return FilesBackend(settings.root, settings.home, settings.items_files)


class FilesBackend(OutsideBackend):
    """Items of the Markdown files that the globs name."""

    name = "files"
    is_read_only = True

    def __init__(self, root: Path, home: Path, globs: Sequence[str]) -> None:
        super().__init__(home)
        self._root, self._globs = root, globs
        self._read_files: dict[str, tuple[int, int]] = {}  # as `_files` found them
        self._items: dict[str, Item] = {}

    def stored(self, id_: str = "") -> Iterator[Item]:
        """Yield the item with this id, or all items; unchanged files are not read again."""
        found = self._files()
        if found != self._read_files:
            # In reverse: of files with the same text, the first keeps the item.
            self._items = {item.id: item for file in reversed(found) for item in self._items_of(file)}
            self._read_files = found
        yield from [self._items[id_]] if id_ in self._items else [] if id_ else self._items.values()

    def planned(self, swap: Swap, note: str) -> Planned:
        return Planned(swap.before)

    def refusal(self, item: Item | None) -> InputError:
        if item is None or item.anchor is None:
            return InputError("store-read-only", f"Items of {', '.join(self._globs)} are added by editing the files.")
        words = f"{item.id} is text of {item.anchor.file}, which only a person or an agent edits."
        return InputError("store-read-only", f"{words} Try: edit it there, or knowbound (shows the diff), then fix")

    def _files(self) -> dict[str, tuple[int, int]]:
        """Return the files with size and time, in the order of their names."""
        try:
            paths = {path for glob in self._globs for path in self._root.glob(glob)}
        except (NotImplementedError, ValueError) as error:
            raise ConfigError("config-wrong-type", f"items.files: {error}. A glob is relative to the root.") from error
        found = {}
        for path in sorted(paths)[:_MOST_FILES]:
            if path.suffix.lower() in MARKDOWN and path.is_file():
                info = path.stat()
                found[path.relative_to(self._root).as_posix()] = (info.st_size, info.st_mtime_ns)
        return found

    def _items_of(self, file: str) -> Iterator[Item]:
        """Yield the items of a file. Their anchor has no hash of the file: other lines may change."""
        text = read_text(self._root, file, _MOST_BYTES) or ""
        for new in (imported.new for imported in markdown_items(file, text, blob="")):
            anchor = Anchor(file, heading=new.anchor.heading, part=new.anchor.part) if new.anchor else None
            id_, type_, source = _id_of(new.content), ItemType(new.type), ItemSource(new.source)
            yield Item(id_, new.content, type_, source, new.subject, anchor=anchor)


def _id_of(content: str) -> str:
    """Return an id made from the words of the content: white space does not count."""
    number = int.from_bytes(hashlib.sha256(" ".join(content.split()).encode()).digest()[:8], "big")
    return "f" + "".join(_ID_LETTERS[number >> 5 * place & 31] for place in range(11))  # 5 bits each
