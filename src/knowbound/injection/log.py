"""The reader of the log of injections: records of hook runs and of pulls by agents, each joined from its lines.

A line that a full disk cut short is skipped and counted; a record that was glued to such a line is read. Records of
0.1.0, which were in a table of the index and in separate journals, are read as well: they have no outcome, and whether
they were delivered is unknown.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from knowbound.injection.prompt import CONTEXTS
from knowbound.store.data_dir import ENDED, INJECTIONS, LATE, RESCUES, day_files
from knowbound.store.retention import blank_lines, load_forgotten, sessions_in
from knowbound.user_files import make_folder

_BEGINNING = b'{"time":'  # start of every line; within a line its quotes are escaped
AT_START = "session-start"
PULLED = "pulled"
# Outcomes of asking a model which items a prompt needs; the last is in records of earlier versions alone.
CHOSE_LATER, FAILED, CHOSE_AT_ONCE = "late", "failed", "chosen"


class InjectedItem(msgspec.Struct, frozen=True):
    """An item of a record, as it was at that time."""

    item: str
    backend: str
    excerpt: str = ""  # the first 500 code points
    content_length: int = 0
    confidence: float = 1.0
    rank: int = 0
    score: float = 0.0
    sha: str = ""  # of the content; "" in records of 0.1.0
    explored: bool = False  # a trial in place of a higher-ranked item


class IndexRecord(msgspec.Struct, frozen=True):
    """An index of the store: titles, which are no injected items."""

    lines: int = 0
    tokens: int = 0
    ids: tuple[str, ...] = ()  # items whose titles are in it


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
    prompt: str = ""  # the beginning, without secrets
    ranker: str = ""
    floor: float | None = None
    budget: int | None = None
    chooser: str = ""  # version of the prompt and model that was asked to choose; "": the floor chose
    chooser_outcome: str = ""  # late, failed; chosen: by an earlier version, in place of the floor
    chooser_ms: float | None = None
    chooser_problem: str = ""  # why a model did not choose after the prompt was answered
    late: tuple[InjectedItem, ...] = ()  # chosen by the model after the prompt was answered
    late_tokens: int = 0
    late_ms: float | None = None  # from the prompt to the delivery
    late_delivered: bool | None = None  # None: no tool event of the turn followed, or unknown
    late_after_edit: bool = False  # the agent had edited a file before
    items: tuple[InjectedItem, ...] = ()  # delivered, or meant to be delivered
    rank_ms: float | None = None  # of searching and ranking
    pool: tuple[tuple[str | float | bool | list[int] | None, ...], ...] = ()
    arm: str = ""  # shadow; of a holdout: injected, held_out; "" without either, or if nothing was found
    index: IndexRecord | None = None  # the index that the session starts with
    corrections: tuple[str, ...] = ()  # items whose suggested corrections were shown with it
    # injected, shadow, held_out, indexed, nothing, gave_up, undelivered, failed; unknown where it was killed
    outcome: str = "unknown"
    delivered: bool | None = None  # None: unknown
    ms: float | None = None
    tokens: int = 0
    reason: str = ""

    @property
    def context(self) -> tuple[str, str]:
        """Return the session and the sub-agent in it, which have one context."""
        return self.session, self.agent_id

    @property
    def turn_key(self) -> str:
        """Return the id that the turn has in the trace."""
        return self.prompt_id or self.turn_id


class PullRecord(msgspec.Struct, frozen=True):
    """A pull: what a tool returned to an agent that asked. A pull counts in no rate of injections."""

    time: str
    id: str
    session: str = ""  # "" if unknown
    agent: str = "unknown"
    agent_id: str = ""
    prompt_id: str = ""
    turn_id: str = ""
    call: str = ""  # the client's id of the tool call
    tool: str = ""
    query: str = ""  # the words of a search, or the requested id
    items: tuple[InjectedItem, ...] = ()  # rank and score are those of a search


class InjectionLog(msgspec.Struct, frozen=True):
    """All runs of hooks and all pulls, oldest first, and the number of unreadable lines."""

    records: list[InjectionRecord]
    pulls: list[PullRecord]
    torn: int


def log_files(home: Path) -> list[Path]:
    """Return the files of the log, oldest day first; a name begins with the day."""
    return day_files(home, INJECTIONS)


def read_log(home: Path, *, since: str = "") -> InjectionLog:
    """Read the records of a data folder; `since` is the first day (ISO)."""
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
    records.sort(key=lambda record: record.time)
    pulls.sort(key=lambda pull: pull.time)
    return InjectionLog(records, pulls, torn)


def _lines(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the fields of each line; None for a line that was cut short."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # too old, and removed meanwhile
        return
    offset = 0
    for line in data.splitlines(keepends=True):
        if line.strip():
            yield from _fields_of(line, f"{path.name[:10]}.jsonl:{offset}")
        offset += len(line)


def _fields_of(line: bytes, place: str) -> Iterator[dict[str, Any] | None]:
    """Yield the fields of a line; or None for a cut line, then the record that was glued to it."""
    for start in dict.fromkeys((0, max(0, line.rfind(_BEGINNING)))):
        try:
            fields = msgspec.json.decode(line[start:], type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if start:
            yield None
        fields.setdefault("id", place)  # early lines of 0.1.0 have none
        if "turn" in fields and not fields.get("prompt_id"):  # 0.1.0 stored either id as `turn`
            fields.setdefault("turn_id", fields["turn"])
        if isinstance(fields["id"], str):
            yield fields
            return
    yield None


# Upkeep of the hooks' files, outside of the hooks: verbs that write to the store call it.


_SILENT_SECONDS = 30 * 24 * 3600.0  # without an injection, after which a session's context is removed
_TURN_SECONDS = 24 * 3600.0  # after which the turn of a late choice is over
_OLD_JOURNALS, _OLD_CONTEXTS = "injected", "told"  # the folders of 0.1.0


def tidy(home: Path, log_days: int) -> None:
    """Tidy the files of a data folder; repeating this changes nothing. Raises OSError and StoreError."""
    if not home.is_dir():
        return
    _take_over_journals(home)
    oldest = (datetime.now(UTC) - timedelta(days=max(1, log_days))).strftime("%Y-%m-%d")
    for path in (*log_files(home), *day_files(home, RESCUES)):
        if path.name[:10] < oldest:
            path.unlink(missing_ok=True)
    if forgotten := load_forgotten(home):
        for path in (*log_files(home), *day_files(home, RESCUES), *day_files(home, ENDED)):
            blank_lines(path, lambda line: any(map(forgotten.has_session, sessions_in(line))), preview=False)
    for path in _outdated_files(home):
        path.unlink(missing_ok=True)


def _take_over_journals(home: Path) -> None:
    """Move a journal whole: a hook of 0.1.0 that still writes to it then writes to the log."""
    journals = home / _OLD_JOURNALS
    if journals.is_symlink():
        return
    for path in sorted(journals.glob("[0-9]*.jsonl")):
        make_folder(home / INJECTIONS)
        with suppress(FileNotFoundError):  # another process was quicker
            path.rename(home / INJECTIONS / f"{path.stem}.{secrets.token_hex(4)}.jsonl")
    with suppress(OSError):  # missing, or not empty
        journals.rmdir()


def _outdated_files(home: Path) -> Iterator[Path]:
    """Yield contexts without a recent injection, answers for turns that are over, and the contexts of 0.1.0."""
    anyhow = float("-inf")  # items of contexts of 0.1.0 are injected once more
    for name, least_age in ((CONTEXTS, _SILENT_SECONDS), (LATE, _TURN_SECONDS), (_OLD_CONTEXTS, anyhow)):
        if not (home / name).is_symlink():
            yield from (path for path in (home / name).glob("*") if _age_seconds(path) > least_age)
    with suppress(OSError):
        (home / _OLD_CONTEXTS).rmdir()


def _age_seconds(path: Path) -> float:
    """Return the seconds since the file was written; 0 if it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
