"""Reads one session: from its files to its audited turns, by rules; a model reads the turns that are chosen later."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from knowbound import __version__
from knowbound.audit.answer import Answer, Checked, answer_of
from knowbound.audit.checks import Ended
from knowbound.audit.diagnosis import (
    NOT_FINAL,
    TurnSigns,
    best_entries,
    diagnose,
    evidence_of,
    next_step,
    why_unanswered,
)
from knowbound.audit.exact import CLAIM_RULES, complaint, contradicted_by_user
from knowbound.audit.facts import SessionView, TurnFacts, facts_of
from knowbound.audit.success import last_failures
from knowbound.core.audit import (
    BY_RULES,
    SUCCESS,
    UNSUPPORTED,
    AuditedSession,
    AuditedTurn,
    AuditFinding,
    Because,
    GapRow,
)
from knowbound.core.evidence import REQUIREMENTS, Evidence, Intent, Quality, coverage_of, derive_confidence, gaps_of
from knowbound.core.quality import JudgedCall, JudgedItem, JudgedTurn
from knowbound.core.trace import Event, Prompt, ReadShares, Skill, Start, Step
from knowbound.errors import InputError
from knowbound.gaps.lens import GENERAL
from knowbound.report.answers import TurnPage
from knowbound.store.listing import SqliteResults
from knowbound.text.clock import comparable_time
from knowbound.text.intent import intent_of
from knowbound.text.redact import excerpt, redact
from knowbound.traces.calls.finish import is_unknown_call
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.sessions import SharedEvents, places_of_agents
from knowbound.traces.turns import TraceTurn, session_of, sessions_in, turns_of

if TYPE_CHECKING:
    from knowbound.audit.asking import AnsweredTurn, AskedTurn
    from knowbound.judge.turns import TurnJudge


_INTENT_CHARACTERS = 300  # characters of a prompt that say what it asks for: a pasted plan or log does not
_LONGEST_YES = 40  # a prompt this short may only say yes to the turn before
_YES_WORDS = frozenset(
    "yes yeah yep ok okay sure continue go proceed please y do it ahead on lets let's great good thanks".split()
)
_MOST_CLAIMS = 40  # of a turn that are kept
_PROMPT, _INJECTED, _WHAT, _ANSWER = 2_000, 400, 160, 8_000  # characters that are shown


class ReadTurn(msgspec.Struct):
    """One turn with everything that its diagnosis is made from."""

    turn: TraceTurn
    unanswered: str  # why it has no answer; "" where it has one
    answer: Answer | None
    checked: list[Checked]
    facts: TurnFacts
    evidence: list[Evidence]
    intent: Intent
    signs: TurnSigns
    suspicion: int = 0
    by: str = BY_RULES


def read_session(shared: SharedEvents, judge: Callable[[], TurnJudge] | None = None) -> list[AuditedSession]:
    """Return the audited turns of a session; a file that holds several sessions gives several."""
    events = _Events(shared)
    turns_by_session: dict[str, list[ReadTurn]] = {}
    for read, _ in _read(events, judge):
        read.turn = msgspec.structs.replace(read.turn, steps=[], injections=[])  # what was printed is no longer needed
        turns_by_session.setdefault(read.turn.session, []).append(read)
    facts_by_session = events.sessions
    sessions = [
        _audited_session(id_, turns, facts_by_session.get(id_, _SessionFacts()), shared.session.reader)
        for id_, turns in turns_by_session.items()
    ]
    if sessions:  # counted once for the file, so only its first session has them
        tally = shared.tally
        sessions[0].read = ReadShares(tally.lines, tally.unread_lines, events.calls, events.unknown_calls)
    return sessions


def questions_of(transcript: Path, turns: Collection[tuple[str, int]]) -> Iterator[tuple[ReadTurn, AskedTurn]]:
    """Yield these turns of a transcript (session and number), each with what a question about it needs.

    Raises InputError if the transcript is gone.
    """
    for read, view in read_turns(session_of(transcript)):
        if (read.turn.session, read.turn.index) in turns and read.answer is not None and not read.unanswered:
            yield read, asked_turn(read, view)


def asked_turn(read: ReadTurn, view: SessionView) -> AskedTurn:
    """Return what a question about an answered turn needs; the view is that of the turn's end."""
    from knowbound.audit.asking import AskedTurn, session_facts  # noqa: PLC0415

    assert read.answer is not None, "a turn without an answer is not asked about"
    facts = "\n".join(session_facts(read.turn, read.facts, view))
    return AskedTurn(read.turn, read.answer, read.checked, facts, view.texts, read.facts.waits)


def take_answer(read: ReadTurn, answered: AnsweredTurn, judge: str) -> bool:
    """Put a model's claims in the place of those by rules; False if the model gave none."""
    if answered.claims is None:
        return False
    read.checked, read.by = answered.claims, judge
    read.unanswered = read.unanswered or ("" if answered.is_final else NOT_FINAL)
    return True


def read_turns(session: SessionFiles) -> Iterator[tuple[ReadTurn, SessionView]]:
    """Yield the turns of a session one by one, whole, with what the session has shown until then."""
    return _read(_Events(SharedEvents(session)), None)


def _read(events: _Events, judge: Callable[[], TurnJudge] | None) -> Iterator[tuple[ReadTurn, SessionView]]:
    """Yield each turn with the view of its session up to its end; a further session of the file begins anew."""
    view, session, intent = SessionView(), "", Intent.CHAT
    for turn in turns_of(events.follow(), events.start):
        if turn.session != session:
            view, session, intent = SessionView(), turn.session, Intent.CHAT
        intent = _intent_of_turn(turn, intent)
        yield _read_turn(turn, view, intent, judge), view


def _read_turn(turn: TraceTurn, view: SessionView, intent: Intent, judge: Callable[[], TurnJudge] | None) -> ReadTurn:
    """Return a turn with what rules make of it; brings the view up to its end."""
    facts = facts_of(turn, view)
    unanswered = why_unanswered(turn)
    answer = answer_of(turn)
    checked = check_claims(answer, facts, view, turn) if answer is not None and not unanswered else []
    read = ReadTurn(
        turn,
        unanswered,
        answer,
        checked,
        facts,
        evidence_of(turn.calls, facts),
        intent,
        _signs_of_items(turn, answer, judge),
    )
    read.suspicion = _suspicion(read, view)
    return read


def _suspicion(read: ReadTurn, view: SessionView) -> int:
    """Return how many reasons there are to let a model read the answer."""
    if read.unanswered or read.answer is None:
        return 0
    edit, claims = view.last_code_edit, [checked.claim for checked in read.checked]
    says_success = any(claim.kind in SUCCESS for claim in claims)
    is_unchecked = edit is not None and not any(run.order > edit.order for run in view.runs)
    # Weights: what is already contradicted or unsupported counts most, an edit alone least.
    reasons = (
        3 * bool(read.turn.next_prompt and complaint(read.turn.prompt.text, read.turn.next_prompt)),
        3 * any(claim.support in UNSUPPORTED for claim in claims),
        2 * bool(last_failures(read.facts)),
        2 * (says_success and is_unchecked),
        1 * (read.facts.last_code_edit is not None),
        1 * bool(not read.facts.calls and any("`" in said.text for said in read.answer.statements)),  # code unseen
    )
    return sum(reasons)


def _intent_of_turn(turn: TraceTurn, before: Intent) -> Intent:
    """Return the intent of the prompt; "yes" and "continue" keep the intent of the turn before."""
    text = turn.prompt.text.strip()
    words = text.lower().strip(".!,").split()
    if len(text) <= _LONGEST_YES and words and all(word.strip(",.!") in _YES_WORDS for word in words):
        return before
    return intent_of(text[:_INTENT_CHARACTERS])


def _signs_of_items(turn: TraceTurn, answer: Answer | None, judge: Callable[[], TurnJudge] | None) -> TurnSigns:
    """Return the verdicts of the judge of turns on the items that were injected into this turn."""
    items = tuple(JudgedItem(injection.item, injection.content) for injection in turn.injections if injection.item)
    if not items or judge is None or answer is None:
        return TurnSigns()
    judged = JudgedTurn(
        turn.key,
        turn.prompt.text,
        answer.text,
        items,
        tuple(map(JudgedCall.of, turn.calls)),
        read_before=turn.read_before,
        next_message=turn.next_prompt,
        session=turn.session,
        project=turn.project,
        agent=turn.agent,
    )
    (verdicts_of_turn,) = judge().judge([judged])
    contradicted = next((verdict.item for verdict in verdicts_of_turn.verdicts if verdict.contradicted), "")
    on_topic = [verdict for verdict in verdicts_of_turn.verdicts if verdict.on_topic]
    unused = on_topic[0].item if on_topic and not any(verdict.used for verdict in verdicts_of_turn.verdicts) else ""
    return TurnSigns(contradicted=contradicted, unused=unused)


class _SessionFacts(msgspec.Struct):
    """Facts about a session that its events hold beside the turns."""

    project: str = ""
    started: str = ""
    ended: str = ""
    skills: dict[int, str] = {}  # by turn: from its invocation to the next skill or the end


class _Events:
    """The events of a session, followed on the way to its turns."""

    def __init__(self, events: SharedEvents) -> None:
        self.start = events.session.start
        self._events = events
        self.sessions: dict[str, _SessionFacts] = {}
        self.calls = self.unknown_calls = 0

    def follow(self) -> Iterator[Event]:
        """Yield each event, and keep what it says about its session."""
        session, index, skill = self.start.session, 0, GENERAL
        facts = self.sessions.setdefault(session, _SessionFacts())
        for event in self._events.follow():
            match event:
                case Start():
                    if event.session and event.session != session:
                        session, index, skill = event.session, 0, GENERAL
                        facts = self.sessions.setdefault(session, _SessionFacts())
                    facts.project = event.project or facts.project
                    facts.started = facts.started or event.time
                case Prompt():
                    index += 1
                    facts.skills[index] = skill
                    facts.started, facts.ended = facts.started or event.time, event.time or facts.ended
                case Skill():
                    skill = event.name
                    facts.skills[index] = skill
                case Step():
                    facts.ended = event.time or facts.ended
                    self.calls += len(event.calls)
                    self.unknown_calls += sum(map(is_unknown_call, event.calls))
                case _:
                    pass
            yield event


# ---- what is kept


def _audited_session(id_: str, turns: list[ReadTurn], facts: _SessionFacts, agent: str) -> AuditedSession:
    return AuditedSession(
        session=id_,
        agent=agent,
        project=facts.project or turns[0].turn.project,
        started=comparable_time(facts.started),
        ended=comparable_time(facts.ended),
        turns=[audited_turn(turn, facts.skills.get(turn.turn.index, GENERAL)) for turn in turns],
    )


def audited_turn(read: ReadTurn, skill: str = GENERAL) -> AuditedTurn:
    """Return a turn as it is stored and shown, without secrets."""
    turn, requirements = read.turn, REQUIREMENTS.get(read.intent, ())
    entries = best_entries(read.evidence)
    gaps = gaps_of(requirements, (), entries)  # without terms: nobody asked this turn for any
    verdict = diagnose(read.unanswered, read.answer, read.checked, read.facts, read.signs, read.intent, gaps)
    met, needed, lowest = coverage_of(requirements, (), entries)
    agreeing = {entry.cls.value for entry in read.evidence if entry.quality is Quality.VERIFIED}
    claims = tuple(
        msgspec.structs.replace(checked.claim, text=_redacted(checked.claim.text), why=_redacted(checked.claim.why))
        for checked in read.checked[:_MOST_CLAIMS]
    )
    findings = tuple(
        AuditFinding(checked.code, f"{claim.text} ({claim.why})", claim.line)
        for checked, claim in zip(read.checked, claims, strict=False)
        if checked.code is not None
    )
    return AuditedTurn(
        session=turn.session,
        turn=turn.index,
        message_id=turn.prompt.id,
        intent=read.intent,
        diagnosis=verdict.diagnosis,
        confidence=derive_confidence(requirements, (), entries)[0],
        claims=claims,
        findings=findings,
        gaps=tuple(GapRow(gap.cls, gap.have, gap.need) for gap in gaps),
        next=next_step(verdict, claims, findings, read.facts.missed),
        why=_redacted(verdict.why),
        file=turn.prompt.path,
        line=turn.prompt.line,
        time=turn.prompt.time,
        skill=skill,
        model=read.facts.model,
        item=verdict.item,
        because=Because(lowest, f"{met} of {needed}", tuple(sorted(agreeing))),
        by=read.by,
        suspicion=read.suspicion,
        passed={
            kind.value: _redacted(run.command[:_WHAT])
            for run in read.facts.runs
            if run.ended is Ended.PASSED
            for kind in sorted(run.kinds)
        },
    )


@lru_cache(maxsize=4096)
def _redacted(text: str) -> str:
    return redact(text)


def check_claims(answer: Answer, facts: TurnFacts, view: SessionView, turn: TraceTurn) -> list[Checked]:
    """Return the claims of an answer that rules can check, those that are contradicted first."""
    found: dict[tuple[str, str], Checked] = {}
    for find_claims in CLAIM_RULES:
        for checked in find_claims(answer, facts, view):
            key = checked.claim.kind, checked.claim.text
            if key not in found or (
                checked.claim.support in UNSUPPORTED and found[key].claim.support not in UNSUPPORTED
            ):
                found[key] = checked
    by_user = contradicted_by_user(turn.prompt.text, turn.next_prompt, list(found.values()), facts)
    for checked in by_user:
        found[checked.claim.kind, checked.claim.text] = checked
    return list(found.values())


def turn_page(paths: Sequence[Path], session: str, turn: int, home: Path) -> TurnPage:
    """Return turn number `turn` of the session whose id starts with `session`, with the stored verdict of a model.

    Raises InputError if there is no such turn.
    """
    matching = [files for files in sessions_in(paths or places_of_agents()[1]) if files.session.startswith(session)]
    last_number = 0
    for files in matching:
        for read, _ in read_turns(files):
            if not read.turn.session.startswith(session):
                continue
            last_number = read.turn.index
            if last_number == turn:
                return _page(read, _stored_if_judged(read.turn, home))
    if not matching or not last_number:
        raise InputError("no-sessions", f"No session whose id begins with {session!r}. Try: knowbound audit --all")
    raise InputError("no-sessions", f"Session {session!r} has {last_number} turns, and no turn {turn}.")


def _stored_if_judged(turn: TraceTurn, home: Path) -> AuditedTurn | None:
    """Return the turn as it is stored, if a model has read it."""
    with closing(SqliteResults(home)) as results:
        found = results.turn(turn.session, turn.index).audited
    return found if found is not None and found.by != BY_RULES else None


def _page(read: ReadTurn, stored: AuditedTurn | None) -> TurnPage:
    """Return the page of a turn: its stored verdict, else that of rules, with the texts that lead to it."""
    turn = read.turn
    return TurnPage(
        turn=stored or audited_turn(read),
        prompt=excerpt(turn.prompt.text, _PROMPT),
        injected=[
            (injection.item or injection.path or injection.source, excerpt(injection.content, _INJECTED))
            for injection in turn.injections
        ],
        calls=[
            (call.kind.value, _call_words(call.name, call.query), call.outcome.value, call.line) for call in turn.calls
        ],
        evidence=[
            (entry.cls.value, entry.quality.value, entry.strength.value, _call_words(entry.tool, entry.query))
            for entry in read.evidence
        ],
        answer=excerpt(read.answer.text, _ANSWER) if read.answer else "",
        explanation=derive_confidence(REQUIREMENTS.get(read.intent, ()), (), read.evidence)[1],
        version=__version__,
    )


def _call_words(tool: str, query: str) -> str:
    return excerpt(" ".join(f"{tool} {query}".split()), _WHAT)
