"""What the worker does for suggested corrections after each rollup, and every answer for the next session.

Answers that a killed process left are finished. While the loop is on, suggestions without an answer for 14 days flag
their item, and the file that session starts read is written anew (specification 2, section 5).
"""

from __future__ import annotations

from contextlib import closing

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
from knowbound.quality.rollout import is_loop_on, load_state
from knowbound.text.clock import utc_now


def tend(settings: Settings, log: QualityLog, *, now: str = "") -> list[str]:
    """Finish answers, flag items, and show suggestions. Returns the ids of the items that were flagged.

    The store is opened only where something is to be written.
    """
    now, since = now or utc_now(), _since(settings, log)
    with closing(open_index(settings)) as index:
        waiting = suggestions(log, index)
        is_left = any(not answer.done for answer in log.answers())
        is_due = since is not None and any(one.answer is None and one.is_due(since, now) for one in waiting)
    flagged = []
    if is_left or is_due:
        with closing(open_knowledge_store(settings)) as store:
            corrections = Corrections(log, store, clock=lambda: now)
            corrections.finish()
            flagged = corrections.flag_unanswered(since) if since is not None else []
    with closing(open_index(settings)) as index:
        show(settings, log, index)
    return flagged


def show(settings: Settings, log: QualityLog, index: Index) -> None:
    """Have the next sessions start with what waits for an answer now; with nothing while the loop is off."""
    waiting = suggestions(log, index) if is_loop_on(settings) else []
    rows = [_shown(one) for one in waiting if screened(one.content) is None][:MOST_KEPT]
    try:
        shown_suggestions.keep(str(settings.home), rows)
    except OSError as error:
        place = settings.home / shown_suggestions.FILE
        raise StoreError("store-unwritable", f"Cannot write {place}: {error.strerror or error}.") from error


def _since(settings: Settings, log: QualityLog) -> str | None:
    """When suggestions were shown first, UTC; None while the loop is off."""
    return load_state(log).since if is_loop_on(settings) else None


def _shown(one: Suggestion) -> ShownSuggestion:
    content, draft = one.content[:MOST_OF_A_TEXT], one.draft[:MOST_OF_A_TEXT]
    return ShownSuggestion(
        id=one.item, sha=one.content_sha, content=content, draft=draft, date=one.raised, session=one.session
    )
