"""The input of a hook: the prompt, and the session, agent and turn that it belongs to."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
