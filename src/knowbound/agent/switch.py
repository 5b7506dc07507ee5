"""The switch of all hooks: `knowbound off` and `knowbound on`, or the environment variable KNOWBOUND_OFF.

The switch is a file in the user's state folder, so it applies to every agent and project from the next hook run on. The
hook loads this module first, so it imports next to nothing.
"""

from __future__ import annotations

import os
import time

from knowbound.policy import is_off_by_policy
from knowbound.user_files import make_file, make_folder, state_places

VARIABLE = "KNOWBOUND_OFF"
PLUGIN = "KNOWBOUND_PLUGIN"  # set by the plugin's scripts to the agent whose plugin it is; that has every hook
_FILE = "off"
_LATE_HOOK = "late-hook-"  # start of the name of a note, before the agent's name
_ON = ("", "0", "false", "no")  # values of the variable that leave hooks on
_LONGEST = 40  # characters of a time


class OffState:
    """The way that hooks are off: by the variable, or by the file since a time."""

    def __init__(self, *, by_variable: bool, since: str) -> None:
        self.by_variable = by_variable
        self.since = since  # ISO, UTC; "" if unknown

    def __str__(self) -> str:
        if self.by_variable:
            return f"{VARIABLE} is set"
        return f"since {self.since or 'an unknown time'}"


def is_off() -> bool:
    """Report whether hooks are switched off."""
    return _variable_is_set() or any(map(os.path.lexists, state_places(_FILE))) or is_off_by_policy()


def off_state() -> OffState | None:
    """Return how and since when hooks are off; None if they are on."""
    if _variable_is_set():
        return OffState(by_variable=True, since="")
    for path in filter(os.path.lexists, state_places(_FILE)):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                since = file.read(_LONGEST).strip()
        except OSError:
            since = ""
        return OffState(by_variable=False, since=since if since.isascii() and since.isprintable() else "")
    return None


def switch_off() -> None:
    """Switch off every hook that starts from now on. Raises OSError."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    for path in state_places(_FILE):
        if not os.path.lexists(path):  # the first time stays
            make_folder(os.path.dirname(path))
            make_file(path, f"{now}\n".encode())


def switch_on() -> bool:
    """Remove the switch, not the variable, and report whether it was there. Raises OSError."""
    were_off = False
    for path in state_places(_FILE):
        try:
            os.unlink(path)
            were_off = True
        except FileNotFoundError:
            continue
    return were_off


def has_late_hook(agent: str) -> bool:
    """Report whether a hook is installed that delivers what a model chooses after the prompt was answered."""
    return os.environ.get(PLUGIN) == agent or any(map(os.path.exists, state_places(_LATE_HOOK + agent)))


def note_late_hook(agent: str, *, is_installed: bool) -> None:
    """Note for the hooks of an agent whether that hook is installed. Raises OSError."""
    for path in state_places(_LATE_HOOK + agent):
        if is_installed:
            make_folder(os.path.dirname(path))
            make_file(path, b"")
        elif os.path.lexists(path):
            os.unlink(path)


def _variable_is_set() -> bool:
    return os.environ.get(VARIABLE, "").strip().lower() not in _ON
