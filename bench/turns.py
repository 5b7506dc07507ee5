"""How far judges of turns can be trusted: `python -m bench.turns [--answers FOLDER] [SET…]`.

SET is `turns` (the unseen written turns, by default), `hostile`, `real` (entries written for turns of real sessions),
or `developed` (the turns that the limits of the rules were chosen on). Each is judged by the rules and by the recorded
answers of a large model (`bench/answers`; those about real sessions are not part of the repository: FOLDER has them),
beside two plain baselines: word overlap, with thresholds from the developed turns, and always no. The half that is kept
aside is shown as a total alone.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.real_turns import written_items
from bench.recorded_sets import UNSEEN, asker_of, recording_of
from bench.turn_sets import LabelledTurn, all_sets, is_aside, read_set
from knowbound.core.quality import ItemVerdict, JudgedItem, JudgedTurn, Metric
from knowbound.judge.model_judges import ModelTurnJudge
from knowbound.judge.turns import RulesTurnJudge, TurnJudge
from knowbound.stats.calibration import Calibration, Estimate, Pair, Share, calibrate, cohen_kappa
from knowbound.text.english import STOP_WORDS

_WORD = re.compile(r"[^\W_]+|[\u4e00-\u9fff]")
_SETS: dict[str, Callable[[], list[LabelledTurn]]] = {
    "turns": lambda: read_set(UNSEEN / "turns.jsonl"),
    "hostile": lambda: read_set(UNSEEN / "hostile_turns.jsonl"),
    "real": written_items,
    "developed": all_sets,
}


class Judged(NamedTuple):
    """What a judge said about an item of a labelled turn."""

    turn: LabelledTurn
    at: int
    said: dict[Metric, bool]

    def pair(self, metric: Metric) -> Pair:
        """Label and verdict; the items of one turn are alike."""
        return Pair(self.turn.labels[self.at].says(metric), self.said[metric], session=self.turn.turn.id)


def main() -> None:
    """Measure the sets that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help="turns, hostile, real, developed")
    parser.add_argument("--answers", type=Path, help="the folder with answers about real sessions")
    given = parser.parse_args()
    developed = [turn for turn in all_sets() if not turn.is_aside]
    for name in given.sets or ["turns"]:
        turns = _SETS[name]()
        print(f"\n{name}: {len(turns)} turns, {sum(len(one.labels) for one in turns)} items")
        for judge, found in _judged_sets(name, turns, developed, given.answers):
            aside = [one for one in found if is_aside(one.turn.turn.id)]
            print(f"\n {judge}")
            _lines("all", found)
            _lines("kept aside", aside)
            if judge != "always no":
                _by("kind", found, lambda one: one.turn.kinds[one.at] if one.turn.kinds else "")
                _by("language", found, lambda one: one.turn.language)


def _judged_sets(
    name: str, turns: Sequence[LabelledTurn], developed: Sequence[LabelledTurn], folder: Path | None
) -> Iterable[tuple[str, list[Judged]]]:
    yield "rules", judged(turns, RulesTurnJudge())
    if name in ("turns", "hostile") or (name == "real" and folder):
        path = recording_of(name, folder and folder / name)
        yield f"a large model, recorded ({path.name})", judged(turns, ModelTurnJudge("recorded", True, asker_of(path)))
    yield "baseline: word overlap", _overlap_baseline(developed, turns)
    yield "always no", [Judged(turn, at, dict.fromkeys(Metric, False)) for turn, at in _items(turns)]


def judged(turns: Sequence[LabelledTurn], judge: TurnJudge) -> list[Judged]:
    """The verdicts on the items; an item without a verdict counts as no."""
    found = []
    for turn, answer in zip(turns, judge.judge([turn.turn for turn in turns]), strict=True):
        by_item = {verdict.item: verdict for verdict in answer.verdicts}
        for at, item in enumerate(turn.turn.items):
            given = by_item.get(item.id)
            found.append(Judged(turn, at, _said(given) if given else dict.fromkeys(Metric, False)))
    return found


def _said(verdict: ItemVerdict) -> dict[Metric, bool]:
    return {metric: verdict.says(metric) for metric in Metric}


def _items(turns: Iterable[LabelledTurn]) -> list[tuple[LabelledTurn, int]]:
    return [(turn, at) for turn in turns for at in range(len(turn.labels))]


# The baseline


def _overlap_baseline(seen: Sequence[LabelledTurn], aside: Sequence[LabelledTurn]) -> list[Judged]:
    """Yes where enough of an item's words are in the prompt (on topic) or the response and the calls (used)."""
    thresholds = {metric: _best_threshold(seen, metric) for metric in (Metric.ON_TOPIC, Metric.USED)}
    return [
        Judged(
            turn,
            at,
            {
                Metric.CONTRADICTED: False,
                **{
                    metric: _overlap(turn.turn, turn.turn.items[at], metric) > best
                    for metric, best in thresholds.items()
                },
            },
        )
        for turn, at in _items(aside)
    ]


def _best_threshold(turns: Sequence[LabelledTurn], metric: Metric) -> float:
    shares = [
        (_overlap(turn.turn, turn.turn.items[at], metric), turn.labels[at].says(metric)) for turn, at in _items(turns)
    ]
    return max(
        (step / 50 for step in range(50)), key=lambda best: _kappa((label, share > best) for share, label in shares)
    )


def _kappa(pairs: Iterable[tuple[bool, bool]]) -> float:
    cells = {(a, b): 0 for a in (True, False) for b in (True, False)}
    for pair in pairs:
        cells[pair] += 1
    return cohen_kappa(cells[True, True], cells[True, False], cells[False, True], cells[False, False]) or 0.0


def _overlap(turn: JudgedTurn, item: JudgedItem, metric: Metric) -> float:
    calls = " ".join(str(call.input) for call in turn.tool_calls)
    other = _words(turn.prompt if metric is Metric.ON_TOPIC else f"{turn.response} {calls}")
    own = _words(item.content)
    return len(own & other) / len(own) if own else 0.0


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - STOP_WORDS


# Printing


def _by(what: str, found: Sequence[Judged], key: Callable[[Judged], str]) -> None:
    names = sorted({key(one) for one in found})
    if len(names) < 2:
        return
    for name in names:
        _lines(f"{what} {name}", [one for one in found if key(one) == name])


def _lines(name: str, found: Sequence[Judged]) -> None:
    for metric in Metric:
        print(f"  {name:40} {metric.value:13} {_figures(calibrate(one.pair(metric) for one in found))}")


def _figures(one: Calibration) -> str:
    return (
        f"κ {_shown(one.kappa)}  precision {_shown(one.precision)}  recall {_shown(one.sensitivity)}"
        f"  agreement {_shown(one.agreement)}  yes {one.true_yes + one.false_no} of {one.n}"
    )


def _shown(figure: Estimate | Share) -> str:
    if figure.value is None or figure.low is None or figure.high is None:
        return "unknown".ljust(17)
    return f"{figure.value:.2f} ({figure.low:.2f}–{figure.high:.2f})".ljust(17)


if __name__ == "__main__":
    main()
