"""Each rule of specification 3's tables for GitLog, Build, Test, Discovery and CIWorkflow, by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.evidence import (
    REQUIREMENTS,
    Confidence,
    Evidence,
    EvidenceClass,
    Intent,
    Place,
    Quality,
    Requirement,
    Shows,
    Strength,
    derive_confidence,
    gaps_of,
    requirements_of,
)
from knowbound.evidence.planner import Collected, corroborated
from knowbound.evidence.producers.build_and_test import Build, Tests, grade_build, grade_tests
from knowbound.evidence.producers.ci import RunList, Runs, RunView, WorkflowRun, grade_runs
from knowbound.evidence.producers.discovery import ManifestScan, Project, TreeScan, grade_discovery
from knowbound.evidence.producers.git import GitLog, GitStatus
from knowbound.evidence.producers.protocol import Ask, Context, Producer
from knowbound.evidence.producers.system import Built, OutcomeCounts
from knowbound.evidence.producers.system import Tested as RanTests
from knowbound.text.intent import evidence_needed, intent_of
from tests.evidence.test_producer_git import commit, git

Q, C = Quality, EvidenceClass


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "zip.py").write_text("def pack():\n    return zstd\n")
    commit(tmp_path, "Add zstd compression", "2026-01-01T12:00:00Z")
    (tmp_path / "zip.py").write_text("def pack():\n    return zstd, gzip\n")
    commit(tmp_path, "Support gzip compression", "2026-02-01T12:00:00Z")
    return tmp_path


def asked(producer: GitLog | GitStatus, root: Path, question: str) -> Evidence:
    return producer.produce(Ask(C.GIT_LOG, "", Intent.STATUS, question), Context(root))


def verified(*pairs: tuple[Evidence, Producer]) -> set[EvidenceClass]:
    collected = Collected()
    for entry, producer in pairs:
        collected.add(entry, producer)
    return {entry.cls for entry in corroborated(collected)}


# --- the vocabulary


def test_the_vocabulary_is_fixed() -> None:
    assert [level.value for level in Quality] == ["none", "weak", "moderate", "strong", "verified"]
    assert [level.value for level in Strength] == ["none", "low", "medium", "high"]


# --- GitLog


def test_gitlog_weak_git_status_for_a_history_query(repository: Path) -> None:
    assert asked(GitStatus(), repository, "when was zstd added?").quality is Q.WEAK


def test_gitlog_moderate_git_log_without_query_terms(repository: Path) -> None:
    assert asked(GitLog(), repository, "what happened recently?").quality is Q.MODERATE


def test_gitlog_strong_git_log_with_matching_commits(repository: Path) -> None:
    entry = asked(GitLog(), repository, "when was support for zstd compression introduced?")
    assert entry.quality is Q.STRONG
    assert entry.places[0].symbol == "Add zstd compression"


def test_gitlog_verified_git_is_authoritative_for_history(repository: Path) -> None:
    producer = GitLog()
    assert verified((asked(producer, repository, "what is the last commit?"), producer)) == {C.GIT_LOG}


# --- Build


def build(made: tuple[str, ...] = ("app",), has_named: bool = False, passed: bool = True) -> Built:
    return Built("cmake", "cmake --build", passed, made, has_named, says="" if passed else "main.c:1: error: x")


def test_build_weak_cmake_no_op() -> None:
    assert grade_build(build(made=()), "")[0] is Q.WEAK


def test_build_moderate_cmake_builds_but_not_the_target() -> None:
    assert grade_build(build(), "engine")[0] is Q.MODERATE


def test_build_strong_cmake_builds_the_specific_target() -> None:
    assert grade_build(build(has_named=True), "app")[0] is Q.STRONG


def ran(cls: EvidenceClass, shows: Shows = Shows.PASSES, exact: int = 1, quality: Quality = Q.STRONG) -> Evidence:
    return Evidence(
        cls, "tool", "", "", quality, Strength.LOW, (Place("CMakeLists.txt", 0, "app"),), 1, exact, shows=shows
    )


def test_build_verified_build_and_test_both_pass() -> None:
    assert verified((ran(C.BUILD), Build()), (ran(C.TEST), Tests())) == {C.BUILD, C.TEST}


@pytest.mark.parametrize(
    ("built", "tested"),
    [(Shows.FAILS, Shows.PASSES), (Shows.PASSES, Shows.FAILS), (Shows.FAILS, Shows.FAILS)],
)
def test_build_and_test_are_not_verified_where_one_of_them_fails(built: Shows, tested: Shows) -> None:
    assert verified((ran(C.BUILD, built), Build()), (ran(C.TEST, tested), Tests())) == set()


# --- Test


def test_test_weak_ctest_reports_0_tests_run() -> None:
    assert grade_tests(RanTests("ctest", "ctest", True, OutcomeCounts(0)), "")[0] is Q.WEAK


def test_test_moderate_ctest_passes_some_tests() -> None:
    assert grade_tests(RanTests("ctest", "ctest", True, OutcomeCounts(2, 0, 9)), "")[0] is Q.MODERATE
    assert ran(C.TEST, Shows.FAILS, exact=2).quality_for(Shows.PASSES) is Q.MODERATE
    assert ran(C.TEST, Shows.FAILS, exact=0).quality_for(Shows.PASSES) is Q.WEAK


def test_test_strong_ctest_passes_all_relevant_tests() -> None:
    assert grade_tests(RanTests("ctest", "ctest", True, OutcomeCounts(5), True), "parser")[0] is Q.STRONG


def test_test_verified_build_and_test_both_pass() -> None:
    assert C.TEST in verified((ran(C.TEST), Tests()), (ran(C.BUILD), Build()))


# --- Discovery


def test_discovery_weak_any_scan_output() -> None:
    assert grade_discovery(Project("", 3, 0)) is Q.WEAK


def test_discovery_moderate_project_type_correctly_identified() -> None:
    assert grade_discovery(Project("python")) is Q.MODERATE


def test_discovery_strong_full_metadata() -> None:
    assert grade_discovery(Project("python", 3, 1)) is Q.STRONG


def test_discovery_verified_same_result_from_two_scans(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "tiny"\nversion = "1"\n')
    (tmp_path / "tiny.py").write_text("x = 1\n")
    ask = Ask(C.DISCOVERY, "", Intent.EXPLAIN, "what is this project?")
    pairs: list[tuple[Evidence, Producer]] = [
        (scan.produce(ask, Context(tmp_path)), scan) for scan in (TreeScan(), ManifestScan())
    ]
    assert [entry.quality for entry, _ in pairs] == [Q.STRONG, Q.STRONG]
    assert verified(*pairs) == {C.DISCOVERY}


def test_discovery_is_not_verified_where_the_counts_of_the_scans_disagree(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "tiny"\nversion = "1"\n')
    (tmp_path / "tiny.py").write_text("x = 1\n")
    (tmp_path / "page.ts").write_text("export const x = 1\n")
    (tmp_path / "more.py").write_text("x = 1\n")
    ask = Ask(C.DISCOVERY, "", Intent.EXPLAIN, "what is this project?")
    pairs: list[tuple[Evidence, Producer]] = [
        (scan.produce(ask, Context(tmp_path)), scan) for scan in (TreeScan(), ManifestScan())
    ]
    assert verified(*pairs) == set()


def test_discovery_of_a_mixed_tree_names_both_languages(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.ts").write_text("export const x = 1\n")
    entry = TreeScan().produce(Ask(C.DISCOVERY, "", Intent.EXPLAIN, "how?"), Context(tmp_path))
    assert entry.quality is Q.STRONG
    assert " and " in entry.note.partition(" project")[0]


# --- CIWorkflow

RUN = WorkflowRun(7, "Tests", status="completed", conclusion="failure")


def test_ciworkflow_weak_empty_response() -> None:
    assert grade_runs(Runs([], [], False))[0] is Q.WEAK


def test_ciworkflow_moderate_run_list_returned() -> None:
    assert grade_runs(Runs([RUN], [], True))[0] is Q.MODERATE


def test_ciworkflow_strong_run_list_with_matching_workflow() -> None:
    assert grade_runs(Runs([RUN], [RUN], True))[0] is Q.STRONG


def test_ciworkflow_moderate_while_the_last_run_is_still_going() -> None:
    going = WorkflowRun(8, "Tests", status="in_progress")
    assert grade_runs(Runs([going, RUN], [going, RUN], True))[0] is Q.MODERATE


@pytest.mark.parametrize("shows", [Shows.PASSES, Shows.FAILS])
def test_ciworkflow_verified_run_log_confirms_failure_or_success(shows: Shows) -> None:
    assert verified((ran(C.CI_WORKFLOW, shows), RunView())) == {C.CI_WORKFLOW}
    assert verified((ran(C.CI_WORKFLOW, shows), RunList())) == set()


# --- what questions beside the table need, and the invariants


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("is the pipeline green", [("CIWorkflow", "strong", "")]),
        ("does it compile", [("Build", "strong", "")]),
        ("do the tests pass", [("Test", "strong", "")]),
        ("does it build and do the tests pass", [("Build", "strong", ""), ("Test", "strong", "")]),
        ("build it", [("Build", "strong", "passes")]),
        ("run the tests", [("Test", "strong", "passes")]),
        ("what is the last commit", [("GitLog", "moderate", "")]),
        ("which commit took Python 3.9 out of CI", [("GitLog", "moderate", "")]),
        ("what kind of project is this", [("Discovery", "moderate", "")]),
    ],
)
def test_requirements_come_from_the_evidence_that_is_asked_for(
    question: str, needs: list[tuple[str, str, str]]
) -> None:
    found = evidence_needed(question, intent_of(question))
    assert [(need.cls.value, need.minimum.value, need.shows.value) for need in found] == needs


@pytest.mark.parametrize("intent", [one for one in Intent if one not in (Intent.STATUS, Intent.EXECUTE)])
def test_every_other_question_needs_the_row_of_its_intent(intent: Intent) -> None:
    assert evidence_needed("the frobnicator", intent) == REQUIREMENTS[intent]


def test_a_failure_answers_the_question_and_does_not_carry_out_the_order() -> None:
    failing = [ran(C.TEST, Shows.FAILS, exact=3)]
    assert not gaps_of(evidence_needed("do the tests pass", Intent.EXECUTE), [], failing)
    (gap,) = gaps_of(evidence_needed("run the tests", Intent.EXECUTE), [], failing)
    assert (gap.have, gap.need) == (Q.MODERATE, Q.STRONG)


def entries() -> st.SearchStrategy[list[Evidence]]:
    one = st.builds(
        ran,
        st.sampled_from(EvidenceClass),
        st.sampled_from(Shows),
        st.integers(0, 5),
        st.sampled_from([Q.NONE, Q.WEAK, Q.MODERATE, Q.STRONG]),
    )
    return st.lists(one, max_size=8)


@given(entries(), st.sampled_from(Intent))
def test_what_shows_a_failure_never_completes_what_has_to_pass(found: list[Evidence], kind: Intent) -> None:
    needs = requirements_of(kind)
    passing = [entry for entry in found if entry.shows is not Shows.FAILS]
    have_to_pass = [need for need in needs if need.shows is Shows.PASSES]
    assert bool(gaps_of(have_to_pass, [], found)) == bool(gaps_of(have_to_pass, [], passing))


@given(entries(), st.sampled_from(Intent), entries())
def test_more_evidence_never_opens_a_gap(found: list[Evidence], kind: Intent, more: list[Evidence]) -> None:
    if not gaps_of(requirements_of(kind), [], found):
        assert not gaps_of(requirements_of(kind), [], [*found, *more])


@given(entries(), st.sampled_from(sorted(set(Intent) - {Intent.CHAT})))
def test_confidence_is_the_lowest_level_of_what_is_needed(found: list[Evidence], kind: Intent) -> None:
    needs = requirements_of(kind)
    levels = [
        max((entry.quality_for(need.shows).rank for entry in found if entry.cls is need.cls), default=0)
        for need in needs
    ]
    order = [Confidence.NONE, Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH, Confidence.COMPLETE]
    assert derive_confidence(needs, [], found)[0] is order[min(levels)]


@given(st.sampled_from([Q.MODERATE, Q.STRONG, Q.VERIFIED]), st.sampled_from([Q.MODERATE, Q.STRONG]))
def test_discovery_is_never_the_reason_for_an_answer_about_something_else(search: Quality, scan: Quality) -> None:
    needs = (Requirement(C.FILE_SEARCH, Q.MODERATE), Requirement(C.DISCOVERY, Q.MODERATE))
    found = [
        Evidence(C.FILE_SEARCH, "grep", "x", "x", search, Strength.LOW, note="found it"),
        Evidence(C.DISCOVERY, "tree scan", "", "project", scan, Strength.LOW, note="a python project"),
    ]
    confidence, why = derive_confidence(needs, ["x"], found)
    assert "a python project" not in why
    assert "FileSearch" in why
    if scan.rank < search.rank:  # never "low because … is verified"
        assert f"Confidence is {confidence} because the kind of project is" in why
