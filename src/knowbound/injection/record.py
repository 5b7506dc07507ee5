"""Records what was injected, and which items a session has in its context already.

The hook must neither wait for the database nor lose a record, so it only appends to small files beside the index:

    .knowbound/injected/2026-11-15.jsonl   one line per injection; collect.py moves them into the table `injected`
    .knowbound/told/<session>              one line per item injected into the session; removed when its context is
                                           compacted
"""

from __future__ import annotations

import binascii
import json
import os
import time

from knowbound.user_files import append

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.kms.search.ranking import FoundItem

EXCERPT = 500  # code points (specification 2)
PROMPT = 2_000
JOURNAL = "injected"
SESSIONS = "told"


class HookPrompt:
    """The prompt that is answered, and whose context it is."""

    def __init__(
        self, session: str, turn: str, prompt_id: str, text: str, context: str, *, is_recorded: bool = True
    ) -> None:
        self.session = session
        self.turn = turn
        self.prompt_id = prompt_id
        self.text = text
        self.context = context  # the session, and the sub-agent in it: whoever shares a context
        self.is_recorded = is_recorded  # not where `doctor` tries the hook


def record_injection(
    home: str, prompt: HookPrompt, prompt_text: str, items: list[FoundItem], pool: list[FoundItem]
) -> None:
    """Append what is injected to the journal of the day, with the candidates it was chosen from.

    `prompt_text` is the start of the prompt, without secrets.
    """
    now = time.gmtime()
    line = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", now),
        "id": os.urandom(8).hex(),  # by which it is counted once, however often it is collected
        "session": prompt.session,
        "turn": prompt.turn,
        "prompt_id": prompt.prompt_id,
        "prompt": prompt_text,
        "items": [
            {
                "item": item.id,
                "backend": item.backend,
                "excerpt": item.content[:EXCERPT],
                "content_length": len(item.content),
                "confidence": item.confidence,
                "rank": item.rank,
                "score": item.score,
            }
            for item in sorted(items, key=lambda item: item.rank)
        ],
        "pool": [item.pool_row() for item in pool],
    }
    data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
    append(os.path.join(home, JOURNAL, time.strftime("%Y-%m-%d.jsonl", now)), data)


def is_injected(item: FoundItem, known: set[str]) -> bool:
    """Whether the item, as it is worded now, is among those of `already_injected`."""
    return _key(item) in known


def already_injected(home: str, context: str) -> set[str]:
    """The items, as they were worded, that a context has."""
    try:
        with open(_session_file(home, context), encoding="utf-8", errors="replace") as lines:
            return set(lines.read().splitlines())
    except FileNotFoundError:
        return set()


def remember(home: str, context: str, items: list[FoundItem]) -> None:
    """The context now has these items."""
    lines = "".join(f"{_key(item)}\n" for item in items)
    append(_session_file(home, context), lines.encode("utf-8", "replace"))


def forget(home: str, context: str) -> None:
    """The context was compacted or cleared: what was injected may be injected again."""
    try:
        os.unlink(_session_file(home, context))
    except FileNotFoundError:
        return


def _key(item: FoundItem) -> str:
    """The item as it is worded: after an update it is new again."""
    return f"{item.id} {item.content_sha}"


def _session_file(home: str, context: str) -> str:
    return os.path.join(home, SESSIONS, name_of(context))


def name_of(context: str) -> str:
    """A file name for the context, also where its id is no plain name."""
    if context.isascii() and context.replace("-", "").replace("_", "").isalnum() and len(context) <= 100:
        return context
    data = context.encode("utf-8", "surrogatepass")
    return f"{data[:80].hex()}.{binascii.crc32(data):08x}"  # hashlib costs 10 ms


def context_of(name: str) -> str:
    """The context that a file is about, as far as its name has room for it."""
    data, dot, _ = name.partition(".")
    try:
        return bytes.fromhex(data).decode("utf-8", "replace") if dot else name
    except ValueError:
        return name
