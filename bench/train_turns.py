"""Learns the weights of the embedded judge of turns: `python -m bench.train_turns` writes them into the package.

A logistic regression per question, over features of the item (`knowbound/judge/turns/features.py`). It learns from the
turns that are not kept aside (`bench/turn_sets.py`). The penalty and the thresholds are chosen by leaving whole sets
out: what is learnt from some authors has to hold for the others. `python -m bench.turns` measures it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.turn_sets import Label, LabelledTurn, all_sets
from knowbound.core.quality import Metric
from knowbound.judge.turns.features import is_evidence, turn_features
from knowbound.judge.turns.passages import TurnText
from knowbound.judge.turns.rules import MetricWeights, TurnWeights

WEIGHTS = Path(__file__).parents[1] / "src" / "knowbound" / "judge" / "turns" / "turn_weights.json"
Numbers = NDArray[np.float64]

_DIGITS = 4
_ROUNDS = 60
# Chosen by leaving sets out, as is that on-topic does better without the evidence of contradiction.
_PENALTY = {Metric.ON_TOPIC: 100.0, Metric.USED: 30.0, Metric.CONTRADICTED: 100.0}
_WANTED_PRECISION = 0.8  # of contradictions
_FEWEST = 8  # that it is known from


class Example(NamedTuple):
    """An item of a labelled turn."""

    turn: LabelledTurn
    label: Label
    features: dict[str, float]


def main() -> None:
    """Learn from everything that is not kept aside and write the weights."""
    learnt = fit(examples([turn for turn in all_sets() if not turn.is_aside]))
    WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(learnt, order="sorted"), indent=1) + b"\n")
    print(f"weights {learnt.fingerprint} in {WEIGHTS.name}")


def examples(turns: Sequence[LabelledTurn]) -> list[Example]:
    """The items of the turns, with their features."""
    return [
        Example(turn, label, found.features)
        for turn in turns
        for label, found in zip(turn.labels, turn_features(TurnText(turn.turn), turn.turn.items), strict=True)
    ]


def relevance_features(several: Sequence[Example]) -> list[str]:
    """The features that are no evidence of a contradiction."""
    return [name for name in several[0].features if not is_evidence(name)]


def fit(learnt_from: Sequence[Example]) -> TurnWeights:
    """The weights of the three questions."""
    return TurnWeights(*(_fit_metric(learnt_from, metric) for metric in Metric))


def _fit_metric(learnt_from: Sequence[Example], metric: Metric) -> MetricWeights:
    names = sorted(learnt_from[0].features if metric is not Metric.ON_TOPIC else relevance_features(learnt_from))
    x = np.array([[one.features[name] for name in names] for one in learnt_from])
    y = np.array([float(one.label.says(metric)) for one in learnt_from])
    sets = np.array([one.turn.set for one in learnt_from])
    bias, weights = _regression(x, y, _PENALTY[metric])
    return MetricWeights(
        bias=round(bias, _DIGITS),
        threshold=round(_threshold(x, y, sets, metric), _DIGITS),
        features={name: round(float(one), _DIGITS) for name, one in zip(names, weights, strict=True)},
    )


def out_of_fold(x: Numbers, y: Numbers, sets: NDArray[np.str_], penalty: float) -> Numbers:
    """The score of every example by weights that were learnt from the other sets."""
    scores = np.zeros(len(y))
    for one in sorted(set(sets.tolist())):
        out = sets == one
        bias, weights = _regression(x[~out], y[~out], penalty)
        scores[out] = bias + x[out] @ weights
    return scores


def _threshold(x: Numbers, y: Numbers, sets: NDArray[np.str_], metric: Metric) -> float:
    """Where to say yes: what is more likely than not; for contradictions the wanted precision, from scores out of fold.

    A threshold for the best agreement out of fold was tried for the other two: it lost two points of κ on sets left
    out.
    """
    if metric is not Metric.CONTRADICTED or len(set(sets.tolist())) < 2:
        return 0.0
    scores = out_of_fold(x, y, sets, _PENALTY[metric])
    return _precise_enough(scores, y)


def _precise_enough(scores: Numbers, y: Numbers) -> float:
    """The lowest threshold above which the wanted share is contradicted; what is likely if none is that sure."""
    for at in (step / 10 for step in range(-20, 30)):
        called = scores > at
        if called.sum() >= _FEWEST and y[called].mean() >= _WANTED_PRECISION:
            return at
    return 0.0


def _regression(x: Numbers, y: Numbers, penalty: float) -> tuple[float, Numbers]:
    """A logistic regression by Newton's method, on features of one scale; bias and weights for them as they are."""
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
    z = np.column_stack([np.ones(len(x)), (x - mean) / scale])
    ridge = np.full(z.shape[1], penalty)
    ridge[0] = 1e-6
    beta = np.zeros(z.shape[1])
    for _ in range(_ROUNDS):
        share = 1 / (1 + np.exp(-np.clip(z @ beta, -30, 30)))
        gradient = z.T @ (share - y) + ridge * beta
        hessian = (z * (share * (1 - share))[:, None]).T @ z + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        beta -= step
        if np.abs(step).max() < 1e-8:
            break
    weights = beta[1:] / scale
    return float(beta[0] - weights @ mean), weights


if __name__ == "__main__":
    main()
