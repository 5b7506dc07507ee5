"""How likely it is that the best passage answers the question: a logistic regression over features of the match.

A word of the question may be missing because the passage paraphrases it, or because the knowledge is not there; what
else is missing, how much is met, and how far the passage is ahead of the others tell the two apart. The weights are
learnt from labelled questions by `bench/train_consult.py` and shipped beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib import resources

import msgspec

from knowbound.documents.matching import BlockMatch, WeightedTerm
from knowbound.text.markdown import BlockKind

SPEAKS_OF_ALL = 0.9  # covered to this share, it does not matter that a TODO mentions it too
_HARDLY_MET, _EXACT = 0.4, 0.99


class AnswerWeights(msgspec.Struct, frozen=True):
    """The weight of each feature: positive speaks for an answer."""

    bias: float
    features: dict[str, float]


@cache
def shipped_weights() -> AnswerWeights:
    """The weights that come with the package."""
    data = resources.files("knowbound.documents").joinpath("answer_weights.json").read_bytes()
    return msgspec.json.decode(data, type=AnswerWeights)


def likelihood(
    matches: Sequence[BlockMatch], terms: Sequence[WeightedTerm], weights: AnswerWeights | None = None
) -> float:
    """The likelihood, 0 to 1, that the first of these matches answers the question."""
    weights = shipped_weights()
    score = weights.bias + sum(weights.features[name] * value for name, value in features_of(matches, terms).items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def features_of(matches: Sequence[BlockMatch], terms: Sequence[WeightedTerm]) -> dict[str, float]:
    """The features of the best match; counts are scaled to about one."""
    best = matches[0]
    total = sum(term.weight for term in terms) or 1.0
    met = list(zip(terms, best.met, strict=True))
    open_ = [term.weight for term, one in met if one < _HARDLY_MET]
    others = [one.nearness for one in matches[1:] if one.indexed is not best.indexed]
    promised = 0.0 if best.coverage >= SPEAKS_OF_ALL else max(0.0, best.promised - best.coverage)
    return {
        "coverage": best.coverage,
        "word_for_word": sum(term.weight for term, one in met if one >= _EXACT) / total,
        "terms": len(terms) / 10,
        "open": len(open_) / 10,
        "open_weight": sum(open_) / 5,
        "most_open": max(open_, default=0.0),
        "open_and_known": best.left_open,
        "sought_open": float(best.sought_open),
        "one_word": float(best.one_word),
        "promised_elsewhere": promised,
        "gives_kind": float(best.has_kind),
        "in_a_list": float(best.entry.block.kind in (BlockKind.ITEM, BlockKind.ROW)),
        "nearness": best.nearness,
        "nearer_than_others": best.nearness - max(others, default=best.nearness),
    }
