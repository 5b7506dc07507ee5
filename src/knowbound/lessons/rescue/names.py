"""Names of the files and folders of a tree, in any spelling."""

from __future__ import annotations

from functools import cached_property

from knowbound.text.code_names import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from knowbound.codebase.kept_index import KeptTree


class TreeNames:
    """Names of files and folders of a tree."""

    def __init__(self, tree: KeptTree) -> None:
        self.tree = tree

    @property
    def paths(self) -> list[str]:
        """Every file."""
        return self.tree.paths

    @cached_property
    def _files(self) -> set[str]:
        return set(self.paths)

    @cached_property
    def folders(self) -> dict[str, list[str]]:
        """Every folder with the files right in it; the root is ""."""
        found: dict[str, list[str]] = {"": []}
        for path in self.paths:
            folder = path.rpartition("/")[0]
            here = found.get(folder)
            if here is not None:
                here.append(path)
                continue
            found[folder] = [path]
            while (folder := folder.rpartition("/")[0]) not in found:
                found[folder] = []
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        return _grouped(self.paths, lambda path: path.rpartition("/")[2].lower())

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        return _grouped(self.paths, lambda path: plain(stem_of(path)))

    def is_file(self, path: str) -> bool:
        """Report whether the index has the file."""
        return path in self._files

    def has(self, path: str) -> bool:
        """Report whether a file or folder is there, as the index has it and now."""
        return path == "" or ((path in self._files or path in self.folders) and self.tree.exists(path))

    def named(self, name: str) -> list[str]:
        """The files of a name, in whatever case."""
        return self._there(self._by_name.get(name.lower(), []))

    def stemmed(self, stem: str) -> list[str]:
        """The files of a name in whatever case, spelling and with whatever ending."""
        return self._there(self._by_stem.get(plain(stem), []))

    def _there(self, paths: list[str]) -> list[str]:
        return [path for path in paths[:200] if self.tree.exists(path)]


def _grouped(paths: list[str], key: Callable[[str], str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(key(path), []).append(path)
    return found


def stem_of(path: str) -> str:
    """The last part of a path without its ending."""
    name = path.rpartition("/")[2]
    return name.lstrip(".").partition(".")[0] or name


def ending_of(path: str) -> str:
    """All that follows the first dot of a name: `test.ts`."""
    return path.rpartition("/")[2].lstrip(".").partition(".")[2]
