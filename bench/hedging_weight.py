"""Whether a judged hedge weighs 0.5 or 1.0: `python -m bench.hedging_weight` prints the reliability curves.

Specification 1, section 4, source 3: "Upgrading the weight to 1.0 has to wait until a confidence-calibration
experiment". A signal of weight 1.0 is a hard fact, so of the sentences that a judge calls doubt with a confidence,
about that share has to be doubt, and nearly all at a high one. docs/decisions/models.md has the decision.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from bench.recorded_sets import asker_of, hedges, recording_of
from bench.train_hedging import examples, fit
from knowbound.core.signal import HedgingVerdict
from knowbound.judge.hedging.rules import RulesJudge
from knowbound.judge.model_judges import ModelHedgingJudge
from knowbound.stats.rate import Rate

_EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.01)
_FOLDS = 8
Said = tuple[float, bool]  # confidence that it is doubt, and whether it is


def main() -> None:
    rows = hedges()
    by_rules = [(one.uncertain, RulesJudge().judge([one.candidate])[0]) for one in rows]
    _print(f"rules, {len(rows)} written sentences with context", _said(by_rules))
    model = ModelHedgingJudge("recorded", True, asker_of(recording_of("hedges")))
    _print("a large model, recorded, the same", _said([(one.uncertain, model.known(one.candidate)) for one in rows]))
    _print("rules, real sentences, out of fold by project", _real())


def _said(pairs: Sequence[tuple[bool, HedgingVerdict | None]]) -> list[Said]:
    return [(said.confidence, uncertain) for uncertain, said in pairs if said is not None and said.is_uncertainty]


def _real() -> list[Said]:
    """Verdicts of weights that never saw the project of the sentence."""
    every = [one for one in examples() if not one.aside and one.source != "written"]
    real = [one for one in every if one.source in ("shared", "reader", "ours")]
    projects = sorted({one.project for one in real})
    found: list[Said] = []
    for fold in range(_FOLDS):
        left = {project for at, project in enumerate(projects) if at % _FOLDS == fold}
        judge = RulesJudge(fit([one for one in every if one.project not in left]))
        for one in real:
            if one.project in left and one.candidates:
                found += _said([(one.uncertain, max(judge.judge(one.candidates), key=_confidence))])
    return found


def _confidence(verdict: HedgingVerdict | None) -> float:
    return verdict.confidence if verdict is not None and verdict.is_uncertainty else 0.0


def _print(name: str, said: Sequence[Said]) -> None:
    print(f"{name}: {len(said)} called doubt, right {Rate(sum(right for _, right in said), len(said))}")
    error = 0.0
    for low, high in itertools.pairwise(_EDGES):
        part = [one for one in said if low <= one[0] < high]
        if part:
            mean = sum(confidence for confidence, _ in part) / len(part)
            right = Rate(sum(is_right for _, is_right in part), len(part))
            error += len(part) / len(said) * abs(mean - (right.value or 0.0))
            print(f"  said {low:.2f}–{min(high, 1.0):.2f} (mean {mean:.2f}): right {right}")
    print(f"  expected calibration error {error:.2f}")


if __name__ == "__main__":
    main()
