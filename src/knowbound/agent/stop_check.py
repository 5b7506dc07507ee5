"""The check before an agent stops (audit.check): warn tells the user, block tells the agent, off only keeps a log.

Once a turn and never in a loop: where the client says that a hook made the agent go on (`stop_hook_active`), or the
turn is in the log already, it is silent. It is silent in every doubt, too: no transcript, work in the background.

    .knowbound/stop_checks/2026-11-16.jsonl    what it said, or would have said
"""

from __future__ import annotations

import json
import os
import time

from knowbound.store.data_dir import STOP_CHECKS
from knowbound.user_files import append

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowbound.injection.prompt import HookPrompt

OFF, WARN, BLOCK = "off", "warn", "block"
MODES = (OFF, WARN, BLOCK)
BACKGROUND_SECONDS = 20.0  # nobody waits


class StopCheck:
    """The check of one ended turn."""

    def __init__(self, home: str, mode: str, prompt: HookPrompt, payload: Mapping[str, object]) -> None:
        self._home, self.mode, self._prompt = home, mode if mode in MODES else OFF, prompt
        answer = payload.get("last_assistant_message")
        self._answer = answer if isinstance(answer, str) else ""
        self._is_continued = payload.get("stop_hook_active") is True
        self._is_busy = bool(payload.get("background_tasks"))

    def said(self, until: float) -> str:
        """The sentence, noted in the log; "" where there is none to say, or not until this monotonic time."""
        if not self._answer.strip() or not self._prompt.transcript or self._is_continued or self._is_busy:
            return ""
        if self._prompt.agent_id or self._is_noted():
            return ""
        from pathlib import Path  # noqa: PLC0415  # only where there is something to check

        from knowbound.audit.stop import missing_support  # noqa: PLC0415

        said = missing_support(Path(self._prompt.transcript), self._answer, until)
        if said:
            self._note(said)
        return said

    def output(self, said: str) -> bytes:
        """The sentence for the client: its user sees a warning, its agent goes on with a reason."""
        if self.mode == BLOCK:
            return json.dumps({"decision": "block", "reason": said}, ensure_ascii=False).encode("utf-8", "replace")
        return json.dumps({"systemMessage": f"knowbound: {said}"}, ensure_ascii=False).encode("utf-8", "replace")

    @property
    def _turn(self) -> str:
        return self._prompt.prompt_id or self._prompt.turn_id

    def _path(self) -> str:
        return os.path.join(self._home, STOP_CHECKS, time.strftime("%Y-%m-%d.jsonl", time.gmtime()))

    def _is_noted(self) -> bool:
        """Whether this turn was spoken of before: a client without an id of its turns has only `stop_hook_active`."""
        if not self._turn:
            return False
        try:
            with open(self._path(), "rb") as file:
                lines = file.read().splitlines()
        except OSError:
            return False
        for line in lines:
            try:
                known = json.loads(line)
            except ValueError:
                continue
            if known.get("turn") == self._turn and known.get("session") == self._prompt.session:
                return True
        return False

    def _note(self, said: str) -> None:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "session": self._prompt.session,
            "turn": self._turn,
            "mode": self.mode,
            "said": said,
        }
        append(
            self._path(), json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        )
