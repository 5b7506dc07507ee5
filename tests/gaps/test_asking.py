"""A model decides how misses ended: from the calls that follow, with quotations."""

from __future__ import annotations

import json
from pathlib import Path

from knowbound.core.signal import Ending, Findings, SignalType, Status
from knowbound.gaps.asking import decide_misses
from knowbound.gaps.endings import settle
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, ModelQuestion
from knowbound.judge.names import JudgeOptions
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
