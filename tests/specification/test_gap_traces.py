"""Specification 1, section 4: one hand-made trace for each rule, through `observe` as a user runs it.

The number of a case is that of its rule in docs/specification.md, part 1. A case has the signals that `observe` counts
and, where we differ, those that `observe --as-specified` counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import warm_process
from tests.transcripts import Transcript

SEARCH, MARKER, HEDGE, REPEATED = "failed_search", "explicit_marker", "hedging", "repeated_failure"
GREP = {"pattern": "revenue_schema"}
MADE_UP = "/work/shop/docs/revenue.md"


class Case(NamedTuple):
    """A rule with the trace of one session and the types of its signals."""

    rule: int
    about: str
    make: Callable[[Transcript], Transcript]
    counted: tuple[str, ...] = ()
    to_the_letter: tuple[str, ...] | None = None  # None: the same
    prompt: str = "go"

    @property
    def session(self) -> str:
        return f"{self.rule:08x}-0000-4000-8000-{sum(self.about.encode()):012x}"


def grep(*found: str) -> Callable[[Transcript], Transcript]:
    return lambda trace: trace.grep("revenue_schema", list(found)).says("Done.")


def answered(
    tool: str, input_: dict[str, Any], text: str, *, error: bool = False
) -> Callable[[Transcript], Transcript]:
    structure = f"Error: {text}" if error else None
    return lambda trace: trace.calls(tool, input_, "t1").result("t1", text, structure, is_error=error).says("Done.")


def bash(command: str, output: str = "", code: int = 0) -> Callable[[Transcript], Transcript]:
    return lambda trace: trace.bash(command, output, code=code).says("Done.")


def says(text: str) -> Callable[[Transcript], Transcript]:
    return lambda trace: trace.says(text)


def missing(path: str = MADE_UP) -> Callable[[Transcript], Transcript]:
    return lambda trace: trace.read(path, there=False).says("Done.")


def misses(*tools: str) -> Callable[[Transcript], Transcript]:
    """Make one step for each name: a missing `grep` or `read`, a `hit`, or words alone (`say`)."""

    def make(trace: Transcript) -> Transcript:
        for at, tool in enumerate(tools):
            if tool == "read":
                trace.read(f"/work/shop/docs/{'alpha beta gamma delta'.split()[at]}.md", there=False)
            elif tool == "say":
                trace.says("Next.")
            else:
                words = "tariff_owner carrier_zones voucher_limits customs_codes".split()
                trace.grep(words[at], ["docs/a.md"] if tool == "hit" else None)
        return trace.says("Done.")

    return make


CASES = (
    # Source 1: failed search
    Case(11, "Grep with an empty output", answered("Grep", GREP, ""), (SEARCH,)),
    Case(12, "Grep that says No matches found", answered("Grep", GREP, "No matches found"), (SEARCH,)),
    Case(12, "Grep with a match", grep("docs/revenue.md")),
    Case(13, "Grep with a bad pattern", answered("Grep", GREP, "regex parse error", error=True), (), (SEARCH,)),
    Case(13, "Grep that timed out", answered("Grep", GREP, "Command timed out after 20s", error=True), (), (SEARCH,)),
    Case(14, "Read of a path that the agent made up", missing(), (SEARCH,)),
    Case(14, "Read that finds its file", lambda trace: trace.read(MADE_UP).says("Done.")),
    Case(
        14, "Read without permission", answered("Read", {"file_path": MADE_UP}, "EACCES: denied", error=True),
        (), (SEARCH,),
    ),
    Case(
        14, "Read of a folder", answered("Read", {"file_path": MADE_UP}, "EISDIR: illegal operation", error=True),
        (), (SEARCH,),
    ),
    Case(15, "Read of a path that the user gave", missing(), prompt="Read docs/revenue.md"),
    Case(15, "Read of a path in curly quotes", missing(), prompt="Read “docs/revenue.md”."),
    Case(15, "Read of a path in backticks", missing(), prompt="Is `docs/revenue.md` right?"),
    Case(15, "Read of the Makefile", missing("/work/shop/Makefile"), prompt="What does the Makefile do?"),
    Case(16, "grep in Bash without output", bash("grep -rn revenue_schema docs", code=1), (SEARCH,)),
    Case(17, "rg in Bash without output", bash("rg revenue_schema", code=1), (SEARCH,)),
    Case(18, "find in Bash without output", bash("find . -name 'revenue*'"), (SEARCH,)),
    Case(19, "grep in Bash, exit 2 beside a match", bash("grep -rn a docs gone", "docs/a.md:3:a", 2), (), (SEARCH,)),
    Case(20, "a command that searches nothing", bash("make build", "error", 2)),
    Case(20, "Glob without a match", answered("Glob", {"pattern": "**/revenue*.md"}, "No files found"), (SEARCH,), ()),
    Case(
        21, "two similar searches in a row", lambda trace: trace.grep("revenue_schema").grep("revenue_schemas"),
        (SEARCH,),
    ),
    Case(22, "two searches about different things", misses("grep", "grep"), (SEARCH, SEARCH)),
    # Source 2: explicit markers
    Case(23, "【推断】", says("【推断】上限是 8 KB。"), (MARKER,)),
    Case(24, "【知识缺口】", says("【知识缺口】没有写。"), (MARKER,)),
    Case(25, "【未知】", says("上限【未知】"), (MARKER,)),
    Case(26, "[inferred]", says("[inferred] the limit is 8 KB."), (MARKER,)),
    Case(27, "[unknown]", says("The limit is[unknown]."), (MARKER,)),
    Case(28, "[knowledge gap]", says("上限[knowledge gap]是 8 KB"), (MARKER,)),
    Case(29, "a guess that is not marked", says("The limit is 8 KB.")),
    Case(30, "a marker of the user", says("The limit is 8 KB."), prompt="[unknown] what is the limit?"),
    Case(31, "a marker that is talked about", says("Lines that start with `[inferred]` are skipped by the importer.")),
    Case(31, "an index of that name", says("The loop does counts[unknown] += 1 for each row.")),
    # Source 3: hedging, by rules
    Case(32, "我不确定", says("我不确定这个数据属于哪个域。"), (HEDGE,)),
    Case(33, "没有足够信息", says("没有足够信息来判断该字段的来源。"), (HEDGE,)),
    Case(34, "需要查证", says("需要查证收入字段的定义。"), (HEDGE,)),
    Case(35, "无法确认", says("无法确认负责人是谁。"), (HEDGE,)),
    Case(36, "猜测", says("这只是我的猜测。"), (HEDGE,)),
    Case(37, "可能是", says("可能是 user_profile 表。"), (HEDGE,)),
    Case(38, "I'm not sure", says("I'm not sure which domain this data lives in."), (HEDGE,)),
    Case(39, "insufficient information", says("There is insufficient information about the retention."), (HEDGE,)),
    Case(40, "need to verify", says("I need to verify which domain the revenue field definitions live in."), (HEDGE,)),
    Case(41, "likely", says("This data likely comes from the user_profile table."), (HEDGE,)),
    Case(42, "presumably", says("Presumably customer_id is the join key."), (HEDGE,)),
    Case(43, "it does not know the answer", says("I don't know where the locale files are loaded from."), (HEDGE,)),
    Case(44, "a downgraded answer", says("It is probably the ledger, but I am not sure."), (HEDGE,)),
    Case(45, "possibilities of a business", says("The customer may pay by card, or perhaps by invoice.")),
    Case(45, "a possible value", says("该字段可能为空。")),
    Case(46, "polite words", says("If you need it, you could perhaps add a flag.")),
    Case(47, "the future", says("It may in future be moved to another host.")),
    Case(47, "the future in Chinese", says("将来可能会迁移到新集群。")),
    # Source 4: repeated failure
    Case(56, "three missing Greps in three steps", misses("grep", "grep", "grep"), (SEARCH, SEARCH, SEARCH, REPEATED)),
    Case(56, "three missing Reads in three steps", misses("read", "read", "read"), (SEARCH, SEARCH, SEARCH, REPEATED)),
    Case(57, "two tools", misses("grep", "read", "grep"), (SEARCH, SEARCH, SEARCH)),
    Case(58, "four steps", misses("grep", "grep", "say", "grep"), (SEARCH, SEARCH, SEARCH)),
    Case(59, "two calls", misses("grep", "grep"), (SEARCH, SEARCH)),
    Case(60, "one of them found something", misses("grep", "hit", "grep"), (SEARCH, SEARCH)),
)  # fmt: skip
IDS = [f"{case.rule}-{case.about.replace(' ', '-')}" for case in CASES]
Signals = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Signals, Signals]:
    """The signals of every session, as we count and to the letter."""
    folder = tmp_path_factory.mktemp("specified")
    for case in CASES:
        case.make(Transcript(case.session).user(case.prompt)).write(folder / "traces")
    return signals(folder), signals(folder, "--as-specified")


def signals(folder: Path, *options: str) -> Signals:
    ran = warm_process.knowbound("observe", "traces", "--format", "jsonl", *options, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    found: Signals = {case.session: [] for case in CASES}
    for line in ran.stdout.splitlines():
        signal = json.loads(line)
        found[signal["session"]].append(signal)
    return found


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_signals_of_a_rule(observed: tuple[Signals, Signals], case: Case) -> None:
    letter = case.counted if case.to_the_letter is None else case.to_the_letter
    for found, wanted in zip(observed, (case.counted, letter), strict=True):
        types = [signal["type"] for signal in found[case.session]]
        assert sorted(types) == sorted(wanted), case.about


def test_every_case_is_a_session_of_its_own() -> None:
    assert len({case.session for case in CASES}) == len(CASES)


def test_a_signal_leads_to_its_query_or_words_and_its_line(observed: tuple[Signals, Signals]) -> None:
    """Rule 10: the list names what failed."""
    found = [signal for several in observed[0].values() for signal in several]
    assert all(signal["query"] or signal["text"] for signal in found)
    assert all(signal["file"] and signal["line"] for signal in found)


def test_hard_evidence_weighs_one_and_soft_signals_a_half(observed: tuple[Signals, Signals]) -> None:
    """Rule 63."""
    weights = {(signal["type"], signal["weight"]) for several in observed[0].values() for signal in several}
    assert weights == {(SEARCH, 1.0), (REPEATED, 1.0), (MARKER, 0.5), (HEDGE, 0.5)}


def test_a_hedge_keeps_its_verdict(observed: tuple[Signals, Signals]) -> None:
    """Rule 48."""
    hedges = [signal for several in observed[0].values() for signal in several if signal["type"] == HEDGE]
    assert hedges
    for hedge in hedges:
        assert hedge["verdict"]["is_uncertainty"] is True
        assert 0.5 <= hedge["verdict"]["confidence"] <= 1
        assert hedge["verdict"]["reason"]
