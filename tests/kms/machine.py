"""A machine of a team: a process with a data folder of its own that writes to a MongoDB which others write to as well.

    python -m tests.kms.machine URL HOME NAME SEED COUNT

It makes random calls about one fact and prints a line for each that succeeded. Every update adds a key of its own to
the item's metadata, which successors take over: an update that is lost leaves a hole in the item at the end.
"""

from __future__ import annotations

import random
import sys
from contextlib import closing
from pathlib import Path

from knowbound.core.item import Item
from knowbound.errors import InputError
from knowbound.kms.backends.mongo import MongoBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import ItemEdit

FACT = "fact"


def open_machine(url: str, home: Path, name: str) -> KnowledgeStore:
    return KnowledgeStore([MongoBackend(url)], Index(home), by=name)


def end_of(store: KnowledgeStore) -> Item:
    """The item that is in force, as the backend has it."""
    item = store.get(FACT)
    while item is not None and item.flag is not None and item.flag.superseded_by:
        item = store.get(item.flag.superseded_by)
    assert item is not None
    return item


def call(store: KnowledgeStore, chance: random.Random, name: str, number: int) -> str:
    """One random call; what to acknowledge."""
    item = end_of(store)
    match chance.randrange(8):
        case 0:
            store.supersede(item.id, by=ItemEdit(content=f"The port is {name}{number}."))
            return "superseded"
        case 1:
            store.flag(item.id, "UNVERIFIED", f"{name}{number}")
            return "flagged"
        case 2:
            store.update(item.id, ItemEdit(confidence=chance.random()))
            return "updated"
        case _:
            store.update(item.id, ItemEdit(metadata={f"{name}{number}": number}))
            return f"key {name}{number}"


def main(url: str, home: str, name: str, seed: str, count: str) -> None:
    chance = random.Random(seed)
    with closing(open_machine(url, Path(home), name)) as store:
        for number in range(int(count)):
            try:
                done = call(store, chance, name, number)
            except InputError as refused:
                if refused.slug != "flag-refused":  # superseded by the other meanwhile
                    raise
                done = "refused"
            print(done, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
