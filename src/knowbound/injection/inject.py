"""Chooses what to inject: found in the index, new to the context, composed within the budget."""

from __future__ import annotations

import os
import time

from knowbound.injection import bundle
from knowbound.injection.chance import explored
from knowbound.injection.contexts import item_key, new_to_context
from knowbound.injection.model_choice import RESERVE, TO_LOAD, ModelChoice, too_late
from knowbound.kms.search.ranking import RELEVANCE_FLOOR, FoundItem, quality_is_on, relevant
from knowbound.store.data_dir import INDEX
from knowbound.store.read_only import HOOK_WAIT_SECONDS, open_own_index
from knowbound.store.rollout_file import read_rollout

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from knowbound.injection.hook_settings import HookSettings
    from knowbound.injection.prompt import HookPrompt

_CANDIDATES = 20  # that a model chooses from
_FEW = """
    SELECT id, backend, content_sha, confidence, content, timestamp, anchor_file FROM item
    WHERE served = 1 AND flag = '' AND stale = 0 ORDER BY id LIMIT ?
"""


class Choice:
    """What is to be injected, and the candidates it was chosen from."""

    outcome = "injected"

    def __init__(
        self,
        chosen: bundle.Bundle,
        pool: list[FoundItem],
        *,
        floor: float | None,
        budget: int,
        asked: ModelChoice | None = None,
    ) -> None:
        self.text = chosen.text
        self.items = chosen.items
        self.tokens = chosen.tokens
        self.pool = pool  # best first
        self.floor = floor  # of relevance; None where nothing was searched
        self.budget = budget
        self.asked = asked  # what a model said; None where none was asked

    def keys(self) -> list[str]:
        """What a context has when it has this."""
        return [item_key(item) for item in self.items]


def choose_for_prompt(home: str, settings: HookSettings, prompt: HookPrompt, *, until: float | None = None) -> Choice:
    """The items that the prompt is about, best first: above the floor of relevance, or those that a model chooses.

    A model has until shortly before `until` (monotonic seconds), by default for as long as the hook would have.
    """
    until = time.monotonic() + settings.time_limit_ms / 1000 if until is None else until
    floor = RELEVANCE_FLOOR if settings.relevance_floor is None else settings.relevance_floor
    budget = settings.token_budget
    index = _open_index(home, settings.time_limit_ms) if prompt.text.strip() else None
    if index is None:
        return Choice(bundle.Bundle("", []), [], floor=floor, budget=budget)
    from knowbound.kms.search.retrieval import POOL, search  # noqa: PLC0415  # not needed where there is no store

    found = search(index, prompt.text, limit=POOL)
    new = new_to_context(home, prompt.context, relevant(found.items, floor))
    first = new[: settings.most_items]
    if new[settings.most_items :] and quality_is_on() and read_rollout(home).exploration:
        first = explored(prompt, first, new[settings.most_items :])
    chosen = bundle.compose(first, budget=budget)
    if not (settings.model and settings.most_items and found.items):
        return Choice(chosen, found.pool, floor=floor, budget=budget)
    rest = _rest_of_few(index, found.items)
    candidates = new_to_context(home, prompt.context, (found.items + rest)[:_CANDIDATES])
    asked = _asked(settings, prompt.text, candidates, home, until)
    if asked and asked.items is not None:
        chosen = bundle.compose(asked.items, budget=budget)
    return Choice(chosen, found.pool + rest, floor=floor, budget=budget, asked=asked)


def _asked(
    settings: HookSettings, prompt: str, candidates: list[FoundItem], home: str, until: float
) -> ModelChoice | None:
    """What the configured model chooses; None without candidates."""
    if not candidates:
        return None
    if until - time.monotonic() < TO_LOAD + RESERVE:
        return too_late()
    from knowbound.injection.choosing import choose  # noqa: PLC0415  # costs 100 ms: only where a model is configured

    return choose(settings.model, prompt, candidates, most=settings.most_items, folder=home, until=until)


def _rest_of_few(index: sqlite3.Connection, found: list[FoundItem]) -> list[FoundItem]:
    """A store that a model can see whole is shown whole: its items that share nothing with the prompt."""
    rows = index.execute(_FEW, (_CANDIDATES + 1,)).fetchall() if len(found) < _CANDIDATES else []
    if len(rows) > _CANDIDATES:
        return []
    known, rest = {item.content_sha for item in found}, list[FoundItem]()
    for id_, backend, sha, confidence, content, timestamp, file in rows:
        item = FoundItem(
            id_, backend, sha, confidence=confidence, content=content, timestamp=timestamp, anchor_file=file
        )
        item.rank = len(found) + len(rest) + 1
        if item.content_sha not in known:
            known.add(item.content_sha)
            rest.append(item)
    return rest


def _open_index(home: str, limit_ms: int) -> sqlite3.Connection | None:
    if not os.path.exists(os.path.join(home, INDEX)):
        return None
    from knowbound.kms.search.lexical import SPLIT_BY  # noqa: PLC0415  # not needed where there is no store

    return open_own_index(home, wait_seconds=HOOK_WAIT_SECONDS, work_seconds=limit_ms / 1000, split_by=SPLIT_BY)
