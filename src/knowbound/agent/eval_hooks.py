"""Our hook for a run of an evaluation: it answers as it would answer the user, and leaves no record of it.

It is the one that injects items. The index that sessions start with is for MCP tools, which a run does not have.
"""

from __future__ import annotations

import shlex

from knowbound.agent.clients import entries
from knowbound.agent.hook_entry import TRIAL
from knowbound.agent.switch import VARIABLE, off_state
from knowbound.config import Settings
from knowbound.errors import InputError

_EVENT = "UserPromptSubmit"
_LIMIT_MS = 4_000  # several samples at once make a machine slow, and what is measured is what items do, not that


def hook_commands(settings: Settings) -> dict[str, str]:
    """Event → command. All that the answer depends on is in the command, so that it is the same in a copy elsewhere.

    Where a command clears the variable that switches hooks off, an installed one beside it stays off.
    """
    if (off := off_state()) is not None:
        raise InputError(
            "hooks-off", f"All hooks are off ({off}): nothing would be injected. Try: knowbound on, or --inject off"
        )
    given = {
        VARIABLE: "",
        TRIAL: "1",
        "KNOWBOUND_HOME": str(settings.home),
        "KNOWBOUND_INJECTION_TIME_LIMIT_MS": str(max(_LIMIT_MS, settings.injection_time_limit_ms)),
        "KNOWBOUND_INJECTION_TOKEN_BUDGET": str(settings.injection_token_budget),
        "KNOWBOUND_INJECTION_MOST_ITEMS": str(settings.injection_most_items),
        "KNOWBOUND_INJECTION_SUBJECT": settings.injection_subject or settings.root.name,
    }
    if settings.injection_model:
        given["KNOWBOUND_INJECTION_MODEL"] = settings.injection_model
    if settings.injection_relevance_floor is not None:
        given["KNOWBOUND_INJECTION_RELEVANCE_FLOOR"] = str(settings.injection_relevance_floor)
    before = shlex.join(["env", *(f"{name}={value}" for name, value in given.items())])
    handler = entries("claude-code", "user").hooks[_EVENT]["hooks"][0]
    return {_EVENT: f"{before} {handler['command']}"}
