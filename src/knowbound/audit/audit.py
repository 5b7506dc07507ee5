"""`audit` from beginning to end: find the sessions, audit those that changed, and count."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from knowbound import __version__
from knowbound.audit.stored import shares_of
from knowbound.config import Settings
from knowbound.core.audit import AuditedSession, AuditedTurn, Diagnosis, Support
from knowbound.core.paths import project_name
from knowbound.errors import InputError
from knowbound.gaps.filters import Filters
from knowbound.judge.choice import ModelTask, judge_for, may_see
from knowbound.judge.names import RULES
from knowbound.report.audit.model import AuditReport, Shares
from knowbound.stats.rate import Rate
from knowbound.store.audited import Audited
from knowbound.store.forgotten import load_forgotten
from knowbound.store.observed import Observed
from knowbound.text.clock import utc_now
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
)

if TYPE_CHECKING:
    from knowbound.audit.asked import ModelClaims
    from knowbound.judge.models.asking import Asker
    from knowbound.judge.turns.verdict import TurnJudge

RULES_VERSION = 2  # raise it when the same trace gives other claims or another diagnosis: stored ones are made again
_FIRST = 100  # turns to look at first that a report keeps
_ORDER = (Diagnosis.UNSUPPORTED, Diagnosis.MISLED, Diagnosis.BLIND, Diagnosis.IGNORED)


def audit(
    paths: Sequence[Path],
    settings: Settings,
    filters: Filters | None = None,
    *,
    progress: Progress | None = None,
    environ: Mapping[str, str] | None = None,
    also: Sequence[Lens] = (),
) -> tuple[AuditReport, Iterator[AuditedTurn]]:
    """Audit the traces below the paths (or where agents keep theirs).

    Other lenses read in the same pass. Gives the report, and the turns one by one for formats that list them all.
    """
    filters = filters or Filters()
    places = [str(path) for path in paths]
    if not paths:
        known, paths = places_of_agents(environ)
        places = [str(path) for path in known]
    files, left_out = scan(paths)
    if not files:
        raise InputError("no-sessions", f"No sessions found in {', '.join(places)}. Try: knowbound audit PATH")
    observed = Observed(settings.home)
    found = sessions_of(files, observed, load_forgotten(settings.home))
    observed.keep_files(row for row in found.fresh if row.path not in found.forgotten)
    read_together(found.sessions, files, [audit_lens(settings), *also], settings, progress)
    sessions = [one for one in Audited(settings.home).sessions(keys_of(found.sessions)) if filters.admits(one)]
    if not sessions:
        given = ", ".join(f"--{name} {value}" for name, value in filters.shown().items())
        where = f"{', '.join(places)}{f' with {given}' if given else ''}"
        raise InputError("no-sessions", f"No sessions found in {where}. Try: knowbound audit --all")
    turns = _kept_turns(sessions, filters)
    return report_of(turns, places, filters, left_out), (turn for _, turn in turns)


def audit_lens(settings: Settings) -> Lens:
    """The lens that reads the audited turns of sessions."""
    store = Audited(settings.home)
    claims = judge_for(settings, ModelTask.CLAIMS)
    turns = _turn_judge(settings)
    rules = f"{__version__}|{RULES_VERSION}|{turns.version}|{_claims_version(claims)}|{settings.model_cross_provider}"
    asks = claims != RULES

    def keep(batch: list[tuple[SessionToRead, bytes]]) -> None:
        store.keep([(one.key, "" if asks and _lacks_answers(found) else one.state, found) for one, found in batch])

    return Lens(rules, store.states(), read_one, keep, asks=asks or turns.costs)


def lenses_beside(settings: Settings) -> list[Lens]:
    """Return the lens for the pass of another verb; none where it would ask a model, which only `audit` does."""
    lens = audit_lens(settings)
    return [] if lens.asks else [lens]


def _lacks_answers(found: bytes) -> bool:
    """Whether the model failed on a turn: such a session is read again the next time."""
    return any(one.problem for one in msgspec.msgpack.decode(found, type=list[AuditedSession]))


def read_one(events: SharedEvents, settings: Settings) -> bytes:
    """Run in a worker: return one session's audited turns, as msgpack."""
    from knowbound.audit.claims.tree import ProjectFiles
    from knowbound.audit.reading import read_session

    try:
        model = _model(settings)
        found = read_session(events, partial(_turn_judge, settings), model, ProjectFiles(settings.root))
        if model is not None and found:
            found[0].asked, found[0].usd = model.spent.turns, model.spent.usd
            found[0].problem = model.spent.problem
    except Exception as error:  # a defect of ours: one session never hides the others
        if os.environ.get("KNOWBOUND_TRACEBACK"):
            raise
        problem = f"a defect of ours: {type(error).__name__}"
        found = [AuditedSession(events.session.session, events.session.reader, problem=problem)]
    return msgspec.msgpack.encode(found)


def _model(settings: Settings) -> ModelClaims | None:
    """The model that decides what rules leave open, where one is configured."""
    name = judge_for(settings, ModelTask.CLAIMS)
    if name == RULES:
        return None
    from knowbound.audit.asked import ModelClaims

    asker = _asker(settings, name)
    return None if asker is None else ModelClaims(asker, partial(may_see, name, settings=settings))


@lru_cache(maxsize=1)
def _asker(settings: Settings, name: str) -> Asker | None:
    """Return the asker about claims, one for all sessions: it knows what was spent, and what is hopeless."""
    from knowbound.judge.registry import asker_for

    return asker_for(settings, name)


@lru_cache(maxsize=1)
def _turn_judge(settings: Settings) -> TurnJudge:
    from knowbound.judge.registry import turn_judge

    return turn_judge(settings)


def _claims_version(name: str) -> str:
    if name == RULES:
        return RULES
    from knowbound.judge.names import parse_name
    from knowbound.judge.prompts import CLAIMS, load_prompt
    from knowbound.judge.registry import identity

    return f"{load_prompt(CLAIMS).version}/{identity(parse_name(name))}"


_Kept = list[tuple[AuditedSession, AuditedTurn]]


def _kept_turns(sessions: Iterable[AuditedSession], filters: Filters) -> _Kept:
    return [
        (session, turn)
        for session in sessions
        for turn in session.turns
        if not filters.skill or turn.skill == filters.skill
    ]


def report_of(turns: _Kept, places: list[str], filters: Filters, warnings: list[str]) -> AuditReport:
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
    total = sum(sum(counts.values()) for counts in claims.values())
    undecided = sum(counts[Support.NOT_CHECKABLE] for counts in claims.values())
    first = sorted((turn for _, turn in turns if turn.diagnosis in _ORDER), key=_first_key)
    asked = {session.session: session for session, _ in turns if session.asked}
    costs = [session.usd for session in asked.values()]
    problems = sorted({session.problem for session, _ in turns if session.problem})
    return AuditReport(
        whole=shares_of("all", turns),
        groups={name: _grouped(turns, key) for name, key in groups.items()},
        claims={kind: dict(counts) for kind, counts in claims.items()},
        not_checkable=Rate(undecided, total),
        findings=dict(Counter(one.code.value for _, turn in turns for one in turn.findings).most_common()),
        first=first[:_FIRST],
        asked=sum(session.asked for session in asked.values()),
        usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        sessions=len({session.session for session, _ in turns}),
        places=places,
        filters=filters.shown(),
        warnings=[*warnings, *problems],
        made=utc_now(),
        version=__version__,
    )


def _first_key(turn: AuditedTurn) -> tuple[int, bool, str, str, int]:
    """Contradicted before unseen; the newest of each first is what people remember."""
    contradicted = any(one.support is Support.CONTRADICTED for one in turn.claims)
    return _ORDER.index(turn.diagnosis), not contradicted, _backwards(turn.time), turn.session, turn.turn


def _backwards(time_: str) -> str:
    return "".join(chr(0x10FFFF - ord(character)) if ord(character) < 0x80 else character for character in time_)


def _grouped(turns: _Kept, key: Callable[[AuditedSession, AuditedTurn], str]) -> list[Shares]:
    parts: dict[str, _Kept] = {}
    for session, turn in turns:
        parts.setdefault(key(session, turn), []).append((session, turn))
    return sorted((shares_of(name, part) for name, part in parts.items()), key=lambda one: (-one.turns, one.name))


def _week(time_: str) -> str:
    """The ISO week of a time: 2026-W07."""
    try:
        year, week, _ = date.fromisoformat(time_[:10]).isocalendar()
    except ValueError:
        return ""
    return f"{year}-W{week:02}"
