"""Evidence entries from the calls of a recorded turn, by the levels of specification 3, part I.

The specification grades what its own tools bring. A trace holds other tools' calls, and two kinds of evidence that the
specification has no class for: lint and web. Their levels, in the form of the specification's table:

| Class | Weak | Moderate | Strong | Verified |
|---|---|---|---|---|
| Lint | formatter only | linter on some files | linter on the whole project | linter and type check both pass |
| Web | a search whose result is not in the trace | a list of results | a page that was fetched | – |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

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
_MOST = 200  # entries of a turn


class OtherClass(StrEnum):
    """Evidence that specification 3 has no class for."""

    LINT = "Lint"
    WEB = "Web"


class OtherEvidence(msgspec.Struct, frozen=True):
    """Lint or web evidence: as `Evidence`, for the classes that the specification does not have."""

    cls: OtherClass
    tool: str
    query: str
    quality: Quality
    line: int = 0


class TurnEvidence(msgspec.Struct, frozen=True):
    """Evidence that the calls of a turn brought."""

    entries: tuple[Evidence, ...] = ()
    others: tuple[OtherEvidence, ...] = ()

    @property
    def agreeing(self) -> tuple[str, ...]:
        """Classes whose evidence corroborates each other."""
        return tuple(sorted({entry.cls.value for entry in self.entries if entry.quality is Quality.VERIFIED}))


def evidence_of(calls: Iterable[ToolCall], facts: TurnFacts) -> TurnEvidence:
    """The evidence that a turn's calls brought."""
    entries: list[Evidence] = []
    found: set[str] = set()
    others: list[OtherEvidence] = []
    for call in calls:
        if len(entries) < _MOST:
            entries += _lookup(call, found)
        if call.kind is ToolKind.WEB and call.outcome is Outcome.OK:
            quality = (
                Quality.WEAK if not call.text else Quality.STRONG if "url" in (call.input or {}) else Quality.MODERATE
            )
            others.append(OtherEvidence(OtherClass.WEB, call.name, call.query[:200], quality, call.line))
    entries += (_git(act) for act in facts.gits)
    entries += _checks(facts.runs)
    others += _lint(facts.runs)
    return TurnEvidence(tuple(entries), tuple(others))


def best_entries(entries: Iterable[Evidence]) -> list[Evidence]:
    """The best entry of each class: what requirements are met by."""
    best: dict[EvidenceClass, Evidence] = {}
    for one in entries:
        known = best.get(one.cls)
        if known is None or (one.quality is not known.quality and one.quality.reaches(known.quality)):
            best[one.cls] = one
    return list(best.values())


def _entry(cls: EvidenceClass, call: ToolCall, quality: Quality, count: int, note: str) -> Evidence:
    places = tuple(Place(path) for path in call.paths[:5])
    exact = count if quality.reaches(Quality.STRONG) else 0
    query = call.query[:200]
    return Evidence(cls, call.name, query, query, quality, strength_of(count), places, count, exact, note=note)


def _lookup(call: ToolCall, found: set[str]) -> Iterator[Evidence]:
    """Searches, lists and reads. A file that a search found is a ranked candidate; one that was named, the best."""
    if call.kind in (ToolKind.SEARCH, ToolKind.LIST):
        count = len(call.paths) or (1 if call.outcome is Outcome.OK else 0)
        if call.outcome is not Outcome.OK:
            yield _entry(EvidenceClass.FILE_SEARCH, call, Quality.NONE, 0, "nothing matched")
            return
        plain = bool(call.query) and bool(_PLAIN_PATTERN.fullmatch(call.query))
        quality = Quality.STRONG if plain else Quality.MODERATE if count <= 10 else Quality.WEAK
        found.update(call.paths)
        yield _entry(EvidenceClass.FILE_SEARCH, call, quality, count, "exact match" if plain else "a pattern matched")
    elif call.kind is ToolKind.READ and call.outcome is Outcome.OK:
        known = any(path in found for path in call.paths)
        quality = Quality.MODERATE if known else Quality.STRONG
        yield _entry(EvidenceClass.FILE_CONTENT, call, quality, 1, "a file that was found" if known else "a named file")
        if any(_MANIFEST.search(path) for path in call.paths):
            yield _entry(EvidenceClass.DISCOVERY, call, Quality.MODERATE, 1, "the project's own description")


def _git(act: GitAct) -> Evidence:
    cls, quality = EvidenceClass.GIT_LOG, Quality.WEAK
    if act.verb.startswith("gh "):
        cls = EvidenceClass.CI_WORKFLOW
        quality = Quality.VERIFIED if act.verb.startswith("gh run view") else Quality.MODERATE
    elif act.verb in ("log", "show", "blame", "shortlog", "reflog"):
        named = any(not word.startswith("-") for word in act.arguments)
        quality = Quality.STRONG if named else Quality.MODERATE
    quality = quality if act.ok else Quality.NONE
    words = " ".join(act.arguments)[:200]
    return Evidence(cls, act.verb, words, words, quality, strength_of(1 if act.ok else 0))


def _checks(runs: list[Run]) -> Iterator[Evidence]:
    """Add builds and tests; if both passed, they corroborate each other."""
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


def _lint(runs: list[Run]) -> Iterator[OtherEvidence]:
    typed = any(Check.TYPES in run.kinds and run.ended is Ended.PASSED for run in runs)
    for run in runs:
        if not run.kinds & {Check.LINT, Check.FORMAT, Check.TYPES}:
            continue
        quality = Quality.NONE
        if run.ended is Ended.PASSED:
            quality = Quality.WEAK if run.kinds == {Check.FORMAT} else Quality.STRONG
            quality = Quality.MODERATE if run.operands and quality is Quality.STRONG else quality
            quality = Quality.VERIFIED if typed and Check.LINT in run.kinds and not run.operands else quality
        yield OtherEvidence(OtherClass.LINT, run.tool, run.command[:200], quality, run.line)
