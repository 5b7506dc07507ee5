"""Erases measured turns from the quality log that a team shares (docs/privacy.md), and reads back what it has left.

Of what others wrote only the sessions that were named are erased; of what this data folder wrote, all of the scope.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from knowbound.agent.occurrences import SharedDocument
from knowbound.kms.quality_log.protocol import DISCOVERY, LOG, KeptDocument
from knowbound.store.erasing import Erased, ErasureScope, texts_of_turn

if TYPE_CHECKING:  # it imports the driver
    from knowbound.kms.quality_log.mongo import MongoQualityLog


def erase_shared(log: MongoQualityLog, scope: ErasureScope, erased: Erased, *, preview: bool) -> None:
    """Turns, and what warranted corrections say about their session."""
    gone = log.erase(partial(_is_gone, scope), preview=preview)
    for turn in gone.turns:
        erased.add(f"MongoDB: {LOG}", 1, *texts_of_turn(turn))
    for record in gone.records:
        erased.add(f"MongoDB: words in {DISCOVERY}", 1, record.session_id, record.statement)


def shared_documents(log: MongoQualityLog, scope: ErasureScope) -> Iterator[SharedDocument]:
    """All that the server has now."""
    for collection, content, is_gone in log.documents(partial(_is_gone, scope)):
        yield SharedDocument(f"{log.place}: {collection}", content, is_gone)


def _is_gone(scope: ErasureScope, document: KeptDocument) -> bool:
    return bool(document.session) and scope.has_shared_record(document.session, document.time, is_own=document.is_own)
