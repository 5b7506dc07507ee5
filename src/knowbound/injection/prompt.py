"""The input of a hook, and the contexts of agents: one file per context, one line for each text that the context got.

    .knowbound/contexts/<session>    removed when the context is compacted or cleared

A sub-agent has a context of its own. An item is known by its id and content: after an update it is new again. The index
of the store is known by its whole text.
"""

from __future__ import annotations

import binascii
import os

from knowbound.user_files import append

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from knowbound.kms.index.ranking import FoundItem

CONTEXTS = "contexts"
CONTEXT_IS_GONE = ("compact", "clear")  # values of SessionStart's `source`
_SOURCES = ("startup", "resume", "fork", *CONTEXT_IS_GONE)  # other values are not kept: they could be anything
_NOTICE = "<task-notification>"  # the start of Claude Code's notice that a background task has ended
_LONGEST = 1_000  # characters of a name or path


class HookPrompt:
    """The fields of a hook's input that are used. A missing field, or one of another type, is empty."""

    def __init__(self, payload: Mapping[str, object]) -> None:
        self.text = _text(payload, "prompt")
        self.cwd = _text(payload, "cwd")
        self.session = _text(payload, "session_id")[:_LONGEST]
        self.agent_id = _text(payload, "agent_id")[:_LONGEST]  # of a sub-agent
        self.prompt_id = _text(payload, "prompt_id")[:_LONGEST]  # Claude Code's; in its transcript as promptId
        self.turn_id = _text(payload, "turn_id")[:_LONGEST]  # Codex's
        self.transcript = _text(payload, "transcript_path")[:_LONGEST]
        source = _text(payload, "source")
        self.source = source if source in _SOURCES else ""  # why a session starts
        self.agent = _agent(payload, self.transcript)

    @property
    def context(self) -> str:
        """Return the name of the context: the session, and the sub-agent in it."""
        return "-".join(filter(None, (self.session, self.agent_id)))

    @property
    def turn(self) -> str:
        """Return the client's id of the turn; "" if it has none."""
        return self.prompt_id or self.turn_id

    @property
    def context_is_gone(self) -> bool:
        """Report whether the context was compacted or cleared."""
        return self.source in CONTEXT_IS_GONE

    @property
    def context_is_new(self) -> bool:
        """Report whether nothing is in the context yet."""
        return self.source == "startup" or self.context_is_gone


def is_notice(text: str) -> bool:
    """Report whether the client submits this text by itself: the turn before goes on with it."""
    return text.lstrip().startswith(_NOTICE)


def _agent(payload: Mapping[str, object], transcript: str) -> str:
    """Name the client: Codex sends a turn and a model, Claude Code a prompt id, and each its own transcript."""
    if os.path.basename(transcript).startswith("rollout-") or "turn_id" in payload:
        return "codex"
    if "prompt_id" in payload or "/projects/" in transcript.replace("\\", "/"):
        return "claude-code"
    return "codex" if "model" in payload and payload.get("transcript_path", "") is None else "unknown"


def _text(payload: Mapping[str, object], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""


def new_to_context(home: str, context: str, items: list[FoundItem]) -> list[FoundItem]:
    """Return the items that the context does not have in their current wording."""
    known_keys = keys_of_context(home, context) if items and context else set()
    return [item for item in items if item_key(item) not in known_keys]


def remember_keys(home: str, context: str, keys: Iterable[str]) -> None:
    """Note that the context has what these keys name."""
    append(_context_file(home, context), "".join(f"{key}\n" for key in keys).encode("utf-8", "replace"))


def item_key(item: FoundItem) -> str:
    """Return the key of an item in its current wording."""
    return f"{item.id} {item.content_sha}"


def checksum_key(kind: str, text: str) -> str:
    """Return a key for a text that is known by its checksum."""
    return f"{kind} {binascii.crc32(text.encode('utf-8', 'replace')):08x}"


def forget_context(home: str, context: str) -> None:
    """Forget a context that was compacted or cleared: its items may be injected again."""
    try:
        os.unlink(_context_file(home, context))
    except FileNotFoundError:
        return


def context_file_name(context: str) -> str:
    """Return a file name for the context, also for an id that is no plain name."""
    if context.isascii() and context.replace("-", "").replace("_", "").isalnum() and len(context) <= 100:
        return context
    data = context.encode("utf-8", "surrogatepass")
    return f"{data[:80].hex()}.{binascii.crc32(data):08x}"  # hashlib costs 10 ms


def keys_of_context(home: str, context: str) -> set[str]:
    """Return all keys of the context."""
    try:
        with open(_context_file(home, context), encoding="utf-8", errors="replace") as lines:
            return set(lines.read().splitlines())
    except FileNotFoundError:
        return set()


def _context_file(home: str, context: str) -> str:
    return os.path.join(home, CONTEXTS, context_file_name(context))
