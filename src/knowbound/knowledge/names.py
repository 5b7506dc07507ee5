"""Names of programs in statements: symbols, variables, and options of scripts.

A name that occurs nowhere proves little: it may be a name of another program, or an example of a convention. A name is
gone if the tree had it when the statement was written. An option is judged by the script's own file, if that file reads
its command line itself and hands none of it on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from knowbound.codebase.checkout import Checkout, TreeLine, is_prose
from knowbound.core.statement import UNKNOWN, Looked, Statement, StatementKind, StatementPlace, Truth
from knowbound.knowledge.named import Named, named_in

WORDS = (StatementKind.SYMBOL, StatementKind.VARIABLE)


class Names:
    """Looks names up in a checkout, and in earlier versions of it."""

    def __init__(self, checkout: Checkout, statements: Sequence[Statement]) -> None:
        self._tree = checkout
        words_of_file, packages = defaultdict[str, set[str]](set), set[str]()
        for statement in statements:
            for named in named_in(statement):
                if named.kind in WORDS:
                    words_of_file[statement.file].add(_word_of(named))
                elif named.kind is StatementKind.OTHER:
                    packages.add(named.value)
        self.places: dict[str, list[TreeLine]] = checkout.places_of(packages.union(*words_of_file.values()))
        absent = {file: {word for word in words if not self._source(word)} for file, words in words_of_file.items()}
        self._past = {file: checkout.earlier(file, words) for file, words in absent.items() if words}

    def look(self, named: Named, statement: Statement) -> Looked:
        """Judge a name of a statement."""
        word = _word_of(named)
        if source := self._source(word):
            return Looked(Truth.CONFIRMED, StatementPlace(source.path, source.line))
        past = self._past.get(statement.file, {}).get(word)
        sources = frozenset(path for path in past.paths if not is_prose(path)) if past else frozenset[str]()
        if word in self._tree.unsearched or not sources:
            return UNKNOWN  # no source ever had it: it may be a name of another program
        return Looked(Truth.CONTRADICTED, since=self._tree.removed_by(word, sources))

    def _source(self, word: str) -> TreeLine | None:
        """Return the first line of a source that has a word."""
        return next((place for place in self.places.get(word, ()) if not is_prose(place.path)), None)


def _word_of(named: Named) -> str:
    """Return the word that is searched for a name: of a dotted name the last part."""
    return named.value.rpartition(".")[2]


_READS = re.compile(
    r"ArgumentParser\(|@click\.|\btyper\.|\.option\(|\bparseArgs\(|\byargs\b|\bgetopts?\b|\bcase\s+\"?\$\{?\w+|\bclap::|flag\.\w+\("
)
# The command line, or the reader of it, is handed on to something else.
_HANDED_ON = re.compile(
    r"parse_known_args|REMAINDER|parents\s*=|ignore_unknown_options|allow_extra_args|allowUnknownOption|\(\s*(?:parser|subparsers?)\s*[,)]"
    r"|\"\$\{?@|\$\*|\bsys\.argv\b|process\.argv\.slice\(2\)\.(?!\w*parse)|\.\.\.process\.argv|from\s+\.+\w*\s+import|strict:\s*false"
)
_ALWAYS = frozenset({"--help", "--version"})


def look_up_option(tree: Checkout, named: Named, statement: Statement) -> Looked:
    """Judge an option with the script that a command line gives it to."""
    script, _, option = named.value.rpartition(" ")
    folder, plain = statement.file.rpartition("/")[0], script.removeprefix("./")  # of the statement's file
    tried = (f"{base}/{plain}".lstrip("/") for base in (named.folder.strip("/"), "", folder))
    path = next((candidate for candidate in tried if candidate in tree.files), "")
    if not path or option in _ALWAYS or not re.search(r"[/.]", script):
        return UNKNOWN  # a bare word is a program, even if a file is called so
    for number, line in enumerate(tree.lines(path), 1):
        if re.search(rf"{re.escape(option)}(?![\w-])", line):
            return Looked(Truth.CONFIRMED, StatementPlace(path, number))
    text = tree.text(path)
    is_spelled = any(re.search(rf"(?<![\w]){spelling}(?!\w)", text, re.IGNORECASE) for spelling in _spellings(option))
    reads_all = _READS.search(text) and not _HANDED_ON.search(text)
    # Only a script that reads its whole command line by itself lacks an option for sure.
    return Looked(Truth.CONTRADICTED, StatementPlace(path)) if reads_all and not is_spelled else UNKNOWN


def _spellings(option: str) -> list[str]:
    """Return the forms in which a source may have an option: with hyphens, underscores, humps, and without `no-`."""
    plain = option.removeprefix("--")
    found = []
    for name in (plain, plain.removeprefix("no-")):
        first, *rest = name.split("-")
        found += [name, name.replace("-", "_"), first + "".join(part.capitalize() for part in rest)]
    return list(dict.fromkeys(found))
