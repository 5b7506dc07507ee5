"""One session read through the lens: from its files to its findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from knowbound.core.signal import Findings
from knowbound.core.trace import Event, Start
from knowbound.gaps.lens import SessionLens
from knowbound.read.corpus import SessionFiles
from knowbound.read.registry import reader_named
from knowbound.read.source import Tally


class LensSettings(msgspec.Struct, frozen=True):
    """What the findings depend on besides the trace."""

    knowledge: tuple[str, ...] = ()
    repeat_at_least: int = 3


def read_session(session: SessionFiles, settings: LensSettings) -> list[Findings]:
    """The findings of a session; a file that holds several sessions gives several."""
    tally = Tally()
    reader = reader_named(session.reader)
    sidechains = {agent: Path(path) for agent, path in session.sidechains.items()}
    files = [*session.files, *session.sidechains.values()]
    events = reader.read([Path(path) for path in session.files], sidechains, tally)
    found: list[Findings] = []
    for name, part in _sessions(events, session.session):
        lens = SessionLens(
            session=name,
            agent=session.reader,
            knowledge=settings.knowledge,
            repeat_at_least=settings.repeat_at_least,
        )
        lens.follow(part)
        found.append(lens.findings(files))
    if not found:
        found.append(SessionLens(session=session.session, agent=session.reader).findings(files))
    found[0].lines, found[0].duplicates, found[0].skipped = tally.lines, tally.duplicates, tally.skipped
    return found


def _sessions(events: Iterator[Event], session: str) -> Iterator[tuple[str, Iterable[Event]]]:
    """The stream cut where another session starts. Each part must be used up before the next is asked for."""
    ahead: list[Event] = []
    for event in events:
        ahead.append(event)
        break
    while ahead:
        first = ahead.pop()
        name = first.session if isinstance(first, Start) and first.session else session
        yield name, _until_next(first, events, ahead)


def _until_next(first: Event, events: Iterator[Event], ahead: list[Event]) -> Iterator[Event]:
    yield first
    current = first.session if isinstance(first, Start) else ""
    for event in events:
        if isinstance(event, Start) and current and event.session != current:
            ahead.append(event)
            return
        if isinstance(event, Start):
            current = event.session
        yield event
