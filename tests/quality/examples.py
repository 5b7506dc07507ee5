"""Turns of a quality log, as tests need them."""

from __future__ import annotations

from knowbound.core.quality import ItemVerdict, LoggedCall, LoggedItem, QualityTurn

JUDGE = "test-1"


def item(id_: str = "k1", verdict: str | None = "", **more: str) -> LoggedItem:
    """An item whose verdict has the metrics that are named by their first letters: o, u, c; None: not judged."""
    given = None
    if verdict is not None:
        flags = "o" in verdict, "u" in verdict, "c" in verdict
        given = ItemVerdict(id_, *flags, correction="it is 9090" if flags[2] else "", judge=JUDGE)
    return LoggedItem(id_, more.get("backend", "sqlite"), "text", 4, source=more.get("source", ""), verdict=given)


def turn(
    number: int = 1,
    *items: LoggedItem,
    session: str = "s1",
    time: str = "2026-11-16T10:00:00Z",
    corrected: tuple[str, ...] = (),
    scored: str = "",
    problem: str = "",
) -> QualityTurn:
    """A turn with these injected items."""
    calls = (LoggedCall("mcp__knowbound__kms_supersede", "ok", corrected=corrected),) if corrected else ()
    return QualityTurn(
        session_id=session,
        turn_id=f"t{number}",
        timestamp=time,
        injected_items=items,
        tool_calls=calls,
        judge=JUDGE if items and not problem else "",
        scored_at=scored or time,
        problem=problem,
        stop_ms=40.0,
    )
