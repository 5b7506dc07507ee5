"""Names of programs in statements: symbols, members of classes, symbols of a file, environment variables.

That a name occurs nowhere says little by itself: it may be one of another program, or an example of a convention. It is
gone if the tree had it when the statement was written, or if variables beside it with its first word are read and it is
not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from knowbound.codebase.checkout import Checkout, PastLine, TreeLine, is_prose
from knowbound.core.paths import is_test, language_of
from knowbound.core.statement import UNKNOWN, Looked, Statement, StatementKind, StatementPlace, Truth
from knowbound.knowledge.named import Named, named_in

_NEIGHBOURS = 2  # variables with the same first word that make it the project's own
_NEAR = 12  # lines around a variable in which its neighbours are, and places of a name that are read first
_MEMBER = re.compile(r"(?P<owner>[A-Z]\w+)\.(?P<name>[a-z_]\w+)$")
_DEFINES = r"\b(?:class|def|function|func|fn|interface|type|const|enum|struct|trait|object|var|let)\s+"
WORDS = (StatementKind.SYMBOL, StatementKind.VARIABLE)


def word_of(named: Named) -> str:
    """Return the word that is searched for a name: of a dotted name, or of one of a file, the last part."""
    return re.split(r"[.:]", named.value)[-1]


class Names:
    """Looks names up in a checkout, and in earlier versions of it."""

    def __init__(self, checkout: Checkout, statements: Sequence[Statement]) -> None:
        self._tree = checkout
        every = {one: named_in(one) for one in statements}
        words = {word_of(named) for some in every.values() for named in some if named.kind in WORDS}
        packages = {named.value for some in every.values() for named in some if named.kind is StatementKind.OTHER}
        self.places: dict[str, list[TreeLine]] = self._tree.places_of(words | packages)
        self._named = {one: [named for named in some if named.kind in WORDS] for one, some in every.items()}
        self._past = self._earlier()
        self._variables = self._read_variables()

    def look(self, named: Named, statement: Statement) -> Looked:
        """Judge a name of a statement."""
        word = word_of(named)
        if ":" in named.value:
            return self._in_file(named.value.rpartition(":")[0], word, statement)
        sources = [place for place in self.places.get(word, ()) if not is_prose(place.path)]
        if sources and (moved := self._left_its_file(named, statement)):
            return moved
        if sources:
            return Looked(Truth.CONFIRMED, StatementPlace(sources[0].path, sources[0].line))
        if word in self._tree.unsearched:
            return UNKNOWN
        if past := self._source_past(statement, word):
            return Looked(Truth.CONTRADICTED, since=self._tree.removed_by(word, past.paths))
        return Looked(Truth.CONTRADICTED) if self._has_neighbours(named, statement) else UNKNOWN

    # Earlier versions

    def _earlier(self) -> dict[str, dict[str, PastLine]]:
        """Return, by file, the names that are gone or may have left their file, as earlier versions had them."""
        wanted: dict[str, set[str]] = defaultdict(set)
        for statement, several in self._named.items():
            for named in several:
                word = word_of(named)
                member = _MEMBER.search(named.value)
                if not any(not is_prose(place.path) for place in self.places.get(word, ())) or self._paths(statement):
                    wanted[statement.file].add(word)
                elif member and not self._share(member["owner"], word):
                    wanted[statement.file] |= {member["owner"], word}
        return {file: self._tree.earlier(file, names) for file, names in wanted.items()}

    def _source_past(self, statement: Statement, word: str) -> PastLine | None:
        """Return where an earlier version had a name outside of prose."""
        past = self._past.get(statement.file, {}).get(word)
        paths = frozenset(path for path in past.paths if not is_prose(path)) if past else frozenset[str]()
        return PastLine(past.commit, paths) if past and paths else None

    def _left_its_file(self, named: Named, statement: Statement) -> Looked | None:
        """Judge a member of a class, or a symbol in a sentence with one file: both were together, and are not."""
        word, member = word_of(named), _MEMBER.search(named.value)
        past = self._source_past(statement, word)
        if past is None or word in self._tree.unsearched:
            return None
        if member:
            owner = self._source_past(statement, member["owner"])
            together = [path for path in past.paths & owner.paths if not is_test(path)] if owner else []
            is_gone = bool(together) and not self._share(member["owner"], word)
            kept = [path for path in together if self._has(path, member["owner"])]
            return Looked(Truth.CONTRADICTED, StatementPlace(kept[0])) if is_gone and kept else None
        paths = self._paths(statement)
        if len(paths) == 1 and paths[0] in past.paths and not self._has(paths[0], word):
            since = self._tree.removed_by(word, paths)
            return Looked(Truth.CONTRADICTED, StatementPlace(paths[0]), since=since)
        return None

    def _paths(self, statement: Statement) -> list[str]:
        """Return the source files that a sentence names from the root."""
        values = (named.value for named in named_in(statement) if named.kind is StatementKind.PATH)
        return [value for value in values if value in self._tree.files and language_of(value) and "/" in value]

    def _share(self, owner: str, word: str) -> bool:
        """Report whether a source file has both names, or whether that is not known."""
        near = {place.path for place in self.places.get(word, ())[:_NEAR] if not is_prose(place.path)}
        if any(self._has(path, owner) for path in near):  # mostly so, without a search
            return True
        both = [self._tree.files_with(name) for name in (owner, word)]
        return both[0] is None or both[1] is None or any(not is_prose(path) for path in both[0] & both[1])

    def _has(self, path: str, word: str) -> bool:
        return bool(re.search(rf"(?<![\w$]){re.escape(word)}(?![\w$])", self._tree.text(path)))

    def _in_file(self, path: str, word: str, statement: Statement) -> Looked:
        """Judge `path:symbol`: the file has the symbol, or another one defines it."""
        folder = statement.file.rpartition("/")[0]
        path = next((one for one in (path, f"{folder}/{path}") if one in self._tree.files), "")
        if not path or not self._tree.text(path):
            return UNKNOWN
        if self._has(path, word):
            return Looked(Truth.CONFIRMED, StatementPlace(path))
        return Looked(Truth.CONTRADICTED, StatementPlace(path), self._defined(word))

    def _defined(self, word: str) -> str:
        """Return the one file that defines a name; "" if there is none or several."""
        pattern = re.compile(rf"{_DEFINES}{re.escape(word)}\b")
        paths = {place.path for place in self.places.get(word, ()) if not is_prose(place.path)}
        found = [path for path in paths if pattern.search(self._tree.text(path)) and not is_test(path)]
        return f"{found[0]}:{word}" if len(found) == 1 else ""

    # Variables

    def _read_variables(self) -> dict[str, list[tuple[int, str]]]:
        """Return, by file, the variables of its statements that the tree has."""
        found: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for statement, several in self._named.items():
            for named in several:
                places = self.places.get(named.value, ())
                if named.kind is StatementKind.VARIABLE and any(not is_prose(place.path) for place in places):
                    found[statement.file].append((statement.line, named.value))
        return found

    def _has_neighbours(self, named: Named, statement: Statement) -> bool:
        """Report whether variables near this one begin with the same word, and the tree has them."""
        if named.kind is not StatementKind.VARIABLE:
            return False
        prefix = named.value.partition("_")[0]
        near = {
            name
            for line, name in self._variables.get(statement.file, ())
            if abs(line - statement.line) <= _NEAR and name.partition("_")[0] == prefix
        }
        return len(near) >= _NEIGHBOURS
