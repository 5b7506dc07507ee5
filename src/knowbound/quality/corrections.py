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
from knowbound.quality.fixing import correctable, drafted, is_confirmed, on_present_content
from knowbound.quality.rollup import DISMISS, UNDO
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
        suggestion = self._open_suggestion(id_)
        if suggestion is None:
            raise self._not_open(id_, self._newest_answer(id_))
        return suggestion

    def accept(self, id_: str, content: str = "", *, again: bool = False) -> Item:
        """Supersede the item by the draft, or by this content; return the successor. Repeating it changes nothing."""
        suggestion = self._open_suggestion(id_)
        if suggestion is None:
            return self._accepted_before(id_, content)
        if suggestion.needs_person and not self._is_person:
            words = f"What would replace {id_} is neither in the tree nor in the user's words: a person decides."
            raise InputError("suggestion-needs-person", f"{words} Try: knowbound quality corrections accept {id_}")
        new_content = content.strip() or suggestion.draft
        if not new_content:
            words = f"Nothing was drafted for {id_} ({suggestion.missing})."
            hint = f"Try: knowbound quality corrections accept {id_} --content '…'"
            raise InputError("suggestion-undrafted", f"{words} {hint}")
        # An undone answer withdrew its content: `again` allows content that was withdrawn before.
        was_taken_back = suggestion.answer is not None and suggestion.answer.kind is SuggestionDecision.UNDONE
        claim = self._claim(suggestion, SuggestionDecision.ACCEPTED, content=new_content, again=again or was_taken_back)
        return self._supersede(claim)

    def dismiss(self, id_: str, note: str = "") -> SuggestionAnswer:
        """Close a suggestion as not warranted: what the judge took for a contradiction was none."""
        suggestion = self._open_suggestion(id_)
        if suggestion is None:
            newest = self._newest_answer(id_)
            if newest is None or newest.kind is not SuggestionDecision.DISMISSED:
                raise self._not_open(id_, newest)
            return newest if newest.done else self._note_dismissal(newest)
        return self._note_dismissal(self._claim(suggestion, SuggestionDecision.DISMISSED, note=note.strip()))

    def undo(self, id_: str) -> SuggestionAnswer:
        """Take the last answer back: the old item is served again, or the suggestion is open again.

        Raises InputError if the successor was superseded since: that is not taken back with it.
        """
        newest = self._newest_answer(id_)
        if newest is None or newest.kind in (SuggestionDecision.NONE, SuggestionDecision.FLAGGED):
            raise self._not_open(id_, None, "was not answered: there is nothing to take back")
        if newest.kind is SuggestionDecision.UNDONE:
            return newest if newest.done else self._take_back(newest)
        if newest.kind is SuggestionDecision.ACCEPTED and not newest.done:
            self._supersede(newest)  # only what was carried out can be taken back
            newest = self._newest_answer(id_) or newest
        successor = self._store.get(newest.successor) if newest.successor else None
        if successor and successor.flag and successor.flag.kind is FlagKind.SUPERSEDED:
            later = successor.flag.superseded_by
            words = f"{newest.item} was accepted as {successor.id}, which was superseded by {later} since."
            raise InputError("suggestion-answered", f"{words} Try: knowbound kms show {successor.id}")
        claim = replace(newest, kind=SuggestionDecision.UNDONE, done=False, note="")
        # All that is taken back comes before this answer.
        corrected = [correction.time for correction in self._store.index.corrections(id_)]
        return self._take_back(self._put(claim, max(self._clock(), newest.time, *corrected)))

    def finish(self) -> int:
        """Carry out the answers that killed processes left unfinished; return their number."""
        unfinished = [answer for answer in self._log.answers() if not answer.done]
        for answer in unfinished:
            try:
                _STEPS[answer.kind](self, answer)
            except InputError:  # the item is gone, or another machine was quicker: nothing is left to do
                # What could not be superseded waits for another answer.
                kind = SuggestionDecision.NONE if answer.kind is SuggestionDecision.ACCEPTED else answer.kind
                self._put(replace(answer, kind=kind, done=True, content=""))
        return len(unfinished)

    def flag_unanswered(self, since: Mapping[str, str]) -> list[str]:
        """Flag the items of suggestions that waited for too long as UNVERIFIED, each once. It answers nothing.

        `since` has when each record could be shown first: nobody could answer before. An item that is held back stays
        so, which is stricter.
        """
        now = self._clock()
        unheld = [waiting for waiting in self.open() if waiting.is_unanswered and not waiting.held_by]
        due = [waiting for waiting in unheld if waiting.record in since and waiting.is_due(since[waiting.record], now)]
        for suggestion in due:
            self._flag(self._claim(suggestion, SuggestionDecision.FLAGGED, note=_unanswered_reason(suggestion)))
        return [suggestion.item for suggestion in due]

    # The steps: each of them may have been done before.

    def _supersede(self, claim: SuggestionAnswer) -> Item:
        """Carry an acceptance out. Raises InputError if the store refuses the content."""
        by = ItemEdit(content=claim.content)
        try:
            successor = self._store.supersede(claim.item, by=by, note=_ACCEPTED, again=claim.again)
        except InputError:  # the suggestion waits for an answer again
            self._put(replace(claim, kind=SuggestionDecision.NONE, done=True, content=""))
            raise
        self._put(replace(claim, done=True, content="", successor=successor.id))
        return successor

    def _note_dismissal(self, claim: SuggestionAnswer) -> SuggestionAnswer:
        self._store.note_answer(claim.item, DISMISS, _logged_detail(claim))
        release(self._store, claim.item, by=HOLDER)
        return self._put(replace(claim, done=True))

    def _take_back(self, claim: SuggestionAnswer) -> SuggestionAnswer:
        """Serve the old item again, and delete the successor that the answer made."""
        if claim.successor:
            old, successor = self._store.get(claim.item), self._store.get(claim.successor)
            if old and old.flag and old.flag.kind is FlagKind.SUPERSEDED and old.flag.superseded_by == claim.successor:
                self._store.unflag(old.id)
            supersedes = (
                [link.target for link in successor.relationships if link.kind == "supersedes"] if successor else []
            )
            if successor and successor.is_served and claim.item in supersedes:  # else it was there before
                self._store.delete(successor.id, _TAKEN_BACK)
        self._store.note_answer(claim.item, UNDO, _logged_detail(claim))
        return self._put(replace(claim, done=True))

    def _flag(self, claim: SuggestionAnswer) -> SuggestionAnswer:
        self._store.flag(claim.item, FlagKind.UNVERIFIED, claim.note, automatic=True)
        return self._put(replace(claim, done=True))

    # Details

    def _open_suggestion(self, id_: str) -> Suggestion | None:
        return next((suggestion for suggestion in self.open() if suggestion.item == id_), None)

    def _newest_answer(self, id_: str) -> SuggestionAnswer | None:
        answers = [answer for answer in self._log.answers() if answer.item == id_]
        return answers[-1] if answers else None

    def _accepted_before(self, id_: str, content: str) -> Item:
        """Return the successor of an item that was accepted already, finishing what was left of it."""
        newest = self._newest_answer(id_)
        if newest is None or newest.kind is not SuggestionDecision.ACCEPTED:
            raise self._not_open(id_, newest)
        if not newest.done:
            return self._supersede(newest)
        if content.strip():
            return self._store.supersede(id_, by=ItemEdit(content=content.strip()))  # the same successor, or refused
        successor = self._store.get(newest.successor)
        if successor is None:
            raise self._not_open(id_, newest)
        return successor

    def _claim(
        self, about: Suggestion, kind: SuggestionDecision, *, content: str = "", note: str = "", again: bool = False
    ) -> SuggestionAnswer:
        """Write the answer to a suggestion down, before it is carried out."""
        revision = about.answer.revision if about.answer else 0
        by = "" if kind is SuggestionDecision.FLAGGED else self._by  # a flag is nobody's answer
        claim = SuggestionAnswer(
            about.record, about.item, kind, time="", by=by, revision=revision, note=note, content=content, again=again
        )
        return self._put(claim, max(self._clock(), about.raised))  # the clocks of machines differ

    def _put(self, answer: SuggestionAnswer, time: str = "") -> SuggestionAnswer:
        """Write the next revision of an answer. Raises InputError if another process answered differently meanwhile."""
        written = replace(answer, revision=answer.revision + 1, time=time or answer.time)
        if not self._log.put_answer(written):
            logged = self._newest_answer(answer.item)
            # Two processes may carry the same answer out: what the other one wrote is as good.
            if logged is None or logged.kind is not answer.kind or not (logged.done and answer.done):
                raise self._not_open(answer.item, logged)
        return written

    def _not_open(self, id_: str, newest: SuggestionAnswer | None, words: str = "") -> InputError:
        """Return the error for an item without an open suggestion: it was answered, or it never had one."""
        if newest is not None and newest.closes:
            words = f"was {newest.kind} at {newest.time}" + (f" by {newest.by}" if newest.by else "")
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


def _logged_detail(answer: SuggestionAnswer) -> dict[str, str]:
    """Return the detail that distinguishes two answers to the same suggestion in the log of corrections."""
    detail = {"record": answer.record, "revision": str(answer.revision)}
    return detail | ({"note": answer.note} if answer.note else {})


def _unanswered_reason(suggestion: Suggestion) -> str:
    """Return the reason on the flag: the contradictions, their judge, and that no answer came."""
    often = "once" if suggestion.contradictions == 1 else f"{suggestion.contradictions} times"
    judge = f", by the judge {suggestion.judge}" if suggestion.judge else ""
    return f"contradicted {often} since {suggestion.raised[:10]}{judge}; nobody answered for {ANSWER_DAYS} days"


def holding_reason(suggestion: Suggestion, *, is_late: bool) -> str:
    """Return the reason on the flag of an item that is held back; `is_late` after 14 days without an answer."""
    judge = f", by the judge {suggestion.judge}" if suggestion.judge else ""
    late = f", and no answer for {ANSWER_DAYS} days" if is_late else ""
    statement = f": {suggestion.statement}" if suggestion.statement else ""
    return f"contradicted on {suggestion.raised[:10]} in session {suggestion.session}{judge}{late}{statement}"


def suggestions(log: QualityLog, index: Index, root: Path | None = None) -> list[Suggestion]:
    """Return open suggestions: first contradicted most often, then with a draft that an agent may confirm, then oldest.

    `root` is the tree that drafts rest on. A contradiction that a judge invented has no draft, and is not confirmed: it
    would keep the others from ever being shown.
    """
    answers = {answer.record: answer for answer in log.answers()}
    found = []
    for record in log.discoveries():
        answer = answers.get(record.id)
        if _is_open(record, answer) and (suggestion := _suggestion(record, answer, log, index, root)):
            found.append(suggestion)

    def order(suggestion: Suggestion) -> tuple[int, bool, str, str]:
        is_undrafted = not suggestion.draft or suggestion.needs_person
        return -suggestion.contradictions, is_undrafted, suggestion.raised, suggestion.item

    return sorted(found, key=order)


def _is_open(record: Discovery, answer: SuggestionAnswer | None) -> bool:
    """Report whether the record is open, as the next rollup will see it."""
    if record.closing is Closing.OPEN:
        return not (answer and answer.closes)
    return bool(answer and answer.kind is SuggestionDecision.UNDONE and record.closed <= answer.time)


def _suggestion(
    record: Discovery, answer: SuggestionAnswer | None, log: QualityLog, index: Index, root: Path | None
) -> Suggestion | None:
    """Return the suggestion of an open record; None if the item is gone, or was rewritten since."""
    item = correctable(index, record.item)
    if item is None or on_present_content(record, item, log) is None:
        return None
    statement = "" if screened(record.statement) else redact(record.statement)
    draft = drafted(item.content, record.statement)
    turns = log.of_day(record.raised[:10]) if draft.content else ()
    users_words = "\n".join(turn.user_prompt for turn in turns if turn.session_id == record.session_id)
    return Suggestion(
        item=item.id,
        content=redact(item.content),
        content_sha=item.content_sha,
        statement=statement,
        draft=draft.content,
        missing=str(draft.missing or ""),
        raised=record.raised,
        session=record.session_id,
        turn=record.turn_id,
        contradictions=record.contradictions,
        is_unverified=bool(item.flag and item.flag.kind is FlagKind.UNVERIFIED),
        record=record.id,
        needs_person=bool(draft.content) and not is_confirmed(item.content, draft.content, users_words, root),
        judge=record.judge,
        answer=answer,
        held_by=item.held_by,
    )
