"""The tree as rescue asks for it: files and folders by name, without regard to case and spelling."""

from __future__ import annotations

from functools import cached_property

from knowbound.lessons.rescue.misses.lookup import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.codebase.kept_index import KeptTree


class TreeNames:
    """Names of files and folders of a tree."""

    def __init__(self, tree: KeptTree) -> None:
        self._tree = tree

    @property
    def paths(self) -> list[str]:
        """Every file."""
        return self._tree.paths

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
        found: dict[str, list[str]] = {}
        for path in self.paths:
            found.setdefault(path.rpartition("/")[2].lower(), []).append(path)
        return found

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.paths:
            found.setdefault(plain(stem_of(path)), []).append(path)
        return found

    def is_file(self, path: str) -> bool:
        """Whether the index has the file."""
        return path in self._files

    def has(self, path: str) -> bool:
        """Whether a file or folder is there, as the index has it and now."""
        return path == "" or ((path in self._files or path in self.folders) and self._tree.exists(path))

    def named(self, name: str) -> list[str]:
        """The files of a name, in whatever case."""
        return self._there(self._by_name.get(name.lower(), []))

    def stemmed(self, stem: str) -> list[str]:
        """The files of a name in whatever case, spelling and with whatever ending."""
        return self._there(self._by_stem.get(plain(stem), []))

    def _there(self, paths: list[str]) -> list[str]:
        return [path for path in paths[:200] if self._tree.exists(path)]


def stem_of(path: str) -> str:
    """The last part of a path without its ending."""
    name = path.rpartition("/")[2]
    return name.lstrip(".").partition(".")[0] or name


def ending_of(path: str) -> str:
    """All that follows the first dot of a name: `test.ts`."""
    return path.rpartition("/")[2].lstrip(".").partition(".")[2]


def nearness(path: str, other: str) -> tuple[int, int]:
    """How near two paths are, nearest greatest: folders in common from the root, then from the end."""
    one, two = path.split("/")[:-1], other.split("/")[:-1]
    first = 0
    while first < min(len(one), len(two)) and one[first] == two[first]:
        first += 1
    last = len({*one} & {*two})
    return last + first, -abs(len(one) - len(two))
