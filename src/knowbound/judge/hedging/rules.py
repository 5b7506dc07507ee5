"""The embedded judge of hedges: weighted features of a sentence, no model, no network, no cost.

The features are written by hand (`features.py`); their weights are learnt from labelled sentences by
`python -m bench.train_hedging` (needs the labelled data beside the repository) and shipped beside this file. A
sentence expresses doubt when one of its cues does. Of its context only the text that follows it counts: an agent
that goes to look next was not sure.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

import msgspec

from knowbound.core.signal import HedgingVerdict
from knowbound.judge.hedging.features import features
from knowbound.judge.hedging.verdict import HedgingCandidate

_NAMED = 3  # features that a reason names
# The specification's own statements of missing knowledge are doubt whatever stands around them, unless the sentence
# sets a condition, asks the user, speaks of the future, reports somebody else or says that the question is settled.
_DECLARED = re.compile(r"(?:insufficient|not enough) information|not sure|没有足够的?信息|无法确认", re.IGNORECASE)
_DECLARED_LACK = "a declared lack of knowledge"
_UNLESS = frozenset(
    ["after a condition", "with asks the user", "with future", "with a report", "with settled", "of people", "of you"]
)


class HedgingWeights(msgspec.Struct, frozen=True):
    """The weight of each feature: positive for doubt, negative against it."""

    bias: float
    features: dict[str, float] = msgspec.field(name="traits")

    @property
    def fingerprint(self) -> str:
        """Eight hex digits that change with any weight."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:8]


@cache
def shipped_weights() -> HedgingWeights:
    """The weights that come with the package."""
    data = resources.files("knowbound.judge.hedging").joinpath("hedging_rules.json").read_bytes()
    return msgspec.json.decode(data, type=HedgingWeights)


def text_after(candidate: HedgingCandidate) -> str:
    """What follows the sentence in its context."""
    at = candidate.context.find(candidate.sentence)
    return candidate.context[at + len(candidate.sentence) :].lstrip() if at >= 0 else ""


class RulesJudge:
    """Judges hedges by their features."""

    costs = False

    def __init__(self, weights: HedgingWeights | None = None) -> None:
        self._weights = weights or shipped_weights()
        self.version = f"rules/3-{self._weights.fingerprint}"

    def known(self, _candidate: HedgingCandidate) -> HedgingVerdict | None:
        """Return nothing: rules keep no verdicts."""
        return None

    def judge(self, candidates: Sequence[HedgingCandidate]) -> list[HedgingVerdict | None]:
        """One verdict per candidate."""
        return [self._verdict(candidate) for candidate in candidates]

    def _verdict(self, candidate: HedgingCandidate) -> HedgingVerdict:
        sentence = candidate.sentence
        weight = self._weights.features.get
        best: tuple[float, str, list[str]] | None = None
        for cue, names in features(sentence, text_after(candidate)):
            word, score = sentence[cue.start : cue.end], self._weights.bias + sum(weight(name, 0.0) for name in names)
            found = score, word, names
            if score <= 0 and _DECLARED.search(word) and _UNLESS.isdisjoint(names):
                found = 1.0, word, [_DECLARED_LACK]
            if best is None or found[0] > best[0]:
                best = found
        if best is None:
            return HedgingVerdict(False, 1.0, "no word of doubt outside code and quotations", self.version)
        score, word, names = best
        share = 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))
        doubt = score > 0
        return HedgingVerdict(
            is_uncertainty=doubt,
            confidence=round(share if doubt else 1 - share, 3),
            reason=f"“{word}”: {self._because(names, doubt)}",
            judge=self.version,
        )

    def _because(self, names: list[str], doubt: bool) -> str:
        """The features that decided, strongest first."""
        sign = 1 if doubt else -1
        weights = {_DECLARED_LACK: 1.0, **self._weights.features}
        deciding = [name for name in names if sign * weights.get(name, 0.0) > 0]
        deciding.sort(key=lambda name: -sign * weights[name])
        return ", ".join(deciding[:_NAMED]) or "the word alone"
