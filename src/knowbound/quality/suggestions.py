"""Suggested corrections: what agents contradicted and nobody has answered yet (specification 2, section 5).

Nothing is stored for them. They are the open warranted corrections of items that are served as they were contradicted,
less those that were answered.
"""

from __future__ import annotations

from knowbound.core.item import FlagKind
from knowbound.core.quality_log import Closing, Discovery
from knowbound.core.suggestions import Suggestion, SuggestionAnswer, SuggestionDecision
from knowbound.kms.index.database import Index
from knowbound.kms.quality_log.protocol import QualityLog
from knowbound.kms.screening import screened
from knowbound.quality.drafting import drafted
from knowbound.quality.fixing import on_present_content
from knowbound.text.redact import redact


def suggestions(log: QualityLog, index: Index) -> list[Suggestion]:
    """All of them: what was contradicted most often first, then the oldest."""
    answers = {answer.record: answer for answer in log.answers()}
    found = []
    for record in log.discoveries():
        answer = answers.get(record.id)
        if _is_open(record, answer) and (one := _suggestion(record, answer, log, index)):
            found.append(one)
    return sorted(found, key=lambda one: (-one.contradictions, one.raised, one.item))


def _is_open(record: Discovery, answer: SuggestionAnswer | None) -> bool:
    """As the next rollup will see it."""
    if record.closing is Closing.OPEN:
        return not (answer and answer.closes)
    return bool(answer and answer.kind is SuggestionDecision.UNDONE and record.closed <= answer.time)


def _suggestion(record: Discovery, answer: SuggestionAnswer | None, log: QualityLog, index: Index) -> Suggestion | None:
    held = next((one.item for one in index.known(record.item) if one.served), None)
    if held is None or on_present_content(record, held, log) is None:
        return None
    statement = "" if screened(record.statement) else redact(record.statement)
    draft = drafted(held.content, record.statement)
    return Suggestion(
        item=held.id,
        content=redact(held.content),
        content_sha=held.content_sha,
        statement=statement,
        draft=draft.content,
        missing=str(draft.missing or ""),
        raised=record.raised,
        session=record.session_id,
        turn=record.turn_id,
        contradictions=record.contradictions,
        is_unverified=bool(held.flag and held.flag.kind is FlagKind.UNVERIFIED),
        record=record.id,
        answer=answer,
    )
