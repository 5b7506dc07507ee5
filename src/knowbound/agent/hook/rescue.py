"""The hook after a tool call: says what a missed lookup meant, for the agent's next step (lessons/rescue/rescue.py).

The hook reads the kept index of the tree and never builds it. Without an index, or with a stale one, the hook says
nothing, and a worker in the background updates the index. Where rules are silent and the user allows it, a process that
nobody waits for asks a model, and a later tool event of the turn delivers its answer (injection/late.py).
"""

from __future__ import annotations

import os
import time

from knowbound.agent.hook.resident import has_late_hook
from knowbound.agent.hook_entry import AFTER_TOOLS, looks_up
from knowbound.codebase.kept_index import open_tree
from knowbound.injection.prompt import checksum_key, keys_of_context
from knowbound.store.data_dir import main_work_tree, work_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from knowbound.agent.hook.run import HookRun
    from knowbound.injection.prompt import HookPrompt
    from knowbound.lessons.rescue.words import Rescue, SuggestedPlace

_LEAST_SEARCH_SECONDS = 0.02
_MOST_SEARCH_SECONDS = 0.25
_ANSWER_SECONDS = 0.05  # of the limit, kept for the record and the answer


class RescueAnswer:
    """A delivered rescue, as the run records it."""

    outcome = "rescued"
    items: tuple[()] = ()

    def __init__(self, found: Rescue) -> None:
        self.text = found.text
        self.tokens = len(found.text) // 4 + 1  # about 4 characters a token
        self._places = found.suggestions

    def keys(self) -> list[str]:
        """Return the keys of what the context has from now on."""
        return [*map(place_key, self._places), _sentence_key(self.text)]


def answer_miss(run: HookRun, event: str, payload: Mapping[str, Any], prompt: HookPrompt) -> None:
    """Write where the missed thing is, or nothing, and end the run."""
    if not run.home or not run.settings().rescues or _is_irrelevant_command(payload, run.home):
        run.is_recorded = False
        run.inject_nothing()
        return
    run.tree = tree_of(prompt.cwd, run.root)
    seconds = max(_LEAST_SEARCH_SECONDS, run.deadline - time.monotonic())
    tree = open_tree(run.home, run.tree, work_seconds=seconds) if run.tree else None
    if tree is None or tree.is_stale:
        run.is_recorded = False
        run.inject_nothing()
        return
    from knowbound.lessons.rescue.rescue import rescue  # noqa: PLC0415  # not needed without an index

    search_seconds = min(_MOST_SEARCH_SECONDS, run.deadline - time.monotonic() - _ANSWER_SECONDS)
    found = rescue(payload, tree, home=run.home, seconds=max(_LEAST_SEARCH_SECONDS, search_seconds))
    run.is_recorded = found.is_miss
    run.record.add_known(
        {"call": _short_field(payload, "tool_use_id"), "tool": _short_field(payload, "tool_name"),
         "status": found.status, "rule": found.rule, "text": found.text,
         "places": [[place.path, place.line] for place in found.suggestions], "names": found.names}
    )  # fmt: skip
    run.asks_later = found.is_open and _may_ask_later(run, prompt)  # rules cannot say where it is
    if not found.text or _has_context(run.home, prompt.context, found):
        run.inject_nothing()
        return
    run.deliver(AFTER_TOOLS[event], RescueAnswer(found), prompt)


def _may_ask_later(run: HookRun, prompt: HookPrompt) -> bool:
    """Report whether a model may be asked, and a later tool event of this turn can deliver what it says."""
    if prompt.agent_id or not (prompt.context and prompt.turn) or run.is_trial:  # only the main agent gets one
        return False
    return bool(run.settings().rescue_model) and has_late_hook(prompt.agent)


def tree_of(cwd: str, root: str) -> str:
    """Return the source tree that an agent works in; a linked work tree shares the project's data folder."""
    top = work_tree(cwd or root)
    if top and main_work_tree(top):
        return top
    tree = (top or root) if os.environ.get("KNOWBOUND_HOME") else root
    return "" if _is_no_project(tree) else tree


def _is_no_project(folder: str) -> bool:
    """Report whether a folder is the root, the temporary folder, the home folder or above it: no source tree."""
    real = os.path.realpath(folder)
    home = os.path.realpath(os.path.expanduser("~"))
    temporary = os.path.realpath(os.environ.get("TMPDIR") or "/tmp")
    return real in (temporary, os.sep) or os.path.join(home, "").startswith(os.path.join(real, ""))


def _is_irrelevant_command(payload: Mapping[str, Any], home: str) -> bool:
    """Report whether the failed command looks nothing up (most are tests) and no lesson is about commands."""
    tool_input = payload.get("tool_input")
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    if not isinstance(command, str) or looks_up(b'"command":' + command.encode("utf-8", "replace")):
        return False
    from knowbound.store.accepted_lessons import ABOUT_COMMANDS, lessons_naming  # noqa: PLC0415  # not for lookups

    return not lessons_naming(home, [ABOUT_COMMANDS])


def _has_context(home: str, context: str, found: Rescue) -> bool:
    """Report whether this context already has the sentence, all of its places, or the item behind it."""
    keys = keys_of_context(home, context) if context else set()
    places = set(map(place_key, found.suggestions))
    is_injected = bool(found.item) and any(key.startswith(f"{found.item} ") for key in keys)
    return _sentence_key(found.text) in keys or is_injected or (bool(places) and places <= keys)


def place_key(place: SuggestedPlace) -> str:
    """Return the key of a place in the context that has it."""
    return checksum_key("place", f"{place.path}:{place.line or ''}")


def _sentence_key(text: str) -> str:
    return checksum_key("said", text)


def _short_field(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    return value[:200] if isinstance(value, str) else ""
