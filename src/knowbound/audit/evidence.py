"""Evidence entries from the calls of a recorded turn, by the levels of specification 3, part I.

The specification grades what its own tools bring; a trace holds other tools' calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from knowbound.audit.facts import GitAct, TurnFacts
from knowbound.audit.runs.programs import Check
from knowbound.audit.runs.results import Ended
from knowbound.audit.runs.runs import Run
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality, strength_of
from knowbound.core.trace import Outcome, ToolCall, ToolKind

_MANIFEST = re.compile(
    r"(?:^|/)(?:package\.json|go\.mod|Cargo\.toml|pyproject\.toml|CMakeLists\.txt|pom\.xml|build\.gradle\w*|README\w*"
    r"(?:\.\w+)?|CLAUDE\.md|AGENTS\.md|Makefile|mise\.toml)$"
)
_PLAIN_PATTERN = re.compile(r"[\w ./:-]+")
_MOST_ENTRIES = 200  # entries of a turn


def evidence_of(calls: Iterable[ToolCall], facts: TurnFacts) -> list[Evidence]:
    """Return the evidence that a turn's calls brought."""
    entries: list[Evidence] = []
    found_paths: set[str] = set()
    for call in calls:
        if len(entries) < _MOST_ENTRIES:
            entries += _lookup_entries(call, found_paths)
    return [*entries, *map(_git_entry, facts.gits), *_check_entries(facts.runs)]


def best_entries(entries: Iterable[Evidence]) -> list[Evidence]:
    """Return the best entry of each class, which is what requirements are compared with."""
    best: dict[EvidenceClass, Evidence] = {}
    for entry in entries:
        best_so_far = best.get(entry.cls)
        if best_so_far is None or (
            entry.quality is not best_so_far.quality and entry.quality.reaches(best_so_far.quality)
        ):
            best[entry.cls] = entry
    return list(best.values())


def _entry(cls: EvidenceClass, call: ToolCall, quality: Quality, count: int, note: str) -> Evidence:
    places = tuple(Place(path) for path in call.paths[:5])
    exact = count if quality.reaches(Quality.STRONG) else 0
    query = call.query[:200]
    return Evidence(cls, call.name, query, query, quality, strength_of(count), places, count, exact, note=note)


def _lookup_entries(call: ToolCall, found_paths: set[str]) -> Iterator[Evidence]:
    """Yield the entries of a search, list or read. A file that a search found is Moderate; a named file is Strong."""
    if call.kind in (ToolKind.SEARCH, ToolKind.LIST):
        count = len(call.paths) or (1 if call.outcome is Outcome.OK else 0)
        if call.outcome is not Outcome.OK:
            yield _entry(EvidenceClass.FILE_SEARCH, call, Quality.NONE, 0, "nothing matched")
            return
        is_plain = bool(call.query) and bool(_PLAIN_PATTERN.fullmatch(call.query))
        quality = Quality.STRONG if is_plain else Quality.MODERATE if count <= 10 else Quality.WEAK
        found_paths.update(call.paths)
        yield _entry(
            EvidenceClass.FILE_SEARCH, call, quality, count, "exact match" if is_plain else "a pattern matched"
        )
    elif call.kind is ToolKind.READ and call.outcome is Outcome.OK:
        was_found = any(path in found_paths for path in call.paths)
        quality = Quality.MODERATE if was_found else Quality.STRONG
        yield _entry(
            EvidenceClass.FILE_CONTENT, call, quality, 1, "a file that was found" if was_found else "a named file"
        )
        if any(_MANIFEST.search(path) for path in call.paths):
            yield _entry(EvidenceClass.DISCOVERY, call, Quality.MODERATE, 1, "the project's own description")


def _git_entry(act: GitAct) -> Evidence:
    """Return a git or gh command as an entry; a command that failed or has no known end is no evidence."""
    cls, quality = EvidenceClass.GIT_LOG, Quality.WEAK
    if act.verb.startswith("gh "):
        cls = EvidenceClass.CI_WORKFLOW
        quality = Quality.VERIFIED if act.verb.startswith("gh run view") else Quality.MODERATE
    elif act.verb in ("log", "show", "blame", "shortlog", "reflog"):
        names_something = any(not word.startswith("-") for word in act.arguments)
        quality = Quality.STRONG if names_something else Quality.MODERATE
    quality = quality if act.ok else Quality.NONE
    words = " ".join(act.arguments)[:200]
    return Evidence(cls, act.verb, words, words, quality, strength_of(1 if act.ok else 0))


def _check_entries(runs: list[Run]) -> Iterator[Evidence]:
    """Yield the entries of builds and tests; if both passed, they corroborate each other."""
    built = any(Check.BUILD in run.kinds and run.ended is Ended.PASSED for run in runs)
    tested = any(Check.TEST in run.kinds and run.ended is Ended.PASSED for run in runs)
    for run in runs:
        for kind, cls in ((Check.BUILD, EvidenceClass.BUILD), (Check.TEST, EvidenceClass.TEST)):
            if kind in run.kinds:
                count = run.passed if run.passed is not None else int(run.ended is Ended.PASSED)
                quality = Quality.VERIFIED if built and tested and run.ended is Ended.PASSED else _check_quality(run)
                yield Evidence(
                    cls, run.tool, run.command[:200], "", quality, strength_of(count), note=f"it {run.ended}"
                )


def _check_quality(run: Run) -> Quality:
    if run.ended is Ended.PASSED:
        return Quality.MODERATE if run.is_filtered else Quality.STRONG
    return Quality.WEAK if run.ended in (Ended.EMPTY, Ended.UNKNOWN) else Quality.NONE
