"""Holding items back from injection: what the tree or a turn has disproved, with the reason, until it is repaired.

Whoever disproves items (`by`) says which are wrong now. An item that is wrong is flagged; one that this party held back
before and that is not wrong any more is released. A flag of another party, or of a person, stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing

from knowbound.config import Settings
from knowbound.core.item import FlagKind, Item
from knowbound.kms.corrections.flags import is_same_call
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.opening import open_knowledge_store

_REASON = 500  # characters


def hold_back(settings: Settings, wrong: Mapping[str, str], items: Iterable[Item], *, by: str) -> list[str]:
    """Hold the wrong items back, each with its reason, and release the others of this party; return those.

    `items` are those that are injected or held back. The store is opened only where something is to be written.
    """
    known = {one.id: one for one in items}
    reasons = {id_: reason[:_REASON].strip() for id_, reason in wrong.items() if id_ in known}
    new = [id_ for id_, reason in reasons.items() if _is_to_flag(known[id_], reason, by)]
    flags = [known[id_].flag for id_ in reasons]  # copies of a wrong item have the flag of the same call
    held = [one for one in known.values() if one.held_by == by and one.id not in reasons]
    right = [one.id for one in held if not any(is_same_call(one.flag, flag) for flag in flags)]
    if new or right:
        with closing(open_knowledge_store(settings, by=by)) as store:
            for id_ in right:
                release(store, id_, by=by)
            for id_ in new:
                store.flag(id_, FlagKind.HELD_BACK, reasons[id_], automatic=True)
    return right


def release(store: KnowledgeStore, id_: str, *, by: str) -> None:
    """Let an item and its copies be injected again, if this party holds it back."""
    item = store.get(id_)
    if item is not None and item.held_by == by:
        store.unflag(id_)


def _is_to_flag(item: Item, reason: str, by: str) -> bool:
    """Report whether the item is not held back yet, or by this party for another reason."""
    return not item.is_held_back or (item.held_by == by and item.flag is not None and item.flag.note != reason)
