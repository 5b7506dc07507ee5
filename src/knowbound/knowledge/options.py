"""Options in command lines of the project's own scripts and programs, read off their source.

A script is judged by its own file, if that file reads its command line itself and hands none of it on. A program that a
manifest declares is judged by the whole tree: no spelling of the option is in it, and an earlier version had one.
"""

from __future__ import annotations

import re
from functools import cached_property

from knowbound.codebase.checkout import Checkout, is_prose
from knowbound.core.statement import UNKNOWN, Looked, Statement, StatementPlace, Truth
from knowbound.knowledge.named import Named

_READS = re.compile(
    r"ArgumentParser\(|@click\.|\btyper\.|\.option\(|\bparseArgs\(|\byargs\b|\bgetopts?\b|\bcase\s+\"?\$\{?\w+|\bclap::|flag\.\w+\("
)
# The command line, or the reader of it, is handed on to something else.
_HANDED_ON = re.compile(
    r"parse_known_args|REMAINDER|parents\s*=|ignore_unknown_options|allow_extra_args|allowUnknownOption|\(\s*(?:parser|subparsers?)\s*[,)]"
    r"|\"\$\{?@|\$\*|\bsys\.argv\b|process\.argv\.slice\(2\)\.(?!\w*parse)|\.\.\.process\.argv|from\s+\.+\w*\s+import|strict:\s*false"
)
_ALWAYS = frozenset({"--help", "--version"})
_DECLARED = re.compile(r"^([\w-]+)\s*=\s*[\"'][\w.]+:[\w.]+[\"']", re.MULTILINE)
_BIN = re.compile(r'"bin"\s*:\s*(?:\{([^}]*)\}|"[^"]+")')
_KEY = re.compile(r'"([\w-]+)"\s*:')
_CARGO_BIN = re.compile(r"\[\[bin\]\]\s*\nname\s*=\s*\"([\w-]+)\"")
_NAME = re.compile(r'"name"\s*:\s*"(?:@[\w.-]+/)?([\w-]+)"')


class Options:
    """The options of a checkout's own scripts and programs."""

    def __init__(self, checkout: Checkout) -> None:
        self._tree = checkout

    def look(self, named: Named, statement: Statement) -> Looked:
        """Judge an option with the script or the program that a command line gives it to."""
        program, _, option = named.value.rpartition(" ")
        if option in _ALWAYS:
            return UNKNOWN
        folder = statement.file.rpartition("/")[0]
        plain = program.removeprefix("./")
        tried = (f"{base}/{plain}".lstrip("/") for base in (named.folder.strip("/"), "", folder))
        path = next((one for one in tried if one in self._tree.files), "")
        if path and ("/" in program or "." in program):
            return self._of_file(path, option)
        return self._of_program(option, statement) if program in self._programs else UNKNOWN

    def _of_file(self, path: str, option: str) -> Looked:
        text = self._tree.text(path)
        for number, line in enumerate(self._tree.lines(path), 1):
            if re.search(rf"{re.escape(option)}(?![\w-])", line):
                return Looked(Truth.CONFIRMED, StatementPlace(path, number))
        is_spelled = any(re.search(rf"(?<![\w]){one}(?!\w)", text, re.IGNORECASE) for one in _spellings(option))
        reads_all = _READS.search(text) and not _HANDED_ON.search(text)
        return Looked(Truth.CONTRADICTED, StatementPlace(path)) if reads_all and not is_spelled else UNKNOWN

    def _of_program(self, option: str, statement: Statement) -> Looked:
        spelled = _spellings(option)
        found = self._tree.places_of(spelled)
        if any(not is_prose(place.path) for places in found.values() for place in places):
            return UNKNOWN
        past = self._tree.earlier(statement.file, spelled)
        was_there = any(not is_prose(path) for one in past.values() for path in one.paths)
        is_known = was_there and self._tree.unsearched.isdisjoint(spelled)
        return Looked(Truth.CONTRADICTED) if is_known else UNKNOWN

    @cached_property
    def _programs(self) -> frozenset[str]:
        """The programs that manifests of the project declare."""
        found = set[str]()
        for path in self._tree.by_name.get("pyproject.toml", []):
            found |= set(_DECLARED.findall(self._tree.text(path)))
        for path in self._tree.by_name.get("package.json", []):
            text = self._tree.text(path)
            if (declared := _BIN.search(text)) and (name := _NAME.search(text)):
                found |= set(_KEY.findall(declared[1])) if declared[1] else {name[1]}
        for path in self._tree.by_name.get("cargo.toml", []):
            found |= set(_CARGO_BIN.findall(self._tree.text(path)))
        found |= {path.split("/")[1] for path in self._tree.files if re.match(r"cmd/[\w-]+/main\.go$", path)}
        return frozenset(found)


def _spellings(option: str) -> list[str]:
    """Return the forms in which a source may have an option: with hyphens, underscores, humps, and without `no-`."""
    plain = option.removeprefix("--")
    found = []
    for one in (plain, plain.removeprefix("no-")):
        first, *rest = one.split("-")
        found += [one, one.replace("-", "_"), first + "".join(part.capitalize() for part in rest)]
    return list(dict.fromkeys(found))
