"""Names of programs in statements: symbols, members, variables, options of scripts, ports of services.

A name that occurs nowhere proves little: it may be a name of another program, or an example of a convention. A name is
gone if the tree had it when the statement was written, or if the tree reads variables near it with the same first word.
An option is judged by the script's own file, if that file reads its command line itself and hands none of it on; an
option of a program that a manifest declares, by the whole tree: no spelling occurs, and an earlier version had one.
A port is compared with the port of the script or compose service that the statement names, if it names only one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

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
        every = {statement: named_in(statement) for statement in statements}
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


_OF_SCRIPT = re.compile(r"(?:--port[= ]|\s-p |\bPORT=)(\d{4,5})\b")
_COMPOSE = re.compile(r"(?:^|/)(?:docker-)?compose(?:\.[\w-]+)?\.ya?ml$")
_SERVICE = re.compile(r"^(?P<indent>\s+)(?P<name>[\w-]+):\s*$")
_PUBLISHED = re.compile(r"^\s+-\s+[\"']?(?:\d+\.[\d.]+:)?(?P<host>\d{2,5})(?::(?P<inside>\d{2,5}))?(?:/\w+)?[\"']?\s*$")
_VARIABLE_PORT = re.compile(r"^\s+-\s+.*\$\{?\w")


class Ports:
    """The ports that manifests of a checkout state."""

    def __init__(self, checkout: Checkout) -> None:
        self._tree = checkout

    def look(self, named: Named, beside: Sequence[Named], statement: Statement) -> Looked:
        """Judge the one port of a statement that names one script, or one service of a compose file."""
        ports = [one for one in beside if one.kind is StatementKind.PORT]
        if len(ports) != 1:
            return UNKNOWN
        scripts = [one.value.partition(" ")[2] for one in beside if one.kind is StatementKind.COMMAND]
        known = list(self._of_script(scripts[0])) if len(scripts) == 1 else list(self._of_service(statement.text))
        for port, place in known:
            if port == named.value:
                return Looked(Truth.CONFIRMED, place)
        if not known:
            return UNKNOWN
        others = {port for port, _ in known}
        return Looked(Truth.CONTRADICTED, known[0][1], others.pop() if len(others) == 1 else "")

    def _of_script(self, script: str) -> Iterator[tuple[str, StatementPlace]]:
        """Yield the port of a script that one manifest alone has."""
        found = [(path, one[script]) for path, one in self._tree.scripts.items() if script in one]
        if len(found) == 1 and found[0][0].endswith("package.json"):
            path, line = found[0]
            for port in _OF_SCRIPT.finditer(self._tree.lines(path)[line - 1]):
                yield port[1], StatementPlace(path, line)

    def _of_service(self, text: str) -> list[tuple[str, StatementPlace]]:
        """Return the ports of the one service that a text names."""
        words = set(re.findall(r"[a-z][\w-]+", text.lower()))
        named = [name for name in self._services if name.lower() in words]
        return self._services[named[0]] if len(named) == 1 else []

    @cached_property
    def _services(self) -> dict[str, list[tuple[str, StatementPlace]]]:
        """The published ports of services that one compose file alone has, none of them a variable."""
        found: dict[str, list[list[tuple[str, StatementPlace]]]] = {}
        for path in sorted(self._tree.files):
            if _COMPOSE.search(path):
                for name, ports in self._in_compose(path):
                    found.setdefault(name, []).append(ports)
        return {name: some[0] for name, some in found.items() if len(some) == 1 and some[0]}

    def _in_compose(self, path: str) -> Iterator[tuple[str, list[tuple[str, StatementPlace]]]]:
        """Yield the services of a compose file with their ports, on the host and inside."""
        name, ports, indent, is_services, is_fixed = "", list[tuple[str, StatementPlace]](), "", False, True
        for number, line in enumerate(self._tree.lines(path), 1):
            if line[:1].strip() and not line.startswith("#"):
                is_services = line.startswith("services:")
            elif is_services and (service := _SERVICE.match(line)) and (not indent or service["indent"] == indent):
                if name:
                    yield name, ports if is_fixed else []
                name, ports, indent, is_fixed = service["name"], [], service["indent"], True
            elif is_services and (port := _PUBLISHED.match(line)):
                place = StatementPlace(path, number)
                ports += [(one, place) for one in (port["host"], port["inside"]) if one]
            elif is_services and _VARIABLE_PORT.match(line):
                is_fixed = False
        if name:
            yield name, ports if is_fixed else []
