"""Held-out turns in the log, and what `quality status` makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from knowbound.core.item import Item
from knowbound.core.quality import LoggedCall, QualityTurn
from knowbound.injection.log import InjectedItem, InjectionRecord
from knowbound.quality.joining import TurnSources, join
from knowbound.quality.rollup import day_of
from knowbound.quality.status import holdout_comparison, quality_status
from knowbound.report.quality.status import render_quality
from knowbound.stats.quality import TurnOutcome
from tests.quality.measured_project import TODAY, MeasuredProject, logged, turn

PORT = Item("k-port", "The orders service listens on port 8080.")


def arm(side: str, number: int, steps: int, **more: object) -> QualityTurn:
    items = [logged(PORT, "t")] if side == "injected" else []
    given: dict[str, object] = {"arm": side, "steps": steps, "tool_calls_count": steps, "trace": "/t.jsonl"}
    return turn(TODAY, number, items, **(given | {"session_id": f"s{number}"} | more))


def both(number: int = 40) -> list[QualityTurn]:
    injected = [arm("injected", n, 3 + n % 3) for n in range(number)]
    return injected + [arm("held_out", n, 8 + n % 3) for n in range(number, 2 * number)]


def test_a_held_out_record_becomes_a_turn_without_items_that_knows_its_side() -> None:
    record = InjectionRecord(
        "2026-10-01T10:00:00Z", "i1", "s1", prompt_id="p1", prompt="Where?", items=(InjectedItem("k1", "sqlite", "x"),),
        arm="held_out", outcome="held_out", delivered=False,
    )  # fmt: skip
    made = join(TurnSources(injected=record), lambda _: None).turn
    assert (made.arm, made.injected_items) == ("held_out", ())
    day = day_of("2026-10-01", [made])
    assert (day.held_out, day.prompts_with_items, day.injected.judged) == (1, 0, 0)


def test_turns_without_a_holdout_or_without_a_trace_are_not_compared() -> None:
    assert holdout_comparison([turn(TODAY, 1, [logged(PORT, "t")])]) is None
    assert holdout_comparison([arm("injected", 1, 3)]) is None
    assert holdout_comparison([replace(arm("held_out", 1, 3), trace="")]) is None


def test_corrective_calls_steps_failed_searches_and_tokens_are_compared() -> None:
    call = LoggedCall("kms_flag", "ok", corrected=("k1",))
    found = holdout_comparison(
        [
            arm("injected", 1, 3, turn_tokens=900),
            arm("held_out", 2, 5, failed_searches=2, tool_calls=(call,), tool_calls_count=1),
        ]
    )
    assert found is not None
    means = {one.outcome: (one.injected, one.held_out) for one in found.outcomes}
    assert means == {
        TurnOutcome.STEPS: (3, 5),
        TurnOutcome.CALLS: (3, 1),
        TurnOutcome.FAILED_SEARCHES: (0, 2),
        TurnOutcome.CORRECTIVE_CALLS: (0, 1),
        TurnOutcome.TOKENS: (900, None),
    }


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (40, "With injection: calls −5.0 (95%"),
        (5, "Whether injecting helps is not known yet: about 30 more sessions"),
    ],
)
def test_the_status_says_what_difference_injecting_makes_or_that_it_cannot_tell(
    tmp_path: Path, number: int, expected: str
) -> None:
    project = MeasuredProject(tmp_path, [PORT])
    project.log(both(number))
    status = quality_status(project.settings, today=TODAY)
    assert expected in " ".join(render_quality(status, "text").split())
    document = json.loads(render_quality(status, "json"))
    assert (document["holdout"]["injected"], document["holdout"]["held_out"]) == (number, number)
    assert render_quality(status, "html")


def test_without_a_holdout_the_status_says_nothing_about_one(tmp_path: Path) -> None:
    project = MeasuredProject(tmp_path, [PORT])
    project.log([turn(TODAY, 1, [logged(PORT, "t")])])
    status = quality_status(project.settings, today=TODAY)
    assert status.holdout is None
    text = render_quality(status, "text")
    assert "Held out" not in text
    assert "Helps?" not in text


@pytest.mark.parametrize(("prompts", "share", "expected"), [(49, 0.0, False), (50, 0.0, True), (50, 0.1, False)])
def test_a_holdout_is_offered_once_50_prompts_were_measured(
    tmp_path: Path, prompts: int, share: float, expected: bool
) -> None:
    project = MeasuredProject(tmp_path, [PORT])
    (tmp_path / "knowbound.toml").write_text(f"[quality]\nholdout = {share}\n")
    project.log([turn(TODAY, n, [logged(PORT, "t")]) for n in range(prompts)])
    shown = render_quality(quality_status(project.settings, today=TODAY), "text")
    assert ("quality.holdout = 0.1" in shown) is expected
