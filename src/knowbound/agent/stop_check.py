"""The check before an agent stops (audit.check): warn informs the user, block the agent, off only keeps a log.

The check speaks once a turn and never in a loop: it is silent if the client says that a hook made the agent go on
(`stop_hook_active`), or if the turn is in the log already. It is also silent in doubt: without a transcript, or while
work goes on in the background.

    .knowbound/stop_checks/2026-11-16.jsonl    what the check said, or would have said
"""

from __future__ import annotations

import json
import os
import time

from knowbound.agent.hook_log import json_lines
from knowbound.store.data_dir import STOP_CHECKS
from knowbound.user_files import append

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowbound.injection.prompt import HookPrompt

OFF, WARN, BLOCK = "off", "warn", "block"
MODES = (OFF, WARN, BLOCK)
BACKGROUND_SECONDS = 20.0  # limit of a check that no agent waits for


class StopCheck:
    """The check of one ended turn."""

    def __init__(self, home: str, mode: str, prompt: HookPrompt, payload: Mapping[str, object]) -> None:
        self._home, self.mode, self._prompt = home, mode if mode in MODES else OFF, prompt
        answer = payload.get("last_assistant_message")
        self._answer = answer if isinstance(answer, str) else ""
        self._is_continued = payload.get("stop_hook_active") is True
        self._is_busy = bool(payload.get("background_tasks"))

    def sentence(self, until: float) -> str:
        """Return the sentence and note it in the log; "" if there is none by this monotonic time."""
        if not self._answer.strip() or not self._prompt.transcript or self._is_continued or self._is_busy:
            return ""
        if self._prompt.agent_id or self._is_noted():
            return ""
        from pathlib import Path  # noqa: PLC0415  # only if there is something to check

        from knowbound.audit.stop import missing_support  # noqa: PLC0415

        said = missing_support(Path(self._prompt.transcript), self._answer, until)
        if said:
            self._note(said)
        return said

    def output(self, sentence: str) -> bytes:
        """Return the answer for the client: its user sees a warning, or its agent goes on with a reason."""
        block, warning = {"decision": "block", "reason": sentence}, {"systemMessage": f"knowbound: {sentence}"}
        return json.dumps(block if self.mode == BLOCK else warning, ensure_ascii=False).encode("utf-8", "replace")

    @property
    def _turn(self) -> str:
        return self._prompt.prompt_id or self._prompt.turn_id

    def _path(self) -> str:
        return os.path.join(self._home, STOP_CHECKS, time.strftime("%Y-%m-%d.jsonl", time.gmtime()))

    def _is_noted(self) -> bool:
        """Report whether the log has this turn; a client without ids of turns has only `stop_hook_active`."""
        turn = (self._turn, self._prompt.session)
        return bool(self._turn) and any(
            (line.get("turn"), line.get("session")) == turn for line in json_lines(self._path())
        )

    def _note(self, said: str) -> None:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "session": self._prompt.session,
            "turn": self._turn,
            "mode": self.mode,
            "said": said,
        }
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        append(self._path(), text.encode("utf-8", "replace") + b"\n")
