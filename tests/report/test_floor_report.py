from __future__ import annotations

from collections.abc import Sequence

from knowbound.report.quality.floor import FloorReport, render_floor
from knowbound.stats.floor import FloorTarget, Trial, calibrate_floor

OFF = "off\x1b[2J"


def trial(name: str, right: float, off: float = 0.0, *, needs: bool = True) -> Trial:
    def inject(floor: float, most: int) -> Sequence[str]:
        ranked = sorted([(right, "r"), (off, OFF)], reverse=True)[:most]
        return [id_ for score, id_ in ranked if score and score >= floor]

    return Trial(name, frozenset({"r"} if needs else ()), frozenset(), inject)


def shown(trials: list[Trial], floor: float = 0.5, most: int = 3, *, model: bool = False) -> str:
    found = calibrate_floor(trials, FloorTarget(), floor, most)
    return render_floor(FloorReport("prompts.jsonl", "0" * 8, len(trials), 9, found, model), "text")


def prompts(right: float, off: float) -> list[Trial]:
    trials = [trial(f"line {n}", right, off) for n in range(20)]
    return trials + [trial(f"line {20 + n}", 0.0, 0.2, needs=False) for n in range(20)]


def test_the_first_screen_has_the_lines_to_put_into_the_config() -> None:
    first, screen, figures = shown(prompts(right=0.8, off=0.1), floor=0.9).split("\n\n")[:3]
    assert "Recommended: floor 0.21, 1 item (now 0.90, 3 items)" in first
    assert "knowbound.toml:\n[injection]\nrelevance_floor = 0.21\nmost_items = 1\n" in screen
    assert "100% (20 of 20, 84–100%)" in figures


def test_where_nothing_is_to_be_changed_it_says_so() -> None:
    text = shown(prompts(right=0.8, off=0.1), floor=0.21, most=1)
    assert "The present settings are the recommended ones" in text
    assert "knowbound.toml" not in text


def test_where_no_floor_gives_what_is_wanted_it_names_the_prompts_to_look_at() -> None:
    text = shown(prompts(right=0.8, off=0.9))
    assert "No floor gives what is wanted" in text
    assert "line 1: off topic off" in text
    assert "\x1b" not in text


def test_what_the_prompts_do_not_settle_is_said_with_how_many_more_would() -> None:
    text = " ".join(shown(prompts(right=0.8, off=0.1), model=True).split())
    assert "has 95% in it: 20 prompts do not settle it, about 53 more would." in text
    assert "model.tasks.choose" in text


def test_too_few_prompts_are_counted_once() -> None:
    text = shown([trial("1", 0.8, 0.7), trial("2", 0.0, needs=False)])
    assert "Label 19 more that need an item and 19 more that need nothing" in text
    assert "settle" not in text
