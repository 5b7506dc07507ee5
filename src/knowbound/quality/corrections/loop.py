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
from knowbound.injection import shown_suggestions
from knowbound.injection.shown_suggestions import MOST_KEPT, MOST_OF_A_TEXT, ShownSuggestion
from knowbound.judge.calibration import is_trusted
from knowbound.kms.index.database import Index
from knowbound.kms.opening import hold_back, open_index, open_knowledge_store, open_quality_log
from knowbound.kms.quality_log import QualityLog
from knowbound.kms.screening import screened
from knowbound.quality.corrections.answers import HOLDER, Corrections, holding_reason, suggestions
from knowbound.quality.rollup import roll_up
from knowbound.text.clock import utc_now

SHOWN = "suggestions"  # note of the quality log: record → since when sessions can start with it
HELD = "held"  # note of the quality log: the suggestions whose items were held back, for all machines
_BY = "knowbound"
_UNDONE = " undone "


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
    since = _since(log, waiting, now)
    late = {one.item for one in waiting if one.is_unanswered and one.is_due(since[one.record], now)}
    held = _hold_back(settings, log, waiting, late)
    flagged = []
    if late - held:
        with closing(open_knowledge_store(settings, by=_BY)) as store:
            flagged = Corrections(log, store, clock=lambda: now).flag_unanswered(since)
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


def _hold_back(settings: Settings, log: QualityLog, waiting: Sequence[Suggestion], late: AbstractSet[str]) -> set[str]:
    """Hold the items of these suggestions back, and release what is answered; return the ids of those held back.

    An item that was held back for a suggestion and is not any more was released by a person, on any machine: it stays
    released until an answer to the suggestion is undone.
    """
    kept = log.note(HELD)
    known: set[str] = msgspec.json.decode(kept, type=set[str]) if kept else set()
    held = [one for one in waiting if one.held_by == HOLDER or _holding(one) not in known]
    reasons = {one.item: holding_reason(one, is_late=one.item in late) for one in held}
    with closing(open_index(settings)) as index:
        found = [*index.flagged([FlagKind.HELD_BACK]), *(one for id_ in reasons for one in index.known(id_))]
    released = hold_back(settings, reasons, [one.item for one in found], by=HOLDER)
    records = {one.id for one in log.discoveries() if one.item not in released}
    holdings = {one for one in known if one.partition(_UNDONE)[0] in records} | set(map(_holding, held))
    if holdings != known:
        log.put_note(HELD, msgspec.json.encode(sorted(holdings)))
    return set(reasons)


def _holding(one: Suggestion) -> str:
    """Name the suggestion; by another name after an answer was undone."""
    is_undone = one.answer is not None and one.answer.kind is SuggestionDecision.UNDONE
    return f"{one.record}{_UNDONE}{one.answer.time}" if one.answer and is_undone else one.record


def _since(log: QualityLog, waiting: Sequence[Suggestion], now: str) -> dict[str, str]:
    """Return the first time at which each suggestion could be shown, on any machine: no answer was possible before."""
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
