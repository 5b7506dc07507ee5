"""What every quality log does alike: the protocol as tests. `test_quality_log.py` subclasses it for each database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from knowbound.core.quality import (
    Closing,
    Counts,
    DayRollup,
    Discovery,
    Durations,
    ItemVerdict,
    LoggedCall,
    LoggedItem,
    QualityScores,
    QualityTurn,
    SuggestionAnswer,
    SuggestionDecision,
    TurnEnding,
)
from knowbound.errors import StoreError
from knowbound.kms.quality_log import LoggedDay, QualityLog
from knowbound.quality.rollup import day_of, roll_up
from tests.conftest import some_examples

OpenLog = Callable[[], QualityLog]
AFTER_ALL = "\U0010ffff" * 11  # sorts after every date, also after one that is none
HOSTILE = ["$where", "a.b.c", "a\0b", "", "$$ROOT", "k\u202e中🦆", '{"$ne": 1}', "__proto__", "' OR 1=1 --"]
FULL = QualityTurn(
    session_id="s-full",
    turn_id="t-1",
    timestamp="2026-11-16T08:30:00.123Z",
    agent="claude-code",
    ending=TurnEnding.INTERRUPTED,
    user_prompt="Über the $limit? \0 \u202e 🦆",
    user_prompt_length=2**40,  # more than 32 bits
    assistant_response="$$ROOT\n\n{'a.b': 1}",
    assistant_response_length=12,
    injected_items=(
        LoggedItem(
            "a.b$c", "mongo", "The port is 8004.", 17, 0.73, "5f0e", 1, "technical",
            ItemVerdict("a.b$c", True, False, True, "It is 8040.", "it says so", "rules-1"),
        ),
        LoggedItem("k2", "sqlite", "", 0),
    ),
    pulled_items=(LoggedItem("k3", "sqlite", "pulled", 6),),
    other_items=(LoggedItem("u1", "hook:UserPromptSubmit", "x", 1, source="CLAUDE.md"),),
    tool_calls=(LoggedCall("kms_supersede", "ok", '{"id": "k2"}', ("k2", "a.b$c")), LoggedCall("Bash", "error")),
    tool_calls_count=7,
    steps=4,
    failed_searches=1,
    turn_tokens=0,
    injected_tokens=120,
    prompt_ms=41.5,
    stop_ms=0.0,
    trace="/home/ada/.claude/projects/x/s-full.jsonl",
    judge="model-1",
    scored_at="2026-11-16T09:00:00Z",
    problem="",
)  # fmt: skip
COUNTS = Counts(5, 4, 3, 2, 1)


def turn(session: str = "s", turn_id: str = "1", at: str = "2026-11-16T10:00:00Z", **more: Any) -> QualityTurn:
    return QualityTurn(session, turn_id, at, **more)


def failed(one: QualityTurn, **more: Any) -> QualityTurn:
    return replace(one, **({"problem": "the judge did not answer"} | more))


_texts = st.text(max_size=30)  # with NUL and control characters, everything but lone surrogates
_ids = st.text(st.characters(exclude_characters="/", codec="utf-8"), max_size=30)
_numbers = st.integers(0, 2**62)
_counts = st.builds(Counts, *[_numbers] * 5)
_maps = st.dictionaries(_texts | st.sampled_from(HOSTILE), _counts, max_size=4)
_verdicts = st.builds(ItemVerdict, _texts, st.booleans(), st.booleans(), st.booleans(), _texts, _texts, _texts)
_items = st.lists(
    st.builds(LoggedItem, _texts, _texts, _texts, _numbers, st.floats(0, 1), verdict=st.none() | _verdicts), max_size=3
).map(tuple)
_calls = st.builds(LoggedCall, _texts, _texts, _texts, st.lists(_texts, max_size=3).map(tuple))
_turns = st.builds(
    QualityTurn,
    session_id=_ids,
    turn_id=_ids,
    timestamp=st.datetimes().map(lambda time: f"{time.isoformat()}Z") | _texts,
    ending=st.sampled_from(TurnEnding),
    user_prompt=_texts,
    assistant_response=_texts,
    injected_items=_items,
    other_items=_items,
    tool_calls=st.lists(_calls, max_size=2).map(tuple),
    turn_tokens=st.none() | _numbers,
    stop_ms=st.none() | st.floats(0, 1e9),
    scored_at=_texts,
    problem=st.just("") | _texts,
)  # fmt: skip
_durations = st.builds(Durations, st.dictionaries(_numbers, _numbers, max_size=3))
_days = st.builds(
    DayRollup,
    date=_texts,
    turns=_numbers,
    injected=_counts,
    by_backend=_maps,
    by_source=_maps,
    by_item=_maps,
    others=_maps,
    prompt_ms=_durations,
    stop_ms=_durations,
    judges=st.dictionaries(_texts, _numbers, max_size=3),
    scores=st.dictionaries(
        _texts | st.sampled_from(HOSTILE), st.builds(QualityScores, st.floats(0, 1), st.floats(0, 1), _texts, _texts)
    ),
    gamma=st.none() | st.floats(0, 1),
)
_records = st.builds(
    Discovery, _texts, _texts, _texts, _texts, _texts, _numbers, st.sampled_from(Closing), _texts, _texts
)
# Ways to write the same turn: who judged it, and whether that failed.
_tries = st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=8)


class QualityLogConformance:
    """Give `open_log`: a function that opens the same log anew at each call; it is empty at first."""

    @pytest.fixture
    def log(self, open_log: OpenLog) -> Iterator[QualityLog]:
        log = open_log()
        yield log
        log.close()

    # One turn

    def test_a_log_of_the_version_before_gets_its_averages_once(self, log: QualityLog) -> None:
        """Days without turns are folded as whole days and marked; days with turns turn by turn."""
        gone, kept = "2026-06-01", "2026-11-16"
        log.put_rollups([DayRollup(gone, turns=2, by_item={"k1": Counts(4, 4, 2, 2), "k2": Counts(1, 1, 1)})])
        said = (True, False), (False, True), (False, True)
        items = [LoggedItem("k1", "mongo", "text", 4, verdict=ItemVerdict("k1", True, *one)) for one in said]
        for number, item in enumerate(items):
            time = f"{kept}T10:0{number}:00Z"
            log.put(QualityTurn("s1", f"t{number}", time, injected_items=(item,), judge="j", scored_at=time))
        log.put_rollups([day_of(kept, log.of_day(kept))])  # as the version before wrote it: without averages
        roll_up(log, [], today="2026-11-17")
        old, new = log.rollups()
        assert (old.scores_by_day, old.scores["k1"]) == (True, QualityScores(0.15, 0.15, gone))
        by_turn = old.scores["k1"].after(1, 0).after(0, 1).after(0, 1, last=f"{kept}T10:02:00Z")
        assert (new.scores_by_day, new.scores) == (False, {"k1": by_turn})
        assert new.injected == Counts(3, 3, 1, 2)
        again = log.rollups()
        roll_up(log, [], today="2026-11-17")
        assert log.rollups() == again

    def test_a_turn_comes_back_exactly_also_to_another_process(self, log: QualityLog, open_log: OpenLog) -> None:
        assert log.put(FULL)
        assert log.get(FULL.id) == FULL
        other = open_log()
        assert other.get(FULL.id) == FULL
        assert list(other.of_day("2026-11-16")) == [FULL]
        other.close()
        assert log.get("s-full/t-2") is None

    def test_whatever_is_in_a_turn_comes_back_exactly(self, log: QualityLog) -> None:
        @some_examples(0.4)
        @given(one=_turns)
        def comes_back(one: QualityTurn) -> None:
            log.prune(AFTER_ALL)
            assert log.put(one)
            assert log.get(one.id) == one
            assert list(log.of_day(one.date)) == [one]
            assert log.known([one.id, one.id + "x"]) == {one.id}

        comes_back()

    @pytest.mark.parametrize("text", HOSTILE)
    def test_hostile_text_is_only_text_wherever_it_stands(self, log: QualityLog, text: str) -> None:
        bystander = turn("bystander")
        log.put(bystander)
        item = LoggedItem(text, text, text, 1, source=text, verdict=ItemVerdict(text, True, True, True, text))
        hostile = turn(f"s{text}", text, user_prompt=text, agent=text, injected_items=(item,), problem=text)
        assert log.put(hostile)
        assert log.get(hostile.id) == hostile
        assert log.known([hostile.id, text]) == {hostile.id}
        assert list(log.of_day(text)) == []
        log.put_discoveries([Discovery(text, text, hostile.session_id, text, text)])
        assert log.discoveries() == [Discovery(text, text, hostile.session_id, text, text)]
        assert log.get(bystander.id) == bystander

    @pytest.mark.parametrize(
        ("there", "given", "is_written"),
        [
            (None, FULL, True),
            (None, failed(FULL), True),
            (FULL, FULL, True),
            (FULL, replace(FULL, judge="model-2"), True),
            (FULL, failed(FULL), False),
            (failed(FULL), FULL, True),
            (failed(FULL), failed(FULL), True),
            (failed(FULL), failed(FULL, problem="it failed again"), True),
        ],
    )
    def test_a_scored_turn_is_not_replaced_by_one_that_is_not(
        self, log: QualityLog, there: QualityTurn | None, given: QualityTurn, is_written: bool
    ) -> None:
        if there:
            log.put(there)
        assert log.put(given) is is_written
        assert log.get(FULL.id) == (given if is_written else there)
        assert len(list(log.since(""))) == 1

    def test_in_any_order_and_however_often_the_last_verdict_stays(self, log: QualityLog) -> None:
        @some_examples(0.4)
        @given(tries=_tries)
        def stays(tries: list[tuple[int, bool]]) -> None:
            log.prune(AFTER_ALL)
            written = [replace(FULL, judge=str(n), problem="failed" if is_failed else "") for n, is_failed in tries]
            for one in written:
                log.put(one)
            scored = [one for one in written if one.is_scored]
            assert log.get(FULL.id) == (scored or written)[-1]

        stays()

    def test_writers_at_the_same_time_lose_no_verdict(self, open_log: OpenLog) -> None:
        logs = [open_log() for _ in range(4)]
        ids = [f"{n}" for n in range(20)]

        def write(writer: int) -> None:
            for id_ in ids:
                one = turn("s", id_, agent=f"{writer}")
                logs[writer].put(one if writer == 2 else failed(one))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        assert [one.agent for one in logs[0].since("")] == ["2"] * 20
        assert logs[0].unscored() == []
        for log in logs:
            log.close()

    # Answers to suggestions

    def test_an_answer_is_kept_whole(self, log: QualityLog) -> None:
        for n, id_ in enumerate(HOSTILE):
            one = SuggestionAnswer(
                f"{id_}@2026-11-16",
                id_,
                SuggestionDecision.ACCEPTED,
                f"2026-11-16T{n:02d}",
                "ada",
                1,
                False,
                id_,
                id_,
                True,
            )
            assert log.put_answer(one)
            assert log.answers()[-1] == one

    def test_an_answer_is_written_over_the_one_that_was_read_and_over_no_other(self, log: QualityLog) -> None:
        first = SuggestionAnswer("k1@1", "k1", SuggestionDecision.DISMISSED, "2026-11-16")
        assert log.put_answer(first)
        assert log.put_answer(first)  # a driver that is not sure writes again
        assert not log.put_answer(replace(first, by="another"))
        assert not log.put_answer(replace(first, revision=3))
        second = replace(first, revision=2, kind=SuggestionDecision.UNDONE)
        assert log.put_answer(second)
        assert log.put_answer(second)
        assert not log.put_answer(first)
        assert log.answers() == [second]

    def test_of_writers_that_answer_at_once_one_is_heard(self, open_log: OpenLog) -> None:
        logs = [open_log() for _ in range(4)]
        ids = [f"k{n}@1" for n in range(10)]

        def answer(writer: int) -> list[bool]:
            given = (SuggestionAnswer(id_, "k", SuggestionDecision.ACCEPTED, "2026-11-16", f"{writer}") for id_ in ids)
            return [logs[writer].put_answer(one) for one in given]

        with ThreadPoolExecutor(4) as pool:
            heard = list(pool.map(answer, range(4)))
        assert [sum(one) for one in zip(*heard, strict=True)] == [1] * 10
        by = {answer.record: answer.by for answer in logs[0].answers()}
        assert all(heard[int(by[id_])][n] for n, id_ in enumerate(ids))
        for log in logs:
            log.close()

    def test_half_a_character_is_refused_and_nothing_is_changed(self, log: QualityLog) -> None:
        for attempt in (
            lambda: log.put(turn(user_prompt="\ud83e")),
            lambda: log.put_rollups([DayRollup("2026-11-16", by_item={"\ud83e": COUNTS})]),
            lambda: log.put_discoveries([Discovery("k1", "2026-11-16", "s", "1", "\ud83e")]),
        ):
            with pytest.raises(StoreError) as refused:
                attempt()
            assert refused.value.slug == "quality-invalid"
        assert [*log.since(""), *log.rollups(), *log.discoveries()] == []

    # Many turns

    def test_a_thousand_ids_are_known_at_once(self, log: QualityLog) -> None:
        for n in range(0, 1000, 50):
            log.put(turn("s", f"{n}"))
        assert log.known([f"s/{n}" for n in range(1000)]) == {f"s/{n}" for n in range(0, 1000, 50)}
        assert log.known([]) == set()

    def test_days_are_counted_and_their_turns_come_in_the_order_of_their_time(self, log: QualityLog) -> None:
        last, first = turn("a", "2", "2026-11-16T23:00:00Z"), turn("b", "1", "2026-11-16T01:00:00Z", scored_at="t1")
        same, other = turn("a", "1", "2026-11-16T23:00:00Z", scored_at="t2"), turn("a", "0", "2026-11-02T10:00:00Z")
        for one in (last, first, same, other):
            log.put(one)
        assert log.days() == [LoggedDay("2026-11-02", 1, ""), LoggedDay("2026-11-16", 3, "t2")]
        assert list(log.of_day("2026-11-16")) == [first, same, last]
        assert list(log.of_day("2026-11-03")) == []
        assert list(log.since("2026-11-03")) == [first, same, last]
        assert list(log.since("")) == [other, first, same, last]

    def test_a_turn_that_is_written_again_for_another_day_counts_there(self, log: QualityLog) -> None:
        log.put(turn(at="2026-11-16T10:00:00Z"))
        log.put(turn(at="2026-11-17T10:00:00Z", scored_at="t"))
        assert log.days() == [LoggedDay("2026-11-17", 1, "t")]

    def test_unscored_turns_come_oldest_first_and_not_too_many(self, log: QualityLog) -> None:
        given = [failed(turn("s", f"{n}", f"2026-11-{20 - n}T10:00:00Z")) for n in range(5)]
        for one in (*given, turn("s", "scored")):
            log.put(one)
        assert log.unscored() == given[::-1]
        assert log.unscored(2) == given[::-1][:2]
        log.put(replace(given[4], problem=""))
        assert log.unscored() == given[3::-1]

    def test_a_reader_may_write_while_it_reads(self, log: QualityLog) -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(log.put, (turn("s", f"{n:03}") for n in range(220))))  # more than a page
        read = []
        for one in log.since(""):
            read.append(one.turn_id)
            if len(read) % 10 == 0:
                log.put(replace(one, agent="again"))
        assert read == [f"{n:03}" for n in range(220)]
        assert Counter(one.agent for one in log.since("")) == {"unknown": 198, "again": 22}

    def test_days_before_one_are_pruned(self, log: QualityLog) -> None:
        for day in ("2026-08-17", "2026-08-18", "2026-08-19"):
            for n in range(2):
                log.put(turn("s", f"{day}{n}", f"{day}T23:59:59Z"))
        assert log.prune("2026-08-19") == 4
        assert log.prune("2026-08-19") == 0
        assert [day.date for day in log.days()] == ["2026-08-19"]

    # Days and records

    def test_whatever_is_in_a_day_comes_back_exactly(self, log: QualityLog) -> None:
        @some_examples(0.4)
        @given(days=st.lists(_days, min_size=1, max_size=3))
        def comes_back(days: list[DayRollup]) -> None:
            log.put_rollups(days)
            last = {day.date: day for day in days}
            found = {day.date: day for day in log.rollups()}
            assert {date: found[date] for date in last} == last

        comes_back()

    def test_a_day_is_replaced_as_a_whole(self, log: QualityLog) -> None:
        log.put_rollups([DayRollup("2026-11-16", turns=3, by_item={"a": COUNTS, "b": COUNTS})])
        log.put_rollups([DayRollup("2026-11-16", turns=4, by_item={"b": COUNTS}), DayRollup("2026-11-02")])
        log.put_rollups([])
        day = DayRollup("2026-11-16", turns=4, by_item={"b": COUNTS})
        assert log.rollups() == [DayRollup("2026-11-02"), day]
        assert log.rollups("2026-11-16") == [day]
        assert log.rollups("2026-11-17") == []

    def test_verdicts_on_items_are_those_of_all_days(self, log: QualityLog) -> None:
        log.put_rollups(
            [
                DayRollup("2026-11-01", by_item={"a": Counts(5, 4, 3, 1), "b.$c": Counts(2, contradicted=2)}),
                DayRollup("2026-11-02", by_item={"a": Counts(1, contradicted=1), "中": Counts(9), "$d": Counts(1)}),
            ]
        )
        found = log.verdicts_on(["a", "中", "$d", "b.$c", "none"])
        assert found == {"a": Counts(6, 4, 3, 2), "中": Counts(9), "$d": Counts(1), "b.$c": Counts(2, contradicted=2)}
        assert set(log.verdicts_on(["a", "none"])) == {"a"}

    def test_a_day_that_is_made_anew_replaces_its_verdicts(self, log: QualityLog) -> None:
        log.put_rollups([DayRollup("2026-11-01", "1", by_item={"a": Counts(5), "b": Counts(2)})])
        assert set(log.verdicts_on(["a", "b"])) == {"a", "b"}
        log.put_rollups([DayRollup("2026-11-01", "2", by_item={"a": Counts(1, used=1)})])
        assert log.verdicts_on(["a"]) == {"a": Counts(1, used=1)}
        assert log.verdicts_on(["b"]) in ({}, {"b": Counts()})

    def test_turns_that_contradict_or_correct_are_found_without_the_others(self, log: QualityLog) -> None:
        said = 'a prompt that says "contradicted":true and "corrected":["x"]'
        log.put(QualityTurn("s", "1", "2026-11-01T10:00:00Z", user_prompt=said))
        log.put(replace(FULL, session_id="s", turn_id="2", timestamp="2026-11-01T09:00:00Z"))
        call = (LoggedCall("kms_flag", "ok", "", ("k",)),)
        log.put(QualityTurn("s", "3", "2026-11-02T10:00:00Z", tool_calls=call))
        wrong = LoggedItem("u", "hook", "x", 1, verdict=ItemVerdict("u", True, True, True))
        log.put(QualityTurn("s", "4", "2026-11-03T10:00:00Z", other_items=(wrong,)))
        assert [one.turn_id for one in log.corrective("")] == ["2", "3", "4"]
        assert [one.turn_id for one in log.corrective("2026-11-02")] == ["3", "4"]

    def test_a_day_outlives_its_turns(self, log: QualityLog) -> None:
        log.put(turn())
        log.put_rollups([DayRollup("2026-11-16", turns=1)])
        log.prune("2027-01-01")
        assert log.rollups() == [DayRollup("2026-11-16", turns=1)]

    def test_whatever_is_in_a_record_comes_back_exactly(self, log: QualityLog) -> None:
        @some_examples(0.4)
        @given(records=st.lists(_records, min_size=1, max_size=3))
        def comes_back(records: list[Discovery]) -> None:
            log.put_discoveries(records)
            last = {record.id: record for record in records}
            found = {record.id: record for record in log.discoveries()}
            assert {id_: found[id_] for id_ in last} == last

        comes_back()

    def test_a_record_is_replaced_by_its_item_and_time(self, log: QualityLog) -> None:
        raised = Discovery("k1", "2026-11-16T10:00:00Z", "s", "1", "It is 8040.")
        earlier = Discovery("k1", "2026-11-02T10:00:00Z", "s", "0", "It is 8041.")
        log.put_discoveries([raised, earlier])
        closed = replace(raised, closing=Closing.RESOLVED, closed="2026-11-17", closed_by="kms_supersede")
        log.put_discoveries([closed])
        log.put_discoveries([])
        assert log.discoveries() == [earlier, closed]

    def test_records_are_dropped_by_their_ids(self, log: QualityLog) -> None:
        records = [Discovery(f"k{n}", "2026-11-16T10:00:00Z", "s", "1") for n in range(3)]
        log.put_discoveries(records)
        log.drop_discoveries([records[0].id, records[2].id, "never seen"])
        log.drop_discoveries([])
        assert log.discoveries() == [records[1]]

    # Notes

    @pytest.mark.parametrize("name", ["rollout", *HOSTILE])
    def test_a_note_is_seen_by_all_and_replaced_as_a_whole(self, log: QualityLog, open_log: OpenLog, name: str) -> None:
        assert log.note(name) is None
        log.put_note(name, b'{"leg": 1, "a.b": {"$x": 1e300}}')
        log.put_note(name, '{"leg": 2, "é": null}'.encode())
        log.put_note(name + "x", b"{}")
        other = open_log()
        assert other.note(name) == '{"leg": 2, "é": null}'.encode()
        other.close()

    def test_a_note_that_is_no_text_is_refused_and_nothing_is_changed(self, log: QualityLog) -> None:
        with pytest.raises(StoreError) as refused:
            log.put_note("rollout", b"\xff")
        assert refused.value.slug == "quality-invalid"
        assert log.note("rollout") is None

    def test_a_note_outlives_turns(self, log: QualityLog) -> None:
        log.put(turn())
        log.put_note("rollout", b"{}")
        log.prune("2027-01-01")
        assert log.note("rollout") == b"{}"
