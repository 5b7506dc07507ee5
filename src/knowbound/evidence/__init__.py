"""Lens 3: answers that rest on evidence, or what evidence is missing for one (specification 3)."""

from knowbound.evidence.investigate import investigate

__all__ = ["investigate"]
