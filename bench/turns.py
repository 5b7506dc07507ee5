"""How far the embedded judge of turns can be trusted: `python -m bench.turns [SET…]`.

Without arguments: cross-validated by source (each set is judged with weights learnt from the others, thresholds
included) and on the turns kept aside (with the shipped weights, which never saw them), per question with 95% intervals,
by set and by language, beside two baselines. SET is a file of labelled turns: it is judged with the shipped weights.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.train_turns import examples, fit, learnable_turns
from bench.turn_sets import LabelledTurn, all_sets, read_set
from knowbound.core.quality import ItemVerdict, JudgedItem, JudgedTurn, Metric
from knowbound.judge.turns.rules import RulesTurnJudge
from knowbound.stats.calibration import Calibration, Estimate, Pair, Share, calibrate, cohen_kappa
from knowbound.text.stop_words import STOP_WORDS

_WORD = re.compile(r"[^\W_]+|[\u4e00-\u9fff]")


class Judged(NamedTuple):
    """What a judge said about an item of a labelled turn."""

    turn: LabelledTurn
    at: int
    said: dict[Metric, bool]

    def pair(self, metric: Metric) -> Pair:
        """Label and verdict; the items of one turn are alike."""
        return Pair(self.turn.labels[self.at].says(metric), self.said[metric], session=self.turn.turn.id)


def main() -> None:
    """Measure the files that are named, or everything there is."""
    if sys.argv[1:]:
        for name in sys.argv[1:]:
            turns = read_set(Path(name))
            _report(f"{Path(name).stem}, shipped weights", judged(turns, RulesTurnJudge()), turns)
        return
    seen, aside = learnable_turns(), [turn for turn in all_sets() if turn.is_aside]
    found = cross_validated(seen)
    for name, is_real in (("written", False), ("real", True)):
        of_kind = [one for one in found if one.turn.is_real == is_real]
        if of_kind:
            _report(f"{name}, each source left out", of_kind, [turn for turn in seen if turn.is_real == is_real])
    seen = [turn for turn in seen if not turn.is_real]
    _report("aside, shipped weights", judged(aside, RulesTurnJudge()), aside)
    print("\nbaselines, on what is aside\n")
    _lines("word overlap, thresholds from the rest", _overlap_baseline(seen, aside))
    _lines("always no", [Judged(turn, at, dict.fromkeys(Metric, False)) for turn, at in _items(aside)])


def judged(turns: Sequence[LabelledTurn], judge: RulesTurnJudge) -> list[Judged]:
    found = judge.judge([turn.turn for turn in turns])
    return [
        Judged(turn, at, _said(verdict))
        for turn, answer in zip(turns, found, strict=True)
        for at, verdict in enumerate(answer.verdicts)
    ]


def cross_validated(turns: Sequence[LabelledTurn]) -> list[Judged]:
    """Each set judged with weights that were learnt from the others."""
    learnable = examples(turns)
    found: list[Judged] = []
    for name in sorted({turn.set for turn in turns}):
        weights = fit([one for one in learnable if one.turn.set != name])
        found += judged([turn for turn in turns if turn.set == name], RulesTurnJudge(weights))
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


def _report(title: str, found: Sequence[Judged], turns: Sequence[LabelledTurn]) -> None:
    print(f"\n{title}: {len(turns)} turns, {len(found)} items\n")
    _lines("all", found)
    _by("set", found, lambda turn: turn.set)
    _by("language", found, lambda turn: turn.language)


def _by(what: str, found: Sequence[Judged], key: Callable[[LabelledTurn], str]) -> None:
    names = sorted({key(one.turn) for one in found})
    if len(names) < 2:
        return
    for name in names:
        _lines(f"{what} {name}", [one for one in found if key(one.turn) == name])


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
