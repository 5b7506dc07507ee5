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
    EvidenceGap,
    Intent,
    Place,
    Quality,
    Requirement,
    Shows,
    Strength,
    best_quality,
    chat_investigation,
    coverage_of,
    derive_confidence,
    gaps_of,
    requirements_of,
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


SEARCH, CONTENT, DISCOVERY = EvidenceClass.FILE_SEARCH, EvidenceClass.FILE_CONTENT, EvidenceClass.DISCOVERY
BUILD, TEST, LOG = EvidenceClass.BUILD, EvidenceClass.TEST, EvidenceClass.GIT_LOG
WEAK, MODERATE, STRONG, VERIFIED = Quality.WEAK, Quality.MODERATE, Quality.STRONG, Quality.VERIFIED


def entry(
    cls: EvidenceClass,
    quality: Quality,
    target: str = "",
    note: str = "",
    shows: Shows = Shows.NOTHING,
    exact: int = 0,
    cites: tuple[int, ...] = (),
) -> Evidence:
    return Evidence(
        cls, "tool", "q", target, quality, Strength.LOW, note=note, shows=shows, exact_match_count=exact, cites=cites
    )


@pytest.mark.parametrize(
    ("count", "strength"),
    [(0, "none"), (1, "low"), (10, "low"), (11, "medium"), (50, "medium"), (51, "high")],
)
def test_strength_changes_above_10_and_above_50(count: int, strength: str) -> None:
    assert strength_of(count) == strength


def test_levels_are_ordered_from_none_to_verified() -> None:
    assert [level.rank for level in Quality] == [0, 1, 2, 3, 4]
    assert [level.reaches(MODERATE) for level in Quality] == [False, False, True, True, True]


@pytest.mark.parametrize(
    ("shows", "needed", "exact", "quality"),
    [
        (Shows.FAILS, Shows.NOTHING, 1, VERIFIED),  # either answer is one
        (Shows.NOTHING, Shows.PASSES, 1, VERIFIED),
        (Shows.PASSES, Shows.PASSES, 0, VERIFIED),
        (Shows.FAILS, Shows.FAILS, 0, VERIFIED),
        (Shows.FAILS, Shows.PASSES, 3, MODERATE),  # some tests pass
        (Shows.FAILS, Shows.PASSES, 0, WEAK),
        (Shows.PASSES, Shows.FAILS, 3, WEAK),
    ],
)
def test_a_run_with_the_opposite_result_is_no_proof(shows: Shows, needed: Shows, exact: int, quality: Quality) -> None:
    assert entry(TEST, VERIFIED, shows=shows, exact=exact).quality_for(needed) is quality


def test_the_opposite_result_never_raises_a_quality() -> None:
    assert entry(TEST, WEAK, shows=Shows.FAILS, exact=3).quality_for(Shows.PASSES) is WEAK
    assert entry(TEST, Quality.NONE, shows=Shows.FAILS).quality_for(Shows.PASSES) is Quality.NONE


def test_the_sources_of_evidence_are_named_once_each_best_first() -> None:
    places = (Place("b.py", 2), Place("a.py"), Place("b.py", 9))
    assert msgspec.structs.replace(entry(SEARCH, WEAK), places=places).sources == ("b.py", "a.py")


def test_the_requirements_of_an_intent_can_be_narrowed_to_classes_and_to_a_result() -> None:
    execute = (Requirement(BUILD, STRONG, Shows.PASSES), Requirement(TEST, STRONG, Shows.PASSES))
    assert requirements_of(Intent.EXECUTE) == execute
    assert requirements_of(Intent.EXECUTE, [TEST, LOG]) == (execute[1], Requirement(LOG, STRONG))
    assert requirements_of(Intent.EXECUTE, [TEST], Shows.NOTHING) == (Requirement(TEST, STRONG),)
    assert requirements_of(Intent.CHAT) == ()


def test_the_best_quality_of_a_term_is_that_of_its_own_evidence() -> None:
    entries = [entry(SEARCH, WEAK, "one"), entry(SEARCH, STRONG, "other"), entry(LOG, MODERATE, "other")]
    assert best_quality(entries, SEARCH, "one") is WEAK
    assert best_quality(entries, SEARCH) is STRONG
    assert best_quality(entries, LOG, "one") is MODERATE  # about the project as a whole
    assert best_quality(entries, BUILD) is Quality.NONE


def test_the_best_quality_is_that_for_the_needed_result() -> None:
    failed = entry(TEST, VERIFIED, shows=Shows.FAILS)
    assert best_quality([failed], TEST, shows=Shows.PASSES) is WEAK
    assert best_quality([failed], TEST) is VERIFIED


def test_a_gap_names_what_is_there_what_is_needed_and_for_which_term() -> None:
    entries = [entry(SEARCH, STRONG, "one"), entry(SEARCH, WEAK, "other"), entry(CONTENT, MODERATE, "one")]
    assert gaps_of(REQUIREMENTS[Intent.LOCATE], ["one", "other"], entries) == [
        EvidenceGap(SEARCH, WEAK, STRONG, "other"),
        EvidenceGap(CONTENT, Quality.NONE, MODERATE, "other"),
    ]
    assert gaps_of(REQUIREMENTS[Intent.LOCATE], [], []) == [
        EvidenceGap(SEARCH, Quality.NONE, STRONG),
        EvidenceGap(CONTENT, Quality.NONE, MODERATE),
    ]


def test_a_gap_is_explained_by_a_run_of_its_class_and_not_by_what_agrees_with_it() -> None:
    needed = [Requirement(TEST, STRONG, Shows.PASSES)]
    agreed = entry(TEST, VERIFIED, note="both say so", shows=Shows.FAILS, cites=(1,))
    failed = entry(TEST, STRONG, note="two fail", shows=Shows.FAILS)
    passed = entry(TEST, MODERATE, note="passes", shows=Shows.PASSES)
    for entries, reason in (([agreed, passed, failed], "two fail"), ([agreed, passed], ""), ([passed], "")):
        assert [gap.reason for gap in gaps_of(needed, [], entries)] == [reason]


def test_coverage_counts_every_term_of_a_requirement() -> None:
    entries = [entry(SEARCH, STRONG, "one"), entry(CONTENT, MODERATE, "one"), entry(CONTENT, VERIFIED, "other")]
    assert coverage_of(REQUIREMENTS[Intent.LOCATE], ["one", "other"], entries) == (3, 4, Quality.NONE)
    assert coverage_of([], ["one"], entries) == (0, 0, Quality.NONE)


STATUS, LOCATE, EXPLAIN = REQUIREMENTS[Intent.STATUS], REQUIREMENTS[Intent.LOCATE], REQUIREMENTS[Intent.EXPLAIN]


@pytest.mark.parametrize(
    ("requirements", "terms", "entries", "confidence", "sentence"),
    [
        ((), [], [], "none", "Nothing was asked that evidence could answer."),
        (STATUS, [], [], "none", "Confidence is none because there is no GitLog evidence."),
        (
            LOCATE, ["one"], [entry(SEARCH, STRONG, "one")],
            "none", "Confidence is none because there is no FileContent evidence for 'one'.",
        ),
        (
            STATUS, [], [entry(LOG, WEAK, note="one commit"), entry(LOG, WEAK, note="another")],
            "low", "Confidence is low because the GitLog evidence is only weak (one commit).",
        ),
        (
            STATUS, [], [entry(LOG, MODERATE)],
            "medium", "Confidence is medium because the GitLog evidence is only moderate.",
        ),
        (
            STATUS, [], [entry(TEST, STRONG, note="of tests"), entry(LOG, STRONG, note="the log says it")],
            "high", "Confidence is high because the GitLog evidence is strong (the log says it).",
        ),
        (
            STATUS, [], [entry(LOG, STRONG, note="x"), entry(LOG, WEAK, note="both agree", cites=(1, 2))],
            "high", "Confidence is high because the GitLog evidence is strong (x) (both agree).",
        ),
        (
            STATUS, [], [entry(LOG, STRONG, note="x", cites=(1,))],
            "high", "Confidence is high because the GitLog evidence is strong (x).",
        ),
        (
            LOCATE, ["a b"], [entry(SEARCH, STRONG, "a b"), entry(CONTENT, WEAK, "a b", note="near")],
            "low",
            "Confidence is low because the FileContent evidence for 'a b' is only weak (near) "
            "(1 of 2 that were needed are met).",
        ),
        (
            LOCATE, [],
            [entry(SEARCH, STRONG), entry(CONTENT, STRONG), entry(LOG, WEAK), entry(LOG, WEAK, note="n", cites=(1,))],
            "high",
            "Confidence is high because the FileSearch evidence is strong (2 of 2 that were needed are met; n).",
        ),
        (
            LOCATE, [], [entry(SEARCH, VERIFIED, note="no"), entry(CONTENT, VERIFIED, note="agreed", cites=(1,))],
            "complete", "Confidence is complete because all 2 that were needed are verified: agreed.",
        ),
        (
            EXPLAIN, [], [entry(SEARCH, STRONG), entry(CONTENT, STRONG)],
            "none",
            "Confidence is none because the kind of project is not known; the FileSearch evidence is strong "
            "(2 of 3 that were needed are met).",
        ),
        (
            EXPLAIN, [], [entry(SEARCH, STRONG), entry(CONTENT, STRONG), entry(DISCOVERY, WEAK)],
            "low",
            "Confidence is low because the kind of project is not known; the FileSearch evidence is strong "
            "(2 of 3 that were needed are met).",
        ),
        (
            EXPLAIN, [], [entry(SEARCH, STRONG), entry(CONTENT, STRONG), entry(DISCOVERY, MODERATE)],
            "medium",
            "Confidence is medium because the kind of project is known only in part; the FileSearch evidence is "
            "strong (3 of 3 that were needed are met).",
        ),
        (
            EXPLAIN, [], [entry(SEARCH, VERIFIED), entry(CONTENT, VERIFIED), entry(DISCOVERY, STRONG)],
            "high",
            "Confidence is high because the kind of project is shown by one scan alone; the FileSearch evidence is "
            "verified (3 of 3 that were needed are met).",
        ),
        (
            [Requirement(DISCOVERY, MODERATE)], [], [entry(DISCOVERY, WEAK)],
            "low", "Confidence is low because the Discovery evidence is only weak.",
        ),
        (
            [Requirement(TEST, STRONG, Shows.PASSES)], [],
            [entry(TEST, STRONG, note="a", shows=Shows.FAILS), entry(TEST, MODERATE, note="b", shows=Shows.PASSES)],
            "medium", "Confidence is medium because the Test evidence is only moderate (b).",
        ),
    ],
)  # fmt: skip
def test_a_confidence_is_explained_by_its_weakest_evidence(
    requirements: tuple[Requirement, ...], terms: list[str], entries: list[Evidence], confidence: str, sentence: str
) -> None:
    assert derive_confidence(requirements, terms, entries) == (confidence, sentence)


def test_chat_needs_no_evidence() -> None:
    found = chat_investigation("hello")
    assert (found.question, found.intent, found.outcome, found.confidence) == ("hello", "chat", "success", "none")
