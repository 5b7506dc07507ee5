"""`audit` from beginning to end: find the sessions, audit those that changed, and count."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from knowbound import __version__
from knowbound.audit.stored import shares_of
from knowbound.config import Settings
from knowbound.core.audit import BY_RULES, RULES_VERSION, AuditedSession, AuditedTurn, Diagnosis, FindingCode
from knowbound.core.paths import project_name
from knowbound.core.trace import ReadShares, SessionsRead
from knowbound.errors import InputError
from knowbound.gaps.stored import Filters
from knowbound.judge.choice import may_see
from knowbound.kms.team_results import AUDITED, publish, taken_over
from knowbound.report.answers import AuditReport, Shares
from knowbound.store.observed import Audited, Observed
from knowbound.store.retention import keep_bounded, load_forgotten
from knowbound.text.clock import utc_now
from knowbound.text.printable import counted
from knowbound.traces.corpus import scan
from knowbound.traces.sessions import (
    Lens,
    Progress,
    SessionToRead,
    SharedEvents,
    keys_of,
    places_of_agents,
    read_together,
    sessions_of,
    sessions_with_friction,
)

if TYPE_CHECKING:
    from knowbound.judge.models.asking import Asker

MOST_JUDGED = 30  # turns that a model reads in one run, unless more are asked for
_FRICTION_REASONS = 2  # reasons to look that friction in `/insights` counts for
_MOST_FIRST = 100  # turns to look at first that a report keeps
# By how much a finding matters: shown to be wrong, then not shown; partial runs and side counts last.
_BY_IMPORTANCE = (
    FindingCode.USER_CONTRADICTS, FindingCode.FAILURE_LEFT_OUT, FindingCode.TRACE_CONTRADICTS, FindingCode.NO_TESTS_RAN,
    FindingCode.RESULT_NOT_SHOWN, FindingCode.EDITED_AFTER_RUN, FindingCode.SUCCESS_WITHOUT_RUN,
    FindingCode.CAUSE_WITHOUT_EVIDENCE, FindingCode.STATE_NOT_SHOWN, FindingCode.BEHAVIOUR_NOT_SHOWN,
    FindingCode.CHECK_MISSES_CHANGE, FindingCode.ABSENCE_NOT_SEARCHED, FindingCode.CITED_UNSEEN,
    FindingCode.OUTPUT_NOT_PRINTED, FindingCode.CLAIM_NOT_SHOWN, FindingCode.NUMBER_NOT_SHOWN, FindingCode.PARTIAL_RUN,
)  # fmt: skip
_FIRST_DIAGNOSES = (Diagnosis.UNSUPPORTED, Diagnosis.MISLED, Diagnosis.BLIND, Diagnosis.IGNORED)


class Judging(NamedTuple):
    """The model that reads answers, and how many of them: the most suspicious first."""

    asker: Asker
    most: int = MOST_JUDGED


def audit(
    paths: Sequence[Path],
    settings: Settings,
    filters: Filters | None = None,
    *,
    judging: Judging | None = None,
    progress: Progress | None = None,
    environ: Mapping[str, str] | None = None,
    also: Sequence[Lens] = (),
) -> tuple[AuditReport, Iterator[AuditedTurn]]:
    """Audit the traces below the paths (or where agents keep theirs) by rules, and the most suspicious by a model.

    Other lenses read in the same pass. Gives the report, and the turns one by one for formats that list them all.
    """
    filters = filters or Filters()
    places = [str(path) for path in paths]
    if not paths:
        searched, paths = places_of_agents(environ)
        places = [str(path) for path in paths or searched]
    files, notes = scan(paths, settings.store_keep_days)
    if not files:
        raise InputError("no-sessions", f"No sessions found in {', '.join(places)}. Try: knowbound audit PATH")
    observed = Observed(settings.home)
    found = sessions_of(files, observed, load_forgotten(settings.home))
    observed.keep_files(row for row in found.fresh if row.path not in found.forgotten)
    keys, store = keys_of(found.sessions), Audited(settings.home)
    notes += keep_bounded(settings.home, settings.store_keep_days, keys)
    stored_by = store.rules_version()
    changed, *_ = read_together(found.sessions, files, [audit_lens(settings), *also], settings, progress)
    if changed and stored_by is not None and stored_by < RULES_VERSION:
        changed_count = counted(len(changed), "session")
        notes.append(f"{changed_count} audited again by newer rules: figures of an earlier version do not compare.")
    stored = list(store.sessions(keys))
    sessions = [session for session in stored if filters.admits(session)]
    left_out = found.left_out() + Counter(why for session in stored if (why := filters.why_not(session)))
    if not sessions:
        given = ", ".join(f"--{name} {value}" for name, value in filters.shown().items())
        where = f"{', '.join(places)}{f' with {given}' if given else ''}"
        raise InputError("no-sessions", f"No sessions found in {where}. Try: knowbound audit --all")
    turns = _kept_turns(sessions, filters)
    judged = JudgedTurns()
    friction = sessions_with_friction(environ)
    if with_friction := friction.intersection(session.session for session in sessions):
        counted_sessions = counted(len(with_friction), "session")
        notes.append(
            f"Claude Code's /insights saw friction in {counted_sessions}: a reason to look at them first, no verdict."
        )
    if judging is not None:
        judged = judge_turns(turns, judging, settings, friction)
        turns = [(session, judged.turns.get((turn.session, turn.turn), turn)) for session, turn in turns]
        store.replace_turns(judged.turns)
        notes += [judged.problem] if judged.problem else []
    publish(settings, (session for session, _ in judged.turns))
    reading = SessionsRead(len(sessions), {why: count for why, count in left_out.items() if count})
    return report_of(turns, places, filters, notes, judged, reading, friction), (turn for _, turn in turns)


class JudgedTurns(msgspec.Struct):
    """Turns that a model has read, by session and number, and what that took."""

    turns: dict[tuple[str, int], AuditedTurn] = {}
    tokens: int = 0  # that were sent, as estimated
    calls: int = 0
    usd: float | None = 0.0  # None: unknown
    problem: str = ""  # the first


def suspicious(turns: Iterable[AuditedTurn], friction: frozenset[str] = frozenset()) -> list[AuditedTurn]:
    """Return the turns that no model has read and that there is a reason to doubt: most reasons, newest first.

    `friction`: sessions of which another tool says that they went badly.
    """

    def reasons(turn: AuditedTurn) -> int:
        is_open = turn.suspicion > 0 or turn.diagnosis is Diagnosis.UNKNOWN
        return turn.suspicion + _FRICTION_REASONS * (is_open and turn.session in friction)  # no reason by itself

    waiting = [turn for turn in turns if turn.by == BY_RULES and reasons(turn)]
    return sorted(sorted(waiting, key=lambda turn: turn.time, reverse=True), key=lambda turn: -reasons(turn))


def judge_turns(
    turns: _TurnsOfSessions, judging: Judging, settings: Settings, friction: frozenset[str] = frozenset()
) -> JudgedTurns:
    """Let the model read the most suspicious turns of sessions that it may see."""
    from knowbound.audit.asking import AskedTurn, ask_turns
    from knowbound.audit.reading import ReadTurn, audited_turn, questions_of, take_answer

    judge = judging.asker.judge
    allowed = [turn for session, turn in turns if may_see(judge, session.agent, settings)]
    chosen = suspicious(allowed, friction)[: judging.most]
    skills = {(turn.session, turn.turn): turn.skill for turn in chosen}
    by_file: dict[str, set[tuple[str, int]]] = {}  # session and number of the chosen turns
    for turn in chosen:
        by_file.setdefault(turn.file, set()).add((turn.session, turn.turn))
    read: list[tuple[ReadTurn, AskedTurn]] = []
    for file, wanted in by_file.items():
        with suppress(InputError, OSError):  # the transcript is gone
            read += questions_of(Path(file), wanted)
    judged = JudgedTurns()
    answers = ask_turns([asked for _, asked in read], judging.asker)
    for (read_turn, _), answered in zip(read, answers, strict=True):
        key = read_turn.turn.session, read_turn.turn.index
        if take_answer(read_turn, answered, judge):
            judged.turns[key] = audited_turn(read_turn, skills[key])
        else:
            judged.problem = judged.problem or answered.problem
    usage = judging.asker.usage
    judged.calls, judged.usd, judged.tokens = usage.calls, usage.usd, usage.own_tokens
    return judged


def audit_lens(settings: Settings) -> Lens:
    """Return the lens that reads the audited turns of sessions, by rules."""
    store = Audited(settings.home)
    rules = f"{__version__}|{RULES_VERSION}"

    def keep(batch: list[tuple[SessionToRead, bytes]]) -> None:
        store.keep((session.key, session.state, found) for session, found in batch)

    return Lens(rules, store.states(), read_one, keep, taken_over(AUDITED, settings))


def read_one(events: SharedEvents, settings: Settings) -> bytes:
    """Run in a worker: return one session's audited turns, as msgpack."""
    from knowbound.audit.reading import read_session
    from knowbound.judge.turns import RulesTurnJudge

    try:
        sessions = read_session(events, RulesTurnJudge)
        for session in sessions:
            session.rules = RULES_VERSION
    except Exception as error:  # a defect of ours: a session that fails never hides other sessions
        if os.environ.get("KNOWBOUND_TRACEBACK"):
            raise
        problem = f"a defect of ours: {type(error).__name__}"
        sessions = [AuditedSession(events.session.session, events.session.reader, problem=problem)]
    return msgspec.msgpack.encode(sessions)


_TurnsOfSessions = list[tuple[AuditedSession, AuditedTurn]]


def _kept_turns(sessions: Iterable[AuditedSession], filters: Filters) -> _TurnsOfSessions:
    """Return the turns of the skill that is asked for, or all, each with its session."""
    return [
        (session, turn)
        for session in sessions
        for turn in session.turns
        if not filters.skill or turn.skill == filters.skill
    ]


def report_of(
    turns: _TurnsOfSessions,
    places: list[str],
    filters: Filters,
    warnings: list[str],
    judged: JudgedTurns,
    reading: SessionsRead,
    friction: frozenset[str] = frozenset(),
) -> AuditReport:
    """Count the audited turns."""
    groups: dict[str, Callable[[AuditedSession, AuditedTurn], str]] = {
        "project": lambda session, _: project_name(session.project),
        "agent": lambda session, _: session.agent,
        "model": lambda _, turn: turn.model,
        "skill": lambda _, turn: turn.skill,
        "week": lambda session, turn: _week(turn.time or session.started),
    }
    claims: dict[str, Counter[str]] = {}
    for _, turn in turns:
        for claim in turn.claims:
            claims.setdefault(claim.kind, Counter())[claim.support] += 1
    first = sorted(
        (turn for _, turn in turns if turn.diagnosis in _FIRST_DIAGNOSES), key=lambda turn: (turn.session, turn.turn)
    )
    first = sorted(sorted(first, key=lambda turn: turn.time, reverse=True), key=_first_key)  # the newest of each first
    waiting = suspicious((turn for _, turn in turns), friction)[:MOST_JUDGED]
    problems = sorted({session.problem for session, _ in turns if session.problem})
    return AuditReport(
        whole=shares_of("all", turns),
        groups={name: _grouped(turns, key) for name, key in groups.items()},
        claims={kind: dict(counts) for kind, counts in claims.items()},
        findings=dict(Counter(finding.code.value for _, turn in turns for finding in turn.findings).most_common()),
        first=first[:_MOST_FIRST],
        judged=dict(Counter(turn.by for _, turn in turns if turn.by != BY_RULES)),
        waiting=len(waiting),
        asked=len(judged.turns),
        calls=judged.calls,
        tokens=judged.tokens,
        usd=judged.usd,
        sessions=len({session.session for session, _ in turns}),
        read=sum({id(session): session.read for session, _ in turns}.values(), ReadShares()),  # of a session once
        places=places,
        filters=filters.shown(),
        reading=reading,
        warnings=[*warnings, *problems],
        made=utc_now(),
        version=__version__,
    )


def _first_key(turn: AuditedTurn) -> tuple[int, int]:
    """Sort by diagnosis, then by how much the finding matters."""
    importance = [_BY_IMPORTANCE.index(finding.code) for finding in turn.findings if finding.code in _BY_IMPORTANCE]
    return _FIRST_DIAGNOSES.index(turn.diagnosis), min(importance, default=len(_BY_IMPORTANCE))


def _grouped(turns: _TurnsOfSessions, key: Callable[[AuditedSession, AuditedTurn], str]) -> list[Shares]:
    """Return the shares of each group of turns with one key, the largest group first."""
    groups: dict[str, _TurnsOfSessions] = {}
    for session, turn in turns:
        groups.setdefault(key(session, turn), []).append((session, turn))
    return sorted(
        (shares_of(name, group) for name, group in groups.items()), key=lambda shares: (-shares.turns, shares.name)
    )


def _week(time_: str) -> str:
    """Return the ISO week of a time, such as 2026-W07; "" if it is no time."""
    try:
        year, week, _ = date.fromisoformat(time_[:10]).isocalendar()
    except ValueError:
        return ""
    return f"{year}-W{week:02}"
