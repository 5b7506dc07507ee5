"""What injecting costs: tokens, and the time that hooks take (specification 2, sections 6 and 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from knowbound.report.quality.model import QualityStatus
from knowbound.report.sections import Line, Span, Tone, joined
from knowbound.stats.quality import PROMPT_LIMIT_MS, STOP_LIMIT_MS, is_slower_than, slowest


class Hook(NamedTuple):
    """How long a hook takes."""

    name: str
    took: str
    limit: int
    is_slow: bool


def hooks(status: QualityStatus) -> Iterator[Hook]:
    """Both hooks, with the p95 of the window."""
    for name, durations, limit in (
        ("Prompt", status.window.prompt_ms, PROMPT_LIMIT_MS),
        ("Stop", status.window.stop_ms, STOP_LIMIT_MS),
    ):
        ms = slowest(durations)
        yield Hook(name, "unknown" if ms is None else f"{ms:,}", limit, is_slower_than(durations, limit))


def cost_rows(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    """Line by line."""
    yield "Tokens", _tokens(status)
    for hook in hooks(status):
        slow = (" ", Span("too slow", Tone.BAD)) if hook.is_slow else ()
        yield f"{hook.name} hook", (f"p95 {hook.took} of {hook.limit} ms", *slow)


def cost_line(status: QualityStatus) -> Line:
    """All of it in one line."""
    took = (f"{hook.name.lower()} {hook.took} of {hook.limit} ms" for hook in hooks(status))
    return joined((_tokens(status), f"p95 of hooks: {', '.join(took)}"))


def _tokens(status: QualityStatus) -> str:
    window = status.window
    if not window.injected_tokens or not window.prompts_with_items:
        return "no token was injected"
    return f"{window.injected_tokens / window.prompts_with_items:,.0f} tokens per prompt with items"
