"""Protocol of a judge of hedging sentences: its input and its verdict (specification 1, section 4, source 3)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

import msgspec

from knowbound.core.signal import HedgingVerdict

__all__ = ["HedgingCandidate", "HedgingJudge", "HedgingVerdict", "NoVerdict"]


class HedgingCandidate(msgspec.Struct, frozen=True, gc=False):
    """A sentence that may express doubt, with the sentences around it."""

    sentence: str
    context: str = ""

    @property
    def sha256(self) -> str:
        """Hash of the sentence without its context: the cache key of verdicts that cost."""
        return hashlib.sha256(self.sentence.encode(errors="surrogatepass")).hexdigest()

    @property
    def sha256_in_context(self) -> str:
        """Hash of the sentence with its context."""
        return hashlib.sha256(f"{self.sentence}\0{self.context}".encode(errors="surrogatepass")).hexdigest()


class NoVerdict(msgspec.Struct, frozen=True):
    """The problem of a judge that gave no verdict."""

    problem: str


class HedgingJudge(Protocol):
    """Decides whether sentences express doubt about a fact: rules, a model, a recorded verdict."""

    @property
    def version(self) -> str:
        """Version that changes whenever a verdict may change."""

    @property
    def costs(self) -> bool:
        """True if a verdict costs money or a network call: then the number of verdicts is capped."""

    def judge(self, candidates: Sequence[HedgingCandidate]) -> Sequence[HedgingVerdict | NoVerdict | None]:
        """Return one verdict per candidate, in order; None or the problem if the judge failed."""
