"""Lens 3: answers that rest on evidence, or an honest "insufficient evidence" (specification 3)."""

from typing import TYPE_CHECKING

from knowbound.evidence.investigate import investigate

if TYPE_CHECKING:
    from knowbound.documents.answer import Consultation, Passage
    from knowbound.documents.library import Library

__all__ = ["Consultation", "Library", "Passage", "investigate"]


def __getattr__(name: str) -> object:
    """What answers from documents is loaded when it is asked for: most questions are about code."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from knowbound.documents import answer as consult  # noqa: PLC0415
    from knowbound.documents import library  # noqa: PLC0415

    return library.Library if name == "Library" else getattr(consult, name)
