"""What tests of readers need: files out of lines, and prompts, steps and calls out of events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from knowbound.core.signal import Turn
from knowbound.core.trace import Event, Prompt, Step, ToolCall
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.registry import Reader, recognise
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.source import read_head
from tests.recordings import SOURCES


def write(path: Path, lines: Iterable[dict[str, Any] | bytes]) -> Path:
    path.write_bytes(
        b"\n".join(part if isinstance(part, bytes) else json.dumps(part).encode() for part in lines) + b"\n"
    )
    return path


def prompts(events: Iterable[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Prompt)]


def steps(events: Iterable[Event]) -> list[Step]:
    return [event for event in events if isinstance(event, Step)]


def calls(events: Iterable[Event]) -> list[ToolCall]:
    return [call for step in steps(events) for call in step.calls]


def turns_of(path: Path) -> list[Turn]:
    """The turns that the lens of `observe` makes of one file, which any reader may recognise."""
    known = recognise(read_head(path))
    assert known is not None
    session = SessionFiles(known[0].name, known[1].session, (str(path),), {}, path.stat().st_size)
    (found,) = read_session(SharedEvents(session), LensSettings())
    return found.turns


def claims_no_recording_of_another_format(reader: Reader) -> None:
    """Asserts it over all recordings; for readers of formats of which there is none among them."""
    for paths in (paths for source in SOURCES.values() for paths in source.values()):
        assert [path for path in paths if reader.identify(read_head(path))] == []
