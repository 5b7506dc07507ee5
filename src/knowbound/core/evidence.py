"""Evidence, its quality and strength, and its sufficiency (specification 3, parts I, IV and VII).

Quality says how precisely a piece of evidence matches the question, strength how much of it there is.
They are never combined into one number. Tools set quality and strength; only the planner derives
`verified`, and only completion judges sufficiency.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec


class EvidenceClass(StrEnum):
    """Kind of evidence."""

    FILE_SEARCH = "FileSearch"
    FILE_CONTENT = "FileContent"
    GIT_LOG = "GitLog"
    BUILD = "Build"
    TEST = "Test"
    DISCOVERY = "Discovery"
    CI_WORKFLOW = "CIWorkflow"


class Quality(StrEnum):
    """Precision of the match between evidence and question: five ordered levels, no numbers."""

    NONE = "none"
    WEAK = "weak"
    MODERATE = "moderate"
    STRONG = "strong"
    VERIFIED = "verified"

    def reaches(self, needed: Quality) -> bool:
        """Report whether this level is at least the needed one."""
        return self.rank >= needed.rank

    @property
    def rank(self) -> int:
        """Position among the levels; 0 for none."""
        return _RANKS[self]


_RANKS = {level: rank for rank, level in enumerate(Quality)}


class Strength(StrEnum):
    """Amount of supporting data: four levels, set by counts; never a substitute for quality."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


def strength_of(match_count: int) -> Strength:
    """Return the strength of a count (specification 3, part IV: over 50 high, over 10 medium, over 0 low)."""
    if match_count > 50:
        return Strength.HIGH
    if match_count > 10:
        return Strength.MEDIUM
    return Strength.LOW if match_count > 0 else Strength.NONE


class Confidence(StrEnum):
    """Confidence in the whole answer; derived from the evidence, never computed from a formula."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    COMPLETE = "complete"


class Intent(StrEnum):
    """Purpose of a question."""

    LOCATE = "locate"
    NAVIGATE = "navigate"
    EXPLAIN = "explain"
    REVIEW = "review"
    DIAGNOSE = "diagnose"
    COMPARE = "compare"
    STATUS = "status"
    EXECUTE = "execute"
    MODIFY = "modify"
    CHAT = "chat"


class Shows(StrEnum):
    """Result of a run: a failure is as certain as a success, and shows the opposite."""

    PASSES = "passes"
    FAILS = "fails"
    NOTHING = ""  # a search, a log, a run that has not ended


class Place(msgspec.Struct, frozen=True, order=True):
    """A file, a line (0: the whole file), and the symbol resolved at that line."""

    path: str  # relative to the root
    line: int = 0
    symbol: str = ""


class Evidence(msgspec.Struct, frozen=True):
    """One piece of evidence with its provenance (specification 3's EvidenceEntry)."""

    cls: EvidenceClass
    tool: str  # grep, find, references, read, git log, …
    query: str  # input of the tool
    target: str  # term of the question
    quality: Quality
    strength: Strength
    places: tuple[Place, ...] = ()  # best first
    match_count: int = 0
    exact_match_count: int = 0
    phrase_match: bool = False
    note: str = ""  # reason for the quality, in words
    cites: tuple[int, ...] = ()  # of a verified entry: numbers of the entries that agree
    read_as: str = ""  # name that was matched instead, if the target is spelled differently
    shows: Shows = Shows.NOTHING  # result of a build, of tests or of CI
    disputes: bool = False  # contradicts another source of its class

    def quality_for(self, needed: Shows) -> Quality:
        """Return the quality as proof of the needed result.

        A run with the opposite result is no proof, however certain: Moderate if a part of it passes (specification 3:
        "ctest passes some tests"), else Weak.
        """
        if not needed or not self.shows or self.shows is needed:
            return self.quality
        has_passing_part = needed is Shows.PASSES and self.exact_match_count > 0
        most = Quality.MODERATE if has_passing_part else Quality.WEAK
        return min(self.quality, most, key=lambda level: level.rank)

    @property
    def sources(self) -> tuple[str, ...]:
        """Files or resources of the evidence, each once, best first."""
        return tuple(dict.fromkeys(place.path for place in self.places))


class Requirement(msgspec.Struct, frozen=True):
    """Minimum quality that an intent needs of one class."""

    cls: EvidenceClass
    minimum: Quality
    shows: Shows = Shows.NOTHING  # needed result; NOTHING: "no" is an answer too


class EvidenceGap(msgspec.Struct, frozen=True):
    """A requirement that is not met: present quality, needed quality, term."""

    cls: EvidenceClass
    have: Quality
    need: Quality
    target: str = ""
    reason: str = ""  # why it could not be met, if known


_S, _M, _V = Quality.STRONG, Quality.MODERATE, Quality.VERIFIED
_SEARCH, _CONTENT, _DISCOVERY = EvidenceClass.FILE_SEARCH, EvidenceClass.FILE_CONTENT, EvidenceClass.DISCOVERY
_BUILD, _TEST, _CI = EvidenceClass.BUILD, EvidenceClass.TEST, EvidenceClass.CI_WORKFLOW
# Specification 3, part IV: the table, as written. A needed build or test has to pass; a diagnosis needs a failed
# pipeline.
REQUIREMENTS: dict[Intent, tuple[Requirement, ...]] = {
    Intent.LOCATE: (Requirement(_SEARCH, _S), Requirement(_CONTENT, _M)),
    Intent.NAVIGATE: (Requirement(_SEARCH, _S), Requirement(_CONTENT, _M)),
    Intent.EXPLAIN: (Requirement(_SEARCH, _S), Requirement(_CONTENT, _M), Requirement(_DISCOVERY, _M)),
    Intent.REVIEW: (Requirement(_SEARCH, _S), Requirement(_CONTENT, _M), Requirement(_DISCOVERY, _M)),
    Intent.DIAGNOSE: (Requirement(_SEARCH, _S), Requirement(_CONTENT, _M), Requirement(_CI, _S, Shows.FAILS)),
    Intent.COMPARE: (Requirement(_SEARCH, _S), Requirement(_CONTENT, _M)),
    Intent.STATUS: (Requirement(EvidenceClass.GIT_LOG, _M),),
    Intent.EXECUTE: (Requirement(_BUILD, _S, Shows.PASSES), Requirement(_TEST, _S, Shows.PASSES)),
    Intent.MODIFY: (
        Requirement(_SEARCH, _S),
        Requirement(_CONTENT, _S),
        Requirement(_DISCOVERY, _M),
        Requirement(_BUILD, _V, Shows.PASSES),
        Requirement(_TEST, _V, Shows.PASSES),
    ),
    Intent.CHAT: (),
}


def requirements_of(
    intent: Intent, classes: Iterable[EvidenceClass] = (), shows: Shows | None = None
) -> tuple[Requirement, ...]:
    """Return the row of an intent, or only the given classes: each at the row's level, Strong if it has none.

    `shows` replaces the needed result of a row: either result of a run answers a question.
    """
    row = {need.cls: need for need in REQUIREMENTS[intent]}
    wanted = [row.get(cls, Requirement(cls, Quality.STRONG)) for cls in classes] or list(row.values())
    return tuple(need if shows is None else Requirement(need.cls, need.minimum, shows) for need in wanted)


# Classes with evidence about a term of the question; other classes are about the project as a whole.
PER_TERM = frozenset({_SEARCH, _CONTENT})


def best_quality(
    entries: Iterable[Evidence], cls: EvidenceClass, target: str | None = None, shows: Shows = Shows.NOTHING
) -> Quality:
    """Return the best quality of a class; of one term, if the class is about terms."""
    levels = (
        entry.quality_for(shows)
        for entry in entries
        if entry.cls is cls and (target is None or cls not in PER_TERM or entry.target == target)
    )
    return max(levels, key=lambda level: level.rank, default=Quality.NONE)


def gaps_of(
    requirements: Iterable[Requirement], terms: Iterable[str], entries: Iterable[Evidence]
) -> list[EvidenceGap]:
    """Return the requirements that are not met. Every term of the question must meet them."""
    entries = list(entries)
    return [
        EvidenceGap(need.cls, have, need.minimum, target, _note_of_opposite(need, entries))
        for have, need, target in _best_levels(requirements, terms, entries)
        if not have.reaches(need.minimum)
    ]


def _note_of_opposite(requirement: Requirement, entries: Iterable[Evidence]) -> str:
    """Return the note of a run with the opposite of the needed result (a failing build); "" if there is none."""
    of_class = [entry for entry in entries if entry.cls is requirement.cls and not entry.cites]
    # The needed result lowers the quality of a run that shows the opposite, and of no other entry.
    notes = [entry.note for entry in of_class if entry.quality_for(requirement.shows) is not entry.quality]
    return notes[0] if notes else ""


def coverage_of(
    requirements: Iterable[Requirement], terms: Iterable[str], entries: Iterable[Evidence]
) -> tuple[int, int, Quality]:
    """Return the number of met requirements, of all requirements, and the lowest quality among them."""
    levels = _best_levels(requirements, terms, entries)
    lowest = min((level for level, *_ in levels), key=lambda level: level.rank, default=Quality.NONE)
    return sum(level.reaches(requirement.minimum) for level, requirement, _ in levels), len(levels), lowest


def _best_levels(
    requirements: Iterable[Requirement], terms: Iterable[str], entries: Iterable[Evidence]
) -> list[tuple[Quality, Requirement, str]]:
    """Return the best quality for each requirement and term: (quality, requirement, term or "")."""
    terms, entries = list(terms), list(entries)
    return [
        (best_quality(entries, requirement.cls, target or None, requirement.shows), requirement, target)
        for requirement in requirements
        for target in (terms if requirement.cls in PER_TERM and terms else [""])  # "": of the project as a whole
    ]


def derive_confidence(
    requirements: Iterable[Requirement], terms: Iterable[str], entries: Iterable[Evidence]
) -> tuple[Confidence, str]:
    """Return the confidence from quality, coverage and agreement, and a sentence that explains it (part IV)."""
    entries = list(entries)
    levels = _best_levels(requirements, terms, entries)
    if not levels:
        return Confidence.NONE, "Nothing was asked that evidence could answer."
    lowest = min((level for level, _, _ in levels), key=lambda level: level.rank)
    confidence = {
        Quality.VERIFIED: Confidence.COMPLETE,
        Quality.STRONG: Confidence.HIGH,
        Quality.MODERATE: Confidence.MEDIUM,
        Quality.WEAK: Confidence.LOW,
        Quality.NONE: Confidence.NONE,
    }[lowest]
    if lowest is Quality.VERIFIED:  # by entries that agree, which a verified entry cites
        agreed = next((entry.note for entry in entries if entry.cites and entry.note), "an authority says it")
        every = f"all {len(levels)} that were needed are" if len(levels) > 1 else "what was needed is"
        return confidence, f"Confidence is complete because {every} verified: {agreed}."
    # The kind of project says nothing about the subject of the question: it can limit the confidence, not explain it.
    explaining = [row for row in levels if row[1].cls is not _DISCOVERY] or levels
    level, requirement, target = min(explaining, key=lambda row: row[0].rank)  # the weakest, which limits the others
    about = f" for {target!r}" if target else ""
    if level is Quality.NONE:
        return confidence, f"Confidence is none because there is no {requirement.cls} evidence{about}."
    notes = [
        entry.note
        for entry in entries
        if entry.cls is requirement.cls and entry.quality_for(requirement.shows) is level and entry.note
    ]
    because = f" ({notes[0]})" if notes else ""
    word = "only " if level in (Quality.WEAK, Quality.MODERATE) else ""
    shown = f"the {requirement.cls} evidence{about} is {word}{level}{because}"
    met = sum(quality.reaches(need.minimum) for quality, need, _ in levels)
    covered = f"{met} of {len(levels)} that were needed are met" if len(levels) > 1 else ""
    agreed = next((entry.note for entry in entries if entry.cites and entry.note and entry.note not in because), "")
    more = "; ".join(filter(None, (covered, agreed)))
    project = "" if level is lowest else f"the kind of project is {_project_knowledge(lowest)}; "
    why = f"because {project}{shown}"
    return confidence, f"Confidence is {confidence} {why} ({more})." if more else f"Confidence is {confidence} {why}."


def _project_knowledge(discovery: Quality) -> str:
    """Return in words how much is known of the project from the quality of its discovery."""
    return {Quality.NONE: "not known", Quality.WEAK: "not known", Quality.MODERATE: "known only in part"}.get(
        discovery, "shown by one scan alone"
    )


SUCCESS, INSUFFICIENT = "success", "insufficient_evidence"  # outcomes of an investigation


class CitedSource(msgspec.Struct, frozen=True):
    """A file and line of the answer, the text of the line, and the reason for citing it."""

    path: str
    line: int
    why: str
    text: str = ""  # the cited line, verbatim


class NearPlace(msgspec.Struct, frozen=True):
    """A place near to a term that was not found: a hint, never evidence."""

    path: str
    line: int
    text: str


class GivenAnswer(msgspec.Struct, frozen=True):
    """The answer itself: the cited line, or the statement of an authority."""

    text: str
    path: str = ""
    line: int = 0


class Investigation(msgspec.Struct, frozen=True):
    """A question and the answer that the evidence allows."""

    question: str
    intent: Intent
    outcome: str  # SUCCESS, INSUFFICIENT
    confidence: Confidence
    explanation: str
    terms: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    gaps: tuple[EvidenceGap, ...]
    sources: tuple[CitedSource, ...]  # best first
    answer: GivenAnswer | None = None
    nearest: tuple[NearPlace, ...] = ()  # places near to the terms, best first
    probable: CitedSource | None = None  # of a refusal: the place that probably answers, and why it is not verified
    by: str = "rules"  # whoever read the answer: rules, or the model
    notes: tuple[str, ...] = ()  # corrected typing errors, reached limits
    trail: tuple[str, ...] = ()  # every call in order, with its result


def chat_investigation(question: str) -> Investigation:
    """Return the investigation of a chat message: no requirements, no evidence."""
    return Investigation(
        question=question,
        intent=Intent.CHAT,
        outcome=SUCCESS,
        confidence=Confidence.NONE,
        explanation="This is chat: nothing was asked that evidence could answer.",
        terms=(),
        evidence=(),
        gaps=(),
        sources=(),
    )
