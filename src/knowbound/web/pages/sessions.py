"""The pages Sessions, Session and Turn: from the list down to one call and its raw line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from knowbound.core.audit import AuditedSession, AuditedTurn, Diagnosis, Support
from knowbound.core.quality import ItemVerdict
from knowbound.core.signal import Findings, Turn
from knowbound.errors import InputError, KnowboundError
from knowbound.kms.opening import open_quality_log
from knowbound.kms.team_results import open_results
from knowbound.language import say, translated
from knowbound.report.formats.plain import printable
from knowbound.store.listing import ListedSession
from knowbound.text.printable import counted
from knowbound.text.redact import redact
from knowbound.traces.turns import TraceTurn, session_of, turns_in
from knowbound.web.pages import Asked, Goto, Plain, Shown, Studio, StudioPage
from knowbound.web.timeline import timeline

_ROWS_OF_PAGE = 40
_DIAGNOSES = tuple(Diagnosis)  # in the order in which bars show them
_RAW_BYTES = 400_000  # bytes of a raw line
_LARGE_BYTES = 24_000_000  # bytes of a transcript that is read again for each page


class SessionEntry(NamedTuple):
    """A session in the list."""

    listed: ListedSession
    prompt: str  # the first one
    diagnoses: tuple[tuple[str, int], ...]  # in the order of the diagnoses
    address: str


class TurnEntry(NamedTuple):
    """A turn in a list, with the beginning of its prompt."""

    number: int
    turn: Turn | None
    audited: AuditedTurn | None
    address: str


def show(asked: Asked) -> Shown:
    """Return the list of sessions, or of the turns with a diagnosis."""
    wanted = {name: asked.query.get(name, "") for name in ("project", "agent", "diagnosis")}
    after = asked.query.get("after", "")
    with closing(open_results(asked.studio.settings)) as results:
        projects, diagnoses = results.counts("project"), results.counts("diagnosis", project=wanted["project"])
        values = {
            "wanted": wanted,
            "projects": projects,
            "agents": results.counts("agent"),
            "diagnoses": [(each.value, diagnoses[each.value]) for each in _DIAGNOSES if each.value in diagnoses],
            "headline": _headline(sum(projects.values()), diagnoses),
            "first": bool(after),
        }
        project, agent, diagnosis = wanted.values()
        if diagnosis:
            turns = results.turns(project=project, diagnosis=diagnosis, after=after, most=_ROWS_OF_PAGE)
            values |= {"entries": (), "turns": turns.rows, "more": _next_address(wanted, turns.after)}
            return Shown("sessions.html", values)
        page = results.sessions(project=project, agent=agent, after=after, most=_ROWS_OF_PAGE)
        names = [row.session for row in page.rows]
        bars = {name: results.counts("diagnosis", session=name) for name in names}
        prompts = results.first_prompts(names)
    entries = [
        SessionEntry(
            row,
            " ".join(prompts.get(row.session, "").split()),
            _ordered_counts(bars.get(row.session, {})),
            f"/session/{quote(row.session, safe='')}",
        )
        for row in page.rows
    ]
    return Shown("sessions.html", values | {"entries": entries, "turns": (), "more": _next_address(wanted, page.after)})


def _next_address(wanted: dict[str, str], after: str) -> str:
    """Return the address of the next rows; "" after the last."""
    query = {name: value for name, value in wanted.items() if value} | {"after": after}
    return f"/sessions?{urlencode(query)}" if after else ""


def _ordered_counts(counts: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple((diagnosis.value, counts[diagnosis.value]) for diagnosis in _DIAGNOSES if counts.get(diagnosis.value))


def _headline(sessions: int, diagnoses: dict[str, int]) -> str:
    turns, bad = sum(diagnoses.values()), diagnoses.get(Diagnosis.UNSUPPORTED, 0)
    if not sessions:
        return translated("No session was read yet.")
    return say("{}: {} of {} rest on something that the trace does not show.",
               counted(sessions, "session"), f"{bad:,}", counted(turns, "turn"))  # fmt: skip


# One session


def show_session(asked: Asked) -> Shown:
    """Return a session with its turns."""
    id_ = asked.path["session"]
    stored = _stored_session(asked.studio, id_)
    entries = [
        TurnEntry(number, stored.turns.get(number), stored.audited.get(number), _turn_address(id_, number))
        for number in stored.numbers
    ]
    return Shown("session.html", {"id": id_, "session": stored.session, "entries": entries})


def _turn_address(session: str, turn: int) -> str:
    return f"/turn/{quote(session, safe='')}/{turn}"


# One turn


def show_turn(asked: Asked) -> Shown:
    """Return a turn as a time line."""
    id_, number = asked.path["session"], int(asked.path["turn"])
    stored = _stored_session(asked.studio, id_)
    audited, file = stored.audited.get(number), stored.file_of(number)
    line = asked.query.get("line", "")
    trace, shown, problem = None, None, translated("The trace has no such turn any more.")
    try:
        trace = trace_turn(Path(file), id_, number)
    except (InputError, OSError) as error:
        problem = str(error.args[0] if isinstance(error, InputError) else error)
    if trace is not None:
        problem, verdicts = "", _item_verdicts(asked.studio, trace)
        shown = timeline(trace, audited, verdicts, int(line) if line.isdecimal() else 0)
    claims = [claim for claim in audited.claims if claim.is_decided] if audited else []
    numbers, position = stored.numbers, stored.numbers.index(number)
    return Shown(
        "turn.html",
        {
            "id": id_,
            "number": number,
            "turn": audited,
            "trace": trace,
            "shown": shown,
            "problem": problem,
            "supported": (sum(claim.support is Support.SUPPORTED for claim in claims), len(claims)),
            "previous": _turn_address(id_, numbers[position - 1]) if position > 0 else "",
            "next": _turn_address(id_, numbers[position + 1]) if position + 1 < len(numbers) else "",
            "agent": stored.session.agent,
            "raw": f"/raw/{quote(id_, safe='')}/{number}",
            "session_address": f"/session/{quote(id_, safe='')}",
        },
    )


class _StoredSession(NamedTuple):
    """A stored session with its turns by number."""

    session: Findings | AuditedSession
    turns: dict[int, Turn]
    audited: dict[int, AuditedTurn]

    @property
    def numbers(self) -> list[int]:
        return sorted({*self.turns, *self.audited})

    def file_of(self, number: int) -> str:
        """Return the transcript of a turn. Raises InputError if there is no such turn."""
        turn = self.audited.get(number) or self.turns.get(number)
        if turn is None or not turn.file:
            raise InputError("no-sessions", f"Session {self.session.session!r} has no turn {number}.")
        return turn.file


def _stored_session(studio: Studio, id_: str) -> _StoredSession:
    """Return a stored session, with its gaps and its audit by the number of a turn. Raises InputError."""
    with closing(open_results(studio.settings)) as results:
        stored = results.session(id_)
    session = stored.findings or stored.audited
    if session is None:
        raise InputError("no-sessions", f"No session {id_!r} is stored.")
    turns = {turn.index: turn for turn in stored.findings.turns} if stored.findings else {}
    audited = {turn.turn: turn for turn in stored.audited.turns} if stored.audited else {}
    return _StoredSession(session, turns, audited)


def trace_turn(transcript: Path, session: str, number: int) -> TraceTurn | None:
    """Return one turn of a transcript; None if it has no such turn. Raises InputError if the transcript is gone."""
    try:
        info = transcript.stat()
    except OSError as error:
        raise InputError("no-such-path", f"The transcript is gone: {transcript}") from error
    is_large = info.st_size > _LARGE_BYTES  # too large to keep all turns of it
    turns = turns_in(session_of(transcript)) if is_large else _cached_turns(str(transcript), info.st_mtime_ns)
    return next((turn for turn in turns if (turn.session, turn.index) == (session, number)), None)


@lru_cache(maxsize=2)
def _cached_turns(transcript: str, _mtime_ns: int) -> Sequence[TraceTurn]:
    return tuple(turns_in(session_of(Path(transcript))))


def _item_verdicts(studio: Studio, turn: TraceTurn) -> dict[str, ItemVerdict]:
    """Return what the quality log says about the items of a turn, if it can be read."""
    with suppress(KnowboundError), closing(open_quality_log(studio.settings)) as log:
        logged = log.get(f"{turn.session}/{turn.key}")
        return {item.id: item.verdict for item in logged.items if item.verdict is not None} if logged else {}
    return {}


def at_line(asked: Asked) -> Goto:
    """Lead to the turn, and the call in it, at a line of a session's trace."""
    id_, line = asked.path["session"], int(asked.path["line"])
    stored = _stored_session(asked.studio, id_)
    first_lines = {number: turn.line for number, turn in (stored.turns | stored.audited).items()}
    # A line before every turn leads to the first one.
    numbers_before = [number for number, start in first_lines.items() if start <= line]
    if not first_lines:
        raise InputError("no-sessions", f"Session {id_!r} has no turn.")
    return Goto(f"{_turn_address(id_, max(numbers_before, default=min(first_lines)))}?line={line}#asked")


def raw_line(asked: Asked) -> Plain:
    """Return one line of a trace as it was written, without secrets."""
    id_, number, line = asked.path["session"], int(asked.path["turn"]), int(asked.path["line"])
    transcript = _stored_session(asked.studio, id_).file_of(number)
    trace = trace_turn(Path(transcript), id_, number)
    if trace is None:
        raise InputError("no-sessions", f"Session {id_!r} has no turn {number}.")
    # Only the files of this very turn are read, whatever the address says.
    paths = (step.path for step in trace.steps for call in step.calls if call.line == line and step.path)
    path = next(paths, transcript)
    try:
        with open(path, "rb") as file:
            raw = next(islice(file, line - 1, line), b"")
    except OSError as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror}.") from error
    text = raw[:_RAW_BYTES].decode("utf-8", "replace")
    with suppress(ValueError):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return Plain(printable(redact(text)))


PAGE = StudioPage(
    "Sessions",
    place=2,
    views={
        "/sessions": show,
        "/session/{session:path}": show_session,
        "/turn/{session:path}/{turn:int}": show_turn,
        "/at/{session:path}/{line:int}": at_line,
        "/raw/{session:path}/{turn:int}/{line:int}": raw_line,
    },
)
