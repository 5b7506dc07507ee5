"""Stored text is data: what tries to give the agent orders is not stored, and not served.

Screened on the way in (validation.py) and on the way out (entry.py, whatever a backend holds). Measured by
`python -m bench.screening` on attacks and on procedures that only sound like them.
"""

from __future__ import annotations

from typing import NamedTuple

from knowbound.kms.screening.obfuscation import hidden_characters, hidden_html, readings
from knowbound.kms.screening.prompt_injection import is_order_when_hidden, order_in

RULES_VERSION = 1  # raise it when a rule changes: rows of the index are made anew


class Finding(NamedTuple):
    """Why a text is kept back, and the words that say so."""

    kind: str
    words: str


def screened(text: str) -> Finding | None:
    """The first reason not to show this text to an agent, or None."""
    if hidden := hidden_characters(text):
        return Finding("hidden text", hidden)
    for unseen in hidden_html(text):
        if is_order_when_hidden(unseen) or order_in(unseen):
            return Finding("hidden text", unseen)
    for reading in readings(text):
        if order := order_in(reading):
            return Finding(*order)
    return None
