"""Versions that a statement says, and those that manifests state: of Python, Node and other tools, and of dependencies.

A statement is contradicted only by a manifest that states the version of the very thing. Lists and ranges of versions,
and what a text says about an upgrade or about support, are not compared.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from knowbound.codebase.checkout import Checkout
from knowbound.core.statement import UNKNOWN, Looked, StatementPlace, Truth

_STATED = re.compile(
    r"(?<![\w./@-])(?P<name>\.NET|[A-Za-z][\w+#]*(?:\.js|JS)?(?: CSS)?)[*_:`\s]{0,6}(?:version\s)?`?"
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
_RANGE = r"[\^~>=<v\d][\w.^~><=* |,+-]*"
# Manifest → a line of it that states a dependency.
_DEPENDENCIES = {
    "package.json": re.compile(rf'^\s*"(?P<name>@?[\w./-]+)"\s*:\s*"(?P<range>{_RANGE})"'),
    "composer.json": re.compile(rf'^\s*"(?P<name>[\w./-]+)"\s*:\s*"(?P<range>{_RANGE})"'),
    "pnpm-workspace.yaml": re.compile(rf"^\s+[\"']?(?P<name>@?[\w./-]+)[\"']?:\s*[\"']?(?P<range>{_RANGE})[\"']?\s*$"),
    "Cargo.toml": re.compile(r'^(?P<name>[\w-]+)\s*=\s*(?:\{[^}]*\bversion\s*=\s*)?"(?P<range>[\^~=]?\d[^"]*)"'),
    "pyproject.toml": re.compile(r"^\s*\"?(?P<name>[A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*(?P<range>[~><=]=?\s*\d[^\";#]*)"),
    "Gemfile": re.compile(r"^\s*gem\s+[\"'](?P<name>[\w-]+)[\"']\s*,\s*[\"'](?P<range>[^\"']*\d[^\"']*)[\"']"),
}
_OPEN = 10_000  # above every major version


class StatedVersion(NamedTuple):
    """A version in a text: of what, which, and whether it is the least one."""

    name: str
    version: str
    is_least: bool
    words: str
    is_list: bool = False  # the lowest of several


def versions_in(text: str) -> Iterator[StatedVersion]:
    """Yield the versions that a text says the project uses."""
    if _TALK.search(text):
        return
    several = [found for found in _STATED.finditer(text) if not _OF_ANOTHER.search(text[: found.start()])]
    names = Counter(_plain(found["name"]) for found in several)
    for found in several:
        name = _plain(found["name"])
        is_name = name in _PINNED or name in _LEAST or found["name"][0].isupper() or ".js" in found["name"]
        if is_name and names[name] == 1:
            is_least = bool(found["at_least"] or (found["more"] and found["more"] != ".x"))
            yield StatedVersion(name, found["version"], is_least, found.group())
    for found in _LISTED.finditer(text):
        if (name := _plain(found["name"])) in _LEAST and not _OF_ANOTHER.search(text[: found.start()]):
            lowest = min(re.findall(r"\d+(?:\.\d+)?", found["versions"]), key=_parts)
            yield StatedVersion(name, lowest, is_least=False, words=found.group(), is_list=True)


class Versions:
    """The versions that the manifests of a checkout state."""

    def __init__(self, checkout: Checkout) -> None:
        self._tree = checkout

    def look(self, words: str, file: str) -> Looked:
        """Judge the words of a statement of this file that say a version."""
        stated = next(versions_in(words), None)
        if stated is None:
            return UNKNOWN
        if stated.name in _PINNED or stated.name in _LEAST:
            return self._tool(stated, file)
        return self._dependency(stated)

    def _tool(self, stated: StatedVersion, file: str) -> Looked:
        folders = list(dict.fromkeys((posixpath.dirname(file), "")))
        pinned = [one for folder in folders for one in self._lines(_PINNED.get(stated.name, ()), folder)]
        least = [one for folder in folders for one in self._lines(_LEAST.get(stated.name, ()), folder)]
        if stated.is_list:
            is_below = bool(least) and _parts(stated.version) < _parts(least[0][0])
            return Looked(Truth.CONTRADICTED, least[0][1]) if is_below else UNKNOWN
        known = [*least, *pinned] if stated.is_least else [*pinned, *least]
        if not known:
            return UNKNOWN
        for version, place in known:
            if _is_same(stated.version, version):
                return Looked(Truth.CONFIRMED, place)
        version, place = known[0]
        decides = least if stated.is_least else pinned
        if decides or _parts(stated.version) < _parts(version):
            return Looked(Truth.CONTRADICTED, place, _with(stated, version))
        return UNKNOWN

    def _lines(
        self, files: tuple[tuple[str, re.Pattern[str]], ...], folder: str
    ) -> Iterator[tuple[str, StatementPlace]]:
        for name, pattern in files:
            path = posixpath.join(folder, name)
            for number, line in enumerate(self._tree.lines(path) if path in self._tree.files else (), 1):
                if found := pattern.match(line):
                    yield found[1], StatementPlace(path, number)

    @cached_property
    def _dependencies(self) -> dict[str, list[tuple[str, StatementPlace]]]:
        """The ranges of every dependency in every manifest, by its plain name."""
        found: dict[str, list[tuple[str, StatementPlace]]] = {}
        for manifest, pattern in _DEPENDENCIES.items():
            for path in self._tree.by_name.get(manifest.lower(), []):
                for number, line in enumerate(self._tree.lines(path), 1):
                    if one := pattern.match(line):
                        found.setdefault(_plain(one["name"]), []).append((one["range"], StatementPlace(path, number)))
        return found

    def _dependency(self, stated: StatedVersion) -> Looked:
        """Judge the major version of a dependency: wrong if every manifest that has it excludes it."""
        known = self._dependencies.get(stated.name, [])
        major = int(stated.version.partition(".")[0])
        allowed = [_majors(range_) for range_, _ in known]
        if not known or major == 0 or any(one is None for one in allowed):
            return UNKNOWN
        for one, (_, place) in zip(allowed, known, strict=True):
            low, high = one or (0, 0)
            if low <= major <= high or (stated.is_least and high > major):
                return Looked(Truth.CONFIRMED, place) if low == major else UNKNOWN
        lows = {one[0] for one in allowed if one}
        return Looked(Truth.CONTRADICTED, known[0][1], _with(stated, str(lows.pop())) if len(lows) == 1 else "")


def _plain(name: str) -> str:
    """Return a name as manifests and texts share it: `Next.js` and `next`, `Angular` and `@angular/core`."""
    scope, slash, last = name.lower().lstrip("@").partition("/")
    name = scope if slash and last in ("core", "framework") else name.lower()
    name = name.removesuffix(".js").removesuffix("js") if len(name) > 4 else name
    plain = re.sub(r"[^a-z0-9/+#]", "", name)
    return _ALIASES.get(plain, plain)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _is_same(one: str, other: str) -> bool:
    """Report whether two versions agree as far as both are written."""
    return all(a == b for a, b in zip(_parts(one), _parts(other), strict=False))


def _with(stated: StatedVersion, version: str) -> str:
    """Return the words of a statement with another version, written as exactly as the old one."""
    shown = ".".join(version.split(".")[: stated.version.count(".") + 1])
    return shown.join(stated.words.rsplit(stated.version, 1))


def _majors(range_: str) -> tuple[int, int] | None:
    """Return the least and the greatest major version that a range allows; None for a range of another form."""
    lows, highs = [], []
    for part in range_.split("||"):
        found = re.findall(r"([\^~>=<!]*)\s*v?(\d+)(?:\.(\d+))?(?:\.[\w.+-]+)*", part)
        if not found or any("!" in sign for sign, _, _ in found):
            return None
        low = [int(number) for sign, number, _ in found if not sign.startswith("<")]
        below = [(sign, int(number), int(rest or 0)) for sign, number, rest in found if sign.startswith("<")]
        is_open = found[0][0].startswith(">") and not below
        high = [number if sign == "<=" or rest else number - 1 for sign, number, rest in below]
        lows.append(min(low, default=0))
        highs.append(_OPEN if is_open else max([*high, *(low[:1] if not high else [])], default=_OPEN))
    return min(lows), max(highs)
