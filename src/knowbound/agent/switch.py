"""The switch of all hooks: `knowbound off` and `knowbound on`, or the environment variable KNOWBOUND_OFF.

One file in the user's state folder, so it holds for every agent and project from the next hook run on. The hook loads
it first: it imports next to nothing.
"""

from __future__ import annotations

import os
import time

from knowbound.user_files import make_file, make_folder, state_places

VARIABLE = "KNOWBOUND_OFF"
_FILE = "off"
_ON = ("", "0", "false", "no")  # values of the variable that switch nothing off
_LONGEST = 40  # characters of a time


class OffState:
    """How hooks are switched off: by the variable, or by the file and since when."""

    def __init__(self, *, by_variable: bool, since: str) -> None:
        self.by_variable = by_variable
        self.since = since  # ISO, UTC; "" where it is not known

    def __str__(self) -> str:
        if self.by_variable:
            return f"{VARIABLE} is set"
        return f"since {self.since or 'an unknown time'}"


def is_off() -> bool:
    """Whether hooks do nothing."""
    return _variable_is_set() or any(map(os.path.lexists, state_places(_FILE)))


def off_state() -> OffState | None:
    """How and since when hooks are off; None where they are on."""
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
    """Off, for every hook that starts from now on. Raises OSError."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    for path in state_places(_FILE):
        if not os.path.lexists(path):  # since when stays as it is
            make_folder(os.path.dirname(path))
            make_file(path, f"{now}\n".encode())


def switch_on() -> bool:
    """On again; whether they were off. The variable is not ours to change. Raises OSError."""
    were_off = False
    for path in state_places(_FILE):
        try:
            os.unlink(path)
            were_off = True
        except FileNotFoundError:
            continue
    return were_off


def _variable_is_set() -> bool:
    return os.environ.get(VARIABLE, "").strip().lower() not in _ON
