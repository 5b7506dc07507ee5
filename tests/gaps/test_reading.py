"""Sessions are read to their findings, their hedges judged, and read again for people who label sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from knowbound.config import Settings
from knowbound.core.signal import Findings, HedgingVerdict, Signal, SignalType, Status, Turn
from knowbound.errors import InputError
from knowbound.gaps import reading
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.observe import observe
from knowbound.gaps.reading import (
    drop_hedges,
    is_undecided,
    judge_findings,
    judge_of,
    judged_rate,
    label_candidates,
)
from knowbound.judge.hedging.rules import RulesJudge
from knowbound.judge.hedging.verdict import HedgingCandidate, failed_verdict
from knowbound.stats.figures import HedgeJudging
from knowbound.stats.rate import Rate
from knowbound.store.observed import Observed
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.sessions import SharedEvents
from tests.gaps.test_lens import findings
from tests.transcripts import Transcript

DOUBT = "I'm not sure which schema the {} uses."
NO_DOUBT = "If you like, you could perhaps rename the {}."


def test_without_the_source_of_hedges_every_other_signal_stays(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("refundLedger").says("I'm not sure which service owns the refund ledger.")
    found = findings(transcript, tmp_path)
    assert {one.type for one in found.signals} == {SignalType.FAILED_SEARCH, SignalType.HEDGING}
    drop_hedges([found])
    assert {one.type for one in found.signals} == {SignalType.FAILED_SEARCH}


class Judge:
    """Says that sentences with "yes" are doubt; has no answer to those with "fail"; costs a cent each."""

    version, name = "judge-1", "judge"

    def __init__(self, *, costs: bool = True, usd: float | None = 1.0) -> None:
        self.costs, self.usd, self.asked = costs, usd, list[HedgingCandidate]()

    def known(self, candidate: HedgingCandidate) -> HedgingVerdict | None:
        return HedgingVerdict(True, 0.9, "before", self.version) if "known" in candidate.sentence else None

    def judge(self, candidates: Sequence[HedgingCandidate]) -> Sequence[HedgingVerdict]:
        self.asked += candidates
        if self.usd is not None:
            self.usd += 0.01 * len(candidates)
        return [
            failed_verdict("no answer", self.version)
            if "fail" in one.sentence
            else HedgingVerdict("yes" in one.sentence, 0.9, "", self.version)
            for one in candidates
        ]


def hedge(text: str, turn: int = 1, **more: object) -> Signal:
    return Signal(SignalType.HEDGING, Status.OPEN, "s", turn, "s#1", text=text, context=f"… {text}", **more)  # type: ignore[arg-type]


def session(*signals: Signal) -> Findings:
    turns = [Turn(1, "s#1", prompt="first?"), Turn(2, "s#1", prompt="second?")]
    return Findings("s", "codex", project="/work/shop", turns=turns, signals=list(signals))


def test_hedges_without_a_verdict_are_judged_and_those_that_are_no_doubt_are_dropped() -> None:
    miss = Signal(SignalType.FAILED_SEARCH, Status.OPEN, "s", 1, "s#1", query="x")
    given = hedge("given", verdict=HedgingVerdict(True, 0.5, "", "old"))
    found, judge = session(hedge("yes a", 2), miss, hedge("no b"), given, hedge("fail c", 3)), Judge()
    judged = judge_findings([found], judge, 10)
    assert [signal.text or signal.query for signal in found.signals] == ["yes a", "x", "given", "fail c"]
    assert [one.question for one in judge.asked] == ["second?", "first?", ""]  # the third turn has no prompt
    assert judge.asked[0] == HedgingCandidate("yes a", "… yes a", "second?", "s", "/work/shop", "codex")
    assert judged.judging is not None
    assert msgspec.structs.astuple(judged.judging)[:5] == ("judge-1", 10, 2, 0, 1)
    assert judged.judging.usd == pytest.approx(0.03)
    assert judged.warnings == ["1 hedging sentences were kept without a verdict: no answer."]


def test_sentences_beyond_the_cap_stay_and_equal_ones_count_once() -> None:
    found = session(hedge("yes a"), hedge("yes a"), hedge("no b"), hedge("no c"), hedge("known d"))
    judged = judge_findings([found], Judge(usd=None), 1)
    assert [signal.text for signal in found.signals] == ["yes a", "yes a", "no b", "no c", "known d"]
    assert judged.judging == HedgeJudging("judge-1", 1, 2, 2, 0, None)


def test_a_judge_without_a_cap_reports_no_work() -> None:
    found = session(hedge("yes a", turn=0), hedge("no b"))
    judge = Judge(costs=False)
    assert judge_findings([found], judge) == ([], None)
    assert [signal.text for signal in found.signals] == ["yes a"]
    assert judge.asked[0].question == ""  # before the first prompt
    assert judge_findings([], Judge()).judging == HedgeJudging("judge-1", 50, usd=0.0)


@pytest.mark.parametrize(
    ("signals", "undecided"),
    [
        ([hedge("a")], True),
        ([hedge("a", verdict=HedgingVerdict(True, 0.9, ""))], False),
        ([hedge("a", verdict=HedgingVerdict(True, 0.0, "failed"))], True),
        ([Signal(SignalType.EXPLICIT_MARKER, Status.OPEN, "s", 1, "s#1")], False),
        ([], False),
    ],
)
def test_a_session_is_undecided_while_a_hedge_has_no_verdict(signals: list[Signal], undecided: bool) -> None:
    assert is_undecided(session(*signals)) is undecided


def corpus(folder: Path) -> Settings:
    for number in range(2):
        transcript = Transcript(f"s{number}").user("Look at it.")
        for thing in ("ledger", "invoice", "parser", "worker")[number::2]:
            transcript.says(DOUBT.format(thing)).says(NO_DOUBT.format(thing))
        transcript.write(folder / "traces")
    return Settings(root=folder, home=folder / "home")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Two observed sessions, with two sentences of each kind in each."""
    made = corpus(tmp_path)
    observe([tmp_path / "traces"], made)
    return made


def test_sentences_that_the_judge_kept_and_dropped_are_drawn_evenly(settings: Settings) -> None:
    drawn = label_candidates(settings, 4, 1)
    assert sorted(DOUBT[:8] in one.text for one in drawn) == [False, False, True, True]
    assert [one.weight for one in drawn] == [1.0] * 4
    assert {one.session for one in drawn} <= {"s0", "s1"}
    assert all(one.text in one.context for one in drawn)
    known = [DOUBT.format(thing) for thing in ("ledger", "invoice", "parser", "worker")]
    assert not {one.text for one in label_candidates(settings, 8, 1, known)} & set(known)
    assert [one.text for one in drawn] == [one.text for one in label_candidates(settings, 4, 1)]


def test_where_nothing_is_left_to_label_the_reason_is_named(settings: Settings, tmp_path: Path) -> None:
    every = [one.text for one in label_candidates(settings, 100, 1)]
    assert len(every) == 8
    with pytest.raises(InputError, match="has none that is not labelled yet"):
        label_candidates(settings, 4, 1, every)
    for file in (tmp_path / "traces").iterdir():
        file.unlink()
    with pytest.raises(InputError, match="has no sentence that may speak of doubt"):
        label_candidates(settings, 4, 1)


def test_no_further_session_is_read_when_the_pool_is_large_enough(settings: Settings) -> None:
    run = reading._run(settings)
    assert len(run.sessions) == 2
    assert [len(reading._pool(run, settings, enough)) for enough in (1, 4, 5, 8, 9)] == [4, 4, 8, 8, 8]


def test_the_rate_of_a_run_is_the_share_of_sentences_that_its_judge_kept(settings: Settings) -> None:
    rate = judged_rate(settings, RulesJudge())
    assert rate == Rate(4, 8)
    assert judged_rate(settings, Judge()) is None  # another judge decided


def test_the_rate_counts_kept_sentences_and_not_dropped_ones(tmp_path: Path) -> None:
    transcript = Transcript("s1").user("go").says(DOUBT.format("x")).says(DOUBT.format("y")).says(NO_DOUBT.format("x"))
    transcript.write(tmp_path / "traces")
    settings = Settings(root=tmp_path, home=tmp_path / "home")
    observe([tmp_path / "traces"], settings)
    rate = judged_rate(settings, RulesJudge())
    assert rate is not None
    assert (rate.k, rate.n) == (2, 3)


def test_hedges_that_nobody_judged_have_no_rate(tmp_path: Path) -> None:
    settings = replace(corpus(tmp_path), hedging_classifier_enabled=False)
    report, _ = observe([tmp_path / "traces"], settings)
    assert report.gap.by_type["hedging"] == 8
    assert judge_of(settings) is None
    assert isinstance(judge_of(replace(settings, hedging_classifier_enabled=True)), RulesJudge)
    assert judged_rate(settings, RulesJudge()) is None


def test_a_capped_judge_is_asked_about_all_new_sessions_together(tmp_path: Path) -> None:
    settings = replace(corpus(tmp_path), hedging_classifier_max_candidates=5)
    report, _ = observe([tmp_path / "traces"], settings)
    assert report.judging == HedgeJudging(RulesJudge().version, 5, 5, 3, 0, 0.0)
    store = Observed(settings.home)
    assert any(state == "" for state in store.states().values())  # one is read again
    rest, _ = observe([tmp_path / "traces"], settings)
    assert rest.gap.by_type["hedging"] == 4


def test_a_session_that_fails_is_kept_with_the_defect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(Transcript("s1").user("go").write(tmp_path))
    files = SessionFiles("claude-code", "s1", (file,), {"a1": "side.jsonl"}, 0)

    def defect(*_: object) -> list[Findings]:
        raise MemoryError

    monkeypatch.setattr(reading, "read_session", defect)
    monkeypatch.delenv("KNOWBOUND_TRACEBACK", raising=False)
    settings = Settings(root=tmp_path, home=tmp_path)
    (found,) = msgspec.msgpack.decode(reading._read_in_worker(SharedEvents(files), settings), type=list[Findings])
    assert (found.session, found.agent, found.files) == ("s1", "claude-code", [file, "side.jsonl"])
    assert found.skipped_by_reason == {"a defect of ours: MemoryError": 1}
    assert [(line.path, line.line) for line in found.skipped] == [(file, 1)]
    monkeypatch.setenv("KNOWBOUND_TRACEBACK", "1")
    with pytest.raises(MemoryError):
        reading._read_in_worker(SharedEvents(files), settings)


@pytest.mark.parametrize(
    ("changes", "hedges"),
    [
        ({}, [("yes", True)]),
        ({"hedges_off": True}, []),
        ({"hedging_classifier_enabled": False}, [("yes", False), ("no", False)]),
        ({"hedging_classifier_max_candidates": 1}, [("yes", False), ("no", False)]),  # judged later, together
    ],
)
def test_a_worker_judges_hedges_only_without_a_cap(
    tmp_path: Path, changes: dict[str, object], hedges: list[tuple[str, bool]]
) -> None:
    file = str(Transcript("s1").user("go").says(DOUBT.format("x")).says(NO_DOUBT.format("x")).write(tmp_path))
    files = SessionFiles("claude-code", "s1", (file,), {}, 0)
    settings = replace(Settings(root=tmp_path, home=tmp_path), **changes)  # type: ignore[arg-type]
    (found,) = msgspec.msgpack.decode(reading._read_in_worker(SharedEvents(files), settings), type=list[Findings])
    words = {DOUBT.format("x"): "yes", NO_DOUBT.format("x"): "no"}
    assert [(words[signal.text], signal.verdict is not None) for signal in found.signals] == hedges


def test_the_lens_has_what_it_needs_of_the_settings(tmp_path: Path) -> None:
    settings = Settings(root=tmp_path, home=tmp_path, repeated_failure_calls=5, as_specified=True)
    assert LensSettings.of(settings, ("a",)) == LensSettings(("a",), 5, True)


def test_a_read_session_has_the_tally_of_its_file(tmp_path: Path) -> None:
    file = Transcript("s1").user("go").raw("not json").says("Done.").write(tmp_path)
    (found,) = reading.read_session(
        SharedEvents(SessionFiles("claude-code", "s1", (str(file),), {}, 0)), LensSettings()
    )
    assert (found.session, found.lines, found.duplicates, len(found.skipped)) == ("s1", 3, 0, 1)
    assert sum(found.skipped_by_reason.values()) == 1
