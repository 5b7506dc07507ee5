"""Properties of a file that its path shows: language, test, vendored, generated, ignored, project, knowledge file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatch, translate
from functools import lru_cache
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy

_LONGEST_PATH = 4_096  # the longest path that systems accept
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

# Temporary files, logs, sockets, build output, files of version control, settings below the home folder.
_HOME = r"(?:~|\$HOME|\$\{HOME\}|/home/[^/]+|/Users/[^/]+|/root)"
_MACHINE_STATE = lazy(
    r"(?:/private)?/(?:tmp|var/(?:folders|tmp|log|run|lib)|proc|sys|dev|run|etc)(?:/|\Z)"
    r"|\$\{?(?:TMPDIR|TMP|TEMP|XDG_RUNTIME_DIR)\b"
    rf"|{_HOME}/(?:\.(?!cargo/registry)|Library/|AppData/)"
    r"|(?:.*/)?(?:dist|coverage|htmlcov|test-results|playwright-report|\.next|\.nuxt|\.turbo|\.cache|\.git|__pycache__"
    r"|target/(?:debug|release))(?:/|\Z)"
    r"|.*\.(?:log(?:\.\w+)*|pid|sock|socket)\Z"
)
_WORKTREE = lazy(r"^(?P<main>.+?)(?:/\.claude/worktrees|/\.?worktrees|[._-]{1,2}worktrees)/[^/]+")


def is_machine_state(path: str, project: str = "") -> bool:
    """Report whether a path is state of the machine or of a program, not knowledge of a project or its agents.

    The project itself may be below a temporary folder.
    """
    path = relative_to(path, project)
    if len(path) > _LONGEST_PATH or _MACHINE_STATE.match(path) is None:
        return False
    return not is_knowledge(path) and not is_knowledge(f"{path.rstrip('/')}/any.md")  # a folder of knowledge files


def extension(path: str) -> str:
    """Return the extension of a file name in lower case; "" for `Makefile` and `.env`."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name.lstrip(".") else ""


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
    if is_vendored(path) or _GENERATED.search(path):
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
    folder = folder.replace("\\", "/").rstrip("/")
    found = _WORKTREE.match(folder)
    return found["main"] if found else folder


def works_in(folder: str, roots: Iterable[str]) -> bool:
    """Report whether a session worked in or below one of these folders, or in one of their worktrees."""
    main = project_folder(folder)
    return any(main == root or main.startswith(root.rstrip("/") + "/") for root in roots)


def project_name(folder: str) -> str:
    """Return the last part of the project folder. Clones of several people share this name."""
    return project_folder(folder).rpartition("/")[2]


_KNOWLEDGE_NAMES = (
    r"(?:CLAUDE(?:\.local)?|AGENTS?(?:\.override)?|GEMINI|SKILL)\.md"
    r"|copilot-instructions\.md|\.cursorrules|\.windsurfrules"
)
_KNOWLEDGE_NAME = lazy(_KNOWLEDGE_NAMES, re.IGNORECASE)
_AGENT_FOLDERS = frozenset(".claude .agents .codex .gemini .cursor .github".split())
_KNOWLEDGE_FOLDERS = frozenset("knowledge skill skills rules commands agents docs prompts instructions memory".split())
_DOCUMENT_ENDINGS = (".md", ".mdc", ".txt", ".toml")
_KNOWLEDGE_ENDINGS = (*_DOCUMENT_ENDINGS, "rules")
_LOADED_BY_CLIENTS = frozenset(
    "claude.md claude.local.md .claude/claude.md agents.md agents.override.md gemini.md .cursorrules .windsurfrules "
    ".github/copilot-instructions.md".split()
)
_ANY_FOLDERS = lazy(r"\*\*/")


@lru_cache(maxsize=64)
def _joined_globs(globs: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression for all globs; `**/` also matches no folder at all."""
    parts = [translate(_ANY_FOLDERS.sub("*", glob)) for glob in globs]
    return re.compile("|".join(f"(?:{part})" for part in parts) or r"(?!)")


def is_knowledge(path: str, globs: tuple[str, ...] = ()) -> bool:
    """Report whether a path, relative to its project, is a knowledge file by name, by folder or by a glob."""
    is_document = path.lower().endswith(_KNOWLEDGE_ENDINGS)
    if not (is_document or globs):  # most paths end here
        return False
    path = path.replace("\\", "/")
    return (is_document and _is_knowledge_document(path)) or bool(globs and _joined_globs(globs).match(path))


def _is_knowledge_document(path: str) -> bool:
    """Report whether the name is a knowledge file's, or the path is a document below a folder of knowledge."""
    *folders, name = path.lower().split("/")
    if _KNOWLEDGE_NAME.fullmatch(name):
        return True
    # Only folders below the folder of an agent count.
    agent_folder = next((index for index, folder in enumerate(folders) if folder in _AGENT_FOLDERS), len(folders))
    is_document = name.endswith(_DOCUMENT_ENDINGS) and name not in _DOCUMENT_ENDINGS
    return is_document and not _KNOWLEDGE_FOLDERS.isdisjoint(folders[agent_folder + 1 :])


def is_loaded_by_client(path: str) -> bool:
    """Report whether clients load the file into every session: instructions in the root of the project."""
    return path.lower() in _LOADED_BY_CLIENTS


def relative_to(path: str, project: str) -> str:
    """Return the path relative to the project; a path outside is returned unchanged."""
    if "\\" in project:
        path, project = path.replace("\\", "/"), project.replace("\\", "/")
    project = project.rstrip("/")
    if project and path.startswith(project + "/"):
        return path[len(project) + 1 :]
    return path.removeprefix("./")


def split_by_reach(knowledge: Iterable[str], reached: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split knowledge files (relative paths) into reached and unreached files."""
    reached_paths = set(reached)
    files = sorted(set(knowledge))
    globs = tuple(path for path in reached_paths if "*" in path)  # `cat docs/*.md` reaches every file it expands to
    hits = {path for path in files if path in reached_paths or fnmatch_any(path, globs)}
    return [path for path in files if path in hits], [path for path in files if path not in hits]


def fnmatch_any(path: str, globs: tuple[str, ...]) -> bool:
    """Report whether a shell glob matches the path: `*` stays within a folder."""
    return any(fnmatch(path, glob) and path.count("/") == glob.count("/") for glob in globs)
