"""Answers to suggested corrections: accept, dismiss, undo, or none at all (specification 2, section 5).

An answer is written down first, then carried out in the store, then marked as done. Each step can be repeated, so an
answer whose process was killed is finished by the next process, here or on another machine: `finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from knowbound.core.item import FlagKind, Item
from knowbound.core.quality import ANSWER_DAYS, Closing, Discovery, Suggestion, SuggestionAnswer, SuggestionDecision
from knowbound.errors import InputError
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.opening import release
from knowbound.kms.quality_log import QualityLog
from knowbound.kms.screening import screened
from knowbound.kms.validation import ItemEdit
from knowbound.quality.corrections.discovery import DISMISS, UNDO
from knowbound.quality.corrections.fixing import correctable, drafted, is_confirmed, on_present_content
from knowbound.text.clock import utc_now
from knowbound.text.redact import redact

HOLDER = "quality"  # holds the items back that turns contradict
_ACCEPTED = "a suggested correction was accepted"
_TAKEN_BACK = "a suggested correction was taken back"


class Corrections:
    """The suggested corrections of a project, to be answered. `by` is who answers."""

    def __init__(
        self,
        log: QualityLog,
        store: KnowledgeStore,
        *,
        by: str = "",
        clock: Callable[[], str] = utc_now,
        root: Path | None = None,
        is_person: bool = True,
    ) -> None:
        self._log, self._store, self._by, self._clock = log, store, by, clock
        self._root, self._is_person = root, is_person

    def open(self) -> list[Suggestion]:
        """Return the suggestions that wait for an answer."""
        return suggestions(self._log, self._store.index, self._root)

    def suggestion(self, id_: str) -> Suggestion:
        """Return the suggestion about this item. Raises InputError if no suggestion about it waits."""
        one = self._find(id_)
        if one is None:
            raise self._not_open(id_, self._newest(id_))
        return one

    def accept(self, id_: str, content: str = "", *, again: bool = False) -> Item:
        """Supersede the item by the draft, or by this content; the successor. The same again changes nothing."""
        one = self._find(id_)
        if one is None:
            return self._accepted_before(id_, content)
        if one.needs_person and not self._is_person:
            words = f"What would replace {id_} is neither in the tree nor in the user's words: a person decides."
            raise InputError("suggestion-needs-person", f"{words} Try: knowbound quality corrections accept {id_}")
        wanted = content.strip() or one.draft
        if not wanted:
            words = f"Nothing was drafted for {id_} ({one.missing}). Try: knowbound quality corrections accept {id_} "
            raise InputError("suggestion-undrafted", f"{words}--content '…'")
        was_taken_back = one.answer is not None and one.answer.kind is SuggestionDecision.UNDONE
        claim = self._claim(one, SuggestionDecision.ACCEPTED, content=wanted, again=again or was_taken_back)
        return self._supersede(claim)

    def dismiss(self, id_: str, note: str = "") -> SuggestionAnswer:
        """The contradiction was none: close it as not warranted."""
        one = self._find(id_)
        if one is None:
            known = self._newest(id_)
            if known is None or known.kind is not SuggestionDecision.DISMISSED:
                raise self._not_open(id_, known)
            return known if known.done else self._note_dismissal(known)
        return self._note_dismissal(self._claim(one, SuggestionDecision.DISMISSED, note=note.strip()))

    def undo(self, id_: str) -> SuggestionAnswer:
        """Take the last answer back: the old item is served again, or the suggestion is open again."""
        known = self._newest(id_)
        if known is None or known.kind in (SuggestionDecision.NONE, SuggestionDecision.FLAGGED):
            raise self._not_open(id_, None, "was not answered: there is nothing to take back")
        if known.kind is SuggestionDecision.UNDONE:
            return known if known.done else self._take_back(known)
        if known.kind is SuggestionDecision.ACCEPTED and not known.done:
            self._supersede(known)
            known = self._newest(id_) or known
        self._refuse_replaced(known)
        claim = replace(known, kind=SuggestionDecision.UNDONE, done=False, note="")
        corrected = [one.time for one in self._store.index.corrections(id_)]  # all that is taken back comes before
        return self._take_back(self._put(claim, self._time(max([known.time, *corrected]))))

    def finish(self) -> int:
        """Carry out what killed processes left of their answers; how many."""
        left = [answer for answer in self._log.answers() if not answer.done]
        for answer in left:
            try:
                _STEPS[answer.kind](self, answer)
            except InputError:  # the item is gone, or another machine was quicker: nothing is left to do
                kind = SuggestionDecision.NONE if answer.kind is SuggestionDecision.ACCEPTED else answer.kind
                self._put(replace(answer, kind=kind, done=True, content=""))
        return len(left)

    def flag_unanswered(self, since: Mapping[str, str]) -> list[str]:
        """Flag the items of suggestions that waited for too long as UNVERIFIED, each once. It answers nothing.

        `since` has when each record could be shown first: nobody could answer before. An item that is held back stays
        so, which is stricter.
        """
        never = [one for one in self.open() if one.is_unanswered and not one.held_by and one.record in since]
        due = [one for one in never if one.is_due(since[one.record], self._clock())]
        for one in due:
            self._flag(self._claim(one, SuggestionDecision.FLAGGED, note=_unanswered(one)))
        return [one.item for one in due]

    # The steps: each of them may have been done before

    def _supersede(self, claim: SuggestionAnswer) -> Item:
        by = ItemEdit(content=claim.content)
        try:
            successor = self._store.supersede(claim.item, by=by, note=_ACCEPTED, again=claim.again)
        except InputError:
            self._put(replace(claim, kind=SuggestionDecision.NONE, done=True, content=""))
            raise
        self._put(replace(claim, done=True, content="", successor=successor.id))
        return successor

    def _note_dismissal(self, claim: SuggestionAnswer) -> SuggestionAnswer:
        self._store.note_answer(claim.item, DISMISS, _detail(claim))
        release(self._store, claim.item, by=HOLDER)
        return self._put(replace(claim, done=True))

    def _take_back(self, claim: SuggestionAnswer) -> SuggestionAnswer:
        if claim.successor:
            old, new = self._store.get(claim.item), self._store.get(claim.successor)
            if old and old.flag and old.flag.kind is FlagKind.SUPERSEDED and old.flag.superseded_by == claim.successor:
                self._store.unflag(old.id)
            if new and new.is_served and _was_made_for(new, claim.item):
                self._store.delete(new.id, _TAKEN_BACK)
        self._store.note_answer(claim.item, UNDO, _detail(claim))
        return self._put(replace(claim, done=True))

    def _flag(self, claim: SuggestionAnswer) -> SuggestionAnswer:
        self._store.flag(claim.item, FlagKind.UNVERIFIED, claim.note, automatic=True)
        return self._put(replace(claim, done=True))

    # Details

    def _find(self, id_: str) -> Suggestion | None:
        return next((one for one in self.open() if one.item == id_), None)

    def _newest(self, id_: str) -> SuggestionAnswer | None:
        known = [answer for answer in self._log.answers() if answer.item == id_]
        return known[-1] if known else None

    def _accepted_before(self, id_: str, content: str) -> Item:
        known = self._newest(id_)
        if known is None or known.kind is not SuggestionDecision.ACCEPTED:
            raise self._not_open(id_, known)
        if not known.done:
            return self._supersede(known)
        if content.strip():
            return self._store.supersede(id_, by=ItemEdit(content=content.strip()))  # the same, or refused
        successor = self._store.get(known.successor)
        if successor is None:
            raise self._not_open(id_, known)
        return successor

    def _claim(
        self, one: Suggestion, kind: SuggestionDecision, *, content: str = "", note: str = "", again: bool = False
    ) -> SuggestionAnswer:
        """Write the answer down, before it is carried out."""
        revision = one.answer.revision if one.answer else 0
        by = "" if kind is SuggestionDecision.FLAGGED else self._by
        claim = SuggestionAnswer(one.record, one.item, kind, "", by, revision, note=note, content=content, again=again)
        return self._put(claim, self._time(one.raised))

    def _put(self, answer: SuggestionAnswer, time: str = "") -> SuggestionAnswer:
        """Over its revision before. Whoever marks the same as done was not too late."""
        written = replace(answer, revision=answer.revision + 1, time=time or answer.time)
        if not self._log.put_answer(written):
            now = self._newest(answer.item)
            if now is None or now.kind is not answer.kind or not (now.done and answer.done):
                raise self._not_open(answer.item, now)
        return written

    def _time(self, least: str) -> str:
        return max(self._clock(), least)  # machines' clocks differ

    def _refuse_replaced(self, known: SuggestionAnswer) -> None:
        """Raise InputError if the successor was superseded since: that is not taken back with it."""
        new = self._store.get(known.successor) if known.successor else None
        if new and new.flag and new.flag.kind is FlagKind.SUPERSEDED:
            words = f"{known.item} was accepted as {new.id}, which was superseded by {new.flag.superseded_by} since."
            raise InputError("suggestion-answered", f"{words} Try: knowbound kms show {new.id}")

    def _not_open(self, id_: str, known: SuggestionAnswer | None, words: str = "") -> InputError:
        if known is not None and known.closes:
            words = f"was {known.kind} at {known.time}" + (f" by {known.by}" if known.by else "")
            return InputError("suggestion-answered", f"{id_} {words}. Try: knowbound quality corrections undo {id_}")
        words = words or "has no suggested correction that waits for an answer"
        return InputError("no-suggestion", f"{id_} {words}. Try: knowbound quality corrections")


_STEPS: dict[SuggestionDecision, Callable[[Corrections, SuggestionAnswer], object]] = {
    SuggestionDecision.ACCEPTED: Corrections._supersede,
    SuggestionDecision.DISMISSED: Corrections._note_dismissal,
    SuggestionDecision.UNDONE: Corrections._take_back,
    SuggestionDecision.FLAGGED: Corrections._flag,
    SuggestionDecision.NONE: lambda corrections, answer: None,
}


def _was_made_for(item: Item, old: str) -> bool:
    """Report whether the item was made to supersede another, and not there before."""
    return any(one.kind == "supersedes" and one.target == old for one in item.relationships)


def _detail(answer: SuggestionAnswer) -> dict[str, str]:
    """Return the detail that distinguishes two answers to the same suggestion in the log of corrections."""
    known = {"record": answer.record, "revision": str(answer.revision)}
    return known | ({"note": answer.note} if answer.note else {})


def _unanswered(one: Suggestion) -> str:
    """Return the reason on the flag: the contradictions, their judge, and that no answer came."""
    often = "once" if one.contradictions == 1 else f"{one.contradictions} times"
    judge = f", by the judge {one.judge}" if one.judge else ""
    return f"contradicted {often} since {one.raised[:10]}{judge}; nobody answered for {ANSWER_DAYS} days"


def holding_reason(one: Suggestion, *, is_late: bool) -> str:
    """Return the reason on the flag of an item that is held back; `is_late` after 14 days without an answer."""
    judge = f", by the judge {one.judge}" if one.judge else ""
    late = f", and no answer for {ANSWER_DAYS} days" if is_late else ""
    said = f": {one.statement}" if one.statement else ""
    return f"contradicted on {one.raised[:10]} in session {one.session}{judge}{late}{said}"


def suggestions(log: QualityLog, index: Index, root: Path | None = None) -> list[Suggestion]:
    """All of them: what was contradicted most often first, then what has a draft that an agent may confirm, the oldest.

    `root` is the tree that drafts rest on. A contradiction that a judge invented has no draft, and is not confirmed: it
    would keep the others from ever being shown.
    """
    answers = {answer.record: answer for answer in log.answers()}
    found = []
    for record in log.discoveries():
        answer = answers.get(record.id)
        if _is_open(record, answer) and (one := _suggestion(record, answer, log, index, root)):
            found.append(one)
    return sorted(found, key=lambda one: (-one.contradictions, not one.draft or one.needs_person, one.raised, one.item))


def _is_open(record: Discovery, answer: SuggestionAnswer | None) -> bool:
    """Report whether the record is open, as the next rollup will see it."""
    if record.closing is Closing.OPEN:
        return not (answer and answer.closes)
    return bool(answer and answer.kind is SuggestionDecision.UNDONE and record.closed <= answer.time)


def _suggestion(
    record: Discovery, answer: SuggestionAnswer | None, log: QualityLog, index: Index, root: Path | None
) -> Suggestion | None:
    held = correctable(index, record.item)
    if held is None or on_present_content(record, held, log) is None:
        return None
    statement = "" if screened(record.statement) else redact(record.statement)
    draft = drafted(held.content, record.statement)
    words = _users_words(record, log) if draft.content else ""
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
        needs_person=bool(draft.content) and not is_confirmed(held.content, draft.content, words, root),
        judge=record.judge,
        answer=answer,
        held_by=held.held_by,
    )


def _users_words(record: Discovery, log: QualityLog) -> str:
    """Return the user's words in the session of that day, as far as the log has them."""
    turns = log.of_day(record.raised[:10])
    return "\n".join(turn.user_prompt for turn in turns if turn.session_id == record.session_id)
