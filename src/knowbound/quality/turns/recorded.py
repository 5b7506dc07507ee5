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
from knowbound.core.quality import Counts, JudgedItem, JudgedTurn, LoggedItem
from knowbound.errors import InputError
from knowbound.files import numbered_lines
from knowbound.judge.registry import turn_judge
from knowbound.judge.turns.rules import TurnJudge, TurnVerdicts
from knowbound.quality.turns.joining import TurnSources, join
from knowbound.report.quality.recorded import RecordedQuality, ScoredItem, ScoredSource
from knowbound.stats.rate import Rate, clustered
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.registry import default_folders
from knowbound.traces.turns import TraceTurn, sessions_in, turns_in

OURS = "knowbound"
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_EXAMPLE = '{"id": "t1", "prompt": "…", "items": [{"id": "i1", "content": "…"}], "response": "…", "tool_calls": []}'


class ScoredLine(msgspec.Struct, frozen=True):
    """One verdict: a line of `--format jsonl`."""

    turn: str  # session/turn
    item: str
    on_topic: bool
    used: bool
    contradicted: bool
    correction: str
    judge: str
    source: str = OURS
    file: str = ""
    line: int = 0


class _ToJudge(NamedTuple):
    """A turn with the items that were in its context."""

    turn: JudgedTurn
    trace: TraceTurn
    in_context: frozenset[str]  # ids of the items that stay in the context


class _Session(msgspec.Struct):
    """The turns of one session, and the verdicts on them; what stays in the context has one line for each piece."""

    to_judge: list[_ToJudge] = []
    texts: dict[str, LoggedItem] = {}
    turns: int = 0  # with or without items
    lines: list[ScoredLine] = []
    problems: list[str] = []


def score_traces(
    paths: Sequence[Path], settings: Settings, *, project: str = "", since: str = "", agent: str = ""
) -> tuple[RecordedQuality, list[ScoredLine]]:
    """The verdicts on everything that was injected into the sessions below the paths, and what they add up to."""
    if not paths:
        paths = [path for path in default_folders(os.environ, Path.home()) if path.exists()]
    sessions = [one for one in sessions_in(paths) if not agent or one.reader == agent]
    if not sessions:
        raise InputError("no-sessions", "No session was found there. Try: knowbound quality score PATH")
    judge = turn_judge(settings)
    collect = partial(_collected, project=project, since=since)
    largest_first = sorted(sessions, key=lambda one: -one.size)
    jobs = settings.jobs or os.cpu_count() or 1
    if judge.costs:  # one process asks, so that it can say before how much, and ask several at once
        collected = list(map(collect, largest_first))
        given = iter(judge.judge([one.turn for part in collected for one in part.to_judge]))
        found = [_judged(part, [next(given) for _ in part.to_judge]) for part in collected]
    elif jobs > 1 and len(sessions) > 1:
        with ProcessPoolExecutor(jobs) as pool:
            found = list(pool.map(partial(_scored, collect=collect, settings=settings), largest_first))
    else:
        found = [_scored(one, collect=collect, settings=settings) for one in largest_first]
    return _report(found, judge.version), [line for one in found for line in one.lines]


def _scored(session: SessionFiles, *, collect: Callable[[SessionFiles], _Session], settings: Settings) -> _Session:
    """The verdicts on what was injected into one session."""
    part = collect(session)
    return _judged(part, turn_judge(settings).judge([one.turn for one in part.to_judge]))


def _collected(session: SessionFiles, *, project: str, since: str) -> _Session:
    """The turns of a session, each with what was injected into it or stays in its context."""
    in_context: dict[str, tuple[LoggedItem, JudgedItem]] = {}
    found = _Session()
    for turn in turns_in(session):
        is_wanted = (not project or works_in(turn.project, (project,))) and (turn.prompt.time or since) >= since
        joined = join(TurnSources(trace=turn), lambda _: None)
        others = {item.id: item for item in joined.turn.other_items}
        contents = {item.id: item for item in joined.judged.items}
        in_context |= {id_: (one, contents[id_]) for id_, one in others.items()}
        if not is_wanted:
            continue
        ours = [
            LoggedItem(injection.item, OURS, injection.content, len(injection.content))
            for injection in turn.injections
            if injection.item
        ]
        found.texts.update({one.id: one for one in ours} | {id_: one for id_, (one, _) in in_context.items()})
        items = [JudgedItem(one.id, one.content_excerpt) for one in ours] + [one for _, one in in_context.values()]
        if items:
            judged = replace(joined.judged, items=tuple(items))
            found.to_judge.append(_ToJudge(judged, turn, frozenset(in_context)))
        found.turns += 1
    return found


def _judged(found: _Session, given: Sequence[TurnVerdicts]) -> _Session:
    """Put the lines of a session into it; what stays in its context has one line."""
    best: dict[str, ScoredLine] = {}
    for one, verdicts in zip(found.to_judge, given, strict=True):
        if verdicts.problem:
            found.problems.append(verdicts.problem)
        for verdict in verdicts.verdicts:
            item, prompt = found.texts[verdict.item], one.trace.prompt
            line = ScoredLine(
                turn=one.turn.id,
                item=verdict.item,
                on_topic=verdict.on_topic,
                used=verdict.used,
                contradicted=verdict.contradicted,
                correction=verdict.correction,
                judge=verdict.judge,
                source=item.source or item.source_backend,
                file=prompt.path,
                line=prompt.line,
            )
            if verdict.item in one.in_context:
                best[verdict.item] = _either(best.get(verdict.item), line)
            else:
                found.lines.append(line)
    found.lines += best.values()
    found.to_judge = []  # the traces are no longer needed, and would be sent between processes
    return found


def _either(one: ScoredLine | None, other: ScoredLine) -> ScoredLine:
    """A session's verdict on what stays in its context: yes where one of its turns says so.

    The way back leads to the turn that said most: contradicted before used before on topic.
    """
    if one is None:
        return other
    first, second = (other, one) if _weight(other) > _weight(one) else (one, other)
    return replace(
        first,
        on_topic=one.on_topic or other.on_topic,
        used=one.used or other.used,
        contradicted=one.contradicted or other.contradicted,
        correction=first.correction or second.correction,
    )


def _weight(line: ScoredLine) -> tuple[bool, bool, bool]:
    return line.contradicted, line.used, line.on_topic


def _report(found: Sequence[_Session], judge: str) -> RecordedQuality:
    texts = {id_: text for one in found for id_, text in one.texts.items()}
    by_source: dict[str, list[list[ScoredLine]]] = {}
    by_item: dict[str, list[ScoredLine]] = {}
    for session in found:
        own: dict[str, list[ScoredLine]] = {}
        for line in session.lines:
            own.setdefault(line.source, []).append(line)
            by_item.setdefault(line.item, []).append(line)
        for source, lines in own.items():
            by_source.setdefault(source, []).append(lines)
    sources = [_source(name, lines) for name, lines in by_source.items()]
    sources.sort(key=lambda one: (one.name != OURS, -one.on_topic.n, one.name))
    return RecordedQuality(
        judge=judge,
        sessions=len(found),
        turns=sum(one.turns for one in found),
        sources=tuple(sources),
        items=tuple(_item(id_, lines, texts[id_]) for id_, lines in by_item.items()),
        problems=tuple(dict.fromkeys(problem for one in found for problem in one.problems)),
    )


def _source(name: str, sessions: Sequence[Sequence[ScoredLine]]) -> ScoredSource:
    """Rates whose intervals know that the pieces of one session are alike."""

    def rate(metric: str) -> Rate:
        return clustered(Rate(sum(getattr(line, metric) for line in lines), len(lines)) for lines in sessions)

    pieces = len({line.item for lines in sessions for line in lines})
    return ScoredSource(name, pieces, len(sessions), rate("on_topic"), rate("used"), rate("contradicted"))


def _item(id_: str, lines: Sequence[ScoredLine], text: LoggedItem) -> ScoredItem:
    counts = Counts()
    for line in lines:
        counts += Counts(1, line.on_topic, line.used, line.contradicted)
    first = max(lines, key=_weight)
    return ScoredItem(
        id=id_,
        source=first.source,
        text=text.content_excerpt,
        counts=counts,
        correction=first.correction,
        turn=first.turn,
        file=first.file,
        line=first.line,
    )


def items_of(lines: Iterable[ScoredLine]) -> Iterator[str]:
    """The lines of `--format jsonl`."""
    for line in lines:
        yield msgspec.json.encode(line).decode() + "\n"


def read_turns(path: Path) -> list[JudgedTurn]:
    """The turns of a file. A line that is none is an error: one lost in silence would change what is counted."""
    turns = [_turn(line, path, number) for number, line in numbered_lines(path)]
    if not turns:
        raise InputError("bad-turns", f"{path} has no turn. Try a line such as {_EXAMPLE}")
    return turns


def _turn(line: bytes, path: Path, number: int) -> JudgedTurn:
    try:
        turn = msgspec.json.decode(line, type=JudgedTurn)
        if turn.timestamp:
            time = datetime.fromisoformat(turn.timestamp)
            turn = replace(
                turn, timestamp=(time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).strftime(_TIME)
            )
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
            row: dict[str, object] = {"turn": turn.id, "item": item.id}
            if verdict is None:
                row |= {"on_topic": None, "used": None, "contradicted": None, "correction": ""}
                row |= {"judge": judge, "problem": given.problem or "no verdict"}
            else:
                row |= {name: getattr(verdict, name) for name in ("on_topic", "used", "contradicted", "correction")}
                row |= {"judge": verdict.judge, "reason": verdict.reason}
            yield msgspec.json.encode(row).decode() + "\n"
