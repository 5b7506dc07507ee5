"""A checkout that is a value: files, and what history says, without a folder and without git."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from knowbound.codebase.checkout import Checkout, PastLine, TreeLine


class Tree(Checkout):
    """Files with their texts; what history deleted, renamed and had, by commit."""

    def __init__(
        self,
        files: Mapping[str, str],
        *,
        deleted: Mapping[str, str] | None = None,
        renames: Mapping[str, str] | None = None,
        versions: Mapping[str, str] | None = None,
        past: Mapping[str, Sequence[str]] | None = None,
        unsearched: Iterable[str] = (),
    ) -> None:
        """`versions` has texts by "commit:path", newest first; `past` the files of an earlier tree that had a name."""
        super().__init__(Path("/no/such/folder"))
        self.__dict__["files"], self.__dict__["deleted"] = frozenset(files), dict(deleted or {})
        self._texts = dict(files)
        self._new_places, self._versions, self._past = dict(renames or {}), dict(versions or {}), dict(past or {})
        self.unsearched = set(unsearched)

    def renamed(self, path: str) -> str:
        return self._new_places.get(path, "")

    def text_at(self, commit: str, path: str) -> str:
        return self._versions.get(f"{commit}:{path}", "")

    def commits_of(self, file: str) -> list[str]:
        return [key.partition(":")[0] for key in self._versions if key.partition(":")[2] == file]

    def places_of(self, names: Iterable[str]) -> dict[str, list[TreeLine]]:
        return {name: list(self._places(name)) for name in names}

    def _places(self, name: str) -> Iterable[TreeLine]:
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        for path, text in sorted(self._texts.items()):
            yield from (TreeLine(path, number) for number, line in enumerate(text.split("\n"), 1) if word.search(line))

    def earlier(self, file: str, names: Iterable[str]) -> dict[str, PastLine]:
        return {name: PastLine("c1", frozenset(self._past[name])) for name in names if name in self._past}

    def removed_by(self, name: str, paths: Iterable[str]) -> str:
        return f"{name} left {', '.join(sorted(paths))}"
