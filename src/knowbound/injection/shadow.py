"""Shadow: hooks choose and record as always, and nothing reaches the agent (`knowbound install AGENT --shadow`).

    ~/.local/state/knowbound/shadow    the switch, for every agent and project of the user
    .knowbound/shadow.json             what a person said about choices of a project (quality/status.py)
    .knowbound/live                    the person has started injecting in this project

The switch counts from the next hook run on. The hook loads this module, so it imports next to nothing.
"""

from __future__ import annotations

import os
import time

from knowbound.user_files import make_file, make_folder, state_places

SHADOW = "shadow"  # outcome of a run, and its arm
LIVE = "live"  # the file of a project
_SWITCH_FILE = "shadow"
_TIME_CHARACTERS = 40


def is_on(home: str) -> bool:
    """Report whether nothing is injected in the project of this data folder."""
    return is_switched_on() and not os.path.exists(os.path.join(home, LIVE))


def is_switched_on() -> bool:
    """Report whether the user started in shadow."""
    return any(map(os.path.lexists, state_places(_SWITCH_FILE)))


def since() -> str:
    """Return when the shadow began; "" if it is off, or nobody knows."""
    for path in filter(os.path.lexists, state_places(_SWITCH_FILE)):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found = file.read(_TIME_CHARACTERS).strip()
        except OSError:
            return ""
        return found if found.isascii() and found.isprintable() else ""
    return ""


def switch(*, is_on: bool) -> None:
    """Begin the shadow in every project, or end it. The time of the first beginning stays. Raises OSError."""
    for path in state_places(_SWITCH_FILE):
        if not is_on:
            if os.path.lexists(path):
                os.unlink(path)
        elif not os.path.lexists(path):
            make_folder(os.path.dirname(path))
            make_file(path, time.strftime("%Y-%m-%dT%H:%M:%SZ\n", time.gmtime()).encode())
