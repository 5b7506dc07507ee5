"""Discovery: what kind of project this is, by two different scans (specification 3, class Discovery).

| evidence | level |
| --- | --- |
| files, but no kind of project that they agree on | Weak |
| the kind of project is identified, the rest is not known | Moderate |
| full metadata: kind, source count, whether there are tests | Strong |
| both scans say the same kind, source count and test presence: the planner makes it Verified | Verified |

`ManifestScan` reads what the project declares; `TreeScan` counts its files. Neither uses the other's input, so their
agreement means something. Both give what they found as the symbol of the place ".". A mixture of two languages is a
kind of project, too.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from knowbound.codebase.manifests import (
    Declared,
    Inventory,
    ci_systems,
    commands_of_containers,
    known_manifest,
    read_manifests,
    sources_of,
    take_inventory,
)
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality
from knowbound.core.paths import DOCUMENTS, extension, is_test, language_of
from knowbound.evidence.producers.protocol import SCAN, Ask, Context, Producer
from knowbound.text.printable import counted, listed

_MANIFEST_SCAN = "manifest scan"  # independent of the tree scan
PROJECT = "project"  # the target of evidence about the project as a whole
_ENTRY_PATTERNS = {  # how a file of this language says that it is where the program starts
    "Python": rb"^if __name__ == [\"']__main__[\"']|^def main\(",
    "Rust": rb"^(?:pub )?(?:async )?fn main\(",
    "Go": rb"^func main\(",
    "C": rb"^(?:int|void)\s+main\s*\(",
    "C++": rb"^(?:int|auto|void)\s+main\s*\(",
    "Java": rb"public static void main\(",
    "Kotlin": rb"^(?:suspend )?fun main\(",
    "C#": rb"static (?:async )?(?:void|int|Task)\S* Main\(|^using ",
    "JavaScript": rb"",  # the name of the file is enough
    "TypeScript": rb"",
}
_ENTRY_NAME = re.compile(r"(?:^|/)(?:main|__main__|manage|app|server|index|Main|Program)\.\w+$")
_FEW_DOCUMENTS = 4  # where nothing is source, one file in four is enough: the others are settings and pictures
_MOST_ENTRY_FILES = 50  # candidates looked into
_ENTRY_FILE_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class Project:
    """Description of a project by one scan."""

    kind: str  # "" if unknown
    sources: int | None = None  # None: not known
    tests: int | None = None  # test files; None: not known
    languages: tuple[tuple[str, int], ...] = ()  # most files first
    entry_points: tuple[Place, ...] = ()
    build_systems: tuple[str, ...] = ()
    ci_systems: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()  # what could not be seen

    @property
    def agreed_facts(self) -> str:
        """Return the facts that two scans have to agree on (specification 3); "" unless all of them are known."""
        if not self.kind or self.sources is None or self.tests is None:
            return ""
        return f"{self.kind} with {counted(self.sources, 'source file')} and {'tests' if self.tests else 'no tests'}"

    def __str__(self) -> str:
        parts = [f"{self.kind} project" if self.kind else "the kind of project is unknown"]
        if self.sources is not None:
            parts.append(counted(self.sources, "source file"))
        if self.tests is not None:
            parts.append(counted(self.tests, "test file") if self.tests else "no tests")
        if self.languages:
            parts.append(", ".join(f"{language} {count:,}" for language, count in self.languages[:4]))
        for word, names in (
            ("starts at", [place.symbol or place.path for place in self.entry_points]),
            ("built with", list(self.build_systems)),
            ("CI:", list(self.ci_systems)),
        ):
            if names:
                parts.append(f"{word} {listed(names)}")
        return "; ".join((*parts, *self.limits))


def grade_discovery(project: Project) -> Quality:
    """Return the level of a scan by specification 3: Weak for any output, Moderate with the kind, Strong if whole."""
    if not project.kind:
        return Quality.WEAK
    is_complete = bool(project.sources) and project.tests is not None and not project.limits
    return Quality.STRONG if is_complete else Quality.MODERATE


def scan_tree(inventory: Inventory) -> Project:
    """Describe a project by its files: its kind is that of most source files (or, without any, of most files)."""
    kinds: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    tests = 0
    for path, language in sources_of(inventory.files):
        languages[language.name] += 1
        if is_test(path):
            tests += 1
        else:
            kinds[language.kind] += 1
    documents = sum(extension(path) in DOCUMENTS for path in inventory.files)
    sources = kinds.total()  # without tests
    if documents and not sources and documents * _FEW_DOCUMENTS >= len(inventory.files):
        systems = ci_systems(inventory)
        return Project("documents", sources=documents, tests=tests, ci_systems=systems, limits=_limits(inventory))
    kind, most = kinds.most_common(1)[0] if kinds else ("", 0)
    if most * 2 <= sources:  # half of the files or less: a mixture is a kind of its own
        kind = " and ".join(sorted(name for name, _ in kinds.most_common(2)))
    build_systems = {known.system for name in inventory.at_root() if (known := known_manifest(name))}
    return Project(
        kind,
        sources=sources,
        tests=tests,
        languages=tuple(languages.most_common()),
        entry_points=tuple(_entry_points(inventory)),
        build_systems=tuple(sorted(build_systems)),
        ci_systems=ci_systems(inventory),
        limits=_limits(inventory),
    )


def scan_manifests(inventory: Inventory) -> Project | None:
    """Describe a project by its manifests; None if it has none."""
    manifests = read_manifests(inventory)
    with_kind = [declared for declared in manifests if declared.kind]
    if not with_kind:
        return None
    by_kind: dict[str, list[str]] = {}
    for path, language in sources_of(inventory.files):
        by_kind.setdefault(language.kind, []).append(path)
    # Of two manifests that declare as much, the one with more sources where it says they are is the project's.
    main = max(with_kind, key=lambda declared: (declared.weight, len(_declared_sources(declared, by_kind))))
    sources = [path for path in _declared_sources(main, by_kind) if not is_test(path)]
    tests = [path for path in by_kind.get(main.kind, ()) if is_test(path)]
    entry_points = [point for declared in manifests for point in declared.entry_points]
    broken = [f"{declared.path} cannot be read" for declared in manifests if not declared.readable]
    return Project(
        main.kind,
        sources=len(sources),
        tests=max(len(tests), int(main.tests)),  # at least one if the manifest declares tests
        entry_points=(*entry_points, *commands_of_containers(inventory)),
        build_systems=tuple(dict.fromkeys(declared.system for declared in manifests)),
        ci_systems=ci_systems(inventory),
        limits=(*broken, *_limits(inventory)),
    )


def _declared_sources(declared: Declared, by_kind: dict[str, list[str]]) -> list[str]:
    """Return the files of a manifest's kind: below the folders that it declares, or all of them if it declares none."""
    roots = tuple(f"{root}/" for root in declared.roots)
    return [path for path in by_kind.get(declared.kind, ()) if not roots or path.startswith(roots)]


def _limits(inventory: Inventory) -> tuple[str, ...]:
    """Return what the walk over the files could not see, in words."""
    unreadable = f"{counted(inventory.unreadable, 'folder')} could not be read" if inventory.unreadable else ""
    cut = "the walk stopped at its limit" if inventory.cut else ""
    return tuple(limit for limit in (unreadable, cut) if limit)


def _entry_points(inventory: Inventory) -> list[Place]:
    """Return the files with a name and a function that programs start with."""
    candidates = [path for path in inventory.files if _ENTRY_NAME.search(path) and not is_test(path)]
    found = []
    for path in sorted(candidates, key=lambda path: (path.count("/"), path))[:_MOST_ENTRY_FILES]:
        language = language_of(path)
        pattern = _ENTRY_PATTERNS.get(language.name) if language else None
        content = inventory.read(path, _ENTRY_FILE_BYTES) if pattern is not None else None
        match = re.search(pattern, content, re.M) if pattern is not None and content is not None else None
        if match and content is not None:
            found.append(Place(path, content.count(b"\n", 0, match.start()) + 1, path))
    return found


def _project_evidence(tool: str, ask: Ask, project: Project) -> Evidence:
    """Return a scan as evidence: it counts sources and tests; exact are the sources, if their kind is known."""
    sources = project.sources or 0
    return ask.evidence(
        tool,
        grade_discovery(project),
        (Place(".", 0, project.agreed_facts), *project.entry_points),  # two scans agree if these symbols do
        count=sources + (project.tests or 0),
        exact=sources if project.kind else 0,
        note=str(project),
        query="",
        target=ask.target or PROJECT,
    )


class ManifestScan(Producer):
    """Description of the project by its manifests."""

    name = _MANIFEST_SCAN
    cls = EvidenceClass.DISCOVERY
    independent_of = _MANIFEST_SCAN

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Return one entry; no evidence without a manifest."""
        project = scan_manifests(take_inventory(context.root, context.deadline))
        if project is None:
            return ask.nothing(self.name, "no project manifest in the root", "", ask.target or PROJECT)
        return _project_evidence(self.name, ask, project)


class TreeScan(Producer):
    """Description of the project by its files."""

    name = "tree scan"
    cls = EvidenceClass.DISCOVERY
    independent_of = SCAN

    def can(self, ask: Ask) -> int:
        """Suits every question about the project; before the manifests, which not every tree has."""
        return 2

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Return one entry; no evidence for a folder without files."""
        inventory = take_inventory(context.root, context.deadline)
        if not inventory.files:
            why = "the folder cannot be read" if inventory.unreadable else "the folder has no files"
            return ask.nothing(self.name, why, "", ask.target or PROJECT)
        return _project_evidence(self.name, ask, scan_tree(inventory))
