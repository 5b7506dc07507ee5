"""The truth of a statement in a checkout: everything that it names is there, something is not, or neither is known.

Nothing of the project is run. What is not sure is not checkable: a wrong alarm costs a reader more than a miss.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from msgspec.structs import replace

from knowbound.codebase.checkout import LARGEST, Checkout, is_prose
from knowbound.core.statement import UNKNOWN, CheckedStatement, Looked, Statement, StatementKind, StatementPlace, Truth
from knowbound.knowledge.named import NEEDS, Named, named_in
from knowbound.knowledge.names import WORDS, Names, look_up_option
from knowbound.knowledge.versions import look_up_version

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
_SCRIPTS_BY_DEFAULT = {"npm": frozenset({"test", "start"})}
# That a name occurs does not show what a statement says about it.
_PROVE_NOTHING = frozenset({*WORDS, StatementKind.OTHER})
# What is not known about these leaves a statement confirmed by the rest of what it names.
_MAY_STAY_UNKNOWN = frozenset({StatementKind.OPTION, StatementKind.VERSION})
# Files that are often shared by projects, and written for none: there only history counts.
_GENERAL = re.compile(r"(?:^|/)\.\w+/(?:skills|agents|commands)/")
_SUBMODULE = re.compile(r"^\s*path\s*=\s*(\S+?)/?\s*$", re.MULTILINE)
_FOLDER_CHANGE = re.compile(r"`[\w.@-]+/[\w./@-]*`")  # a heading that says in which folder the commands below it run
_NAME = re.compile(r'"name"\s*:\s*"(@?[\w./-]+)"')
_FEW_PLACES = 2  # places of a path that are no pattern of the project
_PACKAGES_OF_SCOPE = 2  # packages that make a scope the project's own
_USUAL_FOLDERS = frozenset("src lib app apps packages core test tests docs".split())
_WORD = re.compile(r"[A-Z][a-z]+|[a-z]+|[A-Z]+(?![a-z])|\d+")
_WORDS_OF_RARE_NAME = 2  # words of a name that hardly another file has


class Checker:
    """Checks statements against one checkout."""

    def __init__(self, checkout: Checkout) -> None:
        self._tree = checkout
        self._ignored = _ignored(checkout)
        self._names = Names(checkout, ())

    def check_all(self, statements: Sequence[Statement]) -> list[CheckedStatement]:
        """Return the statements with their truth; names are looked up together."""
        self._names = Names(self._tree, statements)
        return [self._check(statement) for statement in statements]

    def holds(self, wrong_statements: Sequence[CheckedStatement]) -> list[bool]:
        """Report for each contradicted statement whether the thing that decided about it holds in this checkout."""
        decided = [
            [named for named in named_in(wrong.statement) if (named.kind, named.value) == (wrong.kind, wrong.named)]
            for wrong in wrong_statements
        ]
        self._names = Names(self._tree, [wrong.statement for wrong in wrong_statements])
        return [
            any(self._look(named, wrong.statement).truth is Truth.CONFIRMED for named in names)
            for wrong, names in zip(wrong_statements, decided, strict=True)
        ]

    def unshown(self, statement: Statement) -> list[Named]:
        """Return what a statement names and the tree does not show."""
        self._names = Names(self._tree, [statement])
        # A bare file name in prose is hardly a claim that it is there.
        provable = [named for named in named_in(statement) if "/" in named.value or not named.needs_history]
        return [named for named in provable if self._look(named, statement).truth is not Truth.CONFIRMED]

    def _check(self, statement: Statement) -> CheckedStatement:
        """Return the statement as its first contradicted name, or all of its names, decide."""
        confirmed: list[tuple[Named, StatementPlace]] = []
        has_undecided = False
        for named in named_in(statement):
            found = self._look(named, statement)
            is_wrong = found.truth is Truth.CONTRADICTED
            since = found.since or self._since(named, statement) if is_wrong else ""  # the commit that deleted it
            # A general file is wrong only about what history deleted here; a bare `src/` is in every project.
            is_own = since and "/" in named.value.strip("/")
            is_meant = (named.is_sure or (named.if_deleted and since)) and (
                is_own or not _GENERAL.search(statement.file)
            )
            if is_wrong and is_meant:
                wrong = CheckedStatement(statement, named.kind, found.truth, named.value, found.place, since=since)
                return repaired(replace(wrong, why=_why(named, found.place, found.instead)), found.instead)
            if found.truth is Truth.CONFIRMED and found.place is not None:
                confirmed.append((named, found.place))
            elif named.kind not in _MAY_STAY_UNKNOWN and not named.needs_history:
                has_undecided = True
        proven = [(named, place) for named, place in confirmed if named.kind not in _PROVE_NOTHING]
        if not proven or has_undecided:
            kind = confirmed[0][0].kind if confirmed else StatementKind.OTHER
            return CheckedStatement(statement, kind, Truth.NOT_CHECKABLE)
        named, place = proven[0]
        return CheckedStatement(statement, named.kind, Truth.CONFIRMED, named.value, place)

    def _look(self, named: Named, statement: Statement) -> Looked:
        """Judge one thing that a statement names, by its kind."""
        match named.kind:
            case StatementKind.PATH | StatementKind.LINK | StatementKind.LAYOUT:
                return self._path(named, statement)
            case StatementKind.COMMAND:
                return self._command(named, statement)
            case StatementKind.SYMBOL | StatementKind.VARIABLE:
                return self._names.look(named, statement)
            case StatementKind.OTHER:
                return self._package(named)
            case StatementKind.VERSION:
                return look_up_version(self._tree, named.value, statement.file)
            case StatementKind.SKILL:
                return self._skill(named.value.removeprefix("/"))
            case StatementKind.OPTION:
                return look_up_option(self._tree, named, statement)
        return UNKNOWN

    def _since(self, named: Named, statement: Statement) -> str:
        """Return the commit that deleted what a statement names; "" if history does not show it."""
        paths = (_joined(base, named.value) for base in _bases(named, statement))
        return next((self._tree.deleted[path] for path in paths if path in self._tree.deleted), "")

    @cached_property
    def _packages(self) -> dict[str, str]:
        """The packages of the project's own manifests, each with the manifest."""
        found: dict[str, str] = {}
        for path in sorted(self._tree.by_name.get("package.json", [])):
            if name := _NAME.search(self._tree.text(path)):
                found.setdefault(name[1], path)
        return found

    def _package(self, named: Named) -> Looked:
        """Judge a package with a scope (`@scope/name`): one of the project's own scope has to be there."""
        if named.value in self._packages:
            return Looked(Truth.CONFIRMED, StatementPlace(self._packages[named.value]))
        scope = named.value.partition("/")[0]
        is_own = sum(name.startswith(f"{scope}/") for name in self._packages) >= _PACKAGES_OF_SCOPE
        is_used = any(not is_prose(place.path) for place in self._names.places[named.value])
        is_gone = is_own and not is_used and named.value not in self._tree.unsearched
        return Looked(Truth.CONTRADICTED) if is_gone else UNKNOWN

    def _skill(self, name: str) -> Looked:
        """Judge a slash command: a command, a skill or an agent of the project; gone only if history had one."""
        files = re.compile(rf"(?:^|/)(?:commands/(?:.+/)?{name}\.md|skills/{name}/SKILL\.md|skills/{name}\.md)$")
        if found := next((path for path in sorted(self._tree.files) if files.search(path)), ""):
            return Looked(Truth.CONFIRMED, StatementPlace(found))
        gone = next((path for path in sorted(self._tree.deleted) if files.search(path)), "")
        return Looked(Truth.CONTRADICTED, since=self._tree.deleted[gone]) if gone else UNKNOWN

    # Paths

    def _path(self, named: Named, statement: Statement) -> Looked:
        """Judge a path: there, moved or gone; unknown if tools make it, or history and the folders leave doubt."""
        bases = _bases(named, statement)
        values = [named.value]
        if named.kind is StatementKind.LAYOUT:  # the root of a drawn tree is often the project itself
            values.append(named.value.partition("/")[2] or named.value)
        candidates = [_joined(base, value) for base in bases for value in values]
        for path in candidates:  # None: it leads out of the root
            if path is not None and self._tree.has(path):
                return Looked(Truth.CONFIRMED, StatementPlace(path))
        value = named.value.strip("/").removeprefix("./")
        deleted = [path for path in candidates if path in self._tree.deleted]
        is_under = bool(statement.under)  # a bullet below a line that names a folder
        is_made_by_tools = bool(_MADE.search(value)) or self._is_ignored(value)
        whole_paths = deleted if "/" in value and not is_made_by_tools else []
        if deleted_later := [path for path in whole_paths if self._is_older_than_deletion(statement, path)]:
            return Looked(Truth.CONTRADICTED, instead=self._renamed(deleted_later))
        if is_under and (deleted_below := [path for path in deleted if path in _below(statement, named)]):
            return Looked(Truth.CONTRADICTED, instead=self._renamed(deleted_below))
        is_placed = is_under and named.kind is StatementKind.PATH  # the text says in which folder it is
        ending_alike = [path for path in self._paths_named(value) if path == value or path.endswith(f"/{value}")]
        has_folder = "/" in value or named.value.endswith("/")  # not only the name of a file
        if len(ending_alike) > _FEW_PLACES and deleted and not is_under:
            return UNKNOWN  # several folders have one: the text means each of them
        if ending_alike and deleted and has_folder and (moved := self._renamed(deleted)):
            return Looked(Truth.CONTRADICTED, instead=moved)
        if ending_alike and (deleted or is_placed):
            return UNKNOWN  # others of that name are there, the one that is meant is not
        if named.needs_history and not deleted:
            return UNKNOWN  # no sign says that it is a path
        if ending_alike:
            # Written from a folder that the text means: it is there, where exactly is not said.
            return Looked(Truth.CONFIRMED, StatementPlace(min(ending_alike, key=lambda path: (path.count("/"), path))))
        if is_made_by_tools or any(path is None for path in candidates):
            return UNKNOWN  # it may be there for a user, or outside of the project
        if "/" not in value and not deleted:
            return UNKNOWN  # the absence of a name without a folder says little
        first = value.split("/")[0]
        # Gone for sure if it is a link or history had it; else its first folder, or where it is now, has to be there.
        is_anchored = any(self._tree.has(posixpath.join(base, first)) for base in bases)
        is_known = named.kind is StatementKind.LINK or bool(deleted) or first in self._tree.deleted
        moved = self._renamed(candidates) or self._moved(value)
        is_hidden = first.startswith(".")  # settings there may be those of a user's own project
        if not is_known and (is_hidden or not (is_anchored or moved)):
            return UNKNOWN
        return Looked(Truth.CONTRADICTED, instead=moved)

    def _is_older_than_deletion(self, statement: Statement, path: str) -> bool:
        """Report whether the statement was written before the path went away: it means that very path."""
        before = self._tree.text_at(f"{self._tree.deleted[path]}^", statement.file)
        return bool(before) and " ".join(statement.text.split()) in " ".join(before.split())

    def _renamed(self, paths: Sequence[str | None]) -> str:
        """Return where history says that the first renamed path is now; "" if none was renamed."""
        return next(filter(None, (self._tree.renamed(path) for path in paths if path)), "")

    def _paths_named(self, value: str) -> list[str]:
        """Return the files and folders whose last part is that of the value."""
        last = value.rpartition("/")[2]
        files = self._tree.by_name.get(last.lower(), [])
        named = (*files, *self._tree.folders)
        return [path for path in named if path.rpartition("/")[2] == last]

    def _moved(self, value: str) -> str:
        """Return the only other file of that name; "" if there are several, or the name is common in projects."""
        found = self._paths_named(value)
        if len(found) != 1 or found[0] not in self._tree.files:
            return ""
        folder, _, name = value.rpartition("/")
        shares = (set(folder.split("/")) - _USUAL_FOLDERS) & set(found[0].split("/")[:-1])
        is_rare = len(_WORD.findall(name.rpartition(".")[0])) >= _WORDS_OF_RARE_NAME
        return found[0] if shares or is_rare else ""

    def _is_ignored(self, value: str) -> bool:
        parts = value.split("/")
        above = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
        return any(part in self._ignored for part in (*above, *parts))

    # Commands

    def _manifest(self, named: Named, statement: Statement) -> Looked:
        """Judge a program that needs a manifest where it runs: one that history took away from there is missed."""
        names = NEEDS[named.value.strip()]
        manifests_here = [posixpath.join(base, name).lstrip("/") for base in _bases(named, statement) for name in names]
        if any(map(self._tree.has, manifests_here)) or _FOLDER_CHANGE.search(statement.heading):
            return UNKNOWN  # a manifest alone does not show what the command does; a heading may name another folder
        deleted = next((path for path in manifests_here if path in self._tree.deleted), "")
        if not deleted or not any(self._tree.text_at(commit, deleted) for commit in self._commits_with(statement)):
            return UNKNOWN  # whoever wrote the line after that meant another folder
        others = self._tree.by_name.get(posixpath.basename(deleted).lower(), [])
        return Looked(Truth.CONTRADICTED, instead=others[0] if len(others) == 1 else "")

    def _hook(self, name: str) -> Looked:
        """Judge a hook of pre-commit: one that the config names."""
        config = ".pre-commit-config.yaml"
        found = re.compile(rf"^\s*(?:-\s+)?(?:id|alias):\s*[\"']?{re.escape(name)}[\"']?\s*(?:#|$)")
        for number, line in enumerate(self._tree.lines(config), 1):
            if found.match(line):
                return Looked(Truth.CONFIRMED, StatementPlace(config, number))
        return Looked(Truth.CONTRADICTED) if self._tree.lines(config) else UNKNOWN  # without a config nothing is known

    def _command(self, named: Named, statement: Statement) -> Looked:
        """Judge a command by the scripts of the manifests that its program reads, the nearest manifest first."""
        program, _, script = named.value.partition(" ")
        if program in NEEDS:
            return self._manifest(named, statement)
        if program == "pre-commit":
            return self._hook(script)
        if program not in _MANIFEST_OF:
            return self._python_tool(script)
        manifest_name = _MANIFEST_OF[program]
        manifests = {
            path: scripts
            for path, scripts in self._tree.scripts.items()
            if path.rpartition("/")[2].lower().startswith(manifest_name) or (manifest_name == "mise" and "mise" in path)
        }
        own = posixpath.join(named.folder or posixpath.dirname(statement.file), manifest_name)
        # A script that went from the nearest manifest is gone, even if another manifest has one of that name.
        if own in manifests and script not in manifests[own] and self._had_script(own, script, statement):
            similar = {name for name in manifests[own] if _has_same_words(name, script)}
            return Looked(Truth.CONTRADICTED, StatementPlace(own), similar.pop() if len(similar) == 1 else "")
        for path in sorted(manifests, key=lambda path: (path.count("/"), path)):
            if script in manifests[path]:
                return Looked(Truth.CONFIRMED, StatementPlace(path, manifests[path][script]))
        scripts_anywhere = [name for names in manifests.values() for name in names]
        near_by = {posixpath.dirname(statement.file), named.folder, ""}
        has_pattern_rule = any(  # of make: `build-%` makes targets of any name
            "%" in name for path, names in manifests.items() if posixpath.dirname(path) in near_by for name in names
        )
        has_default = script in _SCRIPTS_BY_DEFAULT.get(program, ())
        if not manifests or has_default or has_pattern_rule or self._is_dependency(program, script):
            return UNKNOWN
        similar = {name for name in scripts_anywhere if _has_same_words(name, script)}
        return Looked(Truth.CONTRADICTED, instead=similar.pop() if len(similar) == 1 else "")

    def _had_script(self, manifest: str, script: str, statement: Statement) -> bool:
        """Report whether a manifest had a script when the statement was there: it means that very script."""
        named = re.compile(rf'^\s*"{re.escape(script)}"\s*:', re.MULTILINE)
        return any(named.search(self._tree.text_at(commit, manifest)) for commit in self._commits_with(statement))

    def _commits_with(self, statement: Statement) -> Iterator[str]:
        """Yield commits of the knowledge file, of those that are looked at, in which the statement was there."""
        said = " ".join(statement.text.split())
        for commit in self._tree.commits_of(statement.file):
            if said in " ".join(self._tree.text_at(commit, statement.file).split()):
                yield commit

    def _is_dependency(self, program: str, name: str) -> bool:
        """Report whether pnpm or yarn may run a program of a dependency: some manifest has its name."""
        if program not in ("pnpm", "yarn"):
            return False
        whole_name = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
        return any(whole_name.search(self._tree.text(path)) for path in self._tree.by_name.get("package.json", []))

    def _python_tool(self, name: str) -> Looked:
        """Judge a program that the project's environment runs: a script of the project, or a locked package."""
        whole_name = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
        for path in ("pyproject.toml", "uv.lock"):
            for number, line in enumerate(self._tree.text(path).splitlines(), 1):
                if whole_name.search(line):
                    return Looked(Truth.CONFIRMED, StatementPlace(path, number))
        locked = len(self._tree.text("uv.lock"))
        return Looked(Truth.CONTRADICTED) if 0 < locked < LARGEST else UNKNOWN  # of a longer file the rest is not read


def _bases(named: Named, statement: Statement) -> list[str]:
    """Return the folders that a path may be written from: where a command runs, the root, the file's own."""
    own = posixpath.dirname(statement.file)
    if statement.under and named.kind is StatementKind.PATH:  # the folder that the text above names comes first
        return [posixpath.join(base, statement.under) for base in dict.fromkeys(("", own))] + [named.folder, "", own]
    return list(dict.fromkeys((named.folder, "", own)))


def _below(statement: Statement, named: Named) -> list[str | None]:
    """Return the places of a path in the folder that the text above a bullet names."""
    own = posixpath.dirname(statement.file)
    return [_joined(posixpath.join(base, statement.under), named.value) for base in dict.fromkeys(("", own))]


def _joined(base: str, value: str) -> str | None:
    """Return a path relative to the root; None if it leads out."""
    path = posixpath.normpath(posixpath.join(base, value.lstrip("/") if value.startswith("/") else value))
    return None if path.startswith("..") else path


def _ignored(checkout: Checkout) -> frozenset[str]:
    """Return the plain names and paths that the ignore files of the checkout name, and its submodules."""
    found = set(_SUBMODULE.findall(checkout.text(".gitmodules")))
    for path in checkout.by_name.get(".gitignore", []):  # of any folder: names alone are compared
        for line in checkout.text(path).splitlines():
            plain = line.strip().strip("/").removeprefix("**/").removesuffix("/*").removesuffix("/**")
            if plain and not plain.startswith(("#", "!")) and "*" not in plain:
                found.add(plain)
    return frozenset(found)


def _has_same_words(name: str, other: str) -> bool:
    """Report whether two names of scripts are the same words in another order or with another sign between them."""
    words, other_words = (sorted(re.split(r"[:._/-]", text.lower())) for text in (name, other))
    return words == other_words


def repaired(wrong: CheckedStatement, instead: str) -> CheckedStatement:
    """Return the statement with the repair that writes what the tree has instead; unchanged if no words say it.

    A row about nothing but a path that history deleted is taken out: its repair is empty.
    """
    named, text = wrong.named, wrong.statement.text
    old = named.partition(" ")[2] if wrong.kind is StatementKind.COMMAND else named  # of `npm lint` the script
    new = f"{instead}/" if named.endswith("/") and not instead.endswith("/") else instead
    if wrong.kind is StatementKind.LAYOUT and posixpath.dirname(old.rstrip("/")) == posixpath.dirname(new.rstrip("/")):
        old, new = (posixpath.basename(path.rstrip("/")) for path in (old, new))  # a row has only the last part
    if not instead and wrong.since and _is_only_about(wrong.statement, named):
        return replace(wrong, repair="")
    if not instead or not old or old not in text:
        return wrong
    return replace(wrong, repair=text.replace(old, new), swap=(old, new))


def cause_of(wrong: CheckedStatement) -> tuple[str, str]:
    """Return what wrong statements with one cause share: the folder that paths moved into, or the wrong thing."""
    old, new = (words.strip("/") for words in wrong.swap or ("", ""))
    if old and new.endswith(f"/{old}"):  # `src/a.py` is at `app/src/a.py`
        return "moved into", new.removesuffix(old)
    return wrong.kind, wrong.named.strip("/")


def with_same(checked: Iterable[CheckedStatement]) -> Iterator[CheckedStatement]:
    """Yield the statements; each wrong statement with the further statements that are wrong for the same reason."""
    statements = list(checked)
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for statement in statements:
        if statement.truth is Truth.CONTRADICTED:
            places[cause_of(statement)].append(f"{statement.statement.file}:{statement.statement.line}")
    for statement in statements:
        own = f"{statement.statement.file}:{statement.statement.line}"
        same = tuple(place for place in places.get(cause_of(statement), ()) if place != own)
        yield replace(statement, same_as=same) if statement.truth is Truth.CONTRADICTED and same else statement


def _is_only_about(statement: Statement, named: str) -> bool:
    """Report whether a statement is a row of a drawn tree or of a table whose subject is the named path."""
    is_leaf = bool(statement.path) and not statement.path.endswith("/")
    return is_leaf or statement.text.replace(" ", "").startswith(f"|`{named}`|")


def _why(named: Named, place: StatementPlace | None, instead: str) -> str:
    """Return in words what is wrong with a named thing, and what the tree has instead."""
    if named.kind is StatementKind.VERSION:
        return f"{place.path if place else 'the tree'} states " + (instead or f"another than {named.value}")
    if named.kind is StatementKind.OPTION:
        program, _, option = named.value.rpartition(" ")
        return f"{program} has no option {option}"
    if named.value.strip() in NEEDS:
        return f"there is no {NEEDS[named.value.strip()][0]} here" + (f"; {instead} is" if instead else "")
    if named.value.startswith("pre-commit "):
        return f".pre-commit-config.yaml has no hook {named.value.partition(' ')[2]}"
    if named.kind is StatementKind.COMMAND:
        return f"no manifest has the script {named.value.partition(' ')[2]}" + (
            f"; there is {instead}" if instead else ""
        )
    return f"{named.value} is not there" + (f"; {instead} is" if instead else "")
