"""Learns the weights of the embedded judge of turns: `python -m bench.train_turns` writes them into the package.

A logistic regression per question, over features of the item (`knowbound/judge/turns/features.py`). It learns from the
written turns that are not kept aside (`bench/turn_sets.py`) and from real ones (`bench/real_turns.py`). The penalty and
the thresholds are chosen by leaving whole sets out: what is learnt from some authors has to hold for the others.
`python -m bench.turns` measures it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.real_turns import real_turns
from bench.turn_sets import Label, LabelledTurn, all_sets
from knowbound.core.quality import Metric
from knowbound.judge.turns.features import turn_features
from knowbound.judge.turns.passages import TurnText
from knowbound.judge.turns.rules import MetricWeights, TurnWeights

WEIGHTS = Path(__file__).parents[1] / "src" / "knowbound" / "judge" / "turns" / "turn_weights.json"
Numbers = NDArray[np.float64]

_DIGITS = 4
_ROUNDS = 60
# Chosen by leaving sets out, as are the features that a question does better without (`features_for`).
_PENALTY = {Metric.ON_TOPIC: 60.0, Metric.USED: 100.0, Metric.CONTRADICTED: 100.0}
# Written turns for one real turn, of which there are few. Only seven real items are contradicted: those weigh no more.
_REAL_COUNTS = {Metric.ON_TOPIC: 3.0, Metric.USED: 3.0, Metric.CONTRADICTED: 1.0}
# Of the log-odds. Real turns left out are used more often than the odds say, and written ones lose nothing by it.
_THRESHOLD = {Metric.USED: -0.5}
_WANTED_PRECISION = 0.8  # of contradictions
_FEWEST = 8  # that it is known from
_LOCAL = ("s_", "n_", "e_", "b_", "m_")
_EVIDENCE = (
    "c_",
    "x_",
    "k_",
    "o_missing",
    "mem",
    "aligned",
    "rejected",
    "slot",
    "polarity",
    "opposite",
    "all_unverified",
)


class Example(NamedTuple):
    turn: LabelledTurn
    label: Label
    features: dict[str, float]


def main() -> None:
    learnt = fit(examples(learnable_turns()))
    WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(learnt, order="sorted"), indent=1) + b"\n")
    print(f"weights {learnt.fingerprint} in {WEIGHTS.name}")


def learnable_turns() -> list[LabelledTurn]:
    """Everything that may be learnt from."""
    return [*(turn for turn in all_sets() if not turn.is_aside), *real_turns()]


def examples(turns: Sequence[LabelledTurn]) -> list[Example]:
    return [
        Example(turn, label, found.features)
        for turn in turns
        for label, found in zip(turn.labels, turn_features(TurnText(turn.turn), turn.turn.items), strict=True)
    ]


def is_local(name: str) -> bool:
    """Report whether a feature is local evidence, or is multiplied by the item's length."""
    return name.startswith(_LOCAL) or name.endswith("_long")


def is_evidence(name: str) -> bool:
    """Report whether a feature is evidence of a contradiction."""
    return name.startswith(_EVIDENCE)


def features_for(metric: Metric, names: Iterable[str]) -> list[str]:
    """What is weighed for a question: on topic no evidence of a contradiction, contradicted no local evidence."""
    left_out = {Metric.ON_TOPIC: is_evidence, Metric.CONTRADICTED: is_local}.get(metric)
    return sorted(name for name in names if left_out is None or not left_out(name))


def fit(learnt_from: Sequence[Example]) -> TurnWeights:
    return TurnWeights(*(_fit_metric(learnt_from, metric) for metric in Metric))


def _fit_metric(learnt_from: Sequence[Example], metric: Metric) -> MetricWeights:
    names = features_for(metric, learnt_from[0].features)
    x = np.array([[one.features[name] for name in names] for one in learnt_from])
    y = np.array([float(one.label.says(metric)) for one in learnt_from])
    sets = np.array([one.turn.set for one in learnt_from])
    counts = _counts(sets, metric)
    bias, weights = _regression(x, y, counts, _PENALTY[metric])
    return MetricWeights(
        bias=round(bias, _DIGITS),
        threshold=round(_threshold(x, y, sets, metric), _DIGITS),
        features={name: round(float(one), _DIGITS) for name, one in zip(names, weights, strict=True)},
    )


def out_of_fold(x: Numbers, y: Numbers, sets: NDArray[np.str_], metric: Metric) -> Numbers:
    """The score of every example by weights that were learnt from the other sets."""
    scores, counts = np.zeros(len(y)), _counts(sets, metric)
    for one in sorted(set(sets.tolist())):
        out = sets == one
        bias, weights = _regression(x[~out], y[~out], counts[~out], _PENALTY[metric])
        scores[out] = bias + x[out] @ weights
    return scores


def _threshold(x: Numbers, y: Numbers, sets: NDArray[np.str_], metric: Metric) -> float:
    """Where to say yes: for contradictions the wanted precision, from scores out of fold; else what is fixed above.

    Thresholds fitted for the best agreement out of fold lost two points of κ on sets left out.
    """
    if metric is not Metric.CONTRADICTED or len(set(sets.tolist())) < 2:
        return _THRESHOLD.get(metric, 0.0)
    scores = out_of_fold(x, y, sets, metric)
    return _precise_enough(scores, y)


def _precise_enough(scores: Numbers, y: Numbers) -> float:
    """The lowest threshold above which the wanted share is contradicted; what is likely if none is that sure."""
    for at in (step / 10 for step in range(-20, 30)):
        called = scores > at
        if called.sum() >= _FEWEST and y[called].mean() >= _WANTED_PRECISION:
            return at
    return 0.0


def _counts(sets: NDArray[np.str_], metric: Metric) -> Numbers:
    """How much an example of each set counts."""
    return np.where(np.char.startswith(sets, "real "), _REAL_COUNTS[metric], 1.0)


def _regression(x: Numbers, y: Numbers, counts: Numbers, penalty: float) -> tuple[float, Numbers]:
    """A logistic regression by Newton's method, on features of one scale; bias and weights for them as they are."""
    mean = np.average(x, axis=0, weights=counts)
    scale = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=counts)) + 1e-6
    z = np.column_stack([np.ones(len(x)), (x - mean) / scale])
    ridge = np.full(z.shape[1], penalty)
    ridge[0] = 1e-6
    beta = np.zeros(z.shape[1])
    for _ in range(_ROUNDS):
        share = 1 / (1 + np.exp(-np.clip(z @ beta, -30, 30)))
        gradient = z.T @ (counts * (share - y)) + ridge * beta
        hessian = (z * (counts * share * (1 - share))[:, None]).T @ z + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        beta -= step
        if np.abs(step).max() < 1e-8:
            break
    weights = beta[1:] / scale
    return float(beta[0] - weights @ mean), weights


if __name__ == "__main__":
    main()
