"""The embedded judge of turns: weighted features of words, names, numbers and meaning; no model, no network, no cost.

Specification 2, section 3. The features are written by hand (`features.py`, `contradiction.py`); their weights are
learnt from labelled turns by `python -m bench.train_turns` and shipped beside this file. What was chosen and how far it
can be trusted: docs/decisions/turn-judge.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

import msgspec

from knowbound.core.quality import ItemVerdict, JudgedTurn, Metric
from knowbound.judge.turns.contradiction import replacement
from knowbound.judge.turns.features import ItemFeatures, turn_features
from knowbound.judge.turns.passages import Passages, TurnText
from knowbound.judge.turns.reasons import reason
from knowbound.judge.turns.replaced_value import replaced_in
from knowbound.judge.turns.verdict import TurnVerdicts

_LONGEST_CORRECTION = 500
_ACTED_VALUES, _ACTED_WORDS = 0.5, 0.4  # of an item's new values, and of its words, in the inputs of tools
_ASKED, _ASKED_AND_NOT_ANSWERED = 0.7, 0.5  # the share of what a prompt says that an item has


class MetricWeights(msgspec.Struct, frozen=True):
    """A logistic regression: yes where bias and weighted features come to more than the threshold."""

    bias: float
    threshold: float
    features: dict[str, float]

    def score(self, features: Mapping[str, float]) -> float:
        """How much speaks for yes; above 0 is yes."""
        found = features.get
        total = sum(weight * found(name, 0.0) for name, weight in self.features.items())
        return self.bias - self.threshold + total


class TurnWeights(msgspec.Struct, frozen=True):
    """The weights of the three questions."""

    on_topic: MetricWeights
    used: MetricWeights
    contradicted: MetricWeights

    @property
    def fingerprint(self) -> str:
        """Eight hex digits that change with any weight."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:8]


@cache
def shipped_weights() -> TurnWeights:
    """The weights that come with the package."""
    data = resources.files("knowbound.judge.turns").joinpath("turn_weights.json").read_bytes()
    return msgspec.json.decode(data, type=TurnWeights)


class RulesTurnJudge:
    """Judges the items of a turn by their features."""

    costs = False

    def __init__(self, weights: TurnWeights | None = None) -> None:
        self._weights = weights or shipped_weights()
        self.version = f"rules-turns-2-{self._weights.fingerprint}"

    def judge(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        """One answer per turn, in their order."""
        return [self._judge(turn) for turn in turns]

    def _judge(self, turn: JudgedTurn) -> TurnVerdicts:
        text = TurnText(turn)
        found = turn_features(text, turn.items)
        pairs = zip(turn.items, text.items, found, strict=True)
        return TurnVerdicts(tuple(self._verdict(text, item.id, own, one) for item, own, one in pairs))

    def _verdict(self, text: TurnText, item: str, own: Passages, found: ItemFeatures) -> ItemVerdict:
        weights, features = self._weights, found.features
        replaced = replaced_in(own, text.prompt, text.response)
        used = weights.used.score(features) > 0 or _is_acted_on(features)
        # A call that withdraws the item by its id, and "9090, not 8080", say it outright; the rest is weighed.
        is_plain = features["k_correct_id"] > 0 or replaced is not None
        contradicted = is_plain or weights.contradicted.score(features) > 0
        # What an answer uses or corrects bears on what was asked: hardly a label says otherwise.
        on_topic = used or contradicted or weights.on_topic.score(features) > 0 or _says_what_was_asked(text, features)
        verdict = {Metric.ON_TOPIC: on_topic, Metric.USED: used, Metric.CONTRADICTED: contradicted}
        return ItemVerdict(
            item=item,
            on_topic=on_topic,
            used=used,
            contradicted=contradicted,
            correction=_correction(text, item, found.witnesses if replaced is None else (replaced,))
            if contradicted
            else "",
            reason=reason(verdict, features),
            judge=self.version,
        )


def _is_acted_on(features: Mapping[str, float]) -> bool:
    """Whether a tool was called with values of the item beside its words, also where the answer says nothing of it.

    Of the labels that were learnt from, 62 of 65 such items are used.
    """
    return features["v_input"] >= _ACTED_VALUES and features["i_win"] >= _ACTED_WORDS


def _says_what_was_asked(text: TurnText, features: Mapping[str, float]) -> bool:
    """Whether the item has most of what the prompt says, whatever the answer says: it may be silent or cut off.

    Of the labels that were learnt from, 11 of 11 such items are on topic at 0.7, and 43 of 54 at 0.5.
    """
    return features["p_rev"] >= (_ASKED if text.response.all else _ASKED_AND_NOT_ANSWERED)


def _correction(text: TurnText, item: str, witnesses: Sequence[int]) -> str:
    """The sentences of the response that say what is true, in their order; else what a correcting call says."""
    said = " ".join(text.response.all[at].text for at in sorted(witnesses)) or replacement(text, item)
    return said if len(said) <= _LONGEST_CORRECTION else said[: _LONGEST_CORRECTION - 1].rstrip() + "…"
