"""A model decides how misses ended: from the calls that follow, with quotations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from knowbound.core.signal import Ending, Findings, Signal, SignalType, Status
from knowbound.gaps import asking
from knowbound.gaps.asking import MissAnswer, MissAnswers, decide_misses, is_asked
from knowbound.gaps.endings import settle
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, ModelQuestion
from knowbound.judge.names import JudgeOptions
from knowbound.traces.activity import ActivityRecord, RecordKind, SessionActivity
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.turns import session_of
from tests.transcripts import PROJECT, Transcript


class Model:
    """Answers every question with the same answer, and keeps the questions."""

    def __init__(self, *misses: dict[str, object]) -> None:
        self.misses, self.asked = misses, list[ModelQuestion]()

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        self.asked.append(question)
        return Completion(json.dumps({"misses": list(self.misses)}), 0, 0, 0.0)


def found(transcript: Transcript, folder: Path) -> Findings:
    file = transcript.write(folder / "session.jsonl")
    (one,) = read_session(SharedEvents(session_of(file)), LensSettings())
    settle(one)
    return one


def decide(findings: Findings, model: Model, *, sees: bool = True) -> tuple[set[str], str]:
    return decide_misses([findings], Asker("m", model, JudgeOptions(retries=0)), lambda _agent: sees)


def searched() -> Transcript:
    transcript = Transcript().user("Add the refund window").grep("refundLedger", id_="a")
    return transcript.read(f"{PROJECT}/README.md").says("The window will be 30 days.")


def answer(status: str, ending: str, quote: str) -> dict[str, object]:
    return {"number": 1, "status": status, "ending": ending, "quote": quote}


def test_a_verdict_with_a_quotation_counts(tmp_path: Path) -> None:
    findings = found(searched(), tmp_path)
    model = Model(answer("open", "guessed", "The window will be 30 days."))
    assert decide(findings, model) == (set(), "")
    (signal,) = findings.signals
    assert (signal.status, signal.ending, signal.by) == (Status.OPEN, Ending.GUESSED, "m")
    record = model.asked[0].inputs["record"]
    assert "user: Add the refund window" in record
    assert "searched (nothing): refundLedger" in record
    assert "read README.md" in record


def test_the_model_is_shown_the_first_words_of_the_session_too(tmp_path: Path) -> None:
    model = Model()
    decide(found(Transcript().user("Read the plan").user("go").grep("refundLedger").says("done"), tmp_path), model)
    assert "user: Read the plan" in model.asked[0].inputs["record"]


def test_a_verdict_whose_quotation_is_made_up_does_not_count(tmp_path: Path) -> None:
    findings = found(searched(), tmp_path)
    decide(findings, Model(answer("open", "guessed", "I give up on the ledger.")))
    assert [(one.status, one.by) for one in findings.signals] == [(Status.UNDECIDED, "")]


def test_what_was_found_has_its_call_and_its_cost(tmp_path: Path) -> None:
    transcript = (
        Transcript().user("go").grep("refundLedger", id_="a").grep("ledger of refunds", ["src/books.py"], id_="b")
    )
    findings = found(transcript.says("It is in books.py."), tmp_path)
    decide(findings, Model(answer("resolved", "found", "searched: ledger of refunds")))
    (signal,) = findings.signals
    assert (signal.status, signal.resolved_by, signal.cost and signal.cost.calls) == (Status.RESOLVED, "b", 1)


def test_a_repeated_failure_follows_its_misses(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("refundLedger").grep("ledgerOfRefunds").grep("refundBook")
    findings = found(transcript.says("done, nothing was needed"), tmp_path)
    misses = [one for one in findings.signals if one.type is SignalType.FAILED_SEARCH]
    model = Model(*(answer("verification", "went_on", "nothing was needed") | {"number": at + 1} for at in range(3)))
    decide(findings, model)
    assert {one.status for one in (*misses, *findings.signals)} == {Status.VERIFICATION}


def test_a_provider_that_did_not_see_the_session_is_not_asked(tmp_path: Path) -> None:
    model = Model()
    assert decide(found(searched(), tmp_path), model, sees=False) == (set(), "")
    assert model.asked == []


def test_a_failure_leaves_the_status_and_names_the_session(tmp_path: Path) -> None:
    findings = found(searched(), tmp_path)
    unanswered, problem = decide(findings, Model())
    assert (unanswered, bool(problem)) == ({findings.session}, True)
    assert findings.signals[0].status is Status.UNDECIDED


def record(kind: RecordKind, line: int, text: str = "", **more: object) -> ActivityRecord:
    return ActivityRecord(kind, line, text, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (record(RecordKind.PROMPT, 1, "Add  the\nwindow"), "L1 user: Add the window"),
        (record(RecordKind.SAID, 2, "Done."), "L2 agent: Done."),
        (record(RecordKind.READ, 3, path="a.py"), "L3 read a.py"),
        (record(RecordKind.READ, 3, path="a.py", ok=False), "L3 read (nothing) a.py"),
        (record(RecordKind.EDIT, 4, "x = 1", path="a.py"), "L4 wrote a.py: x = 1"),
        (record(RecordKind.EDIT, 4, "x", path="a.py", ok=False, done=False), "L4 wrote (refused by the user) a.py: x"),
        (record(RecordKind.EDIT, 4, "x", path="a.py", done=False), "L4 wrote (refused by the user) a.py: x"),
        (record(RecordKind.SKILL, 5, "ship"), "L5 used the skill ship"),
        (record(RecordKind.SEARCH, 6, "refund", output="a.py"), "L6 searched: refund → a.py"),
        (record(RecordKind.SEARCH, 6, "refund", ok=False), "L6 searched (nothing): refund"),
        (record(RecordKind.COMMAND, 7, "make", output="ok"), "L7 ran: make → ok"),
        (record(RecordKind.OTHER, 8, "x", tool="Task"), "L8 used Task: x"),
    ],
)
def test_a_record_is_shown_to_the_model_in_one_line(one: ActivityRecord, shown: str) -> None:
    assert asking._line(one) == shown


def missed(*calls: str, status: Status = Status.UNDECIDED, line: int = 0) -> Signal:
    return Signal(SignalType.FAILED_SEARCH, status, "s", 1, "s#1", call_ids=list(calls), query="q", line=line)


def lines_around(records: list[ActivityRecord], *signals: Signal, agent: str = "") -> list[int]:
    activity = SessionActivity(records=records)
    return [one.line for one, _ in asking._lines_around(activity, agent, signals)]


def said(at: int, text: str = "x", **more: object) -> ActivityRecord:
    return record(RecordKind.SAID, at, text, call_id=f"c{at}", **more)


def test_the_model_is_shown_five_records_before_a_miss_and_26_after_it_with_the_last_prompt() -> None:
    records = [record(RecordKind.PROMPT, 0), record(RecordKind.PROMPT, 1), *map(said, range(2, 60))]
    assert lines_around(records, missed("c20")) == [1, *range(15, 47)]
    assert lines_around(records, missed("c3")) == [0, 1, *range(2, 30)]
    assert lines_around(records, missed("c58")) == [1, *range(53, 60)]
    assert lines_around(records, missed("c10", "c50")) == [1, *range(5, 37), *range(45, 60)]
    assert lines_around(records, missed("unknown")) == []


def test_records_of_other_agents_are_left_out_and_prompts_stay() -> None:
    records = [record(RecordKind.PROMPT, 0), said(1), said(2, agent_id="a1"), said(3), record(RecordKind.PROMPT, 4)]
    assert lines_around(records, missed("c2"), agent="a1") == [0, 2, 4]
    assert lines_around(records, missed("c1")) == [0, 1, 3, 4]


@pytest.mark.parametrize(("words", "last"), [(38, 46), (40, 33), (64, 33), (66, 26), (104, 26), (106, 23), (290, 23)])
def test_fewer_records_after_a_miss_are_shown_if_more_are_too_long(words: int, last: int) -> None:
    text = "wörter " * words
    records = [record(RecordKind.PROMPT, 0), *(said(at, text) for at in range(1, 60))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "_SAID_CHARS", 10_000)
        assert lines_around(records, missed("c20"))[-1] == last


@pytest.mark.parametrize(
    ("signal", "asked"),
    [
        (missed("a"), True),
        (missed("a", status=Status.VERIFICATION), True),
        (missed("a", status=Status.MALFORMED), False),
        (Signal(SignalType.HEDGING, Status.OPEN, "s", 1, "s#1"), False),
        (Signal(SignalType.FAILED_SEARCH, Status.OPEN, "s", 1, "s#1", by="m"), False),
    ],
)
def test_a_model_is_asked_about_misses_that_nobody_decided(signal: Signal, asked: bool) -> None:
    assert is_asked(signal) is asked


def test_an_answer_names_every_miss_of_its_question() -> None:
    check = asking._all_answered(3)
    one, two = MissAnswer(1, Status.OPEN, Ending.GUESSED), MissAnswer(2, Status.OPEN, Ending.GUESSED)
    assert check(MissAnswers([one])) == "no answer for the misses [2, 3]"
    assert check(MissAnswers([two])) == "no answer for the misses [1, 3]"
    assert check(MissAnswers([one, two, MissAnswer(3, Status.OPEN, Ending.GUESSED)])) == ""


@pytest.mark.parametrize(
    ("answer_", "status", "ending", "by", "calls"),
    [
        (MissAnswer(1, Status.OPEN, Ending.GUESSED, "guess the window"), Status.OPEN, Ending.GUESSED, "m", None),
        (MissAnswer(1, Status.RESOLVED, Ending.FOUND, "found"), Status.RESOLVED, Ending.FOUND, "m", 2),
        (MissAnswer(1, Status.RESOLVED, Ending.ASKED, "found"), Status.RESOLVED, Ending.ASKED, "m", None),
        (MissAnswer(1, Status.RESOLVED, Ending.FOUND, "missed"), Status.RESOLVED, Ending.FOUND, "m", None),
        (MissAnswer(1, Status.VERIFICATION, Ending.FOUND, "found"), Status.VERIFICATION, None, "m", None),
        (MissAnswer(1, Status.UNDECIDED, Ending.FOUND, "found"), Status.OPEN, None, "", None),
        (MissAnswer(1, Status.RESOLVED, Ending.FOUND, "made up"), Status.OPEN, None, "", None),
    ],
)
def test_a_verdict_is_applied_with_the_call_that_it_quotes(
    answer_: MissAnswer, status: Status, ending: Ending | None, by: str, calls: int | None
) -> None:
    signal = missed("c1", status=Status.OPEN, line=1)
    lines = [
        (record(RecordKind.SEARCH, 1, call_id="c1"), "L1 searched: missed"),
        (record(RecordKind.SAID, 2), "L2 agent: I will guess the window."),
        (record(RecordKind.SEARCH, 3, call_id="c3"), "L3 searched: something"),
        (record(RecordKind.SEARCH, 4, call_id="c4"), "L4 searched: found"),
        (record(RecordKind.SEARCH, 5, call_id="c5"), "L5 searched: later"),
    ]
    asking._apply_answer(signal, answer_, lines, "m")
    assert (signal.status, signal.ending, signal.by) == (status, ending, by)
    assert (signal.cost.calls if signal.cost else None) == calls
    assert signal.resolved_by == ("c4" if calls else "")


def test_misses_are_asked_about_eight_at_a_time_by_agent_and_turn(tmp_path: Path) -> None:
    transcript = Transcript().user("go")
    names = [f"thing{chr(97 + at)}{chr(98 + at)}Missing" for at in range(9)]
    for at, name in enumerate(names):
        transcript.grep(name, id_=f"c{at}")
    findings = found(transcript.user("more").grep("refundLedger").says("done"), tmp_path)
    model = Model()
    decide(findings, model)
    questions = [[json.loads(line) for line in one.inputs["misses"].splitlines()] for one in model.asked]
    assert [[row["number"] for row in rows] for rows in questions] == [list(range(1, 9)), [1], [1]]
    assert questions[0][0] == {"number": 1, "line": "L2", "tool": "Grep", "looked_for": names[0]}


def test_a_number_that_no_miss_has_and_a_transcript_that_is_gone_change_nothing(tmp_path: Path) -> None:
    findings = found(searched(), tmp_path)
    first = answer("open", "guessed", "The window will be 30 days.")
    decide(findings, Model(first | {"number": 0}, first | {"number": 2}))
    assert findings.signals[0].by == ""
    findings.files = [str(tmp_path / "gone.jsonl")]
    assert decide(findings, Model(first)) == (set(), "")
    findings.files = []
    assert decide(findings, Model(first)) == (set(), "")
