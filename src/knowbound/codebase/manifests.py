"""Inventory of a source tree, and what its manifests declare, without running anything.

One bounded walk follows no link. Trees and manifests are untrusted: link loops, unreadable folders, a million files; a
manifest that is broken, huge or nested a thousand levels deep is "unreadable", never an error.
"""

from __future__ import annotations

import os
import re
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from knowbound.core.evidence import Place
from knowbound.core.paths import IGNORED_IN_SOURCES, MADE_BY_TOOLS, Language, is_vendored, language_of
from knowbound.files import open_below

_MOST_BYTES = 1_000_000  # of one manifest


class KnownManifest(NamedTuple):
    """Facts that follow from the name of a manifest."""

    system: str  # the build system
    kind: str  # the kind of project; "" if the name does not say
    weight: int  # 3 declares a package, 2 a build, 1 only tooling, 0 nothing


MANIFESTS: dict[str, KnownManifest] = {
    "pyproject.toml": KnownManifest("python", "python", 1),  # 2 or 3 by its content
    "setup.py": KnownManifest("setuptools", "python", 3),
    "setup.cfg": KnownManifest("setuptools", "python", 1),
    "requirements.txt": KnownManifest("pip", "python", 1),
    "Pipfile": KnownManifest("pipenv", "python", 2),
    "tox.ini": KnownManifest("tox", "python", 1),
    "pytest.ini": KnownManifest("pytest", "python", 1),
    "package.json": KnownManifest("npm", "javascript", 1),  # 3 if it declares a package
    "deno.json": KnownManifest("deno", "javascript", 2),
    "Cargo.toml": KnownManifest("cargo", "rust", 3),
    "CMakeLists.txt": KnownManifest("cmake", "c/c++", 2),
    "meson.build": KnownManifest("meson", "c/c++", 2),
    "configure.ac": KnownManifest("autotools", "c/c++", 2),
    "SConstruct": KnownManifest("scons", "", 0),
    "Makefile": KnownManifest("make", "", 0),
    "makefile": KnownManifest("make", "", 0),
    "GNUmakefile": KnownManifest("make", "", 0),
    "go.mod": KnownManifest("go", "go", 3),
    "pom.xml": KnownManifest("maven", "jvm", 3),
    "build.gradle": KnownManifest("gradle", "jvm", 3),
    "build.gradle.kts": KnownManifest("gradle", "jvm", 3),
    "build.sbt": KnownManifest("sbt", "jvm", 3),
    "BUILD": KnownManifest("bazel", "", 0),
    "BUILD.bazel": KnownManifest("bazel", "", 0),
    "WORKSPACE": KnownManifest("bazel", "", 0),
    "MODULE.bazel": KnownManifest("bazel", "", 0),
    "Gemfile": KnownManifest("bundler", "ruby", 2),
    "Rakefile": KnownManifest("rake", "ruby", 1),
    "composer.json": KnownManifest("composer", "php", 3),
    "mix.exs": KnownManifest("mix", "elixir", 3),
    "Package.swift": KnownManifest("swift", "swift", 3),
    "pubspec.yaml": KnownManifest("dart", "dart", 3),
    "stack.yaml": KnownManifest("stack", "haskell", 3),
    "dune-project": KnownManifest("dune", "ocaml", 3),
    "build.zig": KnownManifest("zig", "zig", 3),
    "Project.toml": KnownManifest("julia", "julia", 2),
    "justfile": KnownManifest("just", "", 0),
}
_BY_ENDING = {
    ".sln": KnownManifest("dotnet", "dotnet", 3),
    ".csproj": KnownManifest("dotnet", "dotnet", 3),
    ".fsproj": KnownManifest("dotnet", "dotnet", 3),
    ".gemspec": KnownManifest("gem", "ruby", 3),
    ".cabal": KnownManifest("cabal", "haskell", 3),
}
_CI = {
    ".gitlab-ci.yml": "GitLab CI",
    ".circleci/config.yml": "CircleCI",
    "Jenkinsfile": "Jenkins",
    "azure-pipelines.yml": "Azure Pipelines",
    ".travis.yml": "Travis CI",
    "bitbucket-pipelines.yml": "Bitbucket Pipelines",
    "appveyor.yml": "AppVeyor",
    ".drone.yml": "Drone",
    ".cirrus.yml": "Cirrus CI",
}


def known_manifest(name: str) -> KnownManifest | None:
    """Return the manifest of this file name; None if it is no manifest."""
    if name in MANIFESTS:
        return MANIFESTS[name]
    return next((known for ending, known in _BY_ENDING.items() if name.endswith(ending)), None)


def ci_systems(inventory: Inventory) -> tuple[str, ...]:
    """Return the CI systems that have a file in the tree."""
    found = {_CI[path] for path in inventory.files if path in _CI}
    if any(path.startswith(".github/workflows/") and path.endswith((".yml", ".yaml")) for path in inventory.files):
        found.add("GitHub Actions")
    return tuple(sorted(found))


@dataclass(slots=True)
class Declared:
    """Declarations of one manifest."""

    path: str
    system: str
    kind: str
    weight: int
    readable: bool = True
    entry_points: list[Place] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)  # folders of its sources; empty: anywhere
    tests: bool = False  # it configures tests


def read_manifests(inventory: Inventory) -> list[Declared]:
    """Read the manifests in the root; manifests that declare the most come first."""
    found = []
    for name in sorted(inventory.at_root()):
        known = known_manifest(name)
        if known is not None:
            declared = Declared(name, known.system, known.kind, known.weight)
            _read_manifest(declared, inventory)
            found.append(declared)
    return sorted(found, key=lambda declared: -declared.weight)


def _read_manifest(declared: Declared, inventory: Inventory) -> None:
    """Fill in what a manifest declares, if its kind has a reader; a broken one is marked as unreadable."""
    reader = {
        "pyproject.toml": _pyproject,
        "package.json": _package_json,
        "Cargo.toml": _cargo,
        "CMakeLists.txt": _cmake,
        "setup.cfg": _setup_cfg,
    }.get(declared.path)
    if reader is None:
        return  # its name says all that is known of it
    content = inventory.read(declared.path, _MOST_BYTES)
    if content is None:
        declared.readable = False
        return
    try:
        reader(declared, content, inventory)
    except (ValueError, RecursionError, msgspec.MsgspecError):  # not TOML, not JSON, not UTF-8, too deep
        declared.readable = False


Table: TypeAlias = dict[str, object]


def _table(value: object, *keys: str) -> Table:
    """Return the table at the end of the keys; empty if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _top_folders(inventory: Inventory) -> frozenset[str]:
    return frozenset(path.partition("/")[0] for path in inventory.files if "/" in path)


def _pyproject(declared: Declared, content: bytes, inventory: Inventory) -> None:
    """Fill in what a pyproject.toml declares, as the readers below do for their manifests."""
    data = tomllib.loads(content.decode())
    project = _table(data, "project") or _table(data, "tool", "poetry")
    if project:
        declared.weight = 3
    elif "build-system" in data:
        declared.weight = 2
    backend = _table(data, "build-system").get("build-backend")
    if isinstance(backend, str):
        declared.system = re.split(r"[._]", backend)[0]
    for table in ("scripts", "gui-scripts"):
        declared.entry_points += [Place(declared.path, symbol=str(name)) for name in _table(project, table)]
    name = project.get("name")
    module = re.sub(r"[-.]+", "_", name).lower() if isinstance(name, str) else ""
    folders = {folder.lower(): folder for folder in _top_folders(inventory)}  # a package's folder may have capitals
    declared.roots = [folders[folder] for folder in ("src", module) if folder in folders]
    declared.tests = bool(_table(data, "tool", "pytest")) or "pytest" in str(data.get("dependency-groups", ""))


def _setup_cfg(declared: Declared, content: bytes, inventory: Inventory) -> None:
    text = content.decode()
    if re.search(r"^\[metadata\]", text, re.M):  # it declares a package
        declared.weight = 3
    scripts = re.search(r"^console_scripts\s*=\s*\n((?:[ \t]+\S.*(?:\n|\Z))+)", text, re.M)
    for line in scripts[1].splitlines() if scripts else ():
        declared.entry_points.append(Place(declared.path, symbol=line.partition("=")[0].strip()))
    declared.tests = "[tool:pytest]" in text


def _package_json(declared: Declared, content: bytes, inventory: Inventory) -> None:
    data: object = msgspec.json.decode(content)
    if not isinstance(data, dict):
        raise ValueError  # the caller marks the manifest as unreadable
    commands: list[str] = []
    binaries = data.get("bin")
    if isinstance(binaries, str):  # a single command has the name of the package
        commands.append(str(data.get("name", binaries)))
    commands += [str(name) for name in _table(binaries)]
    main = data.get("main")
    commands += [main] if isinstance(main, str) else []
    if "start" in _table(data, "scripts"):
        commands.append("npm start")
    declared.entry_points = [Place(declared.path, symbol=command) for command in commands]
    if commands or any(key in data for key in ("exports", "module", "dependencies", "workspaces", "files")):
        declared.weight = 3  # a package; others only have tools in it
    folders = _top_folders(inventory)
    declared.roots = [folder for folder in ("src", "lib", "packages", "app") if folder in folders]
    declared.tests = has_test_script(_table(data, "scripts"))


def has_test_script(scripts: Table) -> bool:
    """Report whether package.json has a test script other than the placeholder of `npm init`."""
    script = scripts.get("test")
    return isinstance(script, str) and bool(script.strip()) and "no test specified" not in script


def _cargo(declared: Declared, content: bytes, inventory: Inventory) -> None:
    data = tomllib.loads(content.decode())
    binaries = data.get("bin")
    for binary in binaries if isinstance(binaries, list) else ():
        name = _table(binary).get("name")
        declared.entry_points += [Place(declared.path, symbol=name)] if isinstance(name, str) else []
    package = _table(data, "package").get("name")
    if "src/main.rs" in inventory.files and isinstance(package, str):  # a binary that needs no declaration
        declared.entry_points.append(Place("src/main.rs", symbol=package))
    members = _table(data, "workspace").get("members")
    declared.roots = ["src"] if package else []
    for member in members if isinstance(members, list) else ():
        declared.roots += [member.split("*")[0].strip("/")] if isinstance(member, str) else []  # crates/* → crates
    declared.tests = any(path.startswith("tests/") and path.endswith(".rs") for path in inventory.files)


def _cmake(declared: Declared, content: bytes, inventory: Inventory) -> None:
    text = re.sub(r"#.*", "", content.decode("utf-8", "replace"))  # without comments; CMake takes any encoding
    declared.entry_points = [
        Place(declared.path, text.count("\n", 0, match.start()) + 1, match[1])
        for match in re.finditer(r"\badd_executable\s*\(\s*([\w.+-]+)", text, re.I)
    ]
    declared.tests = bool(re.search(r"\b(?:enable_testing|add_test)\s*\(", text, re.I))


def commands_of_containers(inventory: Inventory) -> Iterator[Place]:
    """Yield the commands that a Dockerfile or a Procfile starts."""
    for name in ("Dockerfile", "Procfile"):
        content = inventory.read(name, _MOST_BYTES) if name in inventory.at_root() else None
        for number, line in enumerate((content or b"").decode("utf-8", "replace").splitlines(), 1):
            match = re.match(r"(?:CMD|ENTRYPOINT)\s+(.+)" if name == "Dockerfile" else r"[\w-]+:\s*(.+)", line)
            if match:
                yield Place(name, number, match[1].strip())


MOST_ENTRIES = 200_000


@dataclass(frozen=True, slots=True)
class Inventory:
    """The regular files of a tree, and the reasons why some may be missing."""

    root: Path
    files: tuple[str, ...]  # relative to the root, with slashes
    unreadable: int = 0  # folders that may not be read
    cut: bool = False  # the walk stopped at a limit

    @property
    def complete(self) -> bool:
        """True if the walk saw the whole tree."""
        return not self.cut and not self.unreadable

    def at_root(self) -> frozenset[str]:
        """Return the names of the files in the root itself."""
        return frozenset(path for path in self.files if "/" not in path)

    def read(self, path: str, most: int) -> bytes | None:
        """Return the content of a file; None if it has more than `most` bytes or cannot be read."""
        try:
            with open_below(self.root, path) as file:
                content = file.read(most + 1)
        except (OSError, ValueError):
            return None
        return content if len(content) <= most else None


def take_inventory(root: Path, deadline: float, most: int = MOST_ENTRIES) -> Inventory:
    """Walk the tree once, until `deadline` (a time.monotonic()) or `most` entries of folders."""
    files: list[str] = []
    folders, entries_seen, unreadable = [""], 0, 0
    top = os.fspath(root)
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(f"{top}/{folder}") as entries:
                entries_here = sorted(entries, key=lambda entry: entry.name)  # each file system has its own order
        except OSError:
            unreadable += 1
            continue
        entries_seen += len(entries_here)
        if entries_seen > most or time.monotonic() > deadline:
            return Inventory(root, tuple(files), unreadable, cut=True)
        if folder and not MADE_BY_TOOLS.isdisjoint([entry.name for entry in entries_here]):
            continue  # an environment, a cache, a build; the root was asked for whatever it is
        prefix = f"{folder}/" if folder else ""
        for entry in entries_here:
            if entry.is_file(follow_symlinks=False):
                files.append(prefix + entry.name)
            elif entry.name not in IGNORED_IN_SOURCES and entry.is_dir(follow_symlinks=False):
                folders.append(prefix + entry.name)
    return Inventory(root, tuple(files), unreadable)


def sources_of(paths: Iterable[str]) -> Iterator[tuple[str, Language]]:
    """Yield the project's own source files, each with its language."""
    for path in paths:
        language = language_of(path)
        if language is not None and not is_vendored(path):
            yield path, language
