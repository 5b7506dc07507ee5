"""Specification 1, section 4, rule by rule, on traces written for it (docs/specification.md names each test)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from knowbound.core.signal import Findings, SignalType, Status
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.gaps.signals import explicit_markers, hedging_candidates
from knowbound.judge.hedging.rules import RulesJudge
from knowbound.judge.hedging.verdict import HedgingCandidate
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.sessions import SharedEvents
from tests.transcripts import SESSION, Transcript

Make = Callable[[Transcript], Transcript]


def found_in(folder: Path, make: Make, prompt: str = "go", **settings: Any) -> Findings:
    path = make(Transcript().user(prompt)).write(folder)
    session = SessionFiles("claude-code", SESSION, (str(path),), {}, 0)
    return read_session(SharedEvents(session), LensSettings(**settings))[0]


def types(found: Findings) -> list[str]:
    return [str(signal.type) for signal in found.signals]


def failed(tool: str, input_: dict[str, Any], text: str) -> Make:
    return lambda trace: trace.calls(tool, input_, "t1").result("t1", text, f"Error: {text}", is_error=True)


def answered(tool: str, input_: dict[str, Any], text: str) -> Make:
    return lambda trace: trace.calls(tool, input_, "t1").result("t1", text)


GREP = {"pattern": "revenue_schema"}
READ = {"file_path": "/work/shop/docs/revenue.md"}
# Source 1: the call, whether we count it, whether the specification counts it to the letter.
CALLS: dict[str, tuple[Make, bool, bool]] = {
    "grep-empty-output": (answered("Grep", GREP, ""), True, True),
    "grep-no-matches-found": (answered("Grep", GREP, "No matches found"), True, True),
    "grep-no-files-found": (lambda trace: trace.grep("revenue_schema"), True, True),
    "grep-with-hits": (lambda trace: trace.grep("revenue_schema", ["docs/a.md"]), False, False),
    "grep-not-successful": (failed("Grep", GREP, "regex parse error: unclosed group"), False, True),
    "grep-timed-out": (failed("Grep", GREP, "Command timed out after 20s"), False, True),
    "grep-rejected": (failed("Grep", GREP, "The user doesn't want to proceed with this tool use."), False, True),
    "read-missing": (lambda trace: trace.read("/work/shop/docs/revenue.md", there=False), True, True),
    "read-there": (lambda trace: trace.read("/work/shop/docs/revenue.md"), False, False),
    "read-a-folder": (failed("Read", READ, "EISDIR: illegal operation on a directory, read"), False, True),
    "read-without-permission": (failed("Read", READ, "EACCES: permission denied, open"), False, True),
    "bash-grep-empty": (lambda trace: trace.bash("grep -rn revenue_schema docs", code=1), True, True),
    "bash-rg-empty": (lambda trace: trace.bash("rg revenue_schema", code=1), True, True),
    "bash-find-empty": (lambda trace: trace.bash("find . -name 'revenue*'"), True, True),
    "bash-grep-hit": (lambda trace: trace.bash("grep -rn revenue docs", "docs/a.md:3:revenue"), False, False),
    "bash-grep-exit-2-with-hits": (
        lambda trace: trace.bash("grep -rn revenue docs gone", "docs/a.md:3:revenue\ngrep: gone: No such file", code=2),
        False,
        True,
    ),
    "bash-no-search": (lambda trace: trace.bash("make build", "error", code=2), False, False),
    "glob-empty": (answered("Glob", {"pattern": "**/revenue*.md"}, "No files found"), True, False),
    "bash-cat-missing": (
        lambda trace: trace.bash("cat docs/revenue.md", "cat: docs/revenue.md: No such file or directory", code=1),
        True,
        False,
    ),
}


@pytest.mark.parametrize(("make", "ours", "to_the_letter"), CALLS.values(), ids=CALLS)
def test_a_failed_search_as_we_count_it_and_to_the_letter(
    tmp_path: Path, make: Make, ours: bool, to_the_letter: bool
) -> None:
    assert types(found_in(tmp_path, make)) == ["failed_search"] * ours
    assert types(found_in(tmp_path, make, as_specified=True)) == ["failed_search"] * to_the_letter


@pytest.mark.parametrize(
    ("prompt", "path", "is_given"),
    [
        ("Read docs/refunds.md", "/work/shop/docs/refunds.md", True),
        ("Read `docs/refunds.md`, please", "/work/shop/docs/refunds.md", True),
        ("Read “docs/refunds.md”.", "/work/shop/docs/refunds.md", True),
        ("Read ‘docs/refunds.md’", "/work/shop/docs/refunds.md", True),
        ("请看「docs/refunds.md」。", "/work/shop/docs/refunds.md", True),
        ("What does the Makefile do?", "/work/shop/Makefile", True),
        ("What is in `Dockerfile`?", "/work/shop/Dockerfile", True),
        ("Look at the “Justfile”", "/work/shop/Justfile", True),
        ("What does the Makefile do?", "/work/shop/build/Makefile", False),
        ("How do refunds work?", "/work/shop/docs/refunds.md", False),
    ],
)
def test_a_read_of_a_path_that_the_user_gave_is_no_gap(tmp_path: Path, prompt: str, path: str, is_given: bool) -> None:
    found = found_in(tmp_path, lambda trace: trace.read(path, there=False), prompt)
    assert types(found) == [] if is_given else ["failed_search"]


@pytest.mark.parametrize(
    "marker", ["【推断】", "【知识缺口】", "【未知】", "[inferred]", "[unknown]", "[knowledge gap]"]
)
@pytest.mark.parametrize(
    "line",
    [
        "{} the limit is 8 KB.",
        "The limit is 8 KB {}.",
        "The limit is 8 KB{}.",
        "{}The limit is 8 KB.",
        "上限是{}8 KB",
        "上限{}",
    ],
)
def test_a_marker_counts_wherever_it_stands(marker: str, line: str) -> None:
    assert explicit_markers(line.format(marker)) == [line.format(marker)]


@pytest.mark.parametrize(
    "code",
    ["counts[unknown] += 1", "Array[unknown] is returned", "byName[unknown]", "row_of[inferred]", "x[unknown](1)"],
)
def test_an_index_or_a_type_is_no_marker(code: str) -> None:
    assert explicit_markers(code) == []


NO_DOUBT = (
    "If you need it, you could perhaps add a flag.",
    "It may in future be moved to another host.",
    "The user may enter an empty name.",
    "We could use a queue, or perhaps a cron job.",
    "If there is insufficient information, ask the user.",
    "将来可能会迁移到新集群。",
    "该字段可能为空。",
)


def by_rules(sentence: str) -> bool:
    (candidate,) = hedging_candidates(sentence) or [HedgingCandidate("")]
    return bool(candidate.sentence) and RulesJudge().judge([candidate])[0].is_uncertainty


@pytest.mark.parametrize("sentence", NO_DOUBT)
def test_possibilities_politeness_and_the_future_are_no_doubt_by_rules(sentence: str) -> None:
    assert not by_rules(sentence)


@pytest.mark.parametrize("name", ["user_profile", "customer_id", "userProfile", "team_owner"])
@pytest.mark.parametrize("sentence", ["The value is probably stored in {}.", "{} may be null.", "可能是 {} 表。"])
def test_a_name_of_a_program_weighs_the_same_with_and_without_backticks(name: str, sentence: str) -> None:
    assert by_rules(sentence.format(name)) == by_rules(sentence.format(f"`{name}`"))


def test_three_failed_greps_and_an_unrelated_hit_are_not_resolved(tmp_path: Path) -> None:
    def make(trace: Transcript) -> Transcript:
        trace.grep("revenue_schema").grep("revenue schema definition").grep("RevenueSchema")
        return trace.grep("deployment", ["docs/deployment.md"]).says("Deployment is described in docs/deployment.md.")

    found = found_in(tmp_path, make)
    assert {signal.type for signal in found.signals} >= {SignalType.FAILED_SEARCH, SignalType.REPEATED_FAILURE}
    assert all(signal.status is not Status.RESOLVED for signal in found.signals)
