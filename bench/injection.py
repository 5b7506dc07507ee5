"""What the hook injects for labelled prompts, beside simpler ways to choose.

    python -m bench.injection SET… [--items 5 100 5000] [--filler DIR] [--curve] [--rows] [--floors]

A set is a folder of labelled items and prompts, or a file of labelled turns (bench/injection_sets.py). Its items go
through the product's own store and index, its prompts through the hook's own function. Sizes: a store of five items
for each prompt; the set as it is; many items, filled up with the other sets and with paragraphs of the Markdown files
below DIR (documentation of public projects; filler counts as off topic). Intervals are Wilson's at 95%.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.injection_baselines import BASELINES, injecting
from bench.injection_sets import LabelledSet, Prompt, Store, build, filler_of, is_set, read_set, stores
from knowbound.config import Settings
from knowbound.core.item import Item
from knowbound.injection.calibration import PromptInjection
from knowbound.injection.hook_settings import HookSettings
from knowbound.injection.inject import choose_for_prompt
from knowbound.injection.prompt import HookPrompt
from knowbound.kms.index.ranking import RELEVANCE_FLOOR
from knowbound.stats.floor import (
    FLOORS,
    NUMBERS,
    FloorPoint,
    FloorTarget,
    Injecting,
    Trial,
    held_out_rates,
    rates_at,
    recommended_floor,
)
from knowbound.stats.printing import percent, percent_range
from knowbound.stats.rate import Rate

SIZES = (5, 100, 5000)
OWN = Path(__file__).parent / "prompts"  # by two authors who had not seen the code; measured once, not tuned on
_LENGTHS = ("short", "medium", "long")
_WANTED = FloorTarget()
_OURS = "knowbound"
_COMPARED = tuple(one for one in BASELINES if 0 < one.floor < 1)  # in every group of prompts
_BESIDE = 10  # width of a column
# The time limit is off: how long the hook takes is measured by bench/hook.py.
_DEFAULTS = Settings(root=Path(), home=Path())
MOST_ITEMS = _DEFAULTS.injection_most_items
SETTINGS = HookSettings(
    time_limit_ms=600_000,
    token_budget=_DEFAULTS.injection_token_budget,
    relevance_floor=None,
    most_items=MOST_ITEMS,
    subject="",
    is_shared=False,
)


class Asked(NamedTuple):
    """A prompt asked in a store: what every way to choose would inject, and how ours ranked the items."""

    prompt: Prompt
    trials: dict[str, Trial]
    ranked: list[str]  # by ours, whatever the floor
    relevance: dict[str, float]

    @property
    def place(self) -> int | None:
        """The rank of the first right item, from 1."""
        return next((at for at, id_ in enumerate(self.ranked, 1) if id_ in self.prompt.label.right), None)


def ask(store: Store) -> list[Asked]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / ".knowbound"
        build(home, store.items)
        scorings = {scoring: scoring(store.items) for scoring in {one.scoring for one in BASELINES}}
        asked = []
        for prompt in store.prompts:
            ours = PromptInjection(prompt.label.prompt, str(home), SETTINGS)
            scored = {scoring: injecting(score(prompt.label.prompt)) for scoring, score in scorings.items()}
            ways: dict[str, Injecting] = {_OURS: ours, **{one.name: scored[one.scoring] for one in BASELINES}}
            right, on_topic = frozenset(prompt.label.right), frozenset(prompt.label.on_topic)
            trials = {name: Trial(prompt.label.id, right, on_topic, way) for name, way in ways.items()}
            relevance = {item.id: item.relevance for item in ours.ranked}
            asked.append(Asked(prompt, trials, list(relevance), relevance))
            _check(prompt, ours, home)
    return asked


def _check(prompt: Prompt, ours: PromptInjection, home: Path) -> None:
    """That the figures are about what the hook does."""
    choice = choose_for_prompt(str(home), SETTINGS, HookPrompt({"prompt": prompt.label.prompt}))
    chosen = [item.id for item in choice.items]
    if chosen != list(ours(RELEVANCE_FLOOR, MOST_ITEMS)):
        raise SystemExit(f"{prompt.label.id}: the hook injects {chosen}, not what is measured here")


# Tables


def report(title: str, asked: Sequence[Asked]) -> None:
    needing = [one for one in asked if one.prompt.label.right]
    left_alone = sum(not one.trials[_OURS].right for one in asked)
    print(f"\n{title}: {len(asked)} prompts, {len(needing)} need an item, {left_alone} need nothing")
    print(f"  {'':24}{'right item injected':>28}{'injected items on topic':>30}{'left alone':>26}")
    _line(_OURS, rates_at(_trials(asked, _OURS), RELEVANCE_FLOOR, MOST_ITEMS))
    for one in BASELINES:
        _line(one.name, rates_at(_trials(asked, one.name), one.floor, one.most))
    heads = "".join(f"{name:>{_BESIDE}}" for name in (*(one.name for one in _COMPARED), "ranked 1", "in 5", "in 20"))
    print(f"    {'right item injected':20}{'':26}{heads}")
    _groups("all", needing, lambda _: "")
    _groups("length", needing, lambda one: one.prompt.length, _LENGTHS)
    wordings = sorted({one.prompt.wording for one in needing}, reverse=True)
    _groups("wording", needing, lambda one: one.prompt.wording, wordings)
    for wording in wordings if len(wordings) > 1 else ():
        _groups(
            wording, [one for one in needing if one.prompt.wording == wording], lambda one: one.prompt.length, _LENGTHS
        )
    _groups("language", needing, lambda one: one.prompt.language)
    _groups("kind", needing, lambda one: one.prompt.kind)


def _line(name: str, point: FloorPoint) -> None:
    print(f"  {name:24}{_shown(point.right):>28}{_shown(point.on_topic):>30}{_shown(point.left_alone):>26}")


def _groups(title: str, asked: Sequence[Asked], group_of: Callable[[Asked], str], groups: Iterable[str] = ()) -> None:
    for group in groups or sorted(set(map(group_of, asked))):
        inside = [one for one in asked if group_of(one) == group]
        if inside and group != "?":
            ours = rates_at(_trials(inside, _OURS), RELEVANCE_FLOOR, MOST_ITEMS).right
            rates = [rates_at(_trials(inside, one.name), one.floor, one.most).right for one in _COMPARED]
            rates += [Rate(sum((one.place or 10**9) <= most for one in inside), len(inside)) for most in (1, 5, 20)]
            cells = "".join(f"{percent(rate.value):>{_BESIDE}}" for rate in rates)
            print(f"    {f'{title} {group}':20}{_shown(ours):>26}{cells}")


def _shown(rate: Rate) -> str:
    return f"{percent(rate.value)} ({rate.k} of {rate.n}, {percent_range(rate.interval)})" if rate.n else "–"


def report_curve(asked: Sequence[Asked]) -> None:
    """Print what other floors and other numbers of items would give."""
    trials = _trials(asked, _OURS)
    floors = [floor for step in range(-6, 7) if 0 < (floor := round(RELEVANCE_FLOOR + 0.03 * step, 2)) < 1]
    heads = "".join(f"{name:>20}" for name in ("right own", "right other", "on topic", "left alone"))
    print(f"  {'floor':>7}{'most':>6}{'prompts':>10}{heads}")
    for floor in floors:
        _curve_line(asked, floor, MOST_ITEMS)
    for most in NUMBERS:
        _curve_line(asked, RELEVANCE_FLOOR, most)
    print(f"  Lowest floor with {_WANTED.precision:.0%} on topic and {_WANTED.left_alone:.0%} left alone")
    for name, numbers in (("any number", NUMBERS), (f"{MOST_ITEMS} items", [MOST_ITEMS])):
        point = recommended_floor(trials, _WANTED, numbers)
        if point is None:
            print(f"  {name}: none")
            continue
        _line(f"{point.floor:.2f}, at most {point.most_items}", point)
        left_out = held_out_rates(trials, _WANTED, numbers)
        if left_out is not None:
            _line("  held out, in fifths", left_out)


def _curve_line(asked: Sequence[Asked], floor: float, most: int) -> None:
    point = rates_at(_trials(asked, _OURS), floor, most)
    own, other = (
        rates_at(_trials([one for one in asked if one.prompt.wording == wording], _OURS), floor, most).right
        for wording in ("own", "other")
    )
    cells = "".join(f"{_short(rate):>20}" for rate in (own, other, point.on_topic, point.left_alone))
    print(f"  {floor:>7.2f}{most:>6}{point.prompts.k:>10}{cells}")


def _short(rate: Rate) -> str:
    return f"{rate.k} of {rate.n}  {percent(rate.value):>6}" if rate.n else "–"


def report_rows(asked: Sequence[Asked]) -> None:
    """Print each prompt: the rank and relevance of its right item, and what is injected: ✓ right, + on topic, − not."""
    for one in asked:
        label, place = one.prompt.label, one.place
        injected = one.trials[_OURS].injecting(RELEVANCE_FLOOR, MOST_ITEMS)
        marks = [("✓" if id_ in label.right else "+" if id_ in label.on_topic else "−") + id_ for id_ in injected]
        right = f"{place:>3} {one.relevance[one.ranked[place - 1]]:.2f}" if place else "  –     " if label.right else ""
        about = f"{one.prompt.length:6} {one.prompt.wording:5} {one.prompt.language}"
        shown = " ".join(f"{mark} {one.relevance[mark[1:]]:.2f}" for mark in marks)
        print(f"  {label.id:10} {about:16} {right:8} {shown}")


def report_floors(asked: Sequence[Asked]) -> None:
    """Print the best floor of each baseline here: what the constants in their file come from.

    Where none gives what is wanted, the best F0.5 of items on topic and prompts with a right one.
    """
    for one in _COMPARED:
        trials = _trials(asked, one.name)
        best = recommended_floor(trials, _WANTED)
        points = [] if best else [rates_at(trials, floor, most) for floor in FLOORS for most in NUMBERS]
        chosen = best or max(points, key=_f_half)
        print(f"  {one.name}: floor {chosen.floor:.2f}, {chosen.most_items} items{'' if best else ' (best F0.5)'}")


def _f_half(point: FloorPoint) -> float:
    precision, recall = point.on_topic.value or 0.0, point.right.value or 0.0
    return 1.25 * precision * recall / (0.25 * precision + recall) if precision and recall else 0.0


def _trials(asked: Sequence[Asked], name: str) -> list[Trial]:
    return [one.trials[name] for one in asked]


def report_shared(folder: Path) -> None:
    """Print our own sets and those of a folder of data, as they are."""
    paths = (*sorted(OWN.glob("*/")), folder / "turns.jsonl", *sorted(folder.glob("*/")))
    sets = [read_set(path) for path in paths if is_set(path)]
    given = argparse.Namespace(curve=True, rows=False, floors=False)
    print(f"What the hook injects for labelled prompts; floor {RELEVANCE_FLOOR:.2f}, at most {MOST_ITEMS} items")
    for one in sets:
        report_size([one], len(one.items), [], given)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.injection")
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--items", nargs="+", type=int, default=SIZES, metavar="N", help="sizes of the store")
    parser.add_argument("--filler", type=Path, metavar="DIR", help="a folder with Markdown files to fill large stores")
    parser.add_argument("--curve", action="store_true", help="also over floors and numbers of items")
    parser.add_argument("--rows", action="store_true", help="also each prompt")
    parser.add_argument("--floors", action="store_true", help="also the best floor of each baseline")
    given = parser.parse_args()
    sets = [read_set(path) for path in given.sets]
    filler = filler_of(given.filler) if given.filler else []
    for size in given.items:
        print(f"\n=== {size:,} items; floor {RELEVANCE_FLOOR:.2f}, at most {MOST_ITEMS} items")
        report_size(sets, size, filler, given)


def report_size(sets: list[LabelledSet], size: int, filler: list[Item], given: argparse.Namespace) -> None:
    together: list[Asked] = []
    for one in sets:
        made = stores(one, size, [other for other in sets if other is not one], filler)
        held = max(len(store.items) for store in made)
        if size > 2 * len(one.items) and held < size:
            print(f"Set {one.name} at {size:,} items is left out: there are only {held:,} (--filler DIR brings more).")
            continue
        asked = [row for store in made for row in ask(store)]
        together += asked
        _report(f"Set {one.name} ({held:,} items)", asked, given)
    if len(sets) > 1 and together:
        _report("All sets", together, given)


def _report(title: str, asked: list[Asked], given: argparse.Namespace) -> None:
    report(title, asked)
    if given.curve:
        report_curve(asked)
    if given.floors:
        report_floors(asked)
    if given.rows and title != "All sets":
        report_rows(asked)


if __name__ == "__main__":
    main()
