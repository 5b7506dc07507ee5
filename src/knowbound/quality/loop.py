"""What the worker does for suggested corrections after each rollup, and every answer for the next session.

Answers that a killed process left are finished. What a trusted judge found contradicted is written for the sessions
that start next, in every leg of the rollout, unless `quality.corrections` is off; ranking that silences an item hides
nothing here. A suggestion that sessions could start with for 14 days, and nobody answered, flags its item UNVERIFIED
(specification 2, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import cache

import msgspec

from knowbound.config import Settings
from knowbound.core.suggestions import Suggestion
from knowbound.errors import StoreError
from knowbound.injection import shown_suggestions
from knowbound.injection.shown_suggestions import MOST_KEPT, MOST_OF_A_TEXT, ShownSuggestion
from knowbound.kms.index.database import Index
from knowbound.kms.opening import open_index, open_knowledge_store
from knowbound.kms.quality_log.protocol import QualityLog
from knowbound.kms.screening import screened
from knowbound.quality.corrections import Corrections, suggestions
from knowbound.quality.judging import is_trusted
from knowbound.text.clock import utc_now

SHOWN = "suggestions"  # note of the quality log: record → since when sessions can start with it
_BY = "knowbound"


def tend(settings: Settings, log: QualityLog, *, now: str = "") -> list[str]:
    """Finish answers, flag items, and show suggestions. Returns the ids of the items that were flagged.

    The store is opened only where something is to be written.
    """
    now = now or utc_now()
    with closing(open_index(settings)) as index:
        waiting = for_sessions(settings, log, index)
        since = _since(log, waiting, now)
        is_left = any(not answer.done for answer in log.answers())
    flagged = []
    if is_left or any(one.is_due(since[one.record], now) for one in waiting if one.is_unanswered):
        with closing(open_knowledge_store(settings, by=_BY)) as store:
            corrections = Corrections(log, store, clock=lambda: now)
            corrections.finish()
            flagged = corrections.flag_unanswered(since)
    with closing(open_index(settings)) as index:
        show(settings, log, index)
    return flagged


def for_sessions(settings: Settings, log: QualityLog, index: Index) -> list[Suggestion]:
    """The suggestions that sessions start with: those of a trusted judge; none where corrections are off."""
    trusts = cache(lambda judge: is_trusted(settings, judge))
    found = suggestions(log, index, settings.root) if settings.quality_corrections else []
    return [one for one in found if screened(one.content) is None and trusts(one.judge)]


def show(settings: Settings, log: QualityLog, index: Index) -> None:
    """Have the next sessions start with what waits for an answer now."""
    rows = [_shown(one) for one in for_sessions(settings, log, index)[:MOST_KEPT]]
    try:
        shown_suggestions.keep(str(settings.home), rows)
    except OSError as error:
        place = settings.home / shown_suggestions.FILE
        raise StoreError("store-unwritable", f"Cannot write {place}: {error.strerror or error}.") from error


def _since(log: QualityLog, waiting: Sequence[Suggestion], now: str) -> dict[str, str]:
    """Since when each of them could be shown, for all machines: nobody could answer before."""
    kept = log.note(SHOWN)
    known: dict[str, str] = msgspec.json.decode(kept, type=dict[str, str]) if kept else {}
    since = {one.record: known.get(one.record, now) for one in waiting}
    if since != known:
        log.put_note(SHOWN, msgspec.json.encode(since))
    return since


def _shown(one: Suggestion) -> ShownSuggestion:
    draft = "" if one.needs_person else one.draft[:MOST_OF_A_TEXT]
    return ShownSuggestion(
        id=one.item,
        sha=one.content_sha,
        content=one.content[:MOST_OF_A_TEXT],
        draft=draft,
        date=one.raised,
        session=one.session,
        turn=one.turn,
        needs_person=one.needs_person,
    )
