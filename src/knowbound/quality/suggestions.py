"""Suggested corrections: what agents contradicted and nobody has answered yet (specification 2, section 5).

Nothing is stored for them. They are the open warranted corrections of items that are served as they were contradicted,
less those that were answered.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from knowbound.core.answers import Answer, AnswerKind
from knowbound.core.item import FlagKind
from knowbound.core.quality_log import Closing, Discovery
from knowbound.kms.index.database import Index
from knowbound.kms.quality_log.protocol import QualityLog
from knowbound.kms.screening import screened
from knowbound.quality.drafting import drafted
from knowbound.quality.fixing import on_present_content
from knowbound.text.redact import redact

ANSWER_DAYS = 14  # without an answer, the item is flagged UNVERIFIED


class Suggestion(msgspec.Struct, frozen=True):
    """A correction that waits for an answer."""

    item: str
    content: str  # of the item, now
    content_sha: str
    statement: str  # what the agent said instead; "" where that is kept back (kms/screening.py)
    draft: str  # that would supersede it; "" where nothing plausible was said
    missing: str  # why there is no draft
    raised: str
    session: str
    turn: str
    contradictions: int
    is_unverified: bool  # the item is flagged so
    record: str  # the id of the warranted correction
    answer: Answer | None = None  # that was taken back, or given by nobody

    def is_due(self, since: str, now: str) -> bool:
        """Whether it has waited for too long: from when it was raised, or could be shown first."""
        waited = datetime.fromisoformat(now) - datetime.fromisoformat(max(self.raised, since))
        return waited >= timedelta(days=ANSWER_DAYS)


def suggestions(log: QualityLog, index: Index) -> list[Suggestion]:
    """All of them: what was contradicted most often first, then the oldest."""
    answers = {answer.record: answer for answer in log.answers()}
    found = []
    for record in log.discoveries():
        answer = answers.get(record.id)
        if _is_open(record, answer) and (one := _suggestion(record, answer, log, index)):
            found.append(one)
    return sorted(found, key=lambda one: (-one.contradictions, one.raised, one.item))


def _is_open(record: Discovery, answer: Answer | None) -> bool:
    """As the next rollup will see it."""
    if record.closing is Closing.OPEN:
        return not (answer and answer.closes)
    return bool(answer and answer.kind is AnswerKind.UNDONE and record.closed <= answer.time)


def _suggestion(record: Discovery, answer: Answer | None, log: QualityLog, index: Index) -> Suggestion | None:
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
