"""Misses that are followed, one at a time: what decides them, and what the user's next words answer."""

from __future__ import annotations

import pytest

from knowbound.core.signal import Ending, Signal, SignalType, Status
from knowbound.core.trace import Outcome, Step, ToolCall, ToolKind
from knowbound.gaps import endings
from knowbound.gaps.endings import Endings, ExistenceCheck
from tests.gaps.stories import SHOP, call, search, step


def signal(type_: SignalType = SignalType.FAILED_SEARCH, **more: object) -> Signal:
    return Signal(type_, Status.OPEN, "s", 1, "s#1", **more)  # type: ignore[arg-type]


def followed(
    query: str = "refundLedger", *, agent: str = "", check: ExistenceCheck | None = None
) -> tuple[Endings, Signal]:
    """The miss of a search, followed from its step on."""
    found, missed = Endings(), signal(agent_id=agent)
    found.project = SHOP
    lookup = search(query)
    found.follow(missed, lookup, step(lookup, agent_id=agent), check=check)
    return found, missed


def state(missed: Signal) -> tuple[Status, Ending | None, str]:
    return missed.status, missed.ending, missed.correction


@pytest.mark.parametrize(
    ("last_said", "prompt", "expected"),
    [
        ("", "Thanks.", (Status.UNDECIDED, Ending.WENT_ON, "")),
        ("", "The ledger is in the wiki.", (Status.RESOLVED, Ending.ASKED, "The ledger is in the wiki.")),
        ("", "A book.", (Status.UNDECIDED, Ending.WENT_ON, "")),
        ("Where is the ledger?", "In  the\nwiki.", (Status.RESOLVED, Ending.ASKED, "In the wiki.")),
        ("Where is the carrier?", "In the wiki.", (Status.UNDECIDED, Ending.WENT_ON, "")),
        ("I cannot find the ledger.", "It is gone.", (Status.OPEN, Ending.GAVE_UP, "")),
        ("I cannot find the ledger.", "The ledger is gone.", (Status.OPEN, Ending.GAVE_UP, "The ledger is gone.")),
        ("", "x" * 4_000 + " ledger", (Status.UNDECIDED, Ending.WENT_ON, "")),
    ],
)
def test_the_next_turn_decides_a_miss_and_its_prompt_may_answer_it(
    last_said: str, prompt: str, expected: tuple[Status, Ending | None, str]
) -> None:
    found, missed = followed()
    found.begin_turn(last_said, prompt)
    assert state(missed) == expected
    found.begin_turn("", "The ledger, once more.")
    assert state(missed) == expected  # only the next prompt answers


@pytest.mark.parametrize(("query", "prompt", "is_answered"), [("carryx", "carryx", True), ("carry", "carry", False)])
def test_a_prompt_answers_by_a_word_of_six_letters(query: str, prompt: str, is_answered: bool) -> None:
    found, missed = followed(query)
    found.begin_turn("", f"The {prompt} is in the wiki.")
    assert (missed.ending is Ending.ASKED) is is_answered


def test_a_prompt_answers_no_sub_agent_and_no_find() -> None:
    found, missed = followed(agent="a1")
    found.begin_turn("", "The ledger is in the wiki.")
    assert missed.ending is None  # still followed
    found.new_sample()
    assert state(missed) == (Status.UNDECIDED, Ending.WENT_ON, "")
    found, missed = followed()
    found.step(step(search("refundLedger", "a.py")))
    found.begin_turn("", "The ledger is in the wiki.")
    assert state(missed) == (Status.RESOLVED, Ending.FOUND, "")


def test_of_a_turn_sixty_four_misses_wait_for_the_users_words() -> None:
    found = Endings()
    misses = [signal() for _ in range(65)]
    for missed in misses:
        lookup = search("refundLedger")
        found.follow(missed, lookup, step(lookup), check=None)
    found.begin_turn("", "The ledger is in the wiki.")
    assert [missed.ending is Ending.ASKED for missed in misses] == [True] * 64 + [False]


@pytest.mark.parametrize(
    ("check", "status"),
    [
        (None, Status.UNDECIDED),
        (ExistenceCheck.WHETHER, Status.VERIFICATION),
        (ExistenceCheck.ABSENCE, Status.VERIFICATION),
    ],
)
def test_an_empty_result_answers_a_check(check: ExistenceCheck | None, status: Status) -> None:
    found, missed = followed(check=check)
    found.new_sample()
    assert missed.status is status


@pytest.mark.parametrize(("steps", "is_found"), [(7, True), (8, False)])
def test_a_shared_name_is_enough_within_eight_steps(steps: int, is_found: bool) -> None:
    found, missed = followed("handleRefundRequest")
    for _ in range(steps):
        found.step(step())
    found.step(step(search("RefundRequest", "src/pay.py")))
    found.new_sample()
    assert (missed.ending is Ending.FOUND) is is_found


@pytest.mark.parametrize(
    ("call_", "is_found"),
    [
        (search("refundLedger", "a.py"), True),
        (search("other", "src/refundLedger.py"), True),
        (search("refund", "src/refund.py"), False),
        (call(ToolKind.SHELL, "x", paths=("src/refundLedger.py",)), False),
        (call(ToolKind.SEARCH, "refundLedger", Outcome.ERROR), False),
    ],
)
def test_past_its_window_only_the_very_name_resolves_a_miss(call_: ToolCall, is_found: bool) -> None:
    found, missed = followed()
    for _ in range(9):
        found.step(step())
    assert missed.ending is Ending.WENT_ON
    found.step(step(call_))
    assert (missed.status is Status.RESOLVED) is is_found


def test_so_many_names_of_a_sample_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "_MOST_OPEN_NAMES", 2)
    found = Endings()
    misses = {name: signal() for name in ("alphaOne", "betaTwo", "gammaThree")}
    for name, missed in misses.items():
        found.follow(missed, search(name), step(search(name)), check=None)
    for _ in range(8):
        found.step(step())
    for name in misses:
        found.step(step(search(name, "a.py")))
    assert [missed.status is Status.RESOLVED for missed in misses.values()] == [True, True, False]


def test_a_chain_of_searches_has_the_name_of_its_first_and_doubts_give_none() -> None:
    def names_after(first: Signal | None, query: str) -> tuple[str, ...]:
        found, missed = Endings(), signal()
        if first is not None and first.text:
            found.doubt(first, step())
        elif first is not None:
            found.follow(first, search(first.query), step(), check=None)
        found.follow(missed, search(query), step(), check=None)
        return missed.names

    assert names_after(None, "ledgerRefundBook") == ("ledgerrefundbook",)
    assert names_after(signal(query="refundLedger"), "ledgerRefundBook") == ("refundledger", "ledgerrefundbook")
    assert names_after(signal(query="refundLedger"), "refund_ledger") == ("refundledger",)
    assert names_after(signal(query="refundBook"), "ledgerRefund") == ("ledgerrefund",)  # one word in common
    doubt = signal(SignalType.HEDGING, text="Perhaps refundLedger is old, for refunds of the ledger.")
    assert names_after(doubt, "ledgerRefundBook") == ("ledgerrefundbook",)


def test_a_further_call_of_the_same_event_costs_one_more() -> None:
    found, missed = followed()
    other = signal()
    found.follow(other, search("carrierBook"), step(), check=None)
    found.again(missed, "")
    found.again(missed, "a1")
    found.new_sample()
    assert (missed.cost and missed.cost.calls, other.cost and other.cost.calls) == (2, 1)


def test_steps_count_tokens_and_searches_but_no_reads() -> None:
    found, missed = followed()
    found.step(Step(id="1", tokens=5))
    found.step(Step(id="2", calls=(search("x", "a.py"), call(ToolKind.READ, "b.py")), tokens=7))
    found.step(Step(id="3", agent_id="a1", tokens=100))
    found.step(Step(id="4"))
    found.new_sample()
    assert missed.cost is not None
    assert (missed.cost.calls, missed.cost.steps, missed.cost.tokens, missed.cost.seconds) == (2, 3, 12, None)


@pytest.mark.parametrize(
    ("start", "end", "seconds"),
    [
        ("2026-11-01T10:00:00Z", "2026-11-01T10:00:00Z", 0.0),
        ("2026-11-01T10:00:00Z", "2026-11-01T10:00:01.26Z", 1.3),
        ("2026-11-01T10:00:00Z", "2026-11-01T09:59:59Z", None),
        ("", "2026-11-01T10:00:00Z", None),
        ("2026-11-01T10:00:00", "2026-11-01T10:00:00Z", None),
    ],
)
def test_the_seconds_of_a_miss_are_unknown_where_clocks_are_odd(start: str, end: str, seconds: float | None) -> None:
    assert endings._seconds(start, end) == seconds
