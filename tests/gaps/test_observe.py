"""What the report of traces counts beside topics."""

from __future__ import annotations

import pytest

from knowbound.core.bundle import SELF_MARKING
from knowbound.core.signal import Findings, InjectedText, Signal, SignalType, Status, Turn
from knowbound.gaps.observe import marked_guesses
from knowbound.stats.rate import Rate


@pytest.mark.parametrize(
    ("injected", "asked", "unasked"),
    [
        ([], Rate(0, 0), Rate(1, 3)),
        (["The port is 8080."], Rate(0, 0), Rate(1, 3)),
        (["The port is 8080.", SELF_MARKING], Rate(1, 3), Rate(0, 0)),
    ],
)
def test_marked_guesses_count_apart_where_the_session_was_asked_to_mark_them(
    injected: list[str], asked: Rate, unasked: Rate
) -> None:
    types = (SignalType.EXPLICIT_MARKER, SignalType.HEDGING, SignalType.HEDGING, SignalType.FAILED_SEARCH)
    signals = [Signal(type_, Status.OPEN, "s", 1, "s#1") for type_ in types]
    texts = [InjectedText("hook:SessionStart", "", text, len(text)) for text in injected]
    marking = marked_guesses(Findings("s", "codex", turns=[Turn(1, "s#1", injected=texts)], signals=signals))
    assert (marking.asked, marking.unasked) == (asked, unasked)
