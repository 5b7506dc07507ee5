"""The judge of hedging sentences: its input, its verdict, its protocol (specification 1, section 4, source 3)."""

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
        """Hash of the sentence alone: verdicts that cost are cached by it, whatever the context was."""
        return hashlib.sha256(self.sentence.encode(errors="surrogatepass")).hexdigest()

    @property
    def sha256_in_context(self) -> str:
        """Hash of the sentence with its context."""
        return hashlib.sha256(f"{self.sentence}\0{self.context}".encode(errors="surrogatepass")).hexdigest()


class NoVerdict(msgspec.Struct, frozen=True):
    """Why there is no verdict."""

    problem: str


class HedgingJudge(Protocol):
    """Decides whether sentences express doubt about a fact: rules, a model, a recorded verdict."""

    @property
    def version(self) -> str:
        """Changes whenever a verdict may change."""

    @property
    def costs(self) -> bool:
        """Whether a verdict costs money or a network call, so that their number has to be capped."""

    def judge(self, candidates: Sequence[HedgingCandidate]) -> Sequence[HedgingVerdict | NoVerdict | None]:
        """One verdict per candidate, in their order; None or the problem where the judge failed."""
