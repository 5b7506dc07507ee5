"""The worker's part in suggested corrections after each rollup, and the suggestions of the next session.

Answers that a killed process left are finished. What a trusted judge found contradicted is held back from injection
until it is answered, and written for the sessions that start next, in every leg of the rollout, unless
`quality.corrections` is off; ranking that silences an item hides nothing here. An item that a person released is
injected; once sessions could start with its suggestion for 14 days, and nobody answered, it is flagged UNVERIFIED
(specification 2, section 5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from functools import cache

import msgspec

from knowbound.config import Settings
from knowbound.core.item import FlagKind
from knowbound.core.quality import Suggestion, SuggestionDecision
from knowbound.errors import StoreError
from knowbound.injection.session_start import (
    MOST_KEPT,
    MOST_OF_A_TEXT,
    SUGGESTIONS_FILE,
    ShownSuggestion,
    keep_suggestions,
)
from knowbound.judge.calibration import is_trusted
from knowbound.kms.index.database import Index
from knowbound.kms.opening import hold_back, open_index, open_knowledge_store, open_quality_log
from knowbound.kms.quality_log import QualityLog
from knowbound.kms.screening import screened
from knowbound.quality.corrections import HOLDER, Corrections, holding_reason, suggestions
from knowbound.quality.rollup import roll_up
from knowbound.text.clock import utc_now

SHOWN = "suggestions"  # note of the quality log: record → since when sessions can start with it
HELD = "held"  # note of the quality log: the suggestions whose items were held back, for all machines
_BY = "knowbound"
_UNDONE = " undone "  # in the name of a holding, before the time at which an answer was undone


@contextmanager
def opened_corrections(settings: Settings, by: str) -> Iterator[Corrections]:
    """Open the suggestions of a project, rolled up. On exit the next session's suggestions are written."""
    with closing(open_quality_log(settings)) as log, closing(open_knowledge_store(settings, by=by)) as store:
        found = Corrections(log, store, by=by, root=settings.root)
        found.finish()
        roll_up(log, store.index.corrections())
        yield found
        show(settings, log, store.index)


def update_suggestions(settings: Settings, log: QualityLog, *, now: str = "") -> list[str]:
    """Finish answers, hold back or flag items, and show suggestions. Returns the ids of the items that were flagged.

    The store is opened only where something is to be written.
    """
    now = now or utc_now()
    if any(not answer.done for answer in log.answers()):
        with closing(open_knowledge_store(settings, by=_BY)) as store:
            Corrections(log, store, clock=lambda: now).finish()
    with closing(open_index(settings)) as index:
        waiting = for_sessions(settings, log, index)
    shown_since = _shown_since(log, waiting, now)
    unanswered = (suggestion for suggestion in waiting if suggestion.is_unanswered)
    late_items = {each.item for each in unanswered if each.is_due(shown_since[each.record], now)}
    held_items = _hold_back(settings, log, waiting, late_items)
    flagged = []
    if late_items - held_items:  # an item that is held back needs no flag
        with closing(open_knowledge_store(settings, by=_BY)) as store:
            flagged = Corrections(log, store, clock=lambda: now).flag_unanswered(shown_since)
    with closing(open_index(settings)) as index:
        show(settings, log, index)
    return flagged


def for_sessions(settings: Settings, log: QualityLog, index: Index) -> list[Suggestion]:
    """Return the suggestions that sessions start with: those of a trusted judge; none where corrections are off."""
    trusts = cache(lambda judge: is_trusted(settings, judge))
    found = suggestions(log, index, settings.root) if settings.quality_corrections else []
    return [suggestion for suggestion in found if screened(suggestion.content) is None and trusts(suggestion.judge)]


def show(settings: Settings, log: QualityLog, index: Index) -> None:
    """Have the next sessions start with what waits for an answer now."""
    rows = [
        ShownSuggestion(
            id=waiting.item,
            sha=waiting.content_sha,
            content=waiting.content[:MOST_OF_A_TEXT],
            draft="" if waiting.needs_person else waiting.draft[:MOST_OF_A_TEXT],  # an agent may not accept it
            date=waiting.raised,
            session=waiting.session,
            turn=waiting.turn,
            needs_person=waiting.needs_person,
        )
        for waiting in for_sessions(settings, log, index)[:MOST_KEPT]
    ]
    try:
        keep_suggestions(str(settings.home), rows)
    except OSError as error:
        place = settings.home / SUGGESTIONS_FILE
        raise StoreError("store-unwritable", f"Cannot write {place}: {error.strerror or error}.") from error


def _hold_back(settings: Settings, log: QualityLog, waiting: Sequence[Suggestion], late: AbstractSet[str]) -> set[str]:
    """Hold the items of these suggestions back, and release what is answered; return the ids of those held back.

    An item that was held back for a suggestion and is not any more was released by a person, on any machine: it stays
    released until an answer to the suggestion is undone.
    """
    note = log.note(HELD)
    known_holdings: set[str] = msgspec.json.decode(note, type=set[str]) if note else set()
    names = {suggestion.item: _holding_name(suggestion) for suggestion in waiting}
    to_hold = [each for each in waiting if each.held_by == HOLDER or names[each.item] not in known_holdings]
    reasons = {suggestion.item: holding_reason(suggestion, is_late=suggestion.item in late) for suggestion in to_hold}
    with closing(open_index(settings)) as index:
        found = [*index.flagged([FlagKind.HELD_BACK]), *(entry for id_ in reasons for entry in index.known(id_))]
    released = hold_back(settings, reasons, [entry.item for entry in found], by=HOLDER)
    records = {record.id for record in log.discoveries() if record.item not in released}
    holdings = {name for name in known_holdings if name.partition(_UNDONE)[0] in records}  # still of use
    holdings |= {names[suggestion.item] for suggestion in to_hold}
    if holdings != known_holdings:
        log.put_note(HELD, msgspec.json.encode(sorted(holdings)))
    return set(reasons)


def _holding_name(suggestion: Suggestion) -> str:
    """Return the name of a holding: another one after an answer was undone, so that the item may be held again."""
    if suggestion.answer is None or suggestion.answer.kind is not SuggestionDecision.UNDONE:
        return suggestion.record
    return f"{suggestion.record}{_UNDONE}{suggestion.answer.time}"


def _shown_since(log: QualityLog, waiting: Sequence[Suggestion], now: str) -> dict[str, str]:
    """Return the first time at which each suggestion could be shown, on any machine: no answer was possible before."""
    note = log.note(SHOWN)
    known_since: dict[str, str] = msgspec.json.decode(note, type=dict[str, str]) if note else {}
    since = {suggestion.record: known_since.get(suggestion.record, now) for suggestion in waiting}
    if since != known_since:
        log.put_note(SHOWN, msgspec.json.encode(since))
    return since
