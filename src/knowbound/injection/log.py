"""Reads the log of injections: the records of the hook's runs and of what agents pulled, each joined from its lines.

A line that a full disk cut short is skipped and counted; one that was glued to such a line is read. Records of 0.1.0,
which were in a table of the index and in journals of their own, are read as well: they have no outcome, and whether
they were delivered is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from knowbound.store.data_dir import INJECTIONS, day_files

_BEGINNING = b'{"time":'  # of every line; inside one its quotes are escaped
AT_START = "session-start"
PULLED = "pulled"


class InjectedItem(msgspec.Struct, frozen=True):
    """An item of a record, as it was then."""

    item: str
    backend: str
    excerpt: str = ""  # the first 500 code points
    content_length: int = 0
    confidence: float = 1.0
    rank: int = 0
    score: float = 0.0
    sha: str = ""  # of the content; "" in records of 0.1.0
    explored: bool = False  # it had the place of one that was ranked higher, to be tried


class IndexRecord(msgspec.Struct, frozen=True):
    """An index of the store: titles, of which none is an injected item."""

    lines: int = 0
    tokens: int = 0
    ids: tuple[str, ...] = ()  # of the items whose titles are in it


class InjectionRecord(msgspec.Struct, frozen=True):
    """One run of a hook. `FoundItem(*row)` of a row of the pool has the same score again."""

    time: str
    id: str
    session: str = ""
    event: str = "user-prompt-submit"
    agent: str = "unknown"
    agent_id: str = ""
    transcript: str = ""
    prompt_id: str = ""
    turn_id: str = ""
    source: str = ""
    prompt: str = ""  # its beginning, without secrets
    ranker: str = ""
    floor: float | None = None
    budget: int | None = None
    chooser: str = ""  # the version of the prompt and the model that was asked to choose; "": the floor chose
    chooser_outcome: str = ""  # chosen; late, failed: the floor chose
    chooser_ms: float | None = None
    items: tuple[InjectedItem, ...] = ()  # delivered, or meant to be
    pool: tuple[tuple[str | float | bool | list[int] | None, ...], ...] = ()
    arm: str = ""  # of a holdout: injected, held_out; "" without one, or where nothing was found
    index: IndexRecord | None = None  # what a session starts with
    corrections: tuple[str, ...] = ()  # the items whose suggested corrections were shown with it
    outcome: str = (
        "unknown"  # injected, held_out, indexed, nothing, gave_up, undelivered, failed; unknown where it was killed
    )
    delivered: bool | None = None  # None: unknown
    ms: float | None = None
    tokens: int = 0
    reason: str = ""

    @property
    def context(self) -> tuple[str, str]:
        """Whoever shares a context: the session, and the sub-agent in it."""
        return self.session, self.agent_id

    @property
    def turn_key(self) -> str:
        """The id of the turn by which it is found in the trace."""
        return self.prompt_id or self.turn_id


class PullRecord(msgspec.Struct, frozen=True):
    """What a tool gave an agent that asked for it. Pulled is not injected: it is in no rate of injections."""

    time: str
    id: str
    session: str = ""  # "" where it is not known
    agent: str = "unknown"
    agent_id: str = ""
    prompt_id: str = ""
    turn_id: str = ""
    call: str = ""  # the client's id of the tool call
    tool: str = ""
    query: str = ""  # the words of a search, or the id that was asked for
    items: tuple[InjectedItem, ...] = ()  # rank and score are those of a search


class InjectionLog(msgspec.Struct, frozen=True):
    """All runs of hooks and all pulls, oldest first, and how many lines could not be read."""

    records: list[InjectionRecord]
    pulls: list[PullRecord]
    torn: int


def log_files(home: Path) -> list[Path]:
    """The files of the log, oldest day first; the name begins with the day."""
    return day_files(home, INJECTIONS)


def read_log(home: Path, *, since: str = "") -> InjectionLog:
    """The records of a data folder; `since` is the first day (ISO)."""
    joined: dict[str, dict[str, Any]] = {}
    torn = 0
    for path in log_files(home):
        if path.name[:10] < since[:10]:
            continue
        for fields in _lines(path):
            if fields is None:
                torn += 1
            else:
                joined.setdefault(fields["id"], {}).update(fields)
    records: list[InjectionRecord] = []
    pulls: list[PullRecord] = []
    for fields in joined.values():
        try:
            if fields.get("event") == PULLED:
                pulls.append(msgspec.convert(fields, PullRecord))
            else:
                records.append(msgspec.convert(fields, InjectionRecord))
        except msgspec.ValidationError:
            torn += 1
    return InjectionLog(sorted(records, key=_time), sorted(pulls, key=_time), torn)


def _time(record: InjectionRecord | PullRecord) -> str:
    return record.time


def _lines(path: Path) -> Iterator[dict[str, Any] | None]:
    """The fields of each line; None for one that was cut short."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # too old, removed meanwhile
        return
    at = 0
    for line in data.splitlines(keepends=True):
        if line.strip():
            yield from _read(line, f"{path.name[:10]}.jsonl:{at}")
        at += len(line)


def _read(line: bytes, place: str) -> Iterator[dict[str, Any] | None]:
    """A line; or the record that was glued to one that was cut short, and None for that one."""
    for start in dict.fromkeys((0, max(0, line.rfind(_BEGINNING)))):
        try:
            fields = msgspec.json.decode(line[start:], type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if start:
            yield None
        fields.setdefault("id", place)  # early lines of 0.1.0 have none
        if "turn" in fields and not fields.get("prompt_id"):  # of 0.1.0: either id
            fields.setdefault("turn_id", fields["turn"])
        if isinstance(fields["id"], str):
            yield fields
            return
    yield None
