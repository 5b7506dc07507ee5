"""Answers of a model that came while the agent worked, kept until the next tool event of the same turn.

    .knowbound/late/<context>~<checksum of the turn>~<kind>    one at most per context and kind: the newest

Whoever removes the file delivers the answer, so of several tool events at once one does. A turn that is over has no
further tool event: its answers are never delivered, and those of a later prompt or miss replace them. The hooks and the
MCP server load this module: it imports next to nothing.
"""

from __future__ import annotations

import binascii
import errno
import json
import os
import time

from knowbound.injection.prompt import context_file_name, item_key, keys_of_context, new_to_context, remember_keys
from knowbound.injection.record import add_to_record
from knowbound.store.data_dir import LATE, RESCUES
from knowbound.user_files import make_file, make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from knowbound.injection.prompt import HookPrompt
    from knowbound.kms.index.ranking import FoundItem

ITEMS, RESCUE = "items", "rescue"  # kinds: items that a model chose for a prompt; the place that a miss meant
_KINDS = (ITEMS, RESCUE)
_SEPARATOR = "~"  # of the parts of a file name; in no name of a context


class LateAnswer:
    """An answer of a model, and the record that it belongs to."""

    items: Sequence[dict[str, Any]] = ()  # as item_to_json makes them
    budget = 0  # tokens of their bundle
    text = ""  # of a rescue
    keys: Sequence[str] = ()  # of its places: what the context has once it is delivered

    def __init__(self, kind: str, record: dict[str, Any], asked: float, **answer: object) -> None:
        self.kind = kind
        self.record = record  # time, id and session of the record of the prompt or the miss
        self.asked = asked  # seconds since 1970
        vars(self).update(answer)


def keep(home: str, context: str, turn: str, answer: LateAnswer) -> None:
    """Keep an answer until it is claimed, unless the context has a newer one of its kind. Raises OSError."""
    folder = os.path.join(home, LATE)
    if os.path.islink(folder):
        raise OSError(errno.ELOOP, "the folder is a link", folder)
    make_folder(folder)
    for name in os.listdir(folder):
        if name.split(_SEPARATOR)[::2] == [context_file_name(context), answer.kind]:  # whatever its turn
            other = _read(os.path.join(folder, name))
            if other is not None and other.asked > answer.asked:
                return
            _remove(os.path.join(folder, name))
    make_file(_file(home, context, turn, answer.kind), json.dumps(vars(answer)).encode())


def is_kept(home: str, context: str, turn: str) -> bool:
    """Report whether an answer waits for this turn."""
    return not os.path.islink(os.path.join(home, LATE)) and any(
        os.path.exists(_file(home, context, turn, kind)) for kind in _KINDS
    )


def deliver(home: str, prompt: HookPrompt, later: list[Callable[[], None]], *, is_after_edit: bool) -> str:
    """Return what a model answered while the agent worked, "" for nothing new. Raises OSError if it is not recorded.

    A delivery is recorded before the answer is sent, and by `later` when it was.
    """
    texts = []
    for answer in claim(home, prompt.context, prompt.turn):
        if answer.kind == RESCUE:
            texts.append(_deliver_rescue(home, prompt, answer, later))
        else:
            texts.append(_deliver_items(home, prompt, answer, later, is_after_edit))
    return "\n\n".join(filter(None, texts))


def _deliver_items(
    home: str, prompt: HookPrompt, choice: LateAnswer, later: list[Callable[[], None]], is_after_edit: bool
) -> str:
    """Record the delivery of chosen items, and return the bundle of those that are new to the context."""
    from knowbound.injection.bundle import compose  # noqa: PLC0415
    from knowbound.kms.index.ranking import FoundItem  # noqa: PLC0415

    chosen = []
    for row in choice.items:
        item = FoundItem(*row["row"], **row["named"])
        item.rank, item.score = row["rank"], row["score"]
        chosen.append(item)
    items = new_to_context(home, prompt.context, chosen)
    bundle = compose(items, budget=choice.budget)
    if not bundle.items:
        return ""
    fields: dict[str, Any] = {"late_ms": round((time.time() - choice.asked) * 1000)}
    add_to_record(home, choice.record, fields | ({"late_after_edit": True} if is_after_edit else {}))

    def sent() -> None:
        remember_keys(home, prompt.context, [item_key(item) for item in bundle.items])
        add_to_record(home, choice.record, {"late_delivered": True})

    later.append(sent)
    return bundle.text


def item_to_json(item: FoundItem) -> dict[str, Any]:
    """Return an item with everything that a bundle and a record need."""
    named = ("content", "type", "subject", "timestamp", "anchor_file")
    return {"row": item.pool_row(), "rank": item.rank, "score": item.score} | {
        "named": {name: getattr(item, name) for name in named}
    }


def _deliver_rescue(home: str, prompt: HookPrompt, answer: LateAnswer, later: list[Callable[[], None]]) -> str:
    """Record the delivery of a rescue, and return its text; "" if the context has its places."""
    if set(answer.keys) <= keys_of_context(home, prompt.context):
        return ""
    now = time.time()
    delivered_at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03}Z"
    fields = {"late_at": delivered_at, "late_ms": round((now - answer.asked) * 1000)}
    add_to_record(home, answer.record, fields, RESCUES)

    def sent() -> None:
        remember_keys(home, prompt.context, answer.keys)
        add_to_record(home, answer.record, {"delivered": True}, RESCUES)

    later.append(sent)
    return answer.text


def is_forgotten(home: str, session: str) -> bool:
    """Report whether the session was forgotten while a model was asked."""
    from pathlib import Path  # noqa: PLC0415

    from knowbound.store.retention import load_forgotten  # noqa: PLC0415

    forgotten = load_forgotten(Path(home))
    return bool(forgotten and forgotten.has_session(session))


def context_of_file(name: str) -> str:
    """Return the name of the context in the name of a file."""
    return name.partition(_SEPARATOR)[0]


def claim(home: str, context: str, turn: str) -> Iterator[LateAnswer]:
    """Yield each answer for this turn, to the first caller alone: it is the one that removes the file."""
    for kind in _KINDS:
        path = _file(home, context, turn, kind)
        found = _read(path)
        if found is not None and _remove(path):
            yield found


def _read(path: str) -> LateAnswer | None:
    """Return the answer in a file; None if the file is gone, damaged or of another version."""
    try:
        with open(path, encoding="utf-8") as file:
            return LateAnswer(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None


def _remove(path: str) -> bool:
    """Remove a file; report whether this call did it."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _file(home: str, context: str, turn: str, kind: str) -> str:
    checksum = binascii.crc32(turn.encode("utf-8", "surrogatepass"))
    return os.path.join(home, LATE, _SEPARATOR.join((context_file_name(context), f"{checksum:08x}", kind)))
