"""Versions of tools that a statement says, and those that manifests state: of Python, Node, Go and others.

A statement is contradicted only by a manifest that states the version of the very tool. Lists and ranges of versions,
and what a text says about an upgrade or about support, are not compared.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from knowbound.codebase.checkout import Checkout
from knowbound.core.statement import UNKNOWN, Looked, StatementPlace, Truth

_STATED = re.compile(
    r"(?<![\w./@-])(?P<name>[A-Za-z]+(?:\.js)?)[*_:`\s]{0,6}(?:version\s)?`?"
    r"(?P<at_least>≥|>=)?\s?v?(?P<version>\d+(?:\.\d+){0,2})(?P<more>\+|\.x\b| or (?:newer|later|higher|above)\b)?"
    r"(?![\w/%:-]|\.\d|,\s*v?\d|\s*(?:[-–/]|and|or|to|through)\s*v?\d)"
)
_LISTED = re.compile(
    r"(?<![\w./@-])(?P<name>[A-Za-z][\w]*(?:\.js)?)[*_:`\s]{0,6}"
    r"(?P<versions>v?\d+(?:\.\d+)?(?:(?:\s*,\s*(?:or |and )?|\s+(?:or|and)\s+|\s*/\s*)v?\d+(?:\.\d+)?)+)(?![\w.])"
)
# Words before a version that make it another one than the project's own.
_OF_ANOTHER = re.compile(
    r"\b(?:from|since|in|before|after|than|until|to|not|no|for|supports?|supported|migrat\w+|upgrad\w+|drop\w*|removed|"
    r"deprecated|unlike|compatib\w+|target\w*|e\.g\.?)\s+(?:\w+\s+)?[*_`]{0,2}$|/\s*$",
    re.IGNORECASE,
)
_TALK = re.compile(r"\b(?:upgrad|migrat|compatib|backport|changelog|release notes)", re.IGNORECASE)
_NUMBER = r"v?(\d+(?:\.\d+){0,2})"
_PIN = re.compile(rf"^\s*{_NUMBER}\b")


def _in_tools(name: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return where files of version managers state a tool."""
    return (
        (".tool-versions", re.compile(rf"^{name}\s+{_NUMBER}")),
        ("mise.toml", re.compile(rf"^{name}\s*=\s*[\"']{_NUMBER}")),
        (".mise.toml", re.compile(rf"^{name}\s*=\s*[\"']{_NUMBER}")),
    )


def _manager(name: str) -> re.Pattern[str]:
    return re.compile(rf"\s*\"packageManager\"\s*:\s*\"{name}@{_NUMBER}")


# Tool → files that pin its version, and files that state the least one.
_PINNED = {
    "python": ((".python-version", _PIN), *_in_tools("python")),
    "node": ((".nvmrc", _PIN), (".node-version", _PIN), *_in_tools("(?:node|nodejs)")),
    "go": (("go.mod", re.compile(rf"^toolchain go{_NUMBER}")), (".go-version", _PIN), *_in_tools("(?:go|golang)")),
    "rust": (("rust-toolchain.toml", re.compile(rf"^\s*channel\s*=\s*\"{_NUMBER}")), ("rust-toolchain", _PIN)),
    "java": (
        (".java-version", _PIN),
        ("pom.xml", re.compile(rf"^\s*<(?:java\.version|maven\.compiler\.(?:release|source|target))>{_NUMBER}<")),
        ("build.gradle", re.compile(r".*JavaLanguageVersion\.of\((\d+)\)")),
        ("build.gradle.kts", re.compile(r".*(?:JavaLanguageVersion\.of|jvmToolchain)\((\d+)\)")),
    ),
    "ruby": (
        (".ruby-version", re.compile(rf"^(?:ruby-)?{_NUMBER}")),
        ("Gemfile", re.compile(rf"^ruby\s+[\"']{_NUMBER}")),
        *_in_tools("ruby"),
    ),
    "pnpm": (("package.json", _manager("pnpm")), *_in_tools("pnpm")),
    "yarn": (("package.json", _manager("yarn")), *_in_tools("yarn")),
    "bun": (("package.json", _manager("bun")), *_in_tools("bun")),
}
_LEAST = {
    "python": (("pyproject.toml", re.compile(rf"requires-python\s*=\s*[\"']\s*>=\s*{_NUMBER}")),),
    "node": (("package.json", re.compile(rf"\s*\"node\"\s*:\s*\"\s*(?:>=|\^)\s*{_NUMBER}")),),
    "pnpm": (("package.json", re.compile(rf"\s*\"pnpm\"\s*:\s*\"\s*(?:>=|\^)\s*{_NUMBER}")),),
    "go": (("go.mod", re.compile(rf"^go\s+{_NUMBER}")),),
    "rust": (("Cargo.toml", re.compile(rf"^rust-version\s*=\s*\"{_NUMBER}")),),
    "php": (("composer.json", re.compile(rf"\s*\"php\"\s*:\s*\"\s*(?:>=|\^|~)\s*{_NUMBER}")),),
}
_ALIASES = {"nodejs": "node", "golang": "go", "jdk": "java", "openjdk": "java"}


class StatedVersion(NamedTuple):
    """A version in a text: of what, which, and whether it is the least one."""

    name: str
    version: str
    is_least: bool
    words: str
    is_list: bool = False  # the lowest of several


def versions_in(text: str) -> Iterator[StatedVersion]:
    """Yield the versions that a text says the project uses."""
    if _TALK.search(text):  # of an upgrade: the version may be the old one
        return
    stated = [found for found in _STATED.finditer(text) if not _OF_ANOTHER.search(text[: found.start()])]
    times = Counter(_tool_name(found["name"]) for found in stated)
    for found in stated:
        name = _tool_name(found["name"])
        if (name in _PINNED or name in _LEAST) and times[name] == 1:  # of two versions none is sure to be the one used
            is_least = bool(found["at_least"] or (found["more"] and found["more"] != ".x"))
            yield StatedVersion(name, found["version"], is_least, found.group())
    for found in _LISTED.finditer(text):
        if (name := _tool_name(found["name"])) in _LEAST and not _OF_ANOTHER.search(text[: found.start()]):
            lowest = min(re.findall(r"\d+(?:\.\d+)?", found["versions"]), key=_numbers)
            yield StatedVersion(name, lowest, is_least=False, words=found.group(), is_list=True)


def look_up_version(tree: Checkout, words: str, file: str) -> Looked:
    """Judge the words of a statement of this file that say a version."""
    stated = next(versions_in(words), None)
    if stated is None:
        return UNKNOWN
    folders = list(dict.fromkeys((posixpath.dirname(file), "")))
    pins, leasts = _PINNED.get(stated.name, ()), _LEAST.get(stated.name, ())
    pinned = [found for folder in folders for found in _stated_in(tree, pins, folder)]
    least = [found for folder in folders for found in _stated_in(tree, leasts, folder)]
    if stated.is_list:
        is_below = bool(least) and _numbers(stated.version) < _numbers(least[0][0])
        return Looked(Truth.CONTRADICTED, least[0][1]) if is_below else UNKNOWN  # the lowest is unsupported
    candidates = [*least, *pinned] if stated.is_least else [*pinned, *least]
    if not candidates:
        return UNKNOWN
    for version, place in candidates:
        if _is_same(stated.version, version):
            return Looked(Truth.CONFIRMED, place)
    version, place = candidates[0]
    # A least version is below what a manifest pins, and a used one above its least: only the other way is wrong.
    decides = least if stated.is_least else pinned
    if decides or _numbers(stated.version) < _numbers(version):
        return Looked(Truth.CONTRADICTED, place, _with_version(stated, version))
    return UNKNOWN


def _stated_in(
    tree: Checkout, files: tuple[tuple[str, re.Pattern[str]], ...], folder: str
) -> Iterator[tuple[str, StatementPlace]]:
    """Yield the versions that these files of a folder state, with their lines."""
    for name, pattern in files:
        path = posixpath.join(folder, name)
        for number, line in enumerate(tree.lines(path) if path in tree.files else (), 1):
            if version := pattern.match(line):
                yield version[1], StatementPlace(path, number)


def _tool_name(name: str) -> str:
    """Return the usual name of a tool: `node` for `Node.js`."""
    plain = name.lower().removesuffix(".js")
    return _ALIASES.get(plain, plain)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _is_same(version: str, other: str) -> bool:
    """Report whether two versions agree as far as both are written."""
    return all(a == b for a, b in zip(_numbers(version), _numbers(other), strict=False))


def _with_version(stated: StatedVersion, version: str) -> str:
    """Return the words of a statement with another version, written as exactly as the old one."""
    shown = ".".join(version.split(".")[: stated.version.count(".") + 1])
    return shown.join(stated.words.rsplit(stated.version, 1))
