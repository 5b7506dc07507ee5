"""Chooses what to inject: found in the index, new to the context, recorded before it is printed.

What cannot be recorded is not injected: an injection that nobody can measure, or that is repeated on every prompt, does
more harm than none.
"""

from __future__ import annotations

from knowbound.injection import bundle, record
from knowbound.kms.search.ranking import RELEVANCE_FLOOR, FoundItem
from knowbound.store.read_only import open_own_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from knowbound.injection.hook_settings import HookSettings
    from knowbound.injection.record import HookPrompt

_MOST_ITEMS = 6  # for a prompt; the token budget may allow fewer
_SPARE = 3  # times as many are searched for, because some may have been injected already
_MOST_AT_START = 8
_BUSY_SECONDS = 0.05
_LONG_PROMPT = 1_200  # characters; the longest of 200 real prompts has 150

# Only what is sure: nothing unverified or stale is injected without a prompt that it matches. The newest of a subject
# come from its index in the order they were written, so a large store costs no more than a small one.
_NEWEST = "SELECT rowid FROM (SELECT rowid FROM item WHERE subject = ? ORDER BY rowid DESC LIMIT 500)"
_AT_START = f"""
    SELECT id, backend, content_sha, confidence, content, timestamp, anchor_file FROM item
    WHERE rowid IN ({_NEWEST} UNION ALL {_NEWEST}) AND served = 1 AND flag = '' AND stale = 0
    ORDER BY confidence DESC, timestamp DESC, id LIMIT ?
"""


def inject_for_prompt(home: str, settings: HookSettings, prompt: HookPrompt) -> bundle.Bundle:
    """The items that the prompt is about, best first, above the floor of relevance."""
    index = _open_index(home, settings.time_limit_ms) if prompt.text.strip() else None
    if index is None:
        return bundle.Bundle("", [])
    from knowbound.kms.search.retrieval import search  # noqa: PLC0415  # session-start does not search

    found = search(index, _searched_part(prompt.text), limit=_MOST_ITEMS * _SPARE)
    floor = RELEVANCE_FLOOR if settings.relevance_floor is None else settings.relevance_floor
    relevant = [item for item in found.items if item.relevance >= floor]
    new = _new_to_context(home, prompt, relevant)[:_MOST_ITEMS]
    chosen = bundle.compose(new, budget=settings.token_budget, intro=bundle.FOR_A_PROMPT)
    return _recorded(home, prompt, chosen, found.pool)


def inject_at_session_start(
    home: str, settings: HookSettings, prompt: HookPrompt, *, context_is_new: bool
) -> bundle.Bundle:
    """The surest and newest items of the project's subject: few, and the same for every session."""
    if context_is_new and prompt.is_recorded:
        record.forget(home, prompt.context)
    index = _open_index(home, settings.time_limit_ms)
    if index is None:
        return bundle.Bundle("", [])
    rows = index.execute(_AT_START, (settings.subject, "", _MOST_AT_START)).fetchall()
    items = []
    for rank, (id_, backend, sha, confidence, content, timestamp, file) in enumerate(rows, 1):
        about = {"content": content, "timestamp": timestamp, "anchor_file": file}
        items.append(FoundItem(id_, backend, sha, confidence=confidence, **about))
        items[-1].rank = rank
    new = _new_to_context(home, prompt, items)
    chosen = bundle.compose(new, budget=settings.token_budget // 2, intro=bundle.FOR_A_SESSION)
    return _recorded(home, prompt, chosen, [])


def _open_index(home: str, limit_ms: int) -> sqlite3.Connection | None:
    return open_own_index(home, wait_seconds=_BUSY_SECONDS, work_seconds=limit_ms / 1000)


def _new_to_context(home: str, prompt: HookPrompt, items: list[FoundItem]) -> list[FoundItem]:
    known = record.already_injected(home, prompt.context) if items and prompt.context else set()
    return [item for item in items if not record.is_injected(item, known)]


def _recorded(home: str, prompt: HookPrompt, chosen: bundle.Bundle, pool: list[FoundItem]) -> bundle.Bundle:
    if chosen.items and prompt.is_recorded:
        from knowbound.text.redact import excerpt  # noqa: PLC0415  # costs 20 ms: only where something is injected

        text = excerpt(prompt.text, record.PROMPT)
        record.record_injection(home, prompt, text, chosen.items, pool)
        if prompt.context:
            record.remember(home, prompt.context, chosen.items)
    return chosen


def _searched_part(prompt: str) -> str:
    """A long prompt is mostly something pasted: what is asked is a short paragraph at its beginning or its end."""
    if len(prompt) <= _LONG_PROMPT:
        return prompt
    paragraphs = [part for part in prompt.replace("\r\n", "\n").split("\n\n") if part.strip()]
    ends = [paragraphs[0], paragraphs[-1]] if len(paragraphs) > 1 else [prompt]
    short = [part for part in ends if len(part) <= _LONG_PROMPT // 2]
    return "\n".join(short) if short else f"{prompt[: _LONG_PROMPT // 2]}\n{prompt[-_LONG_PROMPT // 2 :]}"
