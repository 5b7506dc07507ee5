"""What to tell: found in the index, not told before in this context, recorded before it is said.

What cannot be written down is not told: an injection that nobody can measure, or that is repeated on every prompt,
does more harm than none.
"""

from __future__ import annotations

import os
import sqlite3
import time

from knowbound.injection import bundle, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from knowbound.injection.hook_settings import HookSettings

_INDEX = "index.db"
_MOST_ITEMS = 6  # of a prompt; the token budget may allow fewer
_SPARE = 3  # times as many are asked for, because some may have been told already
_MOST_AT_START = 8
_BUSY_SECONDS = 0.05
_LONG_PROMPT = 1_200  # characters; the longest of the shared turns' prompts has 150

# Only what is sure: nothing unverified or stale is told without being asked for. The newest of a subject come from its
# index in the order they were written, so a large store costs no more than a small one.
_NEWEST = "SELECT rowid FROM (SELECT rowid FROM item WHERE subject = ? ORDER BY rowid DESC LIMIT 500)"
_OPENING = f"""
    SELECT id, backend, content, content_sha, timestamp, confidence, flag, stale FROM item
    WHERE rowid IN ({_NEWEST} UNION ALL {_NEWEST}) AND served = 1 AND flag = '' AND stale = 0
    ORDER BY confidence DESC, timestamp DESC, id LIMIT ?
"""


class Turn:
    """The prompt that is answered, and whose context it is."""

    __slots__ = ("context", "prompt", "prompt_id", "session", "turn")

    def __init__(self, session: str, turn: str, prompt_id: str, prompt: str, context: str) -> None:
        self.session = session
        self.turn = turn
        self.prompt_id = prompt_id
        self.prompt = prompt
        self.context = context  # the session, and the sub-agent in it: whoever shares a context


class Candidate:
    """An item that may be told, with what is recorded about it."""

    __slots__ = ("entry", "injected")

    def __init__(
        self,
        id_: str,
        backend: str,
        content: str,
        content_sha: str,
        timestamp: str,
        confidence: float,
        flag: str,
        stale: bool,
        *,
        rank: int,
        score: float,
    ) -> None:
        self.entry = bundle.Entry(id_, content, timestamp, flag, stale=bool(stale))
        self.injected = record.Injected(id_, backend, content, content_sha, confidence, rank, score)


def for_prompt(home: str, settings: HookSettings, turn: Turn) -> bundle.Bundle:
    """What the prompt is about, best first, above the floor of relevance."""
    if not turn.prompt.strip():
        return _nothing()
    candidates, pool = _search(home, settings, _searched_part(turn.prompt))
    return _told(home, turn, candidates, pool, settings.token_budget, bundle.FOR_A_PROMPT, most=_MOST_ITEMS)


def at_start(home: str, settings: HookSettings, turn: Turn, *, anew: bool) -> bundle.Bundle:
    """The surest and newest of the project's subject: small and the same for every session."""
    if anew:
        record.forget(home, turn.context)
    index = open_index(home)
    if index is None:
        return _nothing()
    rows = index.execute(_OPENING, (settings.subject, "", _MOST_AT_START)).fetchall()
    candidates = [Candidate(*row, rank=rank, score=0.0) for rank, row in enumerate(rows, 1)]
    budget = settings.token_budget // 2
    return _told(home, turn, candidates, [], budget, bundle.FOR_A_SESSION, most=_MOST_AT_START)


def _told(
    home: str, turn: Turn, candidates: list[Candidate], pool: list[Any], budget: int, intro: str, most: int
) -> bundle.Bundle:
    """Choose what is new to the context and fits, write it down, and say it."""
    known = record.told(home, turn.context) if candidates and turn.context else set()
    new = [one for one in candidates if one.injected.told_key not in known][:most]
    said = bundle.compose([one.entry for one in new], _pending_corrections(), budget=budget, intro=intro)
    chosen = [one.injected for one in new if one.entry in said.entries]
    if chosen:
        injection = record.Injection(
            turn.session, turn.turn, turn.prompt_id, _without_secrets(turn.prompt), chosen, pool
        )
        record.write(home, injection, time.time())
        if turn.context:
            record.remember(home, turn.context, chosen)
    return said


def _pending_corrections() -> list[bundle.SuggestedCorrection]:
    """Corrections that wait for a decision: none until contradictions are measured."""
    return []


def _search(home: str, settings: HookSettings, prompt: str) -> tuple[list[Candidate], list[Any]]:
    index = open_index(home)
    if index is None:
        return [], []
    from knowbound.kms.search.ranking import RELEVANCE_FLOOR  # noqa: PLC0415  # session-start does not search
    from knowbound.kms.search.retrieval import search  # noqa: PLC0415

    found = search(index, prompt, limit=_MOST_ITEMS * _SPARE)
    floor = RELEVANCE_FLOOR if settings.relevance_floor is None else settings.relevance_floor
    candidates = [
        Candidate(
            hit.id,
            hit.backend,
            hit.content,
            hit.parts.content_sha,
            hit.timestamp,
            hit.confidence,
            hit.flag,
            hit.stale,
            rank=rank,
            score=hit.score,
        )
        for rank, hit in enumerate(found.hits, 1)
        if hit.relevance >= floor
    ]
    return candidates, found.pool


def _searched_part(prompt: str) -> str:
    """A long prompt is mostly something pasted: what is asked is a short paragraph at its beginning or its end."""
    if len(prompt) <= _LONG_PROMPT:
        return prompt
    paragraphs = [part for part in prompt.replace("\r\n", "\n").split("\n\n") if part.strip()]
    ends = [paragraphs[0], paragraphs[-1]] if len(paragraphs) > 1 else [prompt]
    short = [part for part in ends if len(part) <= _LONG_PROMPT // 2]
    return "\n".join(short) if short else f"{prompt[: _LONG_PROMPT // 2]}\n{prompt[-_LONG_PROMPT // 2 :]}"


def open_index(home: str) -> sqlite3.Connection | None:
    """The index, to be read only; None where nothing was stored yet."""
    path = os.path.join(home, _INDEX)
    if not os.path.exists(path):
        return None
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=_BUSY_SECONDS)


def _without_secrets(prompt: str) -> str:
    from knowbound.text.redact import redact  # noqa: PLC0415  # only where something is told

    return redact(prompt[: 2 * record.PROMPT])  # cut again when recorded: a secret at that edge is seen whole


def _nothing() -> bundle.Bundle:
    return bundle.Bundle("", [], [])
