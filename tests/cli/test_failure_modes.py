"""The seven failure modes of specification 2, each provoked and seen through the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from knowbound.cli.main import main
from knowbound.core.item import Flag, FlagKind, Item
from knowbound.judge.labels import TURN_LABELS
from knowbound.judge.registry import turn_judge_version
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.opening import open_knowledge_store
from knowbound.stats.rollout import FailureMode
from tests.quality.measured_project import MeasuredProject, calibrate_judge, logged, turn
from tests.stores import put_items
from tests.turn_examples import labelled, write_labels

NOW = datetime.now(UTC)
PORT = Item("kport", "The API server listens on port 8080.")
RETRY = Item("kretry", "Failed webhooks are retried three times.")


def day(back: int) -> str:
    return (NOW - timedelta(days=back)).strftime("%Y-%m-%d")


def slow_stop_hook(project: MeasuredProject) -> None:
    project.log(turn(day(1), n, [logged(PORT, "t")], stop_ms=900.0) for n in range(30))


def judge_drift(project: MeasuredProject) -> None:
    version = turn_judge_version("rules")
    calibrate_judge(project.home, version)
    project.log(turn(day(1), n, [logged(PORT, "t")], judge=version) for n in range(5))
    recent = NOW.strftime("%Y-%m-%dT00:00:00Z")
    # People say of all that it was used and contradicted, which the rules do not find.
    write_labels(project.home / TURN_LABELS, [labelled(n, *[(False, True, True)] * 3, time=recent) for n in range(12)])


def false_demotions(project: MeasuredProject) -> None:
    project.log(turn(day(20), n, [logged(item, "tc")]) for n, item in enumerate((PORT, RETRY)))
    project.log(turn(day(18), n, [logged(PORT, "tu")]) for n in range(9))


def long_chains(project: MeasuredProject) -> None:
    backend = SqliteBackend(project.home)  # as another tool writes it: ours keeps chains short
    flags = [Flag(FlagKind.SUPERSEDED, superseded_by=f"c{n + 1}") for n in range(6)]
    chain = [Item(f"c{n}", f"The cache number {n} is cold.", flag=flag) for n, flag in enumerate(flags)]
    put_items(backend, *chain, Item("c6", "The cache is warm."))
    backend.close()
    with closing(open_knowledge_store(project.settings)) as store:
        store.sync()


def self_reinforcing(project: MeasuredProject) -> None:
    project.log(turn(day(10), n, [logged(PORT, "tu")]) for n in range(3))
    project.log(turn(day(1), n, [logged(PORT, "tu"), logged(RETRY, "t")]) for n in range(40))


def log_size(project: MeasuredProject) -> None:
    project.log([turn(day(120), 1, [logged(PORT, "tu")])])


def switched_off(project: MeasuredProject) -> None:
    (project.root / "knowbound.toml").write_text("[quality]\nranking = false\n")


PROVOKED: dict[FailureMode, Callable[[MeasuredProject], None]] = {
    FailureMode.SLOW_STOP_HOOK: slow_stop_hook,
    FailureMode.JUDGE_DRIFT: judge_drift,
    FailureMode.FALSE_DEMOTIONS: false_demotions,
    FailureMode.LONG_CHAINS: long_chains,
    FailureMode.SELF_REINFORCING: self_reinforcing,
    FailureMode.LOG_SIZE: log_size,
    FailureMode.SWITCHED_OFF: switched_off,
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MeasuredProject:
    monkeypatch.chdir(tmp_path)
    return MeasuredProject(tmp_path, [PORT, RETRY])


def monitors(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    with pytest.raises(SystemExit) as ended:
        main(["quality", "rollout", "--format", "json"])
    assert ended.value.code == 0
    return {one["mode"]: one for one in json.loads(capsys.readouterr().out)["monitors"]}


@pytest.mark.parametrize("mode", FailureMode)
def test_a_failure_mode_is_seen_where_it_is_provoked_alone(
    project: MeasuredProject, capsys: pytest.CaptureFixture[str], mode: FailureMode
) -> None:
    assert not any(one["tripped"] for one in monitors(capsys).values())
    PROVOKED[mode](project)
    tripped = [name for name, one in monitors(capsys).items() if one["tripped"]]
    if mode is FailureMode.LOG_SIZE:  # the answer is the rollup itself: the turn is gone, its day stays
        assert tripped == []
        with pytest.raises(SystemExit):
            main(["quality", "status", "--item", PORT.id, "--format", "json"])
        assert [one["date"] for one in json.loads(capsys.readouterr().out)["days"]] == [day(120)]
    else:
        assert tripped == [mode]
