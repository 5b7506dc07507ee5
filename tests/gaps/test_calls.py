"""Which calls are misses of the agent's own, and which paths a user named."""

from __future__ import annotations

import pytest

from knowbound.core.signal import Signal, Status
from knowbound.core.trace import LookupIntent, Outcome, ToolCall, ToolKind
from knowbound.gaps import signals
from knowbound.gaps.endings import ExistenceCheck
from knowbound.gaps.signals import (
    CallSignals,
    explicit_markers,
    failed_as_specified,
    hedging_candidates,
    is_failed_search,
    terms_of,
)
from tests.gaps.stories import SHOP, call, read, search, step


@pytest.mark.parametrize("kind", ToolKind)
@pytest.mark.parametrize("outcome", Outcome)
def test_a_miss_is_a_lookup_that_found_nothing(kind: ToolKind, outcome: Outcome) -> None:
    is_lookup, is_nothing = kind in ("search", "list", "read"), outcome in ("empty", "missing")
    assert is_failed_search(call(kind, "x", outcome)) is (is_lookup and is_nothing)


@pytest.mark.parametrize(
    ("one", "is_miss"),
    [
        (search("x"), True),
        (search("x", "a.py"), False),
        (search("x", "a.py", failed=True), True),
        (read("a.py", there=False), True),
        (call(ToolKind.LIST, "x", Outcome.EMPTY), False),
        (call(ToolKind.SEARCH, "x", Outcome.EMPTY, name="Glob"), False),
        (call(ToolKind.SEARCH, "x", Outcome.EMPTY, name="Bash", input={"command": "grep -rn x ."}), True),
        (call(ToolKind.SHELL, "x", Outcome.EMPTY, name="Bash", input={"command": "cat a | rg x"}), True),
        (call(ToolKind.SHELL, "x", Outcome.EMPTY, name="Bash", input={"command": "git grep x"}), True),
        (call(ToolKind.SEARCH, "x", Outcome.EMPTY, name="Bash", input={"command": "ls x"}), False),
        (call(ToolKind.SHELL, "x", Outcome.EMPTY, name="Bash"), False),
    ],
)
def test_to_the_letter_a_miss_is_a_grep_a_read_or_a_searching_command(one: ToolCall, is_miss: bool) -> None:
    assert failed_as_specified(one) is is_miss
    assert CallSignals(as_specified=True).is_miss(one) is is_miss
    assert CallSignals().is_miss(one) is is_failed_search(one)


def test_a_call_looked_for_the_terms_of_its_pattern_or_the_name_of_its_path() -> None:
    assert terms_of(read("docs/vatRates*.md")) == terms_of(read("wiki/vatRates?.md")) == terms_of(read("vatRates.md"))
    assert terms_of(read("docs/vatRates.md"))
    assert terms_of(search("refundLedger")) == {"refundledger"}


@pytest.mark.parametrize(
    ("prompt", "path", "is_miss"),
    [
        ("Read docs/vat.md please.", "docs/vat.md", False),
        ("Read docs/vat.md please.", "/work/shop/docs/vat.md", False),
        ("Read /work/shop/docs/vat.md please.", "docs/vat.md", False),
        ("Read @docs/vat.md.", "docs/vat.md", False),
        ("Read ./docs/vat.md.", "docs/vat.md", False),
        ("Read docs/vat.md.bak.", "docs/vat.md", True),
        ("Read docs/vat.md-old.", "docs/vat.md", True),
        ("Read old-docs/vat.md.", "docs/vat.md", True),
        ("Look at the Makefile.", "Makefile", False),
        ("Look at vat.md.", "docs/vat.md", True),  # the folder is a guess
        ("Read a.md and b.md.", "x.md a.md", False),
        ("Nothing.", "", True),
    ],
)
def test_a_path_that_the_user_named_is_no_miss(prompt: str, path: str, is_miss: bool) -> None:
    calls = CallSignals()
    calls.start(SHOP)
    calls.prompt(prompt)
    assert calls.is_miss(read(path, there=False)) is is_miss
    assert calls.is_miss(search(path))


def test_the_newest_prompts_are_remembered_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "_MOST_PROMPTS", 20)
    monkeypatch.setattr(signals, "_MOST_PROMPT", 12)
    calls = CallSignals()

    def is_known(name: str) -> bool:
        return not calls.is_miss(read(name, there=False))

    calls.prompt("Read aa.md: bb.md")  # cut after twelve characters
    assert (is_known("aa.md"), is_known("bb.md")) == (True, False)
    calls.prompt("Read it.")  # twenty together
    assert is_known("aa.md")
    calls.prompt("x")
    assert not is_known("aa.md")


@pytest.mark.parametrize(
    ("one", "said", "check"),
    [
        (search("x"), "", None),
        (search("x", intent=LookupIntent.CHECK), "", ExistenceCheck.ABSENCE),
        (search("x", purpose="Check if it is there"), "", ExistenceCheck.WHETHER),
        (search("x"), "Let me see if it is there.", ExistenceCheck.WHETHER),
        (search("x", where="src/a.py"), "", ExistenceCheck.WHETHER),
        (search("x", where="src/.py"), "", None),
        (search("x", where="src/a.py b.py"), "", None),
        (search("x", where="src/*.py"), "", None),
        (read("x", there=False, where="src/a.py"), "", None),
    ],
)
def test_a_lookup_may_ask_whether_something_is_there(one: ToolCall, said: str, check: ExistenceCheck | None) -> None:
    assert CallSignals().check(one, step(one, said=said)) is check


def test_a_path_is_shown_from_its_project_and_a_pattern_as_it_is() -> None:
    calls = CallSignals()
    calls.start(SHOP)
    assert calls.shown_query(read(f"{SHOP}/a.py")) == "a.py"
    assert calls.shown_query(call(ToolKind.LIST, f"{SHOP}/docs")) == "docs"
    assert calls.shown_query(search(f"{SHOP}/a.py")) == f"{SHOP}/a.py"


def followed(calls: CallSignals, *steps: list[ToolCall], agent: str = "") -> list[Signal]:
    made: list[Signal] = []
    for number, of_step in enumerate(steps, 1):

        def new(**fields: object) -> Signal:
            return Signal(session="s", turn=1, sample="x", step=number, **fields)  # type: ignore[arg-type]  # noqa: B023

        made += calls.step(step(*of_step, agent_id=agent, line=40 + number), number, new)
    return made


def test_a_signal_of_a_miss_has_what_the_call_had() -> None:
    calls = CallSignals()
    calls.start(SHOP)
    missed = search("refundLedger", id="c1", where=f"{SHOP}/docs", reason="no match", line=7)
    (signal,) = followed(calls, [missed])
    assert (signal.call_ids, signal.tool, signal.query, signal.path, signal.reason) == (
        ["c1"], "Grep", "refundLedger", "docs", "no match"
    )  # fmt: skip
    assert (signal.outcome, signal.file, signal.line, signal.status) == (Outcome.EMPTY, "/t/s.jsonl", 7, Status.OPEN)
    (other,) = followed(CallSignals(), [search("refundLedger")])
    assert other.line == 41  # of the step


@pytest.mark.parametrize(
    ("at_least", "steps", "repeats"), [(3, 3, 1), (3, 2, 0), (2, 2, 1), (1, 1, 0), (1, 2, 1), (4, 3, 0)]
)
def test_a_repeated_failure_takes_so_many_calls(at_least: int, steps: int, repeats: int) -> None:
    names = ("alphaOne", "betaTwo", "gammaThree")
    made = followed(CallSignals(repeat_at_least=at_least), *[[search(name)] for name in names[:steps]])
    assert len([one for one in made if one.type == "repeated_failure"]) == repeats


def test_a_repeated_failure_grows_and_ends_with_a_find() -> None:
    names = ("alphaOne", "betaTwo", "gammaThree", "deltaFour")
    made = followed(CallSignals(), *[[search(name)] for name in names])
    (repeated,) = [one for one in made if one.type == "repeated_failure"]
    assert repeated.call_ids == list(names)
    assert repeated.query == " · ".join(names)
    assert repeated.reason == "4 searches in consecutive steps, all failed"
    found = [
        *[[search(name)] for name in names[:3]],
        [search("x", "a.py")],
        *[[search(f"{name}X")] for name in names[:3]],
    ]
    made = followed(CallSignals(), *found)
    assert [len(one.call_ids) for one in made if one.type == "repeated_failure"] == [3, 3]


LONG = "Perhaps " + "x" * 1_491


def test_a_sentence_that_runs_on_is_no_hedge() -> None:
    assert [len(one.sentence) for one in hedging_candidates(LONG + ".")] == [1_500]
    assert hedging_candidates(LONG + "x.") == []
    (one,) = hedging_candidates("First. Perhaps it is 8080. Last.")
    assert (one.sentence, one.context) == ("Perhaps it is 8080.", "First. Perhaps it is 8080. Last.")
    assert hedging_candidates("# Perhaps it is 8080") == []
    assert hedging_candidates("[unknown] the port") == []


def test_a_table_marks_rows_and_not_its_header() -> None:
    rows = "| [inferred] limit | x |\n| --- | --- |\n| limit | 8 KB [inferred] |\n| host | db |\n| port | [unknown] |"
    assert explicit_markers(rows) == ["| limit | 8 KB [inferred] |", "| port | [unknown] |"]
    assert explicit_markers("| limit | 8 KB [inferred] |") == ["| limit | 8 KB [inferred] |"]
    assert explicit_markers(f"[inferred] a\n{rows}\n[unknown] b") == [
        "[inferred] a", "| limit | 8 KB [inferred] |", "| port | [unknown] |", "[unknown] b"
    ]  # fmt: skip
