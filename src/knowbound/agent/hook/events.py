"""The events of an agent: inject context when a session starts or a prompt is submitted, and queue ended turns.

`answer` answers one event in a run, in a process of its own (process.py) or in the running MCP server
(agent/mcp/hook_events.py). What a kind of event needs beside that is loaded for it alone: prompt.py, rescue.py,
stop.py; finish.py does the work that no agent waits for. All use the standard library and our smallest
modules, and read only the local index, so a backend that is down does not matter. Claude Code and Codex use the same
JSON, and the same names for the events that both have (agent/install/clients.py).
"""

from __future__ import annotations

from knowbound.agent.hook import resident
from knowbound.agent.hook.run import TURN_ENDS, HookRun
from knowbound.agent.hook_entry import AFTER_TOOLS
from knowbound.injection.prompt import HookPrompt
from knowbound.store.data_dir import data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INJECTING = {"user-prompt-submit": "UserPromptSubmit", "session-start": "SessionStart"}
EVENTS = INJECTING | TURN_ENDS | AFTER_TOOLS


class RefusedError(Exception):
    """The reason why nothing is injected, for the log."""


def answer(run: HookRun, event: str, payload: dict[str, Any], started_in: str) -> None:
    """Answer an event, unless another run has claimed it, and end the run."""
    prompt = HookPrompt(payload)
    run.use_folder(*data_folder(prompt.cwd or started_in))
    if run.home and not run.is_trial:
        run.has_claimed = resident.claim(run.home, event, prompt, payload)
        run.is_answered_elsewhere = not run.has_claimed
    if run.is_answered_elsewhere:
        run.leave()
    elif event in TURN_ENDS:
        from knowbound.quality.ended import EndedTurn  # noqa: PLC0415  # other events need none

        run.ended_turn = EndedTurn(event, prompt, payload)
        if event == "stop":
            from knowbound.agent.hook.stop import stop_check_of  # noqa: PLC0415

            run.check = stop_check_of(run, prompt, payload)
        run.queue(run.ended_turn, run.check if run.check is not None and run.check.mode != "off" else None)
    else:
        run.record.add_prompt(prompt)
        if event in AFTER_TOOLS:
            from knowbound.agent.hook.rescue import answer_miss  # noqa: PLC0415  # other events need none

            answer_miss(run, event, payload, prompt)
        else:
            from knowbound.agent.hook.prompt import answer_prompt  # noqa: PLC0415

            answer_prompt(run, event, prompt)
