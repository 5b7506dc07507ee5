"""Evidence, how good it is, and whether it is enough (specification 3, parts I, IV and VII).

Quality says how precisely a piece of evidence matches the question, strength how much of it there is.
They are never combined into one number. Tools set quality and strength; only the planner derives
`verified`, and only completion judges sufficiency.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec


class EvidenceClass(StrEnum):
    """What kind of evidence it is."""

    FILE_SEARCH = "FileSearch"
    FILE_CONTENT = "FileContent"
    GIT_LOG = "GitLog"
    BUILD = "Build"
    TEST = "Test"
    DISCOVERY = "Discovery"
    CI_WORKFLOW = "CIWorkflow"


class Quality(StrEnum):
    """How precisely evidence matches the question. Five levels, ordered; no numbers."""

    NONE = "none"
    WEAK = "weak"
    MODERATE = "moderate"
    STRONG = "strong"
    VERIFIED = "verified"

    def reaches(self, needed: Quality) -> bool:
        """Whether this level is at least the needed one."""
        return self.rank >= needed.rank

    @property
    def rank(self) -> int:
        """The position among the levels, 0 for none."""
        return tuple(Quality).index(self)


class Strength(StrEnum):
    """How much supporting data was collected. Four levels, set by counts; never a substitute for quality."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


def strength_of(match_count: int) -> Strength:
    """Specification 3, part IV: over 50 high, over 10 medium, over 0 low."""
    if match_count > 50:
        return Strength.HIGH
    if match_count > 10:
        return Strength.MEDIUM
    return Strength.LOW if match_count > 0 else Strength.NONE


class Confidence(StrEnum):
    """How sure the whole answer is; derived from the evidence, never computed from a formula."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    COMPLETE = "complete"


class Intent(StrEnum):
    """What the question asks for."""

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


class QuestionKind(StrEnum):
    """What a question wants, finer than its intent: "is the pipeline green" and "when was X added" are both status."""

    LOCATE = "locate"
    OPEN = "open"
    CALLERS = "callers"
    EXPLAIN = "explain"
    REVIEW = "review"
    COMPARE = "compare"
    HISTORY = "history"
    TREE_STATE = "status"
    CI_STATE = "ci_state"
    CI_CAUSE = "ci_cause"
    COMPILES = "compiles"
    TESTS_PASS = "tests_pass"
    WORKS = "works"  # builds, and its tests pass
    RUN_BUILD = "run_build"
    RUN_TESTS = "run_tests"
    EXECUTE = "execute"
    MODIFY = "modify"
    CHAT = "chat"


class Shows(StrEnum):
    """What a run shows: a failure is as certain as a success, and shows the opposite."""

    PASSES = "passes"
    FAILS = "fails"
    NOTHING = ""  # not a matter of passing: a search, a log, a run that has not ended


class Place(msgspec.Struct, frozen=True, order=True):
    """A file and a line (0: the file as a whole), with the symbol that was resolved there."""

    path: str  # relative to the root
    line: int = 0
    symbol: str = ""


class Evidence(msgspec.Struct, frozen=True):
    """One piece of evidence with its provenance (specification 3's EvidenceEntry)."""

    cls: EvidenceClass
    tool: str  # grep, find, references, read, git log, …
    query: str  # what was passed to the tool
    target: str  # the term of the question that this is about
    quality: Quality
    strength: Strength
    places: tuple[Place, ...] = ()  # best first: what was found, and where
    match_count: int = 0
    exact_match_count: int = 0
    phrase_match: bool = False
    note: str = ""  # what makes it this good, in words
    cites: tuple[int, ...] = ()  # for a verified entry: the entries (by number) that agree
    read_as: str = ""  # the name that was taken for the target, where it is spelled otherwise
    shows: Shows = Shows.NOTHING  # of a build, of tests or of CI: whether it passes

    def quality_for(self, needed: Shows) -> Quality:
        """How well it shows that something passes (or fails), where that is what is needed.

        A run that shows the opposite is no proof, however certain it is: Moderate where a part of it passes
        (specification 3: "ctest passes some tests"), else Weak.
        """
        if not needed or not self.shows or self.shows is needed:
            return self.quality
        part = Quality.MODERATE if needed is Shows.PASSES and self.exact_match_count else Quality.WEAK
        return min(self.quality, part, key=lambda level: level.rank)

    @property
    def sources(self) -> tuple[str, ...]:
        """The files or resources behind it, each once, best first."""
        return tuple(dict.fromkeys(place.path for place in self.places))


class Requirement(msgspec.Struct, frozen=True):
    """What an intent needs of one class."""

    cls: EvidenceClass
    minimum: Quality
    shows: Shows = Shows.NOTHING  # what it has to show; nothing: "no" is an answer too


class EvidenceGap(msgspec.Struct, frozen=True):
    """A requirement not yet met: what we have, what is needed, for which term."""

    cls: EvidenceClass
    have: Quality
    need: Quality
    target: str = ""
    reason: str = ""  # why it could not be met, where that is known


_S, _M, _V = Quality.STRONG, Quality.MODERATE, Quality.VERIFIED
_SEARCH, _CONTENT, _DISCOVERY = EvidenceClass.FILE_SEARCH, EvidenceClass.FILE_CONTENT, EvidenceClass.DISCOVERY
_BUILD, _TEST, _CI = EvidenceClass.BUILD, EvidenceClass.TEST, EvidenceClass.CI_WORKFLOW
# Specification 3, part IV: the table, as written. Where a build or a test is needed it has to pass, and to diagnose is
# to diagnose a failure.
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
INTENTS: dict[QuestionKind, Intent] = {
    QuestionKind.LOCATE: Intent.LOCATE,
    QuestionKind.OPEN: Intent.NAVIGATE,
    QuestionKind.CALLERS: Intent.NAVIGATE,
    QuestionKind.EXPLAIN: Intent.EXPLAIN,
    QuestionKind.REVIEW: Intent.REVIEW,
    QuestionKind.COMPARE: Intent.COMPARE,
    QuestionKind.HISTORY: Intent.STATUS,
    QuestionKind.TREE_STATE: Intent.STATUS,
    QuestionKind.CI_STATE: Intent.STATUS,
    QuestionKind.CI_CAUSE: Intent.DIAGNOSE,
    QuestionKind.COMPILES: Intent.EXECUTE,
    QuestionKind.TESTS_PASS: Intent.EXECUTE,
    QuestionKind.WORKS: Intent.EXECUTE,
    QuestionKind.RUN_BUILD: Intent.EXECUTE,
    QuestionKind.RUN_TESTS: Intent.EXECUTE,
    QuestionKind.EXECUTE: Intent.EXECUTE,
    QuestionKind.MODIFY: Intent.MODIFY,
    QuestionKind.CHAT: Intent.CHAT,
}
# Questions that the specification's table does not list need the class that is authoritative for them, and no other.
# A question is answered by either outcome; an order is carried out only where it passes.
AUTHORITATIVE: dict[QuestionKind, tuple[Requirement, ...]] = {
    QuestionKind.CI_STATE: (Requirement(_CI, _S),),
    QuestionKind.COMPILES: (Requirement(_BUILD, _S),),
    QuestionKind.TESTS_PASS: (Requirement(_TEST, _S),),
    QuestionKind.WORKS: (Requirement(_BUILD, _S), Requirement(_TEST, _S)),
    QuestionKind.RUN_BUILD: (Requirement(_BUILD, _S, Shows.PASSES),),
    QuestionKind.RUN_TESTS: (Requirement(_TEST, _S, Shows.PASSES),),
}


def needs_of(kind: QuestionKind) -> tuple[Requirement, ...]:
    """What a question of this kind needs: the specification's row for its intent, else its authoritative class."""
    return AUTHORITATIVE[kind] if kind in AUTHORITATIVE else REQUIREMENTS[INTENTS[kind]]


# Classes whose evidence is about a term of the question; the others are about the project as a whole.
PER_TERM = frozenset({_SEARCH, _CONTENT})


def best_quality(
    entries: Iterable[Evidence], cls: EvidenceClass, target: str | None = None, shows: Shows = Shows.NOTHING
) -> Quality:
    """The best level collected of a class (for one term, where the class is about terms)."""
    levels = (
        entry.quality_for(shows)
        for entry in entries
        if entry.cls is cls and (target is None or cls not in PER_TERM or entry.target == target)
    )
    return max(levels, key=lambda level: level.rank, default=Quality.NONE)


def gaps_of(
    requirements: Iterable[Requirement], terms: Iterable[str], entries: Iterable[Evidence]
) -> list[EvidenceGap]:
    """The requirements not yet met. Every term that the question names must meet them."""
    entries, terms = list(entries), list(terms)
    found = []
    for requirement in requirements:
        targets = terms if requirement.cls in PER_TERM and terms else [""]
        for target in targets:
            have = best_quality(entries, requirement.cls, target or None, requirement.shows)
            if not have.reaches(requirement.minimum):
                reason = _opposite(requirement, entries)
                found.append(EvidenceGap(requirement.cls, have, requirement.minimum, target, reason))
    return found


def _opposite(requirement: Requirement, entries: Iterable[Evidence]) -> str:
    """What the run that shows the opposite says: a failing build, a pipeline that did not fail."""
    of_class = [entry for entry in entries if entry.cls is requirement.cls and not entry.cites]
    said = [entry.note for entry in of_class if entry.quality_for(requirement.shows) is not entry.quality]
    return said[0] if said else ""


def is_complete(requirements: Iterable[Requirement], terms: Iterable[str], entries: Iterable[Evidence]) -> bool:
    """Completion depends on minimum quality alone."""
    return not gaps_of(requirements, terms, entries)


def derive_confidence(
    requirements: Iterable[Requirement], terms: Iterable[str], entries: Iterable[Evidence]
) -> tuple[Confidence, str]:
    """Confidence from quality, coverage and agreement, with the sentence that explains it (part IV)."""
    requirements, terms, entries = list(requirements), list(terms), list(entries)
    if not requirements:
        return Confidence.NONE, "Nothing was asked that evidence could answer."
    levels = [
        (best_quality(entries, requirement.cls, target or None, requirement.shows), requirement, target)
        for requirement in requirements
        for target in (terms if requirement.cls in PER_TERM and terms else [""])
    ]
    lowest = min((level for level, _, _ in levels), key=lambda level: level.rank)
    confidence = {
        Quality.VERIFIED: Confidence.COMPLETE,
        Quality.STRONG: Confidence.HIGH,
        Quality.MODERATE: Confidence.MEDIUM,
        Quality.WEAK: Confidence.LOW,
        Quality.NONE: Confidence.NONE,
    }[lowest]
    if lowest is Quality.VERIFIED:
        agreed = next((entry.note for entry in entries if entry.cites and entry.note), "an authority says it")
        every = f"all {len(levels)} that were needed are" if len(levels) > 1 else "what was needed is"
        return confidence, f"Confidence is complete because {every} verified: {agreed}."
    # What kind of project it is says nothing about the thing asked for: it can limit the confidence, not explain it.
    asked_for = [level for level in levels if level[1].cls is not _DISCOVERY] or levels
    level, requirement, target = min(asked_for, key=lambda level: level[0].rank)
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
    limit = f", and what kind of project it is is {_known(lowest)}" if level is not lowest else ""
    met = sum(one.reaches(need.minimum) for one, need, _ in levels)
    covered = f"{met} of {len(levels)} that were needed are met" if len(levels) > 1 else ""
    agreed = next((entry.note for entry in entries if entry.cites and entry.note), "")
    more = "; ".join(filter(None, (covered, agreed)))
    said = f"Confidence is {confidence} because the {requirement.cls} evidence{about} is {word}{level}{because}{limit}"
    return confidence, f"{said} ({more})." if more else f"{said}."


def _known(discovery: Quality) -> str:
    """How much is known of the project, in words."""
    return {Quality.NONE: "not known", Quality.WEAK: "not known", Quality.MODERATE: "known only in part"}.get(
        discovery, "shown by one scan alone"
    )


SUCCESS, INSUFFICIENT = "success", "insufficient_evidence"  # outcomes of an investigation


class CitedSource(msgspec.Struct, frozen=True):
    """A file (and line) of the answer, the line itself, and why it is one."""

    path: str
    line: int
    why: str
    text: str = ""  # the cited line, as it is written


class NearPlace(msgspec.Struct, frozen=True):
    """A place near to what was asked and not found: a hint, never evidence."""

    path: str
    line: int
    text: str


class GivenAnswer(msgspec.Struct, frozen=True):
    """The answer itself: the cited line, or what an authority says."""

    text: str
    path: str = ""
    line: int = 0


class Investigation(msgspec.Struct, frozen=True):
    """A question and what the evidence allows to say about it."""

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
    nearest: tuple[NearPlace, ...] = ()  # what does exist near to what was asked, best first
    notes: tuple[str, ...] = ()  # resolved typing errors, reached limits
    trail: tuple[str, ...] = ()  # each call in order, with what it brought


def chat(question: str) -> Investigation:
    """Chat has no requirements: it is answered as chat, and never as evidence."""
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
