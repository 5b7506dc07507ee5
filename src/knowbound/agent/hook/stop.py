"""The check before an agent stops (audit.check): warn informs the user, block the agent, off only keeps a log.

The check speaks once a turn and never in a loop: it is silent if the client says that a hook made the agent go on
(`stop_hook_active`), or if the turn is in the log already. It is also silent in doubt: without a transcript, or while
work goes on in the background. It has a time limit of its own (audit.check_ms); after it the log says "skipped".

Where rules are silent and a model may be used in the background, the model reads the answer after the hook has ended.
What it finds waits for the next prompt of the session.

    .knowbound/stop_checks/2026-11-16.jsonl       what the check said, or would have said, or that it was skipped
    .knowbound/stop_checks/waiting/SESSION.json   what the model found, until the next prompt
"""

from __future__ import annotations

import json
import os
import time

from knowbound.agent.hook.log import json_lines, json_object
from knowbound.injection.hook_settings import is_shadowed
from knowbound.store.data_dir import STOP_CHECKS
from knowbound.user_files import append, make_file, make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowbound.agent.hook.run import HookRun
    from knowbound.injection.prompt import HookPrompt

OFF, WARN, BLOCK = "off", "warn", "block"
MODES = (OFF, WARN, BLOCK)
IF_WRONG = "(Is that wrong? knowbound wrong)"
BACKGROUND_SECONDS = 20.0  # limit of a check that no agent waits for


class StopCheck:
    """The check of one ended turn."""

    def __init__(
        self, root: str, home: str, mode: str, limit_ms: int, prompt: HookPrompt, payload: Mapping[str, object]
    ) -> None:
        self._root, self._home, self.mode, self._prompt = root, home, mode if mode in MODES else OFF, prompt
        self._limit_ms = limit_ms
        answer = payload.get("last_assistant_message")
        self._answer = answer if isinstance(answer, str) else ""
        self._is_continued = payload.get("stop_hook_active") is True  # the second stop of a turn that a hook made go on
        self._is_busy = bool(payload.get("background_tasks"))  # the agent works on: this is not its last answer
        self._is_doubtful = False  # a model should read the answer

    def sentence(self, deadline: float) -> str:
        """Return the sentence and note it in the log; "" if there is none by this monotonic time."""
        if not self._answer.strip() or not self._prompt.transcript or self._is_continued or self._is_busy:
            return ""
        if self._prompt.agent_id or self._is_logged():  # the caller of a sub-agent, not a user, reads its answer
            return ""
        own_deadline = time.monotonic() + self._limit_ms / 1000
        from pathlib import Path  # noqa: PLC0415  # only if there is something to check

        from knowbound.audit.stop import SkippedError, check_answer  # noqa: PLC0415

        try:
            limit = min(deadline, own_deadline)
            found = check_answer(Path(self._prompt.transcript), self._answer, limit, waits=self.mode != OFF)
        except SkippedError as skipped_error:
            self._log(skipped=str(skipped_error))
            return ""
        self._is_doubtful = found.is_doubtful
        if found.sentence:
            self._log(said=found.sentence)
        return found.sentence

    def hand_over(self) -> None:
        """Let the model of the background read a doubtful answer; what it finds waits for the next prompt."""
        if not self._is_doubtful or self.mode == OFF or not self._prompt.session:
            return
        from pathlib import Path  # noqa: PLC0415  # nobody waits for this

        from knowbound.audit.stop import SkippedError, ask_about  # noqa: PLC0415
        from knowbound.config import load  # noqa: PLC0415

        os.chdir(self._home)  # a program that is the model never runs in a folder that an agent works in
        settings = load(Path(self._root), ignore_untrusted=True)
        try:
            sentence = ask_about(Path(self._prompt.transcript), self._answer, settings, BACKGROUND_SECONDS)
        except SkippedError as skipped_error:
            self._log(skipped=str(skipped_error))
            return
        if sentence:
            self._log(said=sentence, by="model")
            path = _waiting_path(self._home, self._prompt.session)
            make_folder(os.path.dirname(path))
            make_file(path, json.dumps({"said": sentence}, ensure_ascii=False).encode("utf-8", "replace"))

    def output(self, sentence: str) -> dict[str, str]:
        """Return the answer for the client: its user sees a warning, or its agent goes on with a reason."""
        if self.mode == BLOCK:
            return {"decision": "block", "reason": sentence}
        return {"systemMessage": f"knowbound: {sentence} {IF_WRONG}"}

    @property
    def _turn_id(self) -> str:
        return self._prompt.prompt_id or self._prompt.turn_id

    def _path(self) -> str:
        return os.path.join(self._home, STOP_CHECKS, time.strftime("%Y-%m-%d.jsonl", time.gmtime()))

    def _is_logged(self) -> bool:
        """Report whether the log has this turn; a client without ids of turns has only `stop_hook_active`."""
        turn = (self._turn_id, self._prompt.session)
        return bool(self._turn_id) and any(
            (line.get("turn"), line.get("session")) == turn for line in json_lines(self._path())
        )

    def _log(self, **fields: str) -> None:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "session": self._prompt.session,
            "turn": self._turn_id,
            "mode": self.mode,
            **fields,
        }
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        append(self._path(), text.encode("utf-8", "replace") + b"\n")


def stop_check_of(run: HookRun, prompt: HookPrompt, payload: Mapping[str, object]) -> StopCheck | None:
    """Return the check before the agent stops; None without a data folder."""
    if not run.home or run.is_trial:
        return None
    try:
        settings = run.settings()
    except Exception:  # a config that cannot be used checks nothing
        return StopCheck(run.root, run.home, "off", 0, prompt, payload)
    mode = "off" if is_shadowed(run.home) else settings.check
    return StopCheck(run.root, run.home, mode, settings.check_ms, prompt, payload)


def _waiting_path(home: str, session: str) -> str:
    name = "".join(character for character in session if character.isalnum() or character in "-_")[:80]
    return os.path.join(home, STOP_CHECKS, "waiting", f"{name}.json")


def claim_waiting(home: str, session: str) -> str:
    """Return what a model found about the last answer of a session, once; "" for nothing."""
    path = _waiting_path(home, session)
    try:
        with open(path, "rb") as file:
            sentence = json_object(file.read()).get("said")
        os.unlink(path)  # of two hooks, the one that removes the file says it
    except OSError:
        return ""
    return f"knowbound, about the last answer: {sentence} {IF_WRONG}" if isinstance(sentence, str) and sentence else ""
