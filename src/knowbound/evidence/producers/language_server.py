"""`ty references` and its like: the uses of a symbol, resolved by the language server of its language.

ast-grep knows a use by its name; a language server knows which definition the name means there. So it is asked first
where the question is about uses, one server can resolve every definition of the name, and that server is installed.
Whatever goes wrong is quality none with the reason, and `references` answers as if there were no server.
"""

from __future__ import annotations

import atexit
import os
import re
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from knowbound.codebase.languages import Role, occurrences
from knowbound.codebase.ripgrep import matches
from knowbound.codebase.symbols import symbols_of
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality, strength_of
from knowbound.evidence.producers.find import files_named
from knowbound.evidence.producers.lsp import Client, Location, Outline, Refused, ServerFault, locations, outline
from knowbound.evidence.producers.protocol import SEARCH, Ask, Context
from knowbound.evidence.producers.references import PARSED_FOR_USES, REAL, InFile, names_of, order
from knowbound.evidence.question.terms import Focus, Term, TermKind
from knowbound.files import extension, read_text, standing
from knowbound.process import find_program, run

_SECONDS = 5.0  # for one question, the start of the server included
_FRESH_SECONDS = 60.0  # a server kept longer may know files as they no longer are; as with the symbols
_KEPT_SERVERS = 3
_DEFINITIONS = 8  # of a name with more, the question does not say which is meant: the name is all there is
_PLACES, _PLACES_PER_FILE = 200, 20
_VARIABLES = frozenset({"variable", "const", "static", "var"})
_SYMBOL = re.compile(r"[\w$#~]+")
_LANGUAGE_IDS = {
    "py": "python", "pyi": "python", "ts": "typescript", "mts": "typescript", "cts": "typescript",
    "tsx": "typescriptreact", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascriptreact",
    "c": "c", "h": "cpp", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "hh": "cpp", "hxx": "cpp",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Command:
    """How a server is started, and the first major version of the program that has one."""

    argv: tuple[str, ...]
    since: int = 0


@dataclass(frozen=True, slots=True)
class Server:
    """A language server, the files that it understands, and what it has to be told."""

    name: str
    endings: frozenset[str]
    commands: tuple[Command, ...]  # in the order in which they are looked for
    opens: int = 0  # for a server that knows only what is open: how many files that write the name are opened
    env: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)  # given at its start
    settings: Mapping[str, object] = field(default_factory=dict)  # given when it asks, by section


# Nothing of these writes into the tree or runs what the tree says: clangd keeps no index on disk and reads no
# `.clangd`; tsc may not fetch the types of packages.
SERVERS = (
    Server("ty", frozenset({"py", "pyi"}), (Command(("ty", "server")),)),
    Server(
        "tsc",
        frozenset("ts mts cts tsx js mjs cjs jsx".split()),
        (Command(("tsc", "--lsp", "--stdio"), since=7), Command(("tsgo", "--lsp", "--stdio"), since=7)),
        opens=40,
        env={"npm_config_offline": "true", "npm_config_ignore_scripts": "true"},
        options={"disablePushDiagnostics": True},
        settings={
            "js/ts": {"tsserver": {"automaticTypeAcquisition": {"enabled": False}}},
            "typescript": {"disableAutomaticTypeAcquisition": True},
        },
    ),
    Server(
        "clangd",
        frozenset("c h cc cpp cxx hpp hh hxx".split()),
        (
            Command(
                ("clangd", "--background-index=false", "--enable-config=false", "--clang-tidy=false",
                 "--pch-storage=memory", "--log=error"),
            ),
        ),
        opens=24,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Plan:
    """Who is to be asked about which names, defined in which files."""

    server: Server
    argv: tuple[str, ...]
    names: tuple[str, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Site:
    """Where a name is defined; line and column from 0, the column in UTF-16 units."""

    path: str
    line: int
    column: int
    name: str
    is_local: bool  # a variable inside something else: meant only where there is nothing better


@dataclass(slots=True)
class _Used:
    """The resolved uses in one file: by role, and the name that each line writes."""

    here: InFile
    symbols: dict[int, str] = field(default_factory=dict)


class LanguageServer:
    """Uses resolved by a language server, where one is installed."""

    name = "language server"
    cls = EvidenceClass.FILE_SEARCH
    independent_of = SEARCH  # it reads the same tree for the same name: never a corroboration of grep
    authoritative = False

    def __init__(self, servers: Sequence[Server] = SERVERS, seconds: float = _SECONDS) -> None:
        """No server is started before a question needs it; one that runs is kept for the next question."""
        self._servers = {ending: server for server in servers for ending in server.endings}
        self._seconds = seconds
        self._found: dict[tuple[str, Path], tuple[str, ...] | None] = {}
        self._running: dict[tuple[str, Path], tuple[Client, str]] = {}
        self._failed: set[tuple[str, Path]] = set()
        self._lock = threading.Lock()
        atexit.register(self.close)

    def can(self, ask: Ask, context: Context) -> int:
        """Before all others for the uses of a name that one installed server can resolve; for nothing else."""
        if ask.term is None or ask.term.focus is not Focus.USES:
            return 0
        with self._lock:
            return 10 if self._plan(ask.term, context) is not None else 0

    def produce(self, ask: Ask, context: Context) -> list[Evidence]:
        """The resolved uses; a server that fails is not asked again about this root."""
        term = ask.term
        assert term is not None
        with self._lock:
            plan = self._plan(term, context)
            if plan is None:
                return [_evidence(self.name, ask, Quality.NONE, "no server for it is installed")]
            key, tool = (plan.server.name, context.root), f"{plan.server.name} references"
            end = time.monotonic() + min(self._seconds, context.seconds_left)
            try:
                client, version = self._client(plan, context, end)
                return [_resolved(client, f"{plan.server.name} {version}".strip(), plan, ask, context, end)]
            except ServerFault as fault:
                self._failed.add(key)
                if key in self._running:
                    self._running.pop(key)[0].kill()
                return [_evidence(tool, ask, Quality.NONE, f"{plan.server.name} {fault}")]

    def close(self) -> None:
        """End the servers that run."""
        with self._lock:
            while self._running:
                self._running.popitem()[1][0].close()

    def _plan(self, term: Term, context: Context) -> _Plan | None:
        """The server that resolves every definition of the name; None where it would not be all of them."""
        if term.kind not in (TermKind.IDENTIFIER, TermKind.PHRASE, TermKind.WORD):
            return None
        symbols = symbols_of(context.root, context.seconds_left)
        names, doubt = names_of(term, symbols)
        defined = [one for name in names for one in symbols.by_name.get(name, ()) if one.kind != "heading"]
        servers = {id(server): server for server in (self._servers.get(extension(one.path)) for one in defined)}
        server = servers.popitem()[1] if len(servers) == 1 else None
        if doubt or server is None or (server.name, context.root) in self._failed:
            return None
        argv = self._command(server, context)
        paths = tuple(sorted({one.path for one in defined}, key=lambda path: (standing(path), path)))
        return _Plan(server, argv, tuple(names), paths) if argv is not None else None

    def _command(self, server: Server, context: Context) -> tuple[str, ...] | None:
        key = (server.name, context.root)
        if key not in self._found:
            self._found[key] = next(
                (argv for command in server.commands if (argv := _installed(command, context)) is not None), None
            )
        return self._found[key]

    def _client(self, plan: _Plan, context: Context, end: float) -> tuple[Client, str]:
        """The server for this root: the one that runs, where it is fresh, else a new one."""
        key = (plan.server.name, context.root)
        known = self._running.get(key)
        if known is not None and time.monotonic() - known[0].started < _FRESH_SECONDS:
            known[0].begin()
            return known
        while known is not None or len(self._running) >= _KEPT_SERVERS:
            self._running.pop(key if known is not None else next(iter(self._running)))[0].close()
            known = None
        server = plan.server
        client = Client(plan.argv, context.root, context.limits.output_bytes, server.env, server.settings)
        self._running[key] = client, ""
        self._running[key] = client, client.initialize(server.options, end)
        return self._running[key]


def _installed(command: Command, context: Context) -> tuple[str, ...] | None:
    """The command with its program's path, where that is installed and new enough."""
    program = find_program(command.argv[0], context.root)
    if program is None:
        return None
    if command.since:
        said = run([program, "--version"], context.root, min(2.0, context.seconds_left), 10_000).text
        major = re.search(r"\d+", said)
        if major is None or int(major.group()) < command.since:
            return None
    return (program, *command.argv[1:])


def _resolved(client: Client, server: str, plan: _Plan, ask: Ask, context: Context, end: float) -> Evidence:
    """Ask for the definition and the references of every place that defines the name."""
    term = ask.term
    assert term is not None
    symbols = symbols_of(context.root, context.seconds_left)
    tool = f"{plan.server.name} references"
    sites = _sites(plan, context)
    writing = _writing(plan, context, end)
    outlines = _opened(
        client, plan, [*dict.fromkeys(site.path for site in sites), *writing[: plan.server.opens]], context, end
    )
    sites = [site for site in sites if _is_of_owner(site, term, outlines.get(site.path, []))]
    if not sites or len(sites) > _DEFINITIONS:
        why = (
            "no definition of it was found" if not sites else f"{len(sites)} definitions, none of them said to be meant"
        )
        return _evidence(tool, ask, Quality.NONE, why)
    files = set(symbols.files)
    asked = [
        (site, client.ask_at("definition", site.path, site.line, site.column),
         client.ask_at("references", site.path, site.line, site.column))
        for site in sites
    ]  # fmt: skip
    known: list[_Site] = []
    used: dict[str, set[Location]] = defaultdict(set)
    for site, definition, references in asked:
        defined = _inside(locations(client.wait(definition, end)), context.root, files)
        found = _inside(locations(client.wait(references, end)), context.root, files)
        if defined:
            known.append(site)
            for path, place in found:
                used[path].add(place)
    if not known:
        return _evidence(tool, ask, Quality.NONE, f"{server} resolves no definition of it here")
    within = set(files_named(symbols.files, term.within)) if term.within else files
    uses = [_with_roles(path, used[path], known, context) for path in sorted(used) if path in within]
    return _graded(tool, server, ask, term, known, [one for one in uses if one.symbols], writing)


def _sites(plan: _Plan, context: Context) -> list[_Site]:
    """Every definition of the names, as the files are now."""
    sites = []
    for path in plan.paths[:PARSED_FOR_USES]:
        text = read_text(context.root, path, context.limits.file_bytes)
        if text is None:
            continue
        lines = text.split("\n")
        for name in plan.names:
            for one in occurrences(text, path, name) if name in text else ():
                line = lines[one.line - 1]
                at = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", line)
                if one.role is Role.DEFINITION and one.kind in REAL and at is not None:
                    column = len(line[: at.start()].encode("utf-16-le")) // 2
                    is_local = one.kind in _VARIABLES and line[:1] in (" ", "\t")
                    sites.append(_Site(path, one.line - 1, column, name, is_local))
    return [site for site in sites if not site.is_local] or sites


def _writing(plan: _Plan, context: Context, end: float) -> list[str]:
    """The files of the language that write the name but do not define it, the most important first."""
    pattern = "|".join(rf"\b{re.escape(name)}\b" for name in plan.names)
    hits, _ = matches(context.root, [pattern], max(0.0, end - time.monotonic()), ignore_case=False)
    paths = {hit.path for hit in hits if extension(hit.path) in plan.server.endings} - set(plan.paths)
    return sorted(paths, key=lambda path: (standing(path), path))


def _opened(
    client: Client, plan: _Plan, paths: Sequence[str], context: Context, end: float
) -> dict[str, list[Outline]]:
    """Open files and wait until the server has read them.

    The answer to an outline comes only after the file was taken in: so nobody has to guess when the server is ready.
    """
    asked = {}
    for path in paths:
        text = read_text(context.root, path, context.limits.file_bytes)
        if text is not None:
            client.open(path, text, _LANGUAGE_IDS.get(extension(path), ""))
            asked[path] = client.ask_outline(path)
    outlines: dict[str, list[Outline]] = {}
    for path, number in asked.items():
        try:
            outlines[path] = outline(client.wait(number, end))
        except Refused:
            outlines[path] = []
    return outlines


def _is_of_owner(site: _Site, term: Term, symbols: Sequence[Outline]) -> bool:
    """`Owner.member`: the definition stands in the owner, or at the top of the module that is the owner."""
    parts = re.split(r"\.|::|->|#", term.text) if term.kind is TermKind.IDENTIFIER else []
    if len(parts) < 2 or parts[-2] in ("self", "this", "cls"):
        return True
    around = [one for one in symbols if one.first <= site.line <= one.last]
    own = max(around, key=lambda one: len(one.containers), default=None)
    if own is None:
        return False
    containers = [part for name in (*own.containers, own.name) for part in re.split(r"\.|::", name)]
    return parts[-2] in containers or (not own.containers and parts[-2] in re.split(r"[/.]", site.path))


def _inside(places: Sequence[Location], root: Path, files: set[str]) -> list[tuple[str, Location]]:
    """The places in files of the tree, by their path in it; all others are dropped."""
    prefix = os.path.join(str(root), "")
    within = ((os.path.realpath(place.path).removeprefix(prefix), place) for place in places)
    return [(path, place) for path, place in within if path in files]


def _with_roles(path: str, places: set[Location], known: Sequence[_Site], context: Context) -> _Used:
    """The resolved lines of a file by what they are in its syntax tree; a definition is no use."""
    text = read_text(context.root, path, context.limits.file_bytes) or ""
    lines = text.split("\n")
    found = _Used(InFile(path))
    if not any(site.name in text for site in known):
        return found  # the file is no longer what the server read
    found.here.definitions = [(site.line + 1, site.name, "function") for site in known if site.path == path]
    defining = {line for line, _, _ in found.here.definitions}
    roles: dict[tuple[int, str], set[Role]] = defaultdict(set)
    written = {
        place.line + 1: _written(lines, place) for place in sorted(places, key=lambda one: (one.line, one.start))
    }
    for symbol in {*written.values()} - {""}:
        for one in occurrences(text, path, symbol):
            roles[one.line, symbol].add(one.role)
    for line, symbol in written.items():
        role = roles[line, symbol]
        if not symbol or line in defining or role == {Role.DEFINITION}:
            continue
        kind = found.here.calls if Role.CALL in role else found.here.imports if Role.IMPORT in role else found.here.uses
        kind.append(line)
        found.symbols[line] = symbol
    return found


def _written(lines: Sequence[str], place: Location) -> str:
    """What stands at a place: the name, or the other name under which the file knows it; "" where it is no name."""
    line = lines[place.line] if place.line < len(lines) else ""
    written = line.encode("utf-16-le")[place.start * 2 : place.end * 2].decode("utf-16-le", "replace")
    return written if _SYMBOL.fullmatch(written) else ""


def _graded(
    tool: str, server: str, ask: Ask, term: Term, known: Sequence[_Site], used: list[_Used], writing: Sequence[str]
) -> Evidence:
    """A resolved definition with resolved uses is strong; how many there are sets the strength."""
    first = known[0]
    where = f"{first.name} in {first.path}:{first.line + 1}"
    also = f" and {len(known) - 1} more of the name" if len(known) > 1 else ""
    defined = [Place(site.path, site.line + 1, site.name) for site in known]
    if not used:
        why = f"{server} resolves {where}{also}, but no use of it"
        return _evidence(tool, ask, Quality.MODERATE, why, defined)
    places: list[Place] = []
    for one in sorted(used, key=lambda one: order(one.here, Focus.USES)):
        here = one.here
        lines = (*here.calls, *here.uses, *here.imports)
        places += [Place(here.path, line, one.symbols[line]) for line in lines[:_PLACES_PER_FILE]]
    count = sum(len(one.symbols) for one in used)
    note = f"{count} use{'s' * (count != 1)} of {where}{also}, resolved by {server}"
    if term.kind is TermKind.PHRASE and all(standing(one.here.path) == 3 for one in used):
        return _evidence(tool, ask, Quality.MODERATE, f"{note}, but only in tests", [*places, *defined], count)
    elsewhere = [standing(one.here.path) for one in used if not one.here.definitions]
    if writing and min(elsewhere, default=9) > standing(writing[0]):
        # Code that it cannot follow (dynamic exports, names in strings, missing headers): its silence proves nothing.
        note += f"; none in {writing[0]}, which writes the name"
        return _evidence(tool, ask, Quality.MODERATE, note, [*places, *defined], count)
    return _evidence(tool, ask, Quality.STRONG, note, [*places, *defined], count)


def _evidence(
    tool: str, ask: Ask, quality: Quality, note: str, places: Sequence[Place] = (), count: int = 0
) -> Evidence:
    return Evidence(
        cls=EvidenceClass.FILE_SEARCH,
        tool=tool,
        query=ask.target,
        target=ask.target,
        quality=quality,
        strength=strength_of(count or len(places)),
        places=tuple(dict.fromkeys(places))[:_PLACES],
        match_count=count or len(places),
        exact_match_count=count,
        note=note,
    )
