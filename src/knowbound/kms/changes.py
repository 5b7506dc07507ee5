"""Writes to several backends and to the index as one step: all of them or none, and no change of others is lost.

There is no transaction over four kinds of database. So the whole step is noted in the index first, as an intent. The
process that opens the store next completes what a killed writer left. Completing a step twice changes nothing: a change
is made only where its item still is as the writer found it. Where another machine has changed the item that the call
was about, the step is given up: its caller never got an answer.

A data folder has a write lock. Other machines have locks of their own, so on a shared backend a change is made only
where every item still is as it was read (`Backend.swap`); otherwise the whole call reads again and is made again. It
begins with an index that is up to date, because a call also depends on what is stored beside the item: the same
content, the chain that it ends.
"""

from __future__ import annotations

import functools
import hashlib
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import msgspec

from knowbound.core.item import Item
from knowbound.errors import KnowboundError, StoreError
from knowbound.kms.backends.protocol import Backend, ContendedError, Swap
from knowbound.kms.index.database import Correction, Index
from knowbound.user_files import PRIVATE_FILE, make_folder


class ItemChange(NamedTuple):
    """The item that a backend holds under an id, before and after a write."""

    backend: Backend
    before: Item | None
    after: Item | None

    @property
    def id(self) -> str:
        """Return the id that changes."""
        return Swap(self.before, self.after).id


class StoreWrite(NamedTuple):
    """One step: changes to items, and the entries of the index that go with them."""

    changes: Sequence[ItemChange]
    log: Sequence[Correction] = ()
    reaped: Sequence[tuple[str, str]] = ()  # id and content hash of items that are removed for good
    restored: Sequence[str] = ()  # reaped contents and ids that are brought back on purpose

    @property
    def touched(self) -> list[tuple[Backend, str]]:
        """Return the backend and id of every change."""
        return [(change.backend, change.id) for change in self.changes]

    def intent(self) -> str:
        """Encode the step for whoever may finish it. Unchanged fields, maybe with secrets of others, are left out."""
        return json.dumps(
            {
                "changes": [
                    (change.backend.name, change.id, _digest(change.before), _difference(change))
                    for change in self.changes
                ],
                "log": msgspec.to_builtins(self.log),
                "reaped": self.reaped,
                "restored": self.restored,
            }
        )


def remaining_of(intent: str, backends: Mapping[str, Backend]) -> tuple[StoreWrite, list[tuple[Backend, str]]]:
    """Return the rest of a step that was begun, and the items that the index has to read again.

    The changes are those still to make; of a step that is given up, they remove what it added. A backend that is no
    longer in use is left out.
    """
    noted = json.loads(intent)
    log = msgspec.convert(noted["log"], list[Correction])
    changes, touched, added, overtaken = [], [], [], set()
    for name, id_, digest, difference in noted["changes"]:
        if (backend := backends.get(name)) is None:
            continue
        touched.append((backend, id_))
        stored = backend.get(id_)
        if _is_made(stored, difference):
            if not digest:  # the step added the item
                added.append(ItemChange(backend, stored, None))
        elif _digest(stored) == digest:
            changes.append(ItemChange(backend, stored, _changed(stored, difference)))
        else:
            overtaken.add(id_)  # changed by somebody else since: theirs stays
    if log and {correction.item for correction in log} <= overtaken:
        return StoreWrite(added), touched  # nothing is left to correct: what the step added goes again
    log = [correction for correction in log if correction.item not in overtaken]
    reaped = [(id_, sha) for id_, sha in noted["reaped"] if id_ not in overtaken]
    return StoreWrite(changes, log, reaped, noted["restored"]), touched


def apply(changes: Iterable[ItemChange]) -> None:
    """Write the changes in order; raise ContendedError where an item is no longer as it was read."""
    for backend, group in groupby(changes, key=lambda change: change.backend):
        swaps: dict[str, Swap] = {}
        for change in group:
            first = swaps.get(change.id)
            # Several changes of one item are one: from before the first to after the last.
            swaps[change.id] = Swap(first.before if first else change.before, change.after)
        backend.swap(list(swaps.values()))


def undo(changes: Sequence[ItemChange]) -> bool:
    """Write back the earlier items; report whether all of them are known to be back."""
    undone = [_is_undone(change) for change in reversed(changes)]  # a list: undo every change
    return all(undone)


def _is_undone(change: ItemChange) -> bool:
    """Write the earlier item back; report whether it is back, or another machine has changed the item since."""
    try:
        now = change.backend.get(change.id)
        is_another = change.backend.is_shared and _digest(now) != _digest(change.after)
        if _digest(now) != _digest(change.before) and not is_another:
            change.backend.swap([Swap(before=now, after=change.before)])
    except ContendedError:
        return True  # another machine has changed it just now
    except StoreError:
        return False  # the next writer ends the step
    return True


def _digest(item: Item | None) -> str:
    """Return a hash of the whole item; "" for none."""
    if item is None:
        return ""
    return hashlib.sha256(json.dumps(msgspec.to_builtins(item), sort_keys=True).encode()).hexdigest()


def _difference(change: ItemChange) -> dict[str, Any] | None:
    """Return the fields of the item that change; None where it is removed."""
    if change.after is None:
        return None
    fields = Item.__struct_fields__
    new = {name: getattr(change.after, name) for name in fields}
    old = {name: getattr(change.before, name) for name in fields} if change.before else {}
    return {name: msgspec.to_builtins(value) for name, value in new.items() if not old or old[name] != value}


def _is_made(item: Item | None, difference: dict[str, Any] | None) -> bool:
    """Report whether the item is already as the noted difference makes it."""
    if item is None or difference is None:
        return item is None and difference is None  # removed, as noted
    now = {name: getattr(item, name) for name in difference}
    return bool(json.loads(json.dumps(msgspec.to_builtins(now))) == difference)  # as noted in JSON


def _changed(item: Item | None, difference: dict[str, Any] | None) -> Item | None:
    """Return the item with the noted difference; None where it is removed."""
    if difference is None:
        return None
    kept = {name: getattr(item, name) for name in Item.__struct_fields__} if item else {}
    return msgspec.convert(msgspec.to_builtins(kept) | difference, Item)


_ATTEMPTS = 12
_PAUSE_SECONDS = 0.02  # upper bound of the random pause, doubled with each attempt

_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")
_Self = TypeVar("_Self", bound="StoreWriter")


@contextmanager
def write_lock(home: Path, *, wait_seconds: float = -1) -> Iterator[None]:
    """Hold the write lock of a data folder; wait for it, by default for ever. Raises StoreError after the wait.

    A caller that checks and then writes items holds this lock, so that what it checked stays true. The lock is for
    threads and processes alike; one caller must not take it twice. It is a lock of the operating system on a file: it
    ends with its process and never delays readers. On a busy machine the process that has just released such a lock
    often gets it again. So there are two: a writer holds the queue while it waits for the lock, and no writer gets the
    lock twice in a row while another waits.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415  # takes 0.1 s to import, and readers need none

    make_folder(home)
    with ExitStack() as held_lock:
        try:
            with FileLock(home / "write.queue", mode=PRIVATE_FILE, poll_interval=0.005, timeout=wait_seconds):
                lock = FileLock(home / "write.lock", mode=PRIVATE_FILE, poll_interval=0.001, timeout=wait_seconds)
                held_lock.enter_context(lock)
        except Timeout as error:
            raise StoreError("store-busy", f"{home} is held by a writer. Try again when it has ended.") from error
        yield


def retried(
    call: Callable[Concatenate[_Self, _Params], _Result],
) -> Callable[Concatenate[_Self, _Params], _Result]:
    """Repeat the whole call while other machines change what it has read; the last attempt raises ContendedError."""

    @functools.wraps(call)
    def attempted(self: _Self, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        for attempt in range(1, _ATTEMPTS):
            try:
                return call(self, *args, **kwargs)
            except ContendedError:
                time.sleep(random.uniform(0, min(1.0, _PAUSE_SECONDS * 2**attempt)))
        return call(self, *args, **kwargs)

    return attempted


class StoreWriter:
    """The backends, the index, and the way to change them together."""

    def __init__(self, backends: Sequence[Backend], index: Index) -> None:
        self.backends: Mapping[str, Backend] = {backend.name: backend for backend in backends}
        self.index = index

    @contextmanager
    def _locked(self, *, is_refreshed: bool = True) -> Iterator[None]:
        """Hold the write lock, complete what killed writers left behind, and read what other machines wrote."""
        with write_lock(self.index.home):
            intents, pending = self.index.unfinished()  # pending: ids to read again
            for intent_number, intent in intents.items():
                self._carry_out(*remaining_of(intent, self.backends), intent_number)
            if pending:
                self.index.refresh([(backend, id_) for backend in self.backends.values() for id_ in pending])
            for backend in self.backends.values():
                if is_refreshed and backend.is_shared:
                    self.index.sync(backend)
            yield

    def _write(
        self,
        changes: list[ItemChange],
        log: Sequence[Correction] = (),
        reaped: Sequence[tuple[str, str]] = (),  # id and content hash
        restored: Sequence[str] = (),  # ids and content hashes that may be served again
    ) -> None:
        """Write the intent, the backends, then the index. A failed write is undone, or completed by the next writer."""
        if not changes and not log:
            return
        write = StoreWrite(changes, log, reaped, restored)
        intent_number = self.index.note_intent(write)
        try:
            self._carry_out(write, write.touched, intent_number)
        except BaseException:
            is_undone = undo(changes)
            with suppress(KnowboundError):
                self.index.refresh(write.touched, finished=intent_number if is_undone else 0)  # 0: no intent ends
            raise

    def _carry_out(self, write: StoreWrite, touched: list[tuple[Backend, str]], intent_number: int) -> None:
        """Write the backends, then read the touched items into the index, which ends the intent of this number."""
        apply(write.changes)
        if reaped := self.index.reaped_among(write.restored):  # other machines must serve it again, too
            for backend in self.backends.values():
                backend.restore(reaped)
        self.index.refresh(touched, write, finished=intent_number)
