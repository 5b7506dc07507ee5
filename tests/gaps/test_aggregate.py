"""From findings to figures (specification 1, section 5)."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.signal import SOURCES, Cost, Ending, Findings, Sample, Signal, SignalType, Status, Turn
from knowbound.core.trace import Author
from knowbound.gaps.aggregate import INVENTORY, Aggregate
from knowbound.stats.figures import Band
from knowbound.stats.rate import Rate, Weighted

TYPES = st.lists(st.sampled_from(list(SignalType)), max_size=4)
ANY_WEIGHTS = st.fixed_dictionaries({type_: st.floats(0.01, 1.0) for type_ in SignalType})


def findings(samples: list[list[SignalType]], status: Status = Status.OPEN) -> Findings:
    signals = [Signal(type_, status, "s", 1, f"s#{at}") for at, types in enumerate(samples, 1) for type_ in types]
    named = [Sample(f"s#{at}", "general", answered=1) for at in range(1, len(samples) + 1)]
    return Findings("s", "claude-code", samples=named, signals=signals)


@given(st.lists(TYPES, min_size=1, max_size=12), ANY_WEIGHTS)
def test_a_sample_weighs_as_much_as_its_heaviest_signal_whatever_the_weights(
    samples: list[list[SignalType]], weights: dict[SignalType, float]
) -> None:
    with patch.dict(SOURCES, {type_: SOURCES[type_]._replace(weight=weight) for type_, weight in weights.items()}):
        aggregate = Aggregate()
        aggregate.add(findings(samples))
        figures = aggregate.figures()
    heaviest = [max((weights[type_] for type_ in types), default=0.0) for types in samples]
    assert figures.weighted.sum == pytest.approx(sum(heaviest))
    assert figures.weighted.value == pytest.approx(sum(heaviest) / len(samples))
    assert figures.rate.k == sum(map(bool, samples))


def test_the_open_weight_of_a_sample_is_that_of_its_heaviest_open_signal() -> None:
    found = findings([[SignalType.FAILED_SEARCH], [SignalType.FAILED_SEARCH, SignalType.HEDGING], [SignalType.HEDGING]])
    for signal in found.signals[:2]:  # the failed searches of the first two samples
        signal.status = Status.RESOLVED
    aggregate = Aggregate()
    aggregate.add(found)
    figures = aggregate.figures()
    assert (figures.rate, figures.weighted) == (Rate(3, 3), Weighted(2, 1, 3))
    assert (figures.open, figures.open_weighted) == (Rate(2, 3), Weighted(0, 2, 3))
    assert (figures.band, figures.open_band) == (Band.RED, Band.RED)


def test_signals_that_are_all_resolved_leave_the_open_band_green() -> None:
    aggregate = Aggregate()
    aggregate.add(findings([[SignalType.FAILED_SEARCH]], Status.RESOLVED))
    assert (aggregate.figures().band, aggregate.figures().open_band) == (Band.RED, Band.GREEN)
    assert Aggregate().figures().open_band is None


@pytest.mark.parametrize(("skill", "calls"), [(None, 9), ("audit", 3)])
def test_the_calls_of_one_skill_are_those_of_its_samples(skill: str | None, calls: int) -> None:
    samples = [Sample("s#1", "general", calls=4), Sample("s#2", "audit", calls=3)]
    aggregate = Aggregate(skill)
    aggregate.add(Findings("s", "codex", samples=samples, tool_calls=9))
    assert aggregate.tool_calls == calls


def miss(sample: str, turn: int, query: str, status: Status = Status.OPEN) -> Signal:
    name = query.lower()
    return Signal(
        SignalType.FAILED_SEARCH, status, "s", turn, sample, query=query, names=(name,), ending=Ending.WENT_ON,
        cost=Cost(2),
    )  # fmt: skip


def session() -> Findings:
    """Three samples of two skills, of which one was never answered, over five turns."""
    return Findings(
        "s",
        "codex",
        project="/work/shop",
        started="2026-11-01T10:00:00Z",
        ended="2026-11-02",
        digest="d1",
        tool_calls=12,
        samples=[
            Sample("s#1", "general", calls=4, answered=2),
            Sample("s#2", "ship", calls=5, answered=1),
            Sample("s#3", "ship", calls=3, answered=0, incomplete="cut off"),
        ],
        turns=[
            Turn(1, "s#1", steps=2),
            Turn(2, "s#1", steps=1, author=Author.PROGRAM),
            Turn(3, "s#1", steps=0),
            Turn(4, "s#2", steps=1, author=Author.PERSON),
            Turn(5, "s#3", steps=1),
        ],
        signals=[
            miss("s#1", 1, "refundLedger"),
            miss("s#1", 1, "vatRates", Status.RESOLVED),
            miss("s#2", 4, "invoiceTotals", Status.UNDECIDED),
            miss("s#3", 5, "neverCounted"),
        ],
        reached=["docs/a.md"],
    )


def test_a_session_is_counted_by_its_samples_and_their_turns() -> None:
    aggregate = Aggregate()
    aggregate.add(session())
    figures = aggregate.figures()
    assert (figures.rate, figures.open, figures.open_most, figures.per_turn) == (
        Rate(2, 2), Rate(1, 2), Rate(2, 2), Rate(2, 3)
    )  # fmt: skip
    assert figures.by_type == {"failed_search": 3, "repeated_failure": 0, "explicit_marker": 0, "hedging": 0}
    assert figures.by_status == {
        "open": 1, "resolved": 1, "undecided": 1, "verification": 0, "malformed": 0, "incidental": 0
    }  # fmt: skip
    assert (aggregate.sessions, aggregate.turns, aggregate.turns_by_programs) == (1, 5, 1)
    assert (aggregate.tool_calls, aggregate.samples, aggregate.signals) == (12, 3, 3)
    assert [(name, day, sample.id) for name, day, sample in aggregate.incomplete] == [("s", "2026-11-01", "s#3")]
    assert (dict(aggregate.projects), aggregate.parts) == ({"shop": 1}, ["codex:s:d1:5:12:3"])
    assert (aggregate.skill_of, aggregate.project_of) == (
        {"s#1": "general", "s#2": "ship"}, {"s#1": "/work/shop", "s#2": "/work/shop"}
    )  # fmt: skip
    assert aggregate.reached == {"docs/a.md"}


def test_a_turn_that_begins_in_one_sample_counts_there_with_the_gap_of_the_next() -> None:
    found = session()
    found.signals = [miss("s#2", 1, "refundLedger")]  # the turn began in the sample before
    aggregate = Aggregate()
    aggregate.add(found)
    assert (aggregate.figures().per_turn, aggregate.figures().rate) == (Rate(1, 3), Rate(1, 2))


def test_of_one_skill_only_its_samples_and_turns_count() -> None:
    aggregate = Aggregate("ship")
    aggregate.add(session())
    aggregate.add(Findings("other", "codex", samples=[Sample("o#1", "general", answered=1)]))
    assert (aggregate.sessions, aggregate.turns, aggregate.samples, aggregate.tool_calls) == (1, 2, 2, 8)
    assert aggregate.figures().rate == Rate(1, 1)
    assert aggregate.parts == ["codex:s:d1:2:12:2"]


def test_a_session_without_samples_counts_where_no_skill_was_asked_for() -> None:
    aggregate = Aggregate()
    aggregate.add(Findings("s", "codex"))
    assert (aggregate.sessions, aggregate.figures().rate) == (1, Rate())


def test_skills_have_most_samples_first_and_then_their_names() -> None:
    aggregate = Aggregate()
    aggregate.add(
        Findings(
            "s", "codex", reached=["a.md", "x.md"],
            samples=[Sample(f"s#{at}", name, answered=1) for at, name in enumerate(("b", "c", "a", "c"))],
        )
    )  # fmt: skip
    rows = aggregate.skills(frozenset({"a.md", "b.md"}))
    assert [(row.name, row.gap.rate, row.coverage) for row in rows] == [
        ("c", Rate(0, 2), Rate(1, 2)), ("a", Rate(0, 1), Rate(1, 2)), ("b", Rate(0, 1), Rate(1, 2))
    ]  # fmt: skip


def test_the_inventory_has_open_before_resolved_hard_before_soft_and_new_before_old() -> None:
    def hedge(query: str, status: Status = Status.OPEN) -> Signal:
        return Signal(SignalType.HEDGING, status, "s", 1, "s#1", query=query)

    aggregate = Aggregate()
    for ended, *signals in (
        ("2026-11-01", miss("s#1", 1, "old"), hedge("soft"), miss("s#1", 1, "old too")),
        ("2026-11-02", miss("s#1", 1, "done", Status.RESOLVED), miss("s#1", 1, "new", Status.UNDECIDED)),
    ):
        sample = Sample("s#1", "general", answered=1)
        aggregate.add(Findings("s", "codex", ended=str(ended), samples=[sample], signals=list(signals)))
    assert [signal.query for signal in aggregate.inventory()] == ["new", "old", "old too", "soft", "done"]
    topics, names = aggregate.topics("")
    assert {topic.title for topic in topics} == {"old", "old too", "new", "soft"}
    assert set(names.values()) == {"old", "old too", "new", "soft"}
    assert [signal.query for signal in aggregate.misses()] == ["old", "soft", "old too", "new"]


def test_the_inventory_keeps_the_best_signals_up_to_its_limit() -> None:
    aggregate = Aggregate()
    resolved = [miss("s#1", 1, f"r{at}", Status.RESOLVED) for at in range(INVENTORY)]
    still_open = [miss("s#1", 1, f"o{at}") for at in range(3)]
    for signals in (resolved, still_open):
        aggregate.add(Findings("s", "codex", samples=[Sample("s#1", "general", answered=1)], signals=signals))
    inventory = aggregate.inventory()
    assert len(inventory) == INVENTORY == 500
    assert [signal.query for signal in inventory[:4]] == ["o0", "o1", "o2", "r0"]
    assert inventory[-1].query == f"r{INVENTORY - 4}"  # the oldest signals stay
