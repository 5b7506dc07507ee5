"""The record of what agents pull from the store. It is loaded when the agent has its first answer."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from knowbound.agent import hook_log
from knowbound.agent.mcp.caller import caller_of
from knowbound.agent.switch import is_off
from knowbound.injection import contexts
from knowbound.injection.inject import item_row
from knowbound.injection.log import PULLED
from knowbound.injection.record import EXCERPT, Record
from knowbound.text.redact import excerpt

if TYPE_CHECKING:
    from knowbound.kms.search.ranking import FoundItem


def record_pull(
    home: str, meta: Mapping[str, Any], tool: str, query: str, items: Sequence[FoundItem], *, is_shown: bool
) -> None:
    """Record items that an agent pulled from the store, in the log of injections; `is_shown`: as a whole entry.

    A whole entry is in the caller's context, so the hook does not inject it there again. A search result is not
    withheld, because the agent may have passed over it. A record that cannot be written is a failed run in the hook
    log, which `doctor` shows.
    """
    if is_off() or not items:
        return
    began = time.monotonic()
    try:
        caller = caller_of(meta, os.environ)
        record = Record(PULLED)
        record.key["session"] = caller.session
        found = {"tool": tool, "query": excerpt(query, EXCERPT), "items": [item_row(item) for item in items]}
        record.add_known(caller.fields() | found)
        record.begin(home)
        if is_shown and caller.context:
            contexts.remember(home, caller.context, [contexts.item_key(item) for item in items])
    except Exception as error:  # the agent has its answer
        reason = f"{type(error).__name__}: {error}"
        hook_log.write(home, PULLED, "failed", (time.monotonic() - began) * 1000, 0, 0, reason)
