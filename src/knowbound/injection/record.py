"""What was injected, and what a session already knows, as the hook writes it down.

The hook must neither wait for the database nor lose a record, so it only appends to small files beside the index:

    .knowbound/injected/2026-11-15.jsonl   one line per injection; collect.py moves them into the table `injected`
    .knowbound/told/<session>              one line per entry the session was told; gone when its context is compacted

A line is one `write` to a file opened for appending, so that parallel hooks do not mix theirs.
"""

from __future__ import annotations

import binascii
import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXCERPT = 500  # code points (specification 2)
PROMPT = 2_000
JOURNAL = "injected"
TOLD = "told"


class Injected:
    """One item of an injection."""

    __slots__ = ("backend", "confidence", "content", "content_sha", "id", "rank", "score")

    def __init__(
        self, id_: str, backend: str, content: str, content_sha: str, confidence: float, rank: int, score: float
    ) -> None:
        self.id = id_
        self.backend = backend
        self.content = content
        self.content_sha = content_sha
        self.confidence = confidence  # at the time of injection
        self.rank = rank
        self.score = score

    @property
    def told_key(self) -> str:
        """The item as it was worded: after an update it is news again."""
        return f"{self.id} {self.content_sha[:16]}"


class Injection:
    """One hook run that told something: for which prompt, what, out of which candidates."""

    __slots__ = ("items", "pool", "prompt", "prompt_id", "session", "turn")

    def __init__(
        self, session: str, turn: str, prompt_id: str, prompt: str, items: list[Injected], pool: list[Any]
    ) -> None:
        self.session = session
        self.turn = turn
        self.prompt_id = prompt_id
        self.prompt = prompt  # redacted by the caller; truncated here
        self.items = items
        self.pool = pool


def write(home: str, injection: Injection, now: float) -> None:
    """Append the injection to the journal of the day."""
    stamp = time.gmtime(now)
    line = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", stamp),
        "session": injection.session,
        "turn": injection.turn,
        "prompt_id": injection.prompt_id,
        "prompt": injection.prompt[:PROMPT],
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
            for item in sorted(injection.items, key=lambda item: item.rank)
        ],
        "pool": injection.pool,
    }
    data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
    _append(os.path.join(home, JOURNAL, time.strftime("%Y-%m-%d.jsonl", stamp)), data)


def told(home: str, session: str) -> set[str]:
    """The keys of the items whose wording the session has in its context."""
    try:
        with open(_told_file(home, session), encoding="utf-8", errors="replace") as lines:
            return set(lines.read().splitlines())
    except FileNotFoundError:
        return set()


def remember(home: str, session: str, items: list[Injected]) -> None:
    """The session now has these items in its context."""
    lines = "".join(f"{item.told_key}\n" for item in items)
    _append(_told_file(home, session), lines.encode("utf-8", "replace"))


def forget(home: str, session: str) -> None:
    """The session's context was compacted or cleared: what it was told may be told again."""
    try:
        os.unlink(_told_file(home, session))
    except FileNotFoundError:
        return


def _told_file(home: str, session: str) -> str:
    """A file name for the session, also where its id is no plain name."""
    if session.isascii() and session.replace("-", "").replace("_", "").isalnum() and len(session) <= 100:
        return os.path.join(home, TOLD, session)
    data = session.encode("utf-8", "surrogatepass")
    return os.path.join(home, TOLD, f"{data[:80].hex()}.{binascii.crc32(data):08x}")  # hashlib costs 10 ms


def _append(path: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    try:
        file = os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = os.open(path, flags, 0o600)
    try:
        os.write(file, data)
    finally:
        os.close(file)
