"""How likely it is that the best passage answers the question: traits of how it was read, weighed.

No trait decides alone. A word may be open because a paraphrase has another one, or because the knowledge is not there;
what else is open, how much is met, and how far the passage stands out from the rest tell the two apart. The traits are
named here; their weights are learnt from labelled questions by `bench/train_consult.py` and shipped beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib import resources

import msgspec

from knowbound.documents.reading import Reading, Term
from knowbound.documents.sections import BlockKind

SPEAKS_OF_ALL = 0.9  # met to this share, it does not matter that a TODO still promises it
_HARDLY_MET, _EXACT = 0.4, 0.99


class Weights(msgspec.Struct, frozen=True):
    """What each trait speaks for: an answer where positive, none where negative."""

    bias: float
    traits: dict[str, float]


@cache
def shipped_weights() -> Weights:
    """The weights that come with the package."""
    data = resources.files("knowbound.documents").joinpath("answer_weights.json").read_bytes()
    return msgspec.json.decode(data, type=Weights)


def likelihood(readings: Sequence[Reading], terms: Sequence[Term], weights: Weights | None = None) -> float:
    """Of the best reading among these, best first: from 0 to 1."""
    weights = weights or shipped_weights()
    score = weights.bias + sum(weights.traits[name] * value for name, value in traits_of(readings, terms).items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def traits_of(readings: Sequence[Reading], terms: Sequence[Term]) -> dict[str, float]:
    """The traits of the best reading; counts are scaled to about one."""
    best = readings[0]
    total = sum(term.weight for term in terms) or 1.0
    met = list(zip(terms, best.met, strict=True))
    open_ = [term.weight for term, one in met if one < _HARDLY_MET]
    others = [one.nearness for one in readings[1:] if one.shelved is not best.shelved]
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
        "in_a_list": float(best.said.block.kind in (BlockKind.ITEM, BlockKind.ROW)),
        "nearness": best.nearness,
        "nearer_than_others": best.nearness - max(others, default=best.nearness),
    }
