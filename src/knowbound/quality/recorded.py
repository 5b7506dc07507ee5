"""`quality score PATH…`: scores recorded traces, so that there is an answer on the first day (specification 2).

What a trace shows to have been injected is judged: items of our store, and what others put there (instruction files,
memory, other hooks), in pieces. An item that was injected for a prompt is judged in its turn. What stays in the context
for the whole session is judged in every turn from then on, and counts once a session: a section that was of no use to
the first prompt may be of use to the third. Nothing is written to the log: these are other people's injections, or
turns that hooks have reported already.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.paths import works_in
from knowbound.core.quality import ItemVerdict, JudgedItem, JudgedTurn, LoggedItem, Metric
from knowbound.errors import InputError
from knowbound.files import numbered_lines
from knowbound.judge.registry import turn_judge
from knowbound.judge.turns import TurnJudge, TurnVerdicts
from knowbound.quality.joining import TurnSources, join
from knowbound.quality.rollup import counted
from knowbound.report.quality.items import RecordedQuality, ScoredItem, ScoredSource
from knowbound.stats.rate import Rate, clustered
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.registry import default_folders
from knowbound.traces.turns import TraceTurn, sessions_in, turns_in

OURS = "knowbound"
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_EXAMPLE = '{"id": "t1", "prompt": "…", "items": [{"id": "i1", "content": "…"}], "response": "…", "tool_calls": []}'


class ScoredVerdict(NamedTuple):
    """The verdict on an item in a turn, and the place of the prompt."""

    turn: str  # session/turn
    item: LoggedItem
    verdict: ItemVerdict
    file: str
    line: int

    @property
    def source(self) -> str:
        """The store, file or channel of the item."""
        return self.item.source or self.item.source_backend


class _ToJudge(NamedTuple):
    """A turn with the items that were in its context."""

    turn: JudgedTurn
    trace: TraceTurn
    in_context: frozenset[str]  # ids of the items that stay in the context


class _Session(msgspec.Struct):
    """The turns of one session, and the verdicts on them: one on each piece that stays in the context."""

    to_judge: list[_ToJudge] = []
    items_by_id: dict[str, LoggedItem] = {}  # all that a verdict can be about
    turns: int = 0  # with or without items
    scored: list[ScoredVerdict] = []
    problems: list[str] = []


def score_traces(
    paths: Sequence[Path], settings: Settings, *, project: str = "", since: str = "", agent: str = ""
) -> tuple[RecordedQuality, list[ScoredVerdict]]:
    """The verdicts on everything that was injected into the sessions below the paths, and what they add up to."""
    if not paths:
        paths = [path for path in default_folders(os.environ, Path.home()) if path.exists()]
    sessions = [session for session in sessions_in(paths) if not agent or session.reader == agent]
    if not sessions:
        raise InputError("no-sessions", "No session was found there. Try: knowbound quality score PATH")
    judge = turn_judge(settings)
    collect = partial(_collect, project=project, since=since)
    largest_first = sorted(sessions, key=lambda session: -session.size)  # else the last process may run alone
    jobs = settings.jobs or os.cpu_count() or 1
    if judge.costs:  # one process asks, so that it can say before how much, and ask several at once
        collected = list(map(collect, largest_first))
        given = iter(judge.judge([to_judge.turn for part in collected for to_judge in part.to_judge]))
        found = [_put_verdicts(part, [next(given) for _ in part.to_judge]) for part in collected]
    elif jobs > 1 and len(sessions) > 1:
        with ProcessPoolExecutor(jobs) as pool:
            found = list(pool.map(partial(_scored, collect=collect, settings=settings), largest_first))
    else:
        found = [_scored(session, collect=collect, settings=settings) for session in largest_first]
    return _report(found, judge.version), [scored for part in found for scored in part.scored]


def _scored(session: SessionFiles, *, collect: Callable[[SessionFiles], _Session], settings: Settings) -> _Session:
    part = collect(session)
    return _put_verdicts(part, turn_judge(settings).judge([to_judge.turn for to_judge in part.to_judge]))


def _collect(session: SessionFiles, *, project: str, since: str) -> _Session:
    """Return the turns of a session, each with what was injected into it or stays in its context."""
    in_context: dict[str, tuple[LoggedItem, JudgedItem]] = {}
    collected = _Session()
    for turn in turns_in(session):
        is_of_project = not project or works_in(turn.project, (project,))
        is_wanted = is_of_project and (turn.prompt.time or since) >= since  # a turn without a time is wanted
        joined = join(TurnSources(trace=turn), lambda _: None)  # by the trace alone, without the store
        others = {item.id: item for item in joined.turn.other_items}
        contents = {item.id: item for item in joined.judged.items}
        in_context |= {id_: (injected, contents[id_]) for id_, injected in others.items()}
        if not is_wanted:
            continue  # after its injections: they stay in the context of the turns that are wanted
        by_us = (injection for injection in turn.injections if injection.item)
        ours = [LoggedItem(found.item, OURS, found.content, len(found.content)) for found in by_us]
        collected.items_by_id |= {item.id: item for item in ours}
        collected.items_by_id |= {id_: item for id_, (item, _) in in_context.items()}
        items = [JudgedItem(item.id, item.content_excerpt) for item in ours] + [item for _, item in in_context.values()]
        if items:
            judged = replace(joined.judged, items=tuple(items))
            collected.to_judge.append(_ToJudge(judged, turn, frozenset(in_context)))
        collected.turns += 1
    return collected


def _put_verdicts(session: _Session, given: Sequence[TurnVerdicts]) -> _Session:
    """Put the verdicts on a session into it; an item that stays in its context gets one for all turns."""
    best: dict[str, ScoredVerdict] = {}
    for judged, verdicts in zip(session.to_judge, given, strict=True):
        if verdicts.problem:
            session.problems.append(verdicts.problem)
        prompt = judged.trace.prompt
        for verdict in verdicts.verdicts:
            scored = ScoredVerdict(judged.turn.id, session.items_by_id[verdict.item], verdict, prompt.path, prompt.line)
            if verdict.item in judged.in_context:
                best[verdict.item] = _better_verdict(best.get(verdict.item), scored)
            else:
                session.scored.append(scored)
    session.scored += best.values()
    session.to_judge = []  # the traces are no longer needed, and would be sent between processes
    return session


def _better_verdict(earlier: ScoredVerdict | None, later: ScoredVerdict) -> ScoredVerdict:
    """A session's verdict on what stays in its context: yes where one of its turns says so.

    The turn and line are those of the gravest verdict: contradicted before used before on topic.
    """
    if earlier is None:
        return later
    first, second = (later, earlier) if _severity(later) > _severity(earlier) else (earlier, later)
    answers = {metric: earlier.verdict.says(metric) or later.verdict.says(metric) for metric in Metric}
    correction = first.verdict.correction or second.verdict.correction
    return first._replace(verdict=replace(first.verdict, **answers, correction=correction))


def _severity(scored: ScoredVerdict) -> tuple[bool, bool, bool]:
    return scored.verdict.contradicted, scored.verdict.used, scored.verdict.on_topic


def _report(found: Sequence[_Session], judge: str) -> RecordedQuality:
    """Add up the verdicts of all sessions, by source and by item."""
    by_source: dict[str, dict[int, list[ScoredVerdict]]] = {}  # the verdicts of each source by session
    by_item: dict[str, list[ScoredVerdict]] = {}
    for number, session in enumerate(found):
        for row in session.scored:
            by_source.setdefault(row.source, {}).setdefault(number, []).append(row)
            by_item.setdefault(row.item.id, []).append(row)
    sources = [_source(name, list(sessions.values())) for name, sessions in by_source.items()]
    sources.sort(key=lambda source: (source.name != OURS, -source.on_topic.n, source.name))
    return RecordedQuality(
        judge=judge,
        sessions=len(found),
        turns=sum(session.turns for session in found),
        sources=tuple(sources),
        items=tuple(map(_item, by_item.values())),
        problems=tuple(dict.fromkeys(problem for session in found for problem in session.problems)),
    )


def _source(name: str, sessions: Sequence[Sequence[ScoredVerdict]]) -> ScoredSource:
    """Return the rates of a source, with intervals that allow for the pieces of one session being alike."""
    rates = {
        str(metric): clustered(Rate(sum(row.verdict.says(metric) for row in rows), len(rows)) for rows in sessions)
        for metric in Metric
    }
    return ScoredSource(name, len({row.item.id for rows in sessions for row in rows}), len(sessions), **rates)


def _item(scored: Sequence[ScoredVerdict]) -> ScoredItem:
    """Return an item with its counts, and the turn of its gravest verdict."""
    first = max(scored, key=_severity)
    return ScoredItem(
        id=first.item.id,
        source=first.source,
        text=first.item.content_excerpt,
        counts=counted(replace(row.item, verdict=row.verdict) for row in scored),
        correction=first.verdict.correction,
        turn=first.turn,
        file=first.file,
        line=first.line,
    )


def scored_lines(scored: Iterable[ScoredVerdict]) -> Iterator[str]:
    """The lines of `--format jsonl`."""
    for row in scored:
        said = {"turn": row.turn, **_row(row.verdict), "judge": row.verdict.judge}
        place = {"source": row.source, "file": row.file, "line": row.line}
        yield msgspec.json.encode(said | place).decode() + "\n"


def _row(verdict: ItemVerdict) -> dict[str, object]:
    answers: dict[str, object] = {str(metric): verdict.says(metric) for metric in Metric}
    return {"item": verdict.item, **answers, "correction": verdict.correction}


def read_turns(path: Path) -> list[JudgedTurn]:
    """Return the turns of a file. A bad line is an error: a turn lost in silence would change the counts."""
    turns = [_turn(line, path, number) for number, line in numbered_lines(path)]
    if not turns:
        raise InputError("bad-turns", f"{path} has no turn. Try a line such as {_EXAMPLE}")
    return turns


def _turn(line: bytes, path: Path, number: int) -> JudgedTurn:
    """Parse a line, with its time in UTC. Raises InputError for a bad line."""
    try:
        turn = msgspec.json.decode(line, type=JudgedTurn)
        if turn.timestamp:
            time = datetime.fromisoformat(turn.timestamp)
            in_utc = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
            turn = replace(turn, timestamp=in_utc.strftime(_TIME_FORMAT))
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, OverflowError) as error:
        raise InputError("bad-turns", f"{path}:{number} is no turn: {error}. Try: {_EXAMPLE}") from None
    return turn


def judged(judge: TurnJudge, turns: list[JudgedTurn]) -> Iterable[TurnVerdicts]:
    """The verdicts on each turn, in the order of the file; a judge that costs nothing is asked as they are read."""
    return judge.judge(turns) if judge.costs else (judge.judge([turn])[0] for turn in turns)


def judged_lines(judge: str, turns: list[JudgedTurn], verdicts: Iterable[TurnVerdicts]) -> Iterator[str]:
    """Yield a JSON line per item, in the order of the file, with the reason if the judge failed."""
    for turn, given in zip(turns, verdicts, strict=True):
        by_item = {verdict.item: verdict for verdict in given.verdicts}
        for item in turn.items:
            verdict = by_item.get(item.id)
            if verdict is None:
                row = {"item": item.id, **dict.fromkeys(map(str, Metric)), "correction": ""}
                row |= {"judge": judge, "problem": given.problem or "no verdict"}
            else:
                row = {**_row(verdict), "judge": verdict.judge, "reason": verdict.reason}
            yield msgspec.json.encode({"turn": turn.id, **row}).decode() + "\n"
