"""The rollout on a store with scored turns: it moves on request, and reverts by itself (specification 2, section 6)."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from knowbound.cli.main import main
from knowbound.core.item import Item
from knowbound.core.quality import Metric, QualityTurn
from knowbound.errors import InputError, StoreError
from knowbound.injection.inject import ROLLOUT, explores
from knowbound.judge.registry import turn_judge_version
from knowbound.kms.index.database import Index
from knowbound.kms.index.entry import effective_of
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.kms.validation import ItemEdit
from knowbound.quality.rollout.progress import (
    Rollout,
    advance,
    load_state,
    revert,
    rollout_status,
)
from knowbound.quality.rollup import roll_up
from knowbound.stats.calibration import Pair, calibrate
from knowbound.stats.judge_gate import MeasuredMetric, gate
from knowbound.stats.quality import day_before
from knowbound.stats.rollout import CriterionName, CriterionState, EventKind, RolloutStatus
from knowbound.store.judges import TurnJudgeCalibration, keep_turn_judge_calibrations
from tests.quality.measured_project import TODAY, MeasuredProject, logged, turn

PORT = Item("k-port", "The orders service listens on port 8080.", confidence=0.8)
RETRY = Item("k-retry", "Refunds are retried three times.")
UNUSED = Item("k-unused", "The office plant is watered on Fridays.")


@pytest.fixture
def project(tmp_path: Path) -> MeasuredProject:
    return MeasuredProject(tmp_path, [PORT, RETRY, UNUSED])


def a_day(back: int, said: str, turns: int = 40) -> list[QualityTurn]:
    """Turns of a day, so many days ago, about one item each."""
    return [turn(day_before(TODAY, back), n, [logged(PORT, said)]) for n in range(turns)]


def a_week(first: int, said: str = "t") -> list[QualityTurn]:
    return [one for back in range(first, first - 7, -1) for one in a_day(back, said)]


RULES = turn_judge_version("rules")


def calibrated(project: MeasuredProject, version: str = RULES) -> None:
    cells = [(n % 2 == 0, n % 2 == 0) for n in range(300)]
    found = calibrate(Pair(label, said, session=f"{n}") for n, (label, said) in enumerate(cells))
    measured = MeasuredMetric(found, gate(found, found.n))
    judge = TurnJudgeCalibration("rules", "2026-11-01T00:00:00Z", "0" * 8, 300, dict.fromkeys(Metric, measured))
    keep_turn_judge_calibrations(project.home, {version: judge})


def ready(project: MeasuredProject, said: str = "t") -> None:
    """Everything that leaving leg 0 needs."""
    turns = a_week(7, said)
    project.log(turns)
    project.log_candidates(turns, [PORT])
    calibrated(project)


def effective(project: MeasuredProject, id_: str) -> float | None:
    with closing(Index(project.home)) as index:
        return effective_of(index.known(id_)[0].item)


def worked(project: MeasuredProject, today: str = TODAY) -> int | None:
    """What the worker does after it scored; the leg that it reverted to."""
    with closing(SqliteQualityLog(project.home)) as log, closing(Index(project.home)) as index:
        roll_up(log, index.corrections(), today=today)
        reverted = Rollout(project.settings, log, index, today).keep_up()
        return reverted.after if reverted else None


# Leg 0


def test_without_data_it_is_in_leg_0_and_says_what_is_missing(project: MeasuredProject) -> None:
    status = rollout_status(project.settings, today=TODAY)
    assert status.current.leg.number == 0
    assert [one.state for one in status.current.leave] == [
        CriterionState.NOT_YET,
        CriterionState.UNKNOWN,
        CriterionState.UNKNOWN,
    ]


def test_measuring_writes_no_effective_confidence(project: MeasuredProject) -> None:
    project.log(a_week(6, "tu"))
    worked(project)
    assert effective(project, PORT.id) is None


@pytest.mark.parametrize("lacking", ["days", "judge", "candidates"])
def test_it_does_not_advance_while_something_is_open(project: MeasuredProject, lacking: str) -> None:
    turns = a_day(1, "t") if lacking == "days" else a_week(7)
    project.log(turns)
    if lacking != "judge":
        calibrated(project)
    if lacking != "candidates":
        project.log_candidates(turns, [PORT])
    status = advance(project.settings, today=TODAY)
    assert status.refused
    assert status.current.leg.number == 0
    assert effective(project, PORT.id) is None


def replay_state(status: RolloutStatus) -> CriterionState:
    assert status.next is not None
    return next(one.state for one in status.next.enter if one.name is CriterionName.REPLAY)


def test_it_does_not_advance_to_a_ranking_whose_replay_is_worse(project: MeasuredProject) -> None:
    (project.root / "knowbound.toml").write_text("[injection]\nmost_items = 1\n")
    project.log(a_day(7, "tc"))
    both = [logged(PORT, "tu"), logged(RETRY, "-")]
    right = [turn(day_before(TODAY, 6), n, both, session_id=f"s{n}") for n in range(40)]
    project.log(right + [one for back in range(5, 0, -1) for one in a_day(back, "t")])
    project.log_candidates(right, [PORT, RETRY])  # measured quality puts the wrong one first on this day
    calibrated(project)
    status = advance(project.settings, today=TODAY)
    assert status.refused
    assert replay_state(status) is CriterionState.TRIPPED


def test_a_machine_without_candidates_keeps_the_replay_of_another(project: MeasuredProject) -> None:
    ready(project)
    rollout_status(project.settings, today=TODAY)
    shutil.rmtree(project.home / "injections")
    assert replay_state(rollout_status(project.settings, today=TODAY)) is CriterionState.MET
    assert not advance(project.settings, today=TODAY).refused


def test_a_replay_from_before_the_leg_does_not_count(project: MeasuredProject) -> None:
    ready(project)
    assert replay_state(rollout_status(project.settings, today=TODAY)) is CriterionState.MET
    with closing(SqliteQualityLog(project.home)) as log, closing(Index(project.home)) as index:
        assert replay_state(Rollout(project.settings, log, index, TODAY).status()) is CriterionState.MET
        state = msgspec.structs.replace(load_state(log), since="2099-06-01T00:00:00Z")
        log.put_note("rollout", msgspec.json.encode(state))
        assert replay_state(Rollout(project.settings, log, index, TODAY).status()) is CriterionState.UNKNOWN


def test_it_advances_when_nothing_is_missing_and_writes_effective_confidence(project: MeasuredProject) -> None:
    ready(project, "tu")
    status = advance(project.settings, by="ada", today=TODAY)
    assert (status.refused, status.current.leg.number) == (False, 1)
    assert [(one.kind, one.before, one.after, one.by) for one in status.state.history] == [
        (EventKind.ADVANCED, 0, 1, "ada")
    ]
    assert status.state.baselines[1].first == "2026-11-09"
    assert effective(project, PORT.id) == pytest.approx(0.8 * 1.5, abs=1e-3)  # used with every injection
    assert json.loads((project.home / ROLLOUT).read_text()) == {"leg": 1, "exploration": False}


def test_an_item_that_was_never_injected_or_only_not_used_keeps_its_stored_confidence(
    project: MeasuredProject,
) -> None:
    ready(project, "t")
    advance(project.settings, today=TODAY)
    assert effective(project, UNUSED.id) is None
    assert effective(project, PORT.id) is None


def test_reverting_takes_effective_confidences_away_and_is_no_correction(project: MeasuredProject) -> None:
    ready(project, "tu")
    advance(project.settings, today=TODAY)
    status = revert(project.settings, by="ada", today=TODAY)
    assert status.current.leg.number == 0
    assert effective(project, PORT.id) is None
    assert json.loads((project.home / ROLLOUT).read_bytes()) == {"leg": 0, "exploration": False}
    with closing(Index(project.home)) as index:
        assert index.corrections() == []


def test_leg_0_cannot_be_reverted_and_the_last_leg_not_left(project: MeasuredProject) -> None:
    with pytest.raises(InputError) as refused:
        revert(project.settings, today=TODAY)
    assert refused.value.slug == "rollout-refused"
    with closing(SqliteQualityLog(project.home)) as log:
        log.put_note("rollout", b'{"leg": 2, "plan": ["sqlite", "loop"]}')
    with pytest.raises(InputError, match="last leg"):
        advance(project.settings, today=TODAY)


# In a leg


def later(days: int) -> str:
    return day_before(TODAY, -days)


def test_the_day_on_which_a_leg_began_belongs_to_neither_side(project: MeasuredProject) -> None:
    ready(project)
    project.log(a_day(0, "tu"))
    advance(project.settings, today=TODAY)
    status = rollout_status(project.settings, today=TODAY)
    assert next(one for one in status.current.leave if one.name is CriterionName.DAYS).value == 0
    assert status.state.baselines[1].last == "2026-11-15"


def test_a_leg_whose_on_topic_drops_is_reverted_by_itself_and_says_so(
    project: MeasuredProject, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(project, "tu")
    advance(project.settings, today=TODAY)
    project.log(a_day(-1, "-") + a_day(-2, "-"))
    assert worked(project, later(2)) == 0
    status = rollout_status(project.settings, today=later(2))
    event = status.state.last_kill
    assert event is not None
    assert (event.before, event.after, event.tripped) == (1, 0, (CriterionName.ON_TOPIC_DROP, CriterionName.REGRESSION))
    assert effective(project, PORT.id) is None
    assert worked(project, later(2)) is None
    monkeypatch.chdir(project.root)
    with pytest.raises(SystemExit):
        main(["quality", "status"])
    assert "reverted by itself" in " ".join(capsys.readouterr().out.split())


def test_a_leg_that_only_might_be_worse_stays(project: MeasuredProject) -> None:
    ready(project)
    advance(project.settings, today=TODAY)
    project.log([*a_day(-1, "t"), turn(later(1), 50, [logged(PORT, "-")])])
    assert worked(project, later(1)) is None
    assert rollout_status(project.settings, today=later(1)).current.leg.number == 1


def test_what_was_said_about_an_earlier_wording_counts_no_more(project: MeasuredProject) -> None:
    ready(project, "tc")
    advance(project.settings, today=TODAY)
    demoted = effective(project, PORT.id)
    assert demoted == 0.0
    with closing(project.store()) as store:
        store.update(PORT.id, ItemEdit(content="The orders service listens on port 9090."))
    worked(project)
    assert effective(project, PORT.id) is None


# By itself


def test_a_leg_whose_criteria_are_met_is_left_by_itself_and_says_so(
    project: MeasuredProject, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(project, "tu")
    assert worked(project) == 1
    (event,) = rollout_status(project.settings, today=TODAY).state.history
    assert (event.kind, event.by, event.before, event.after) == (EventKind.ADVANCED, "knowbound", 0, 1)
    assert worked(project) is None
    monkeypatch.chdir(project.root)
    with pytest.raises(SystemExit):
        main(["quality", "rollout"])
    assert "advanced by knowbound" in " ".join(capsys.readouterr().out.split())


def test_it_stays_where_it_is_if_nobody_wants_that_or_something_is_open(project: MeasuredProject) -> None:
    (project.root / "knowbound.toml").write_text("[rollout]\nauto = false\n")
    ready(project, "tu")
    assert worked(project) is None
    assert advance(project.settings, today=TODAY).current.leg.number == 1


@pytest.mark.parametrize("calibrated_version", [RULES, "rules-turns-of-old"])
def test_the_gate_looks_at_the_judge_that_judges_from_now_on(project: MeasuredProject, calibrated_version: str) -> None:
    """The days were judged by a version that is neither."""
    turns = a_week(7, "tu")
    project.log(turns)
    project.log_candidates(turns, [PORT])
    calibrated(project, calibrated_version)
    assert (worked(project) == 1) is (calibrated_version == RULES)


def test_a_leg_can_be_forced_and_what_was_open_is_kept(
    project: MeasuredProject, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.log(a_day(1, "tu"))
    monkeypatch.chdir(project.root)
    with pytest.raises(SystemExit) as ended:
        main(["quality", "rollout", "--advance", "--force"])
    assert ended.value.code == 0
    assert "forced" in capsys.readouterr().out
    (event,) = rollout_status(project.settings, today=TODAY).state.history
    assert event.kind is EventKind.FORCED
    assert {CriterionName.DAYS, CriterionName.JUDGE, CriterionName.REPLAY} <= set(event.tripped)


def test_after_a_kill_what_contradictions_silenced_stays_held_back(project: MeasuredProject) -> None:
    ready(project, "tu")
    project.log([turn(day_before(TODAY, 1), 50 + n, [logged(RETRY, "tc")]) for n in range(3)])
    advance(project.settings, today=TODAY)
    worked(project)
    assert [effective(project, RETRY.id), effective(project, PORT.id)] == pytest.approx([0.0, 1.2], abs=1e-3)
    project.log(a_day(-1, "-") + a_day(-2, "-"))
    assert worked(project, later(2)) == 0
    assert (effective(project, RETRY.id), effective(project, PORT.id)) == (0.0, None)
    with closing(project.store()) as store:
        store.update(RETRY.id, ItemEdit(content="Webhooks are retried seven times."))
    assert effective(project, RETRY.id) is None


# The files


@pytest.mark.parametrize("text", ["", "{", "[]", '{"leg": 1}', '{"exploration": 1}', '{"exploration": "true"}', "null"])
def test_with_a_damaged_copy_no_prompt_explores(tmp_path: Path, text: str) -> None:
    (tmp_path / ROLLOUT).write_text(text)
    assert not explores(tmp_path)


def test_a_damaged_state_is_an_error_with_a_slug(project: MeasuredProject) -> None:
    with closing(SqliteQualityLog(project.home)) as log:
        log.put_note("rollout", b'{"leg": "two"}')
    with pytest.raises(StoreError) as corrupt:
        rollout_status(project.settings, today=TODAY)
    assert corrupt.value.slug == "store-corrupt"


# The verb


@pytest.mark.parametrize("format_", ["text", "json", "markdown"])
def test_the_verb_shows_legs_criteria_and_what_is_watched(
    project: MeasuredProject, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, format_: str
) -> None:
    monkeypatch.chdir(project.root)
    with pytest.raises(SystemExit) as ended:
        main(["quality", "rollout", "--format", format_])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    if format_ == "json":
        document = json.loads(out)
        assert document["format"] == "knowbound.rollout/1"
        assert [leg["name"] for leg in document["legs"]] == ["measure", "sqlite"]
        assert len(document["monitors"]) == 7
    else:
        assert "days with turns" in out
        assert "self-reinforcing" in out


def test_the_verb_exits_1_when_it_does_not_advance(
    project: MeasuredProject, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)
    with pytest.raises(SystemExit) as ended:
        main(["quality", "rollout", "--advance"])
    assert ended.value.code == 1
    assert "Not advanced" in capsys.readouterr().out


def test_a_store_that_feeds_itself_explores_and_stops_when_it_does_not(project: MeasuredProject) -> None:
    ready(project, "t")
    advance(project.settings, today=TODAY)
    used, unused = logged(PORT, "tu"), logged(RETRY, "t")
    project.log(turn(later(1), n, [used]) for n in range(5))
    project.log(turn(later(2), n, [used, unused]) for n in range(60))
    worked(project, later(8))  # what was used before the week ranks above what was not
    assert explores(project.home)
    project.log(turn(later(9), n, [logged(PORT, "t"), logged(RETRY, "tu")]) for n in range(200))
    worked(project, later(9))
    assert not explores(project.home)


def test_leg_0_never_explores(project: MeasuredProject) -> None:
    project.log([*a_week(14, "tu"), *(turn(TODAY, n, [logged(PORT, "tu"), logged(RETRY, "t")]) for n in range(60))])
    worked(project)
    assert not explores(project.home)
