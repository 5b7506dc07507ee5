"""Finds candidates for hedging (specification 1, source 3): sentences with a word of doubt; a judge decides."""

from __future__ import annotations

from knowbound.gaps.markers import hide_markers
from knowbound.judge.hedging.verdict import HedgingCandidate
from knowbound.text.hedges import cues, may_hedge
from knowbound.text.redact import cut
from knowbound.text.sentences import Sentence, sentences, shape

_LONGEST = 1500  # characters; what runs on longer is output or minified code, not a sentence


def hedging_candidates(text: str) -> list[HedgingCandidate]:
    """The sentences of an agent's text that may express doubt, each with its neighbours."""
    if not may_hedge(text):
        return []
    return [
        HedgingCandidate(sentence.text, _context(sentence))
        for sentence in sentences(text, worth=may_hedge)
        if sentence.masked and len(sentence.masked) <= _LONGEST and _doubts(sentence)
    ]


def _doubts(sentence: Sentence) -> bool:
    """A word of doubt outside a heading."""
    masked = hide_markers(sentence.masked)
    return may_hedge(masked) and bool(cues(masked)) and shape(sentence.text) != "heading"


def _context(sentence: Sentence) -> str:
    return cut(" ".join(part for part in (sentence.before, sentence.text, sentence.after) if part), 2 * _LONGEST)
