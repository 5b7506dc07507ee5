"""Lens 3: answers that rest on evidence, or an honest "insufficient evidence" (specification 3)."""

from knowbound.evidence.investigate import investigate

__all__ = ["investigate"]
