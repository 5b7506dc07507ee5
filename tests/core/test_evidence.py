"""The invariants of specification 3, part VII, as properties."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.evidence import (
    REQUIREMENTS,
    Confidence,
    Evidence,
    EvidenceClass,
    Intent,
    Quality,
    Shows,
    Strength,
    coverage_of,
    derive_confidence,
    gaps_of,
    strength_of,
)

_ORDER = list(Quality)
_TERMS = ("one", "other")


def _entries() -> st.SearchStrategy[list[Evidence]]:
    return st.lists(
        st.builds(
            Evidence,
            cls=st.sampled_from(EvidenceClass),
            tool=st.just("grep"),
            query=st.just("q"),
            target=st.sampled_from(("", *_TERMS)),
            quality=st.sampled_from(Quality),
            strength=st.sampled_from(Strength),
        ),
        max_size=8,
    )


@given(_entries(), st.sampled_from(Intent), st.sampled_from(Strength))
def test_completion_depends_on_quality_alone(entries: list[Evidence], intent: Intent, strength: Strength) -> None:
    other = [msgspec.structs.replace(entry, strength=strength) for entry in entries]
    requirements = REQUIREMENTS[intent]
    assert bool(gaps_of(requirements, _TERMS, entries)) == bool(gaps_of(requirements, _TERMS, other))
    assert derive_confidence(requirements, _TERMS, entries)[0] is derive_confidence(requirements, _TERMS, other)[0]


@given(_entries(), st.sampled_from(Intent))
def test_more_evidence_never_makes_a_gap(entries: list[Evidence], intent: Intent) -> None:
    requirements = REQUIREMENTS[intent]
    before = {(gap.cls, gap.target) for gap in gaps_of(requirements, _TERMS, entries[:-1])}
    after = {(gap.cls, gap.target) for gap in gaps_of(requirements, _TERMS, entries)}
    assert after <= before


@given(_entries(), st.sampled_from(Intent))
def test_every_term_must_meet_the_minimum(entries: list[Evidence], intent: Intent) -> None:
    requirements = REQUIREMENTS[intent]
    both = not gaps_of(requirements, _TERMS, entries)
    assert both == all(not gaps_of(requirements, [term], entries) for term in _TERMS)


@given(_entries(), st.sampled_from([intent for intent in Intent if intent is not Intent.CHAT]))
def test_confidence_is_the_lowest_required_level(entries: list[Evidence], intent: Intent) -> None:
    requirements = REQUIREMENTS[intent]
    levels = []
    for requirement in requirements:
        for term in _TERMS:
            per_term = requirement.cls in (EvidenceClass.FILE_SEARCH, EvidenceClass.FILE_CONTENT)
            found = [e.quality for e in entries if e.cls is requirement.cls and (not per_term or e.target == term)]
            levels.append(max(found, key=_ORDER.index, default=Quality.NONE))
    lowest = min(levels, key=_ORDER.index)
    expected = list(Confidence)[_ORDER.index(lowest)]
    confidence, sentence = derive_confidence(requirements, _TERMS, entries)
    assert confidence is expected
    assert sentence.endswith(".")


@given(st.integers(0, 10_000))
def test_strength_comes_from_counts(count: int) -> None:
    expected = (
        Strength.NONE
        if not count
        else Strength.LOW
        if count <= 10
        else Strength.MEDIUM
        if count <= 50
        else Strength.HIGH
    )
    assert strength_of(count) is expected


def _run(cls: EvidenceClass, quality: Quality, note: str, shows: Shows, cites: tuple[int, ...] = ()) -> Evidence:
    return Evidence(cls, "run", "q", "", quality, Strength.LOW, note=note, shows=shows, cites=cites)


def test_a_run_with_the_opposite_result_is_the_reason_of_its_gap_alone() -> None:
    failed = _run(EvidenceClass.BUILD, Quality.STRONG, "the build fails", Shows.FAILS)
    found = {gap.cls: gap.reason for gap in gaps_of(REQUIREMENTS[Intent.EXECUTE], [], [failed])}
    assert found == {EvidenceClass.BUILD: "the build fails", EvidenceClass.TEST: ""}


@pytest.mark.parametrize(
    ("note", "cites", "reason"),
    [
        ("the log and the tests agree", (1,), "the log and the tests agree"),
        ("", (1,), "an authority says it"),
        ("the log and the tests agree", (), "an authority says it"),
    ],
)
def test_complete_confidence_names_the_entries_that_agree(note: str, cites: tuple[int, ...], reason: str) -> None:
    entry = _run(EvidenceClass.GIT_LOG, Quality.VERIFIED, note, Shows.NOTHING, cites)
    _, sentence = derive_confidence(REQUIREMENTS[Intent.STATUS], [], [entry])
    assert sentence == f"Confidence is complete because what was needed is verified: {reason}."


@pytest.mark.parametrize("rating", ["0.61", "good", "", "Strongest"])
def test_the_vocabulary_is_fixed(rating: str) -> None:
    with pytest.raises(ValueError, match=rating or "''"):
        Quality(rating)
    with pytest.raises(ValueError, match=rating or "''"):
        Strength(rating)


def test_the_table_of_requirements_is_the_specifications() -> None:
    shown = {intent.value: {need.cls.value: need.minimum.value for need in REQUIREMENTS[intent]} for intent in Intent}
    assert shown == {
        "locate": {"FileSearch": "strong", "FileContent": "moderate"},
        "navigate": {"FileSearch": "strong", "FileContent": "moderate"},
        "explain": {"FileSearch": "strong", "FileContent": "moderate", "Discovery": "moderate"},
        "review": {"FileSearch": "strong", "FileContent": "moderate", "Discovery": "moderate"},
        "diagnose": {"FileSearch": "strong", "FileContent": "moderate", "CIWorkflow": "strong"},
        "compare": {"FileSearch": "strong", "FileContent": "moderate"},
        "status": {"GitLog": "moderate"},
        "execute": {"Build": "strong", "Test": "strong"},
        "modify": {
            "FileSearch": "strong", "FileContent": "strong", "Discovery": "moderate", "Build": "verified",
            "Test": "verified",
        },
        "chat": {},
    }  # fmt: skip


def test_coverage_is_what_is_met_of_what_is_needed_with_the_lowest_quality() -> None:
    built = _run(EvidenceClass.BUILD, Quality.VERIFIED, "", Shows.NOTHING)
    tested = _run(EvidenceClass.TEST, Quality.WEAK, "", Shows.NOTHING)
    needed = REQUIREMENTS[Intent.EXECUTE]
    assert coverage_of(needed, [], [built, tested]) == (1, 2, Quality.WEAK)
    assert coverage_of(needed, [], []) == (0, 2, Quality.NONE)


def test_a_confidence_says_how_many_of_several_requirements_are_met() -> None:
    built = _run(EvidenceClass.BUILD, Quality.VERIFIED, "", Shows.NOTHING)
    tested = _run(EvidenceClass.TEST, Quality.WEAK, "", Shows.NOTHING)
    _, sentence = derive_confidence(REQUIREMENTS[Intent.EXECUTE], [], [built, tested])
    assert sentence.endswith("(1 of 2 that were needed are met).")
