"""What makes a topic, value by value: which signals have one, its names, its title, its savings and its answers."""

from __future__ import annotations

import pytest

from knowbound.core.signal import Cost, Ending, Example, FoundPlace, Signal, SignalType, Status, Topic, TopicAnswer
from knowbound.core.trace import Outcome
from knowbound.gaps import topics
from knowbound.gaps.topics import TopicNames, has_topic, spelled, topic_name


def miss(query: str = "refundLedger", session: str = "s1", at: str = "", **more: object) -> Signal:
    fields: dict[str, object] = {
        "status": Status.RESOLVED if at else Status.OPEN,
        "ending": Ending.FOUND if at else Ending.WENT_ON,
        "found_at": FoundPlace(at) if at else None,
        "names": (query.lower(),),
        **more,
    }
    return Signal(SignalType.FAILED_SEARCH, session=session, turn=1, sample="x", query=query, **fields)  # type: ignore[arg-type]


def doubt(text: str = "Perhaps.", *names: str, **more: object) -> Signal:
    fields: dict[str, object] = {"status": Status.OPEN, "ending": Ending.GUESSED, "turn": 1, **more}
    return Signal(SignalType.HEDGING, session="s1", sample="x", text=text, names=names, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("signal", "has_one"),
    [
        (miss(), True),
        (miss(status=Status.UNDECIDED), True),
        (miss(at="a.py"), True),
        (miss(status=Status.RESOLVED, ending=Ending.ASKED), True),
        (miss(status=Status.RESOLVED, ending=Ending.GAVE_UP), False),
        (miss(status=Status.VERIFICATION, ending=Ending.FOUND), False),
        (miss(status=Status.MALFORMED), False),
        (miss("docs/a.md", at="docs/a.md"), False),  # it was there, from another folder
        (miss("docs/a.md/", at="/work/docs/a.md"), False),
        (miss("a.md", at="docs/xa.md"), True),
        (miss("x", at="docs/plans", path="docs/plans", outcome=Outcome.MISSING), False),
        (miss("x", at="docs/plans", path="docs/plans", outcome=Outcome.EMPTY), True),
        (Signal(SignalType.REPEATED_FAILURE, Status.OPEN, "s", 1, "x"), False),
        (doubt(), True),
    ],
)
def test_a_topic_is_of_what_is_missing_or_was_found_late(signal: Signal, has_one: bool) -> None:
    assert has_topic(signal) is has_one
    assert bool(TopicNames().id_of(signal, "shop")) is has_one


def test_a_signal_is_known_by_its_first_name_else_its_words() -> None:
    assert topic_name(miss(names=("b", "a"))) == "b"
    assert topic_name(miss("refund_Ledger", names=())) == "refundledger"
    assert topic_name(doubt("Who_Knows")) == topic_name(doubt("who-knows"))


def test_a_doubt_is_of_the_topic_of_a_miss_that_has_its_name_or_alone() -> None:
    names = TopicNames({"shop\na": "main", "shop\nlonger": "other", "wiki\nb": "b"})
    assert names.key(miss(names=("a",)), "shop") == "main"
    assert names.key(miss(names=("a",)), "wiki") == "a"
    assert names.key(doubt("x", "a", "longer"), "shop") == "other"  # by its longest name
    assert names.key(doubt("Who knows", "b", turn=3), "shop").startswith("s1#3#")
    assert names.names_of(names.id_of(miss(names=("a",)), "shop")) == {"a"}
    assert names.names_of("00000000") == set()


@pytest.mark.parametrize(
    ("signal", "is_place"),
    [
        (miss(at="src/ledger.py"), True),
        (miss(at="tests/ledger.py"), False),
        (miss(at="docs/plans/ledger.md"), False),
        (miss(at="src/*.py"), False),
        (miss("test_ledger", at="tests/ledger.py"), True),  # a test was wanted
        (miss(), True),
    ],
)
def test_tests_and_plans_only_mention_things(signal: Signal, is_place: bool) -> None:
    assert topics._is_place_of_it(signal) is is_place


@pytest.mark.parametrize(
    ("signals", "folder"),
    [
        ([miss("docs/a.md"), miss("docs/b.md")], "docs"),
        ([miss("docs/a.md"), miss("wiki/b.md")], ""),
        ([miss("docs/*.md")], ""),
        ([miss("docs/a.md", at="x/a.md")], ""),
        ([miss("docs/a.md"), miss("docs/b.md", at="x/b.md")], ""),
        ([miss("/etc/a.md")], ""),
        ([miss("~/a.md")], ""),
        ([miss("a.md")], ""),
    ],
)
def test_files_that_were_taken_to_be_in_one_folder(signals: list[Signal], folder: str) -> None:
    assert topics._assumed_folder(signals) == folder


def test_the_main_answer_is_where_most_sessions_found_it() -> None:
    found = [miss(session=f"s{at}", at=path) for at, path in enumerate(("a.py", "b.py", "b.py", "tests/c.py"))]
    assert topics._main_answer(found) == "b.py"
    assert topics._main_answer([miss(at="a.py"), miss(at="a.py"), miss(at="b.py")]) == "b.py"  # a session counts once
    assert topics._main_answer([miss()]) == ""


@pytest.mark.parametrize(
    ("signal", "words", "is_path"),
    [
        (miss("docs/a.md"), "docs/a.md", True),
        (miss("a.md", names=("a",)), "a.md", True),
        (miss("x", path="docs/plans", outcome=Outcome.MISSING), "docs/plans", True),
        (miss("x", path="docs/plans", outcome=Outcome.EMPTY), "x", False),
        (miss("def refund_Ledger(", names=("refundledger",)), "refund_Ledger", False),
        (miss("def refund", names=("other",)), "def refund", False),
        (miss("a/b|c"), "a/b|c", False),
        (miss("refundLedger"), "refundLedger", False),
    ],
)
def test_a_search_is_spelled_as_it_was_written(signal: Signal, words: str, is_path: bool) -> None:
    assert (spelled(signal), topics._is_path(signal)) == (words, is_path)


def topic(title: str = "x", sessions: int = 1, calls: int = 10, correction: str = "") -> Topic:
    return Topic(title=title, sessions=sessions, cost=Cost(calls), correction=correction)


FOUND = miss(at="a.py")


@pytest.mark.parametrize(
    ("about", "signals", "saves"),
    [
        (topic(), [doubt()], 2.0),  # only words
        (topic(), [miss("docs/a.md")], 10.0),
        (topic(), [miss("docs/*.md")], 5.0),  # guessed at
        (topic(sessions=2), [miss("docs/*.md")], 10.0),
        (topic(sessions=3), [miss("docs/*.md")], 30.0),
        (topic(), [miss("docs/*.md"), miss("docs/a.md")], 10.0),
        (topic(), [miss("*/a.md")], 10.0),  # the name is plain
        (topic(), [FOUND], 2.0),
        (topic(), [miss()], 10.0),  # never found
        (topic(sessions=2), [FOUND], 4.0),
        (topic(sessions=3), [FOUND], 30.0),
        (topic(correction="It is there."), [FOUND], 10.0),
        (topic("/etc/hosts"), [miss("/etc/hosts")], 1.0),  # outside of the project
        (topic("~/notes"), [miss("~/notes")], 1.0),
        (topic(calls=0), [FOUND], 0.0),
    ],
)
def test_what_writing_it_down_saves(about: Topic, signals: list[Signal], saves: float) -> None:
    assert topics._savings(about, signals) == saves


def test_the_title_has_three_spellings_of_what_was_searched() -> None:
    found = [miss(f"name{at}") for at in (1, 2, 2, 3, 4)]
    assert topics._title(found[1], found) == "name2, name1, name3"
    assert topics._title(doubt("Who knows."), [doubt("Who knows."), *found]) == "Who knows."


def test_the_agents_own_sentence_is_a_whole_one_if_there_is_any() -> None:
    cut, whole = miss(said="I looked. And then …"), miss(said="One. It is not there.")
    assert topics._own_sentence(cut, [cut, whole]) == "It is not there."
    assert topics._own_sentence(cut, [cut]) == "And then …"
    assert topics._own_sentence(doubt("Perhaps so."), []) == "Perhaps so."


def test_answers_have_most_sessions_first_and_then_their_paths() -> None:
    found = [miss(session=session, at=at) for session, at in (
        ("s1", "b.py"), ("s1", "a.py"), ("s2", "c.py"), ("s3", "c.py"), ("s3", "c.py"), ("s4", "d.py"),
        ("s5", "tests/e.py"),
    )]  # fmt: skip
    left = miss(at="z.py", ending=Ending.ASKED)
    assert topics._answers([*found, left, miss()]) == [
        TopicAnswer("c.py", 0, 2), TopicAnswer("a.py", 0, 1), TopicAnswer("b.py", 0, 1)
    ]  # fmt: skip


def test_examples_are_one_of_each_session_open_ones_first() -> None:
    signals = [miss(session=f"s{at}", at="a.py", file=f"{at}.jsonl", line=at) for at in range(4)]
    signals.append(miss(session="s3", file="open.jsonl", line=9))
    assert topics._examples(signals) == [
        Example("s3", "open.jsonl", 9),
        Example("s0", "0.jsonl", 0),
        Example("s1", "1.jsonl", 1),
    ]


def test_endings_are_counted_once_a_turn() -> None:
    signals = [miss(), miss(), miss(session="s2"), doubt(ending=None), doubt()]
    assert topics._endings(signals) == {"went_on": 2, "guessed": 1}


@pytest.mark.parametrize(
    ("signal", "calls"),
    [(miss(cost=Cost(4)), 4), (miss(cost=Cost(0)), 1), (miss(), 1), (doubt(), 0), (doubt(cost=Cost(2)), 2)],
)
def test_a_miss_costs_at_least_its_own_call(signal: Signal, calls: int) -> None:
    assert topics._calls_spent(signal) == calls


def test_the_project_at_hand_has_more_topics_than_every_other(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TOPICS", 3), ("_TOPICS_OF_OTHERS", 1), ("_MOST_TOPICS", 4)):
        monkeypatch.setattr(topics, name, value)
    every = [Topic(title=f"{project}{at}", project=project) for project in "abc" for at in range(4)]
    for here, titles in (("b", "a0 b0 b1 b2"), ("x", "a0 a1 a2 b0"), ("c", "a0 b0 c0 c1")):
        assert [one.title for one in topics._share_by_project(every, here)] == titles.split()
    assert topics._share_by_project([], "a") == []
