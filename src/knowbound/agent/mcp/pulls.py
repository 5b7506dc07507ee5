"""Records what an agent pulled from the store through our tools, when it has its answer: no agent waits for it.

A pull is a line of the log of injections, of an event of its own. An entry that was shown whole is in the context of
whoever asked for it, so the hook does not inject it there again; what a search found is not withheld, because the agent
may have passed over it. A record that cannot be written is a failed run in the hook log, which `doctor` shows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from knowbound.agent import hook_log
from knowbound.agent.mcp.caller import caller_of
from knowbound.agent.switch import is_off
from knowbound.injection import contexts
from knowbound.injection.log import PULLED
from knowbound.injection.record import Record
from knowbound.kms.search.ranking import FoundItem


def record_pull(
    home: str, meta: Mapping[str, Any], tool: str, query: str, items: Sequence[FoundItem], *, is_shown: bool
) -> None:
    """Record these items as pulled by the caller with this `_meta`; `is_shown` where it got the whole entry."""
    if is_off() or not items:
        return
    began = time.monotonic()
    try:
        caller = caller_of(meta, os.environ)
        record = Record(PULLED)
        record.add_caller(caller.session, caller.agent, caller.agent_id, caller.turn, caller.call)
        record.add_pull(tool, query, items)
        record.begin(home)
        if is_shown and caller.context:
            contexts.remember(home, caller.context, [contexts.item_key(item) for item in items])
    except Exception as error:  # whatever it is, the agent has its answer
        reason = f"{type(error).__name__}: {error}"
        hook_log.write(home, PULLED, "failed", (time.monotonic() - began) * 1000, 0, 0, reason)
