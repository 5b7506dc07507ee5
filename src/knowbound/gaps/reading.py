"""Reads one session: from its files to its findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from knowbound.core.signal import Findings
from knowbound.core.trace import Event, Start
from knowbound.gaps.lens import SessionLens
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.registry import events_of
from knowbound.traces.source import Tally


class LensSettings(msgspec.Struct, frozen=True):
    """What the findings depend on besides the trace."""

    knowledge: tuple[str, ...] = ()
    repeat_at_least: int = 3


def read_session(session: SessionFiles, settings: LensSettings) -> list[Findings]:
    """The findings of a session; a file that holds several sessions gives several."""
    tally = Tally()
    files = [*session.files, *session.sidechains.values()]
    found = findings_of(events_of(session, tally), session.start, files, settings)
    found[0].lines, found[0].duplicates = tally.lines, tally.duplicates
    found[0].skipped, found[0].skipped_by_reason = tally.skipped, tally.skipped_by_reason
    return found


def findings_of(events: Iterator[Event], first: Start, files: Iterable[str], settings: LensSettings) -> list[Findings]:
    """The findings of each session in a stream of events; `first` names the session that it begins with."""
    found: list[Findings] = []
    start: Start | None = first
    while start is not None:
        lens = SessionLens(
            session=start.session,
            agent=first.agent,
            knowledge=settings.knowledge,
            repeat_at_least=settings.repeat_at_least,
        )
        if found:
            lens.start(start)
        start = lens.follow(events)
        found.append(lens.findings(files))
    return found
