"""The queue of turns that have ended (specification 2, section 3). The hook loads it: on the standard library alone.

    .knowbound/ended/2026-11-16.jsonl    one file a day; queue.py reads it

A record is up to two lines that share its id: which turn ended and how, durable before the hook ends, and later the
last message without secrets. Without the second line, a checksum shows whether the trace has the message.
"""

from __future__ import annotations

import binascii
import json
import os
import time

from knowbound.store.data_dir import ENDED
from knowbound.user_files import append

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from knowbound.injection.prompt import HookPrompt

STOP, STOP_FAILURE, INTERRUPT = "stop", "stop-failure", "interrupt"
SESSION_END, SUBAGENT_STOP = "session-end", "subagent-stop"
LONGEST_ANSWER = 100_000  # characters of the last message that are kept until it is scored


class EndedTurn:
    """The record of one ended turn."""

    def __init__(self, event: str, prompt: HookPrompt, payload: Mapping[str, object]) -> None:
        # Of a turn that failed it is the error's own text: nothing that the agent said.
        answer = payload.get("last_assistant_message") if event != STOP_FAILURE else None
        self.answer = answer if isinstance(answer, str) else ""
        self.key: dict[str, Any] = {  # both lines have these; the time names their file
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "id": os.urandom(8).hex(),
            "session": prompt.session,
        }
        self._first_line: dict[str, Any] = {
            "event": event,
            "agent": prompt.agent,
            "agent_id": prompt.agent_id,
            "prompt_id": prompt.prompt_id,
            "turn_id": prompt.turn_id,
            "transcript": prompt.transcript,
            "answer_sum": answer_sum(self.answer) if self.answer.strip() else "",
        }

    def begin(self, home: str) -> None:
        """Write that the turn ended; it is on the disk when this returns. Raises OSError."""
        self._append(home, self.key | {name: value for name, value in self._first_line.items() if value}, durable=True)

    def end(self, home: str, ms: float, tool_calls: int = 0, tool_ms: float = 0.0) -> None:
        """Write the last message without its secrets, and how long the hooks of the turn took. Raises OSError."""
        from knowbound.text.redact import excerpt  # noqa: PLC0415  # costs 20 ms

        line = self.key | {"answer": excerpt(self.answer, LONGEST_ANSWER), "answer_length": len(self.answer)}
        of_tools = {"tool_calls": tool_calls, "tool_ms": round(tool_ms, 1)} if tool_calls else {}
        self._append(home, line | {"ms": round(ms, 1)} | of_tools)

    def _append(self, home: str, line: dict[str, Any], *, durable: bool = False) -> None:
        data = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        append(os.path.join(home, ENDED, f"{self.key['time'][:10]}.jsonl"), data, durable=durable)


def answer_sum(text: str) -> str:
    """Return the sum by which a message is recognised in a trace. Clients and readers join its parts differently."""
    return f"{binascii.crc32(''.join(text.split()).encode('utf-8', 'replace')):08x}"
