"""The switch of all hooks: `knowbound off` and `knowbound on`, or the environment variable KNOWBOUND_OFF.

The switch is a file in the user's state folder, so it applies to every agent and project from the next hook run on. The
hook loads this module first: it imports next to nothing, and interruptions.py turns the switch.
"""

from __future__ import annotations

import os

from knowbound.policy import is_off_by_policy
from knowbound.user_files import state_places

VARIABLE = "KNOWBOUND_OFF"
PLUGIN = "KNOWBOUND_PLUGIN"  # set by the plugin's scripts to the agent whose plugin it is; that has every hook
FILE = "off"
LATE_HOOK = "late-hook-"  # start of the name of a note, before the agent's name
_VALUES_FOR_ON = ("", "0", "false", "no")  # of the variable, which then leaves hooks on


def is_off() -> bool:
    """Report whether hooks are switched off."""
    return variable_is_set() or any(map(os.path.lexists, state_places(FILE))) or is_off_by_policy()


def has_late_hook(agent: str) -> bool:
    """Report whether a hook is installed that delivers what a model chooses after the prompt was answered."""
    return os.environ.get(PLUGIN) == agent or any(map(os.path.exists, state_places(LATE_HOOK + agent)))


def variable_is_set() -> bool:
    """Report whether the variable switches hooks off."""
    return os.environ.get(VARIABLE, "").strip().lower() not in _VALUES_FOR_ON
