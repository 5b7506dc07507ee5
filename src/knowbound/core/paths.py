"""Properties of a file that its path shows: language, test, vendored, generated, ignored, project."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy

MODEL_FOLDER = "knowbound-model-"  # begins the name of a folder in which an agent's client is asked as a model


class Language(NamedTuple):
    """A programming language, the kind of its projects, and its file extensions."""

    name: str
    kind: str
    extensions: tuple[str, ...]


LANGUAGES = tuple(
    Language(name, kind, tuple(extensions.split()))
    for name, kind, extensions in (
        ("Python", "python", "py pyi pyx"),
        ("JavaScript", "javascript", "js mjs cjs jsx vue svelte"),
        ("TypeScript", "javascript", "ts tsx mts cts"),
        ("Rust", "rust", "rs"),
        ("Go", "go", "go"),
        ("C", "c/c++", "c h"),
        ("C++", "c/c++", "cc cpp cxx hpp hh hxx cppm ipp inl"),
        ("Java", "jvm", "java"),
        ("Kotlin", "jvm", "kt kts"),
        ("Scala", "jvm", "scala"),
        ("Groovy", "jvm", "groovy"),
        ("Clojure", "jvm", "clj"),
        ("C#", "dotnet", "cs"),
        ("F#", "dotnet", "fs fsx"),
        ("Ruby", "ruby", "rb"),
        ("PHP", "php", "php"),
        ("Swift", "swift", "swift"),
        ("Objective-C", "swift", "m mm"),
        ("Dart", "dart", "dart"),
        ("Elixir", "elixir", "ex exs"),
        ("Erlang", "erlang", "erl"),
        ("Haskell", "haskell", "hs"),
        ("OCaml", "ocaml", "ml mli"),
        ("Zig", "zig", "zig"),
        ("Lua", "lua", "lua"),
        ("R", "r", "r"),
        ("Julia", "julia", "jl"),
        ("Perl", "perl", "pl pm"),
        ("Shell", "shell", "sh bash zsh"),
        ("SQL", "sql", "sql"),
    )
)
_LANGUAGE_OF = {extension: language for language in LANGUAGES for extension in language.extensions}
CODE = frozenset(_LANGUAGE_OF) | {"proto"}
MARKDOWN = frozenset("md mdx mdc markdown".split())
DOCUMENTS = MARKDOWN | frozenset("rst txt text adoc org".split())
_SETTINGS_AND_DATA = frozenset(
    "toml yaml yml json jsonc ini cfg conf env xml html htm css scss less graphql gradle cmake mk lock csv ipynb tf "
    "jinja j2 in gyp bazel ps1".split()
)
# Extensions that make a dotted word in a question a file name. The excluded ones are also attributes and modules:
# `response.text`, `rich.markdown`.
FILE_EXTENSIONS = (CODE | DOCUMENTS | _SETTINGS_AND_DATA) - frozenset("text markdown org fs pm inl".split())

# Folders that are never walked, copied or imported: version control, environments, caches, packages, our own data.
IGNORED_FOLDERS = frozenset(
    ".git .hg .svn .jj .knowbound .venv venv node_modules bower_components __pycache__ .tox .nox .mypy_cache "
    ".pytest_cache .ruff_cache .gradle .idea .vscode .eggs".split()
)
# A package of a source tree may be called `venv`; an environment is recognized by its pyvenv.cfg.
IGNORED_IN_SOURCES = IGNORED_FOLDERS - {"venv"}
# Files that mark a folder as made by a tool: an environment, a cache, a build.
MADE_BY_TOOLS = frozenset(("pyvenv.cfg", "CACHEDIR.TAG", "CMakeCache.txt"))

_TESTS = lazy(
    # A folder `test` inside a package may be the package's own tools for testing (django/test).
    r"(?:^|/)(?:tests|specs?|__tests__|e2e|testdata|testsuite|fixtures)/|(?:^|src/|packages/[^/]+/)test/|"
    r"(?:^|/)(?:test_[^/]*|conftest\.py)$|[._-](?:test|tests|spec|test-d)\.\w+$|"
    r"(?:^|/)[^/]*(?:Tests?|Spec)\.(?:java|kts?|cs|swift|scala|groovy|php|mm?)$"
)
_VENDORED = lazy(
    r"(?:^|/)(?:vendor|_vendor|vendored|third[_-]?party|node_modules|site-packages|extern|external|deps|"
    r"bower_components)/"
)
_GENERATED = lazy(
    r"\.min\.(?:js|css)$|\.map$|_pb2(?:_grpc)?\.pyi?$|\.pb\.(?:go|cc|h)$|\.egg-info/|(?:^|/)PKG-INFO$|"
    r"(?:^|/)package-lock\.json$|\.(?:po|pot|svg|lock)$|_generated\."
)
# Files that are made from the source, or only declare its types.
_BUILT_FILES = lazy(r"(?:^|/)(?:dist|build|out|esm|cjs|umd|types?|typings)/|\.d\.[cm]?ts$")
_DOCUMENTATION = lazy(
    r"\.html?$|(?:^|/)(?:docs?|documentation|examples?|samples?|demos?|tutorials?|docs_src|benchmarks?)/|"
    r"(?:^|/)(?:CHANGE\w*|HISTORY|NEWS|README|LICENSE|AUTHORS|COPYING)",
    re.IGNORECASE,
)
_CHANGELOG = lazy(r"(?:^|/)(?:CHANGE(?:S|LOG|_?LOG)?|HISTORY|NEWS|RELEASES?(?:[_-]NOTES)?)(?:\.\w+)?$", re.IGNORECASE)

_WORKTREE = lazy(r"^(?P<main>.+?)(?:/\.claude/worktrees|/\.?worktrees|[._-]{1,2}worktrees)/[^/]+")


def extension(path: str) -> str:
    """Return the extension of a file name in lower case; "" for `Makefile` and `.env`."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name.lstrip(".") else ""  # a leading dot begins no extension


def language_of(path: str) -> Language | None:
    """Return the programming language of a source file; None for any other file."""
    return _LANGUAGE_OF.get(extension(path))


def extensions_of(*names: str) -> frozenset[str]:
    """Return the file extensions of the named languages."""
    return frozenset(ending for language in LANGUAGES if language.name in names for ending in language.extensions)


@lru_cache(maxsize=100_000)
def is_test(path: str) -> bool:
    """Report whether a file is a test or test data, by its folder or by its name."""
    return _TESTS.search(path) is not None


@lru_cache(maxsize=100_000)
def is_vendored(path: str) -> bool:
    """Report whether a file is in a folder for third-party code."""
    return _VENDORED.search(path) is not None


def is_changelog(path: str) -> bool:
    """Report whether a file is a changelog. It describes past changes, not the present state."""
    return _CHANGELOG.search(path) is not None


@lru_cache(maxsize=100_000)
def source_rank(path: str) -> int:
    """Return the distance from source: 0 source, 1 built, 2 documentation, 3 test, 4 third-party or generated."""
    if is_vendored(path) or _GENERATED.search(path):  # before tests: the tests of others are not the project's
        return 4
    if is_test(path):
        return 3
    ending = extension(path)
    if ending in DOCUMENTS or _DOCUMENTATION.search(path):
        return 2
    return 1 if _BUILT_FILES.search(path) or ending not in CODE else 0


SOURCE_RANK_WORDS = ("", "built", "documentation", "a test", "vendored or generated")


def project_folder(folder: str) -> str:
    """Return the main folder of a project; worktrees are kept below it or beside it."""
    folder = folder.replace("\\", "/").rstrip("/")  # traces of Windows have backslashes
    found = _WORKTREE.match(folder)
    return found["main"] if found else folder


def works_in(folder: str, roots: Iterable[str]) -> bool:
    """Report whether a session worked in or below one of these folders, or in one of their worktrees."""
    main = project_folder(folder)  # of a worktree, the project that it is of
    return any(main == root or main.startswith(root.rstrip("/") + "/") for root in roots)


def project_name(folder: str) -> str:
    """Return the last part of the project folder. Clones of several people share this name."""
    return project_folder(folder).rpartition("/")[2]
