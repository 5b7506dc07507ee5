"""The truth of a statement in a checkout: everything that it names is there, something is not, or neither is known.

Nothing of the project is run. What is not sure is not checkable: a wrong alarm costs a reader more than a miss.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from knowbound.codebase.checkout import Checkout, TreeLine
from knowbound.core.statement import CheckedStatement, Statement, StatementKind, StatementPlace, Truth
from knowbound.knowledge.named import Named, named_in

# Made by tools, by the user, or outside of the project: their absence says nothing.
_MADE = re.compile(
    r"(?:^|/)(?:node_modules|dist|build|out|target|coverage|\.venv|venv|__pycache__|\.next|\.nuxt|\.cache|tmp|temp|logs?|"
    r"bin|obj|vendor|\.git|\.env[\w.-]*|\.DS_Store|[\w-]*\.(?:log|db|sqlite3?|pyc|pid|tmp|bak|local|lock|tsbuildinfo|app))(?:/|$)",
    re.IGNORECASE,
)
_MANIFEST_OF = {
    "npm": "package.json", "pnpm": "package.json", "yarn": "package.json", "bun": "package.json",
    "make": "makefile", "just": "justfile", "mise": "mise", "deno": "deno.json", "composer": "composer.json",
}  # fmt: skip
_OWN = {"npm": frozenset({"test", "start"})}
# That a name occurs does not show what a statement says about it.
_ONLY_WORDS = frozenset({StatementKind.SYMBOL, StatementKind.VARIABLE, StatementKind.OTHER})


_REQUIRES = re.compile(r"""requires-python\s*=\s*["']\s*>=\s*(3\.\d+)""")
_GENERAL = re.compile(r"(?:^|/)\.\w+/(?:skills|agents|commands)/")
_NAME = re.compile(r'"name"\s*:\s*"(@?[\w./-]+)"')
_SEVERAL = 2  # packages that make a scope the project's own
_HUMP = re.compile(r"[A-Z][a-z]+|[a-z]+|[A-Z]+(?![a-z])|\d+")
_USUAL_FOLDERS = frozenset("src lib app apps packages core test tests docs".split())
_HUMPS = 3  # words of a name that is hardly one of another program


def _is_rare(name: str) -> bool:
    """Report whether the name of a file is hardly that of another: of several words."""
    return len(_HUMP.findall(name.rpartition(".")[0])) >= _HUMPS - 1


def _is_prose(path: str) -> bool:
    return path.lower().endswith((".md", ".mdx", ".rst", ".txt"))


class Checker:
    """Checks statements against one checkout."""

    def __init__(self, checkout: Checkout) -> None:
        self._tree = checkout
        self._ignored = _ignored(checkout)
        self._places: dict[str, list[TreeLine]] = {}

    def check_all(self, statements: Sequence[Statement]) -> list[CheckedStatement]:
        """Return the statements with their truth; names are looked up together."""
        words = (named.value for one in statements for named in named_in(one) if named.kind in _ONLY_WORDS)
        self._places = self._tree.places_of(word.rpartition(".")[2] for word in words)
        return [self._check(one) for one in statements]

    def holds(self, several: Sequence[CheckedStatement]) -> list[bool]:
        """Report for each contradicted statement whether what decided about it is there, as it says."""
        self._places = self._tree.places_of(one.named.rpartition(".")[2] for one in several if one.kind in _ONLY_WORDS)
        return [self._holds(one) for one in several]

    def _holds(self, one: CheckedStatement) -> bool:
        decided = [named for named in named_in(one.statement) if (named.kind, named.value) == (one.kind, one.named)]
        return any(self._look(named, one.statement)[0] is Truth.CONFIRMED for named in decided)

    def _check(self, statement: Statement) -> CheckedStatement:
        held: list[tuple[Named, StatementPlace]] = []
        open_ = 0
        for named in named_in(statement):
            truth, place, instead = self._look(named, statement)
            if truth is Truth.CONTRADICTED and self._is_general(statement) and not self._since(named, statement):
                truth = Truth.NOT_CHECKABLE
            if truth is Truth.CONTRADICTED:
                repair, since = _repaired(statement.text, named, instead), self._since(named, statement)
                return CheckedStatement(
                    statement, named.kind, truth, named.value, place, repair, _why(named, instead), since
                )
            if truth is Truth.CONFIRMED and place is not None:
                held.append((named, place))
            else:
                open_ += 1
        kind = held[0][0].kind if held else StatementKind.OTHER
        shown = [one for one in held if one[0].kind not in _ONLY_WORDS]
        if not shown or open_:
            return CheckedStatement(statement, kind, Truth.NOT_CHECKABLE)
        named, place = shown[0]
        return CheckedStatement(statement, named.kind, Truth.CONFIRMED, named.value, place)

    def _look(self, named: Named, statement: Statement) -> tuple[Truth, StatementPlace | None, str]:
        match named.kind:
            case StatementKind.PATH | StatementKind.LINK | StatementKind.LAYOUT:
                return self._path(named, statement)
            case StatementKind.COMMAND:
                return self._command(named, statement)
            case StatementKind.SYMBOL | StatementKind.VARIABLE:
                return self._text(named, statement)
            case StatementKind.OTHER:
                return self._package(named)
            case StatementKind.VERSION:
                return self._python(named)
        return Truth.NOT_CHECKABLE, None, ""

    def _python(self, named: Named) -> tuple[Truth, StatementPlace | None, str]:
        """Judge the least version of Python: that of the manifest in the root."""
        stated = named.value.rpartition(" ")[2]
        for number, line in enumerate(self._tree.text("pyproject.toml").splitlines(), 1):
            if found := _REQUIRES.match(line):
                place = StatementPlace("pyproject.toml", number)
                return (Truth.CONFIRMED if found[1] == stated else Truth.CONTRADICTED), place, found[1]
        return Truth.NOT_CHECKABLE, None, ""

    @cached_property
    def _packages(self) -> dict[str, str]:
        """The packages of the project's own manifests, each with the manifest."""
        found: dict[str, str] = {}
        for path in sorted(self._tree.by_name.get("package.json", [])):
            if name := _NAME.search(self._tree.text(path)):
                found.setdefault(name[1], path)
        return found

    def _package(self, named: Named) -> tuple[Truth, StatementPlace | None, str]:
        """Judge a package with a scope: one of the project's own scope has to be there."""
        if named.value in self._packages:
            return Truth.CONFIRMED, StatementPlace(self._packages[named.value]), ""
        scope = named.value.partition("/")[0]
        is_own = sum(name.startswith(f"{scope}/") for name in self._packages) >= _SEVERAL
        if not is_own or not named.is_sure or any(not _is_prose(place.path) for place in self._places[named.value]):
            return Truth.NOT_CHECKABLE, None, ""
        return Truth.CONTRADICTED, None, ""

    def _is_general(self, statement: Statement) -> bool:
        """Report whether a file is often shared by projects and speaks of none: there only history counts."""
        return bool(_GENERAL.search(statement.file))

    def _since(self, named: Named, statement: Statement) -> str:
        """Return the commit that deleted what a statement names; "" if history does not show it."""
        folder = posixpath.dirname(statement.file)
        paths = (_joined(base, named.value) for base in (named.folder, "", folder))
        return next((self._tree.deleted[path] for path in paths if path in self._tree.deleted), "")

    # Paths

    def _path(self, named: Named, statement: Statement) -> tuple[Truth, StatementPlace | None, str]:
        bases = dict.fromkeys((named.folder, "", posixpath.dirname(statement.file)))
        values = [named.value]
        if named.kind is StatementKind.LAYOUT:  # the root of a drawn tree is often the project itself
            values.append(named.value.partition("/")[2] or named.value)
        tried = [_joined(base, value) for base in bases for value in values]
        for path in tried:
            if path is not None and self._tree.has(path):
                return Truth.CONFIRMED, StatementPlace(path), ""
        value = named.value.strip("/").removeprefix("./")
        inner = [path for path in self._paths_named(value) if path == value or path.endswith(f"/{value}")]
        if inner:
            # Written from a folder that the text means: it is there, where exactly is not said.
            return Truth.CONFIRMED, StatementPlace(min(inner, key=lambda path: (path.count("/"), path))), ""
        if not named.is_sure or _MADE.search(value) or any(path is None for path in tried) or self._is_ignored(value):
            return Truth.NOT_CHECKABLE, None, ""
        if "/" not in value and not any(path in self._tree.deleted for path in tried if path):
            return Truth.NOT_CHECKABLE, None, ""  # the absence of a name without a folder says little
        first = value.split("/")[0]
        is_anchored = any(self._tree.has(posixpath.join(base, first)) for base in bases)
        gone = (path for path in (*tried, first) if path)
        is_known = named.kind is StatementKind.LINK or any(path in self._tree.deleted for path in gone)
        moved = next(filter(None, (self._tree.renamed(path) for path in tried if path)), "") or self._moved(value)
        is_hidden = first.startswith(".")  # settings there may be those of a user's own project
        if not is_known and (is_hidden or not (is_anchored or moved)):
            return Truth.NOT_CHECKABLE, None, ""
        return Truth.CONTRADICTED, None, moved

    def _paths_named(self, value: str) -> list[str]:
        """Return the files and folders whose last part is that of the value."""
        last = value.rpartition("/")[2]
        files = self._tree.by_name.get(last.lower(), [])
        return [path for path in files if path.rpartition("/")[2] == last] + self._folders_named(last)

    def _folders_named(self, name: str) -> list[str]:
        return [path for path in self._tree.folders if path.rpartition("/")[2] == name]

    def _moved(self, value: str) -> str:
        """Return the one other place of a file, or of a folder that has the deleted files; "" if none is sure."""
        found = self._paths_named(value)
        if len(found) != 1:
            return ""
        if found[0] in self._tree.files:
            above = set(value.split("/")[:-1]) - _USUAL_FOLDERS
            return found[0] if above & set(found[0].split("/")[:-1]) or _is_rare(value.rpartition("/")[2]) else ""
        inside = [path.removeprefix(f"{value}/") for path in self._tree.deleted if path.startswith(f"{value}/")]
        there = sum(self._tree.has(f"{found[0]}/{path}") for path in inside)
        return found[0] if inside and 2 * there >= len(inside) else ""

    def _is_ignored(self, value: str) -> bool:
        parts = value.split("/")
        above = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        return any(part in self._ignored for part in (*above, *parts))

    # Commands

    def _command(self, named: Named, statement: Statement) -> tuple[Truth, StatementPlace | None, str]:
        program, _, script = named.value.partition(" ")
        if program not in _MANIFEST_OF:
            return self._python_tool(script)
        wanted = _MANIFEST_OF[program]
        manifests = {
            path: scripts
            for path, scripts in self._tree.scripts.items()
            if path.rpartition("/")[2].lower().startswith(wanted) or (wanted == "mise" and "mise" in path)
        }
        for path in sorted(manifests, key=lambda path: (path.count("/"), path)):
            if script in manifests[path]:
                return Truth.CONFIRMED, StatementPlace(path, manifests[path][script]), ""
        if (
            not manifests
            or script in _OWN.get(program, ())
            or any("%" in name for one in manifests.values() for name in one)
        ):
            return Truth.NOT_CHECKABLE, None, ""
        near = [name for one in manifests.values() for name in one if _alike(name, script)]
        return Truth.CONTRADICTED, None, near[0] if len(set(near)) == 1 else ""

    def _python_tool(self, name: str) -> tuple[Truth, StatementPlace | None, str]:
        """Judge a program that the project's environment runs: a script of the project, or a locked package."""
        for path in ("pyproject.toml", "uv.lock", "poetry.lock", "pdm.lock"):
            for number, line in enumerate(self._tree.text(path).splitlines(), 1):
                if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line):
                    return Truth.CONFIRMED, StatementPlace(path, number), ""
        is_locked = bool(self._tree.text("uv.lock")) or self._tree.has("uv.lock")
        return (Truth.CONTRADICTED if is_locked and self._tree.text("uv.lock") else Truth.NOT_CHECKABLE), None, ""

    # Names

    def _text(self, named: Named, statement: Statement) -> tuple[Truth, StatementPlace | None, str]:
        name = named.value.rpartition(".")[2]
        places = self._places[name]
        for place in places:
            if not _is_prose(place.path):
                return Truth.CONFIRMED, StatementPlace(place.path, place.line), ""
        is_gone = named.kind is StatementKind.SYMBOL and named.is_sure and len(_HUMP.findall(name)) >= _HUMPS
        if is_gone and not [place for place in places if place.path != statement.file]:
            return Truth.CONTRADICTED, None, ""
        return Truth.NOT_CHECKABLE, None, ""


def _joined(base: str, value: str) -> str | None:
    """Return a path relative to the root; None if it leads out."""
    path = posixpath.normpath(posixpath.join(base, value.lstrip("/") if value.startswith("/") else value))
    return None if path.startswith("..") else path


def _ignored(checkout: Checkout) -> frozenset[str]:
    """Return the plain names and paths that the ignore files of the checkout's folders name."""
    found = set[str]()
    for path in [".gitignore", *(name for name in checkout.files if name.endswith("/.gitignore"))]:
        for line in _lines(checkout, path):
            plain = line.strip().strip("/").removeprefix("**/").removesuffix("/*").removesuffix("/**")
            if plain and not plain.startswith(("#", "!")) and "*" not in plain:
                found.add(plain)
    return frozenset(found)


def _lines(checkout: Checkout, path: str) -> Iterable[str]:
    try:
        return (checkout.root / path).read_text("utf-8", "replace").splitlines()[:2000]
    except OSError:
        return ()


def _alike(one: str, other: str) -> bool:
    """Report whether two names of scripts are the same words in another order or with another sign between them."""
    words = [sorted(re.split(r"[:._/-]", name.lower())) for name in (one, other)]
    return words[0] == words[1]


def _repaired(text: str, named: Named, instead: str) -> str | None:
    """Return the statement with what the tree has in place of what it names."""
    if not instead:
        return None
    has_program = named.kind in (StatementKind.COMMAND, StatementKind.VERSION)
    old = named.value.partition(" ")[2] if has_program else named.value
    new = f"{instead}/" if named.value.endswith("/") and not instead.endswith("/") else instead
    return text.replace(old, new) if old in text else None


def _why(named: Named, instead: str) -> str:
    if named.kind is StatementKind.VERSION:
        return f"pyproject.toml requires Python {instead}"
    if named.kind is StatementKind.COMMAND:
        return f"no manifest has the script {named.value.partition(' ')[2]}" + (
            f"; there is {instead}" if instead else ""
        )
    return f"{named.value} is not there" + (f"; {instead} is" if instead else "")
