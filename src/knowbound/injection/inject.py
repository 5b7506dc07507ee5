"""The choice of items to inject: found in the index, new to the context, composed within the budget.

Chance is repeatable (specification 2, section 7): a hash of the session and the prompt's id decides whether a prompt is
held out and whether it explores, so a replay decides alike, and the two do not depend on each other. The hook loads
this module on every prompt: it imports next to nothing.
"""

from __future__ import annotations

import os
import time

from knowbound.injection import bundle
from knowbound.injection.contexts import item_key, new_to_context
from knowbound.kms.search.ranking import RELEVANCE_FLOOR, FoundItem, quality_is_on, relevant
from knowbound.store.data_dir import INDEX
from knowbound.store.read_only import HOOK_WAIT_SECONDS, open_own_index
from knowbound.store.rollout_file import read_rollout

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from knowbound.injection.hook_settings import HookSettings
    from knowbound.injection.prompt import HookPrompt

HELD_OUT, INJECTED = "held_out", "injected"  # the arms of a holdout, as they are recorded
EPSILON = 0.1  # share of prompts that explore, where exploration is on
CHOSEN, LATE, FAILED = "chosen", "late", "failed"  # outcomes of asking a model
# Measured in 20 runs with a load of 7 to 11 on two cores.
RESERVE = 0.15  # seconds to compose, record and write an answer: 4 ms in the middle, 130 at most
_TO_LOAD = 0.25  # seconds to load what asks a model: 150 ms at least, 320 at most; 100 ms of CPU
_CANDIDATES = 20  # items that a model chooses from
_FEW = """
    SELECT id, backend, content_sha, confidence, content, timestamp, anchor_file FROM item
    WHERE served = 1 AND flag = '' AND stale = 0 ORDER BY id LIMIT ?
"""


class ModelChoice:
    """The items that a model chose, best first; or the reason why it chose none."""

    def __init__(
        self, outcome: str, ms: float, *, chooser: str = "", items: list[FoundItem] | None = None, problem: str = ""
    ) -> None:
        self.outcome = outcome
        self.ms = ms
        self.chooser = chooser  # version of the prompt, and the model; "" where neither was reached
        self.items = items  # None unless the outcome is `chosen`
        self.problem = problem  # the reason where the outcome is not `chosen`


class Choice:
    """The items to inject, and the candidates they were chosen from."""

    outcome = "injected"

    def __init__(
        self,
        chosen: bundle.Bundle,
        pool: list[FoundItem],
        *,
        floor: float | None,
        budget: int,
        model_choice: ModelChoice | None = None,
    ) -> None:
        self.text = chosen.text
        self.items = chosen.items
        self.tokens = chosen.tokens
        self.pool = pool  # best first
        self.floor = floor  # of relevance; None where nothing was searched
        self.budget = budget
        self.model_choice = model_choice  # the model's choice; None where no model was asked

    def keys(self) -> list[str]:
        """Return the keys of the items, for the context that gets them."""
        return [item_key(item) for item in self.items]


def choose_for_prompt(home: str, settings: HookSettings, prompt: HookPrompt, *, until: float | None = None) -> Choice:
    """Choose the items that the prompt is about, best first: above the floor of relevance, or chosen by a model.

    A model has until shortly before `until` (monotonic seconds), by default as long as the hook would have.
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
    model_choice = _ask_model(settings, prompt.text, candidates, home, until)
    if model_choice and model_choice.items is not None:
        chosen = bundle.compose(model_choice.items, budget=budget)
    return Choice(chosen, found.pool + rest, floor=floor, budget=budget, model_choice=model_choice)


# Chance


def is_held_out(prompt: HookPrompt, share: float) -> bool:
    """Report whether nothing is injected for this prompt, to compare with prompts that get items."""
    return drawn("holdout", prompt) < share


def explored(prompt: HookPrompt, chosen: list[FoundItem], others: list[FoundItem]) -> list[FoundItem]:
    """Return the chosen items; for a tenth of the prompts the last of them gives way to a lower-ranked item."""
    if not chosen or not others or drawn("explore", prompt) >= EPSILON:
        return chosen
    tried = others[int(drawn("which", prompt) * len(others))]
    tried.is_explored = True
    return [*chosen[:-1], tried]


def drawn(purpose: str, prompt: HookPrompt) -> float:
    """Draw a number from 0 to under 1, the same for each prompt (by its id, else its text) and purpose."""
    key = prompt.prompt_id or prompt.turn_id or prompt.text
    try:
        from _blake2 import blake2b  # noqa: PLC0415  # all of hashlib costs the hook 8 ms
    except ImportError:
        from hashlib import blake2b  # noqa: PLC0415
    data = f"{purpose}\0{prompt.session}\0{key}".encode("utf-8", "replace")
    return int.from_bytes(blake2b(data, digest_size=6).digest(), "big") / 2**48


# The model


def too_late(ms: float = 0.0, *, chooser: str = "") -> ModelChoice:
    """Return the choice of a model that has no time left, or took longer."""
    problem = "the model did not answer in time (injection.time_limit_ms)"
    return ModelChoice(LATE, ms, chooser=chooser, problem=problem)


def _ask_model(
    settings: HookSettings, prompt: str, candidates: list[FoundItem], home: str, until: float
) -> ModelChoice | None:
    """Ask the configured model to choose; None without candidates."""
    if not candidates:
        return None
    if until - time.monotonic() < _TO_LOAD + RESERVE:
        return too_late()
    from knowbound.injection.choosing import choose  # noqa: PLC0415  # costs 100 ms: only where a model is configured

    return choose(settings.model, prompt, candidates, most=settings.most_items, folder=home, until=until)


def _rest_of_few(index: sqlite3.Connection, found: list[FoundItem]) -> list[FoundItem]:
    """Return the other items of a store that is small enough to be shown to a model whole."""
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
