"""The choice of items to inject: found in the index, new to the context, composed within the budget.

Chance is repeatable (specification 2, section 7): a hash of the session decides whether its prompts are held out, one
of the session and the prompt's id whether a prompt explores, so a replay decides alike, and the two do not depend on
each other. The hook loads this module on every prompt: it imports next to nothing.
"""

from __future__ import annotations

import json
import os
import time

from knowbound.injection import bundle
from knowbound.injection.prompt import item_key, new_to_context
from knowbound.injection.record import EXCERPT
from knowbound.kms.index.ranking import RANKER, RELEVANCE_FLOOR, FoundItem, quality_is_on, relevant
from knowbound.store.data_dir import INDEX
from knowbound.store.own_index import open_own_index
from knowbound.store.read_only import HOOK_WAIT_SECONDS
from knowbound.user_files import make_file, make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from knowbound.injection.hook_settings import HookSettings
    from knowbound.injection.prompt import HookPrompt

HELD_OUT, INJECTED = "held_out", "injected"  # the arms of a holdout, as they are recorded
MOST_POOL = 30  # candidates that are kept: five times the injected items
EPSILON = 0.1  # share of prompts that explore, where exploration is on
ROLLOUT = "rollout.json"  # file of the state of the rollout, a copy from the quality log (specification 2, section 6)


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
        ms: float | None = None,
    ) -> None:
        self.text = chosen.text
        self.items = chosen.items
        self.tokens = chosen.tokens
        self.pool = pool  # best first
        self.floor = floor  # of relevance; None where nothing was searched
        self.budget = budget
        self.ms = ms  # of this thread for searching and ranking; None: nothing was searched

    def keys(self) -> list[str]:
        """Return the keys of the items, for the context that gets them."""
        return [item_key(item) for item in self.items]

    def fields(self) -> dict[str, Any]:
        """Return the choice and its candidates, with every part of their scores, for the record."""
        return {
            "ranker": RANKER,
            "rank_ms": None if self.ms is None else round(self.ms, 1),
            "floor": self.floor,
            "budget": self.budget,
            "items": [item_row(item) for item in sorted(self.items, key=lambda item: item.rank)],
            "pool": [item.pool_row() for item in self.pool[:MOST_POOL]],
        }


def item_row(item: FoundItem) -> dict[str, Any]:
    """Return an item as it is recorded."""
    explored_field = {"explored": True} if item.is_explored else {}
    return explored_field | {
        "item": item.id,
        "backend": item.backend,
        "sha": item.content_sha,
        "excerpt": item.content[:EXCERPT],
        "content_length": len(item.content),
        "confidence": item.confidence,
        "rank": item.rank,
        "score": round(item.score, 6),
    }


def choose_for_prompt(home: str, settings: HookSettings, prompt: HookPrompt) -> Choice:
    """Choose the items that the prompt is about, best first: above the floor of relevance."""
    floor = RELEVANCE_FLOOR if settings.relevance_floor is None else settings.relevance_floor
    budget = settings.token_budget
    nothing = Choice(bundle.Bundle("", []), [], floor=floor, budget=budget)
    if not prompt.text.strip() or not os.path.exists(os.path.join(home, INDEX)):
        return nothing
    from knowbound.kms.index.search import POOL, SPLIT_BY, search  # noqa: PLC0415  # not needed without a store

    seconds = settings.time_limit_ms / 1000
    index = open_own_index(home, wait_seconds=HOOK_WAIT_SECONDS, work_seconds=seconds, split_by=SPLIT_BY)
    if index is None:
        return nothing
    with_quality, began = quality_is_on(settings.ranks), time.thread_time()
    found = search(index, prompt.text, limit=POOL, with_quality=with_quality)
    new = new_to_context(home, prompt.context, relevant(found.items, floor, with_quality=with_quality))
    chosen, lower = new[: settings.most_items], new[settings.most_items :]
    if lower and with_quality and explores(home):  # to measure what ranking leaves out
        chosen = explored(prompt, chosen, lower)
    spent_ms = (time.thread_time() - began) * 1000
    return Choice(bundle.compose(chosen, budget=budget), found.pool, floor=floor, budget=budget, ms=spent_ms)


# Chance


def is_held_out(prompt: HookPrompt, share: float) -> bool:
    """Report whether nothing is injected in the session of this prompt, to compare with sessions that get items."""
    return drawn("holdout", prompt, by_session=True) < share


def explores(home: str | os.PathLike[str]) -> bool:
    """Report whether prompts explore; they do not if the file cannot be read."""
    try:
        with open(os.path.join(home, ROLLOUT), encoding="utf-8") as file:
            return json.load(file)["exploration"] is True
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def keep_rollout(home: Path, leg: int, exploration: bool) -> None:
    """Replace the file that `explores` reads, if the state differs."""
    path, data = home / ROLLOUT, json.dumps({"leg": leg, "exploration": exploration}).encode() + b"\n"
    if not path.exists() or path.read_bytes() != data:
        make_folder(home)
        make_file(path, data)


def explored(prompt: HookPrompt, chosen: list[FoundItem], others: list[FoundItem]) -> list[FoundItem]:
    """Return the chosen items; for a tenth of the prompts the last of them gives way to a lower-ranked item."""
    if not chosen or not others or drawn("explore", prompt) >= EPSILON:  # only the tenth explores
        return chosen
    tried = others[int(drawn("which", prompt) * len(others))]
    tried.is_explored = True
    return [*chosen[:-1], tried]


def drawn(purpose: str, prompt: HookPrompt, *, by_session: bool = False) -> float:
    """Draw a number from 0 to under 1, the same for each prompt (by its id, else its text), or session, and purpose."""
    of_prompt = "" if by_session and prompt.session else prompt.prompt_id or prompt.turn_id or prompt.text
    try:
        from _blake2 import blake2b  # noqa: PLC0415  # all of hashlib costs the hook 8 ms
    except ImportError:
        from hashlib import blake2b  # noqa: PLC0415
    data = f"{purpose}\0{prompt.session}\0{of_prompt}".encode("utf-8", "replace")
    return int.from_bytes(blake2b(data, digest_size=6).digest(), "big") / 2**48
