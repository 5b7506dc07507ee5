"""Doubts about a miss end it; repeated failures have the joint status of their misses (specification 1, section 10)."""

from __future__ import annotations

import pytest

from knowbound.core.signal import Ending, Findings, Signal, SignalType, Status
from knowbound.gaps import endings, lens
from knowbound.gaps.endings import settle, settle_repeats
from tests.gaps.stories import follow, read, search, shown, step

WENT_ON = {"status": Status.UNDECIDED, "ending": Ending.WENT_ON}


def signal(type_: SignalType, status: Status = Status.OPEN, **more: object) -> Signal:
    return Signal(type_, status, "s", **{"turn": 1, "sample": "s#1", **more})  # type: ignore[arg-type]


def miss(query: str = "refundLedger", at: int = 3, **more: object) -> Signal:
    fields: dict[str, object] = {**WENT_ON, "names": ("refundledger",), "query": query, "step": at, **more}
    return signal(SignalType.FAILED_SEARCH, **fields)  # type: ignore[arg-type]


def doubt(text: str, at: int, type_: SignalType = SignalType.HEDGING, **more: object) -> Signal:
    return signal(type_, text=text, step=at, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("about", "is_guess"),
    [
        (doubt("Perhaps the ledger is gone.", 3), True),
        (doubt("Perhaps the ledger is gone.", 5), True),
        (doubt("Perhaps the ledger is gone.", 6), False),  # more than two steps later it needs all words
        (doubt("Perhaps the ledger is gone.", 2), False),  # before the miss
        (doubt("Perhaps the refund ledger is gone.", 60), True),
        (doubt("refund ledger", 60), True),
        (doubt("Perhaps the carrier is gone.", 3), False),
        (doubt("The ledger is gone.", 3, SignalType.EXPLICIT_MARKER), True),
        (doubt("Perhaps the ledger is gone.", 3, status=Status.RESOLVED), False),
        (doubt("Perhaps the ledger is gone.", 3, agent_id="a1"), False),
        (doubt("Perhaps the ledger is gone.", 3, turn=2), False),
        (doubt("Perhaps the ledger is gone.", 3, SignalType.REPEATED_FAILURE), False),
    ],
)
def test_a_doubt_soon_after_a_miss_that_shares_a_word_is_a_guess_about_it(about: Signal, is_guess: bool) -> None:
    missed = miss()
    settle(Findings("s", "codex", signals=[missed, about]))
    assert missed.ending is (Ending.GUESSED if is_guess else Ending.WENT_ON)
    assert missed.status is Status.UNDECIDED
    assert about.names == (("refundledger",) if is_guess else ())


def test_a_single_word_is_not_all_words_of_a_miss() -> None:
    missed, about = miss("ledgers"), doubt("Perhaps the ledgers are gone.", 9)
    settle(Findings("s", "codex", signals=[missed, about]))
    assert missed.ending is Ending.WENT_ON


@pytest.mark.parametrize(
    ("before", "after", "is_named"),
    [
        ({"status": Status.VERIFICATION, "ending": None}, (Status.UNDECIDED, Ending.GUESSED), True),
        ({"status": Status.VERIFICATION, "ending": Ending.CREATED}, (Status.VERIFICATION, Ending.CREATED), False),
        ({"status": Status.OPEN, "ending": Ending.GAVE_UP}, (Status.OPEN, Ending.GAVE_UP), True),
        ({"status": Status.RESOLVED, "ending": Ending.FOUND}, (Status.RESOLVED, Ending.FOUND), False),
        ({"status": Status.MALFORMED, "ending": None}, (Status.MALFORMED, None), False),
    ],
)
def test_a_guess_outweighs_only_what_the_agent_took_for_absent_or_left(
    before: dict[str, object], after: tuple[Status, Ending | None], is_named: bool
) -> None:
    missed, about = miss(**before), doubt("Perhaps the ledger is gone.", 3, names=("other",))  # type: ignore[arg-type]
    settle(Findings("s", "codex", signals=[missed, about]))
    assert (missed.status, missed.ending) == after
    assert about.names == (("other", "refundledger") if is_named else ("other",))


def test_of_a_turn_two_hundred_doubts_are_looked_at() -> None:
    for others, is_guess in ((199, True), (200, False)):
        missed, about = miss(), doubt("Perhaps the ledger is gone.", 3)
        doubts = [doubt(f"Perhaps carrier {at} is gone.", 3) for at in range(others)]
        settle(Findings("s", "codex", signals=[missed, *doubts, about]))
        assert (missed.ending is Ending.GUESSED) is is_guess


@pytest.mark.parametrize(
    ("statuses", "joint"),
    [
        ([], Status.OPEN),
        ([Status.RESOLVED, Status.OPEN, Status.UNDECIDED], Status.OPEN),
        ([Status.RESOLVED, Status.UNDECIDED], Status.UNDECIDED),
        ([Status.VERIFICATION, Status.RESOLVED], Status.VERIFICATION),
        ([Status.RESOLVED, Status.VERIFICATION], Status.RESOLVED),
    ],
)
def test_a_repeated_failure_has_the_joint_status_of_its_misses(statuses: list[Status], joint: Status) -> None:
    misses = [miss(status=status, call_ids=[f"c{at}"]) for at, status in enumerate(statuses)]
    repeated = signal(SignalType.REPEATED_FAILURE, Status.MALFORMED, call_ids=["c0", "c1", "c2", "unknown"])
    hedge = signal(SignalType.HEDGING, Status.RESOLVED, call_ids=["c0"])
    settle_repeats([*misses, repeated, hedge])
    assert (repeated.status, hedge.status) == (joint, Status.RESOLVED)
    assert [one.status for one in misses] == statuses


def test_of_an_agent_sixty_four_misses_are_followed_and_then_the_oldest_is_decided() -> None:
    others = [4 * f"{chr(98 + at // 20)}{chr(98 + at % 20)}" for at in range(64)]
    for count, ending in ((63, Ending.FOUND), (64, Ending.WENT_ON)):
        calls = [search(name) for name in ("handleRefundRequest", *others[:count])]
        first, second, *_ = follow(step(*calls), step(search("RefundRequest", "src/pay.py", id="b")))
        assert (first.query, first.ending) == ("handleRefundRequest", ending)
        assert (second.query, second.ending) == (others[0], Ending.WENT_ON)


def test_the_limits_of_a_session_are_those_that_were_measured() -> None:
    assert (endings.WINDOW, endings._MOST_FOLLOWED, endings._MOST_DOUBTS, lens.MOST_SIGNALS) == (8, 64, 200, 20_000)


def test_a_guess_within_a_step_with_several_calls_is_seen_once() -> None:
    signals = follow(step(search("refundLedger"), read("a.py")), step(said="Perhaps the ledger is gone."))
    settle(Findings("s", "codex", signals=signals))
    assert shown(signals) == [
        "failed_search undecided guessed 1 calls 1 steps [refundledger]",
        "hedging open guessed 0 calls 0 steps [refundledger]",
    ]
