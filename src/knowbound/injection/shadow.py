"""Shadow: hooks choose and record as always, and nothing reaches the agent (`knowbound install AGENT --shadow`).

    ~/.local/state/knowbound/shadow    the switch, for every agent and project of the user
    .knowbound/shadow.json             what a person said about choices of a project
    .knowbound/live                    the person has started injecting in this project

The switch counts from the next hook run on. The hook loads this module, so it imports next to nothing.
"""

from __future__ import annotations

import json
import os
import time

from knowbound.user_files import make_file, make_folder, state_places

SHADOW = "shadow"  # outcome of a run, and its arm
_SWITCH, _LIVE, _ANSWERS = "shadow", "live", "shadow.json"
_LONGEST = 40  # characters of a time


def is_on(home: str) -> bool:
    """Report whether nothing is injected in the project of this data folder."""
    return is_switched_on() and not os.path.exists(os.path.join(home, _LIVE))


def is_switched_on() -> bool:
    """Report whether the user started in shadow."""
    return any(map(os.path.lexists, state_places(_SWITCH)))


def since() -> str:
    """Return when the shadow began; "" if it is off, or nobody knows."""
    for path in filter(os.path.lexists, state_places(_SWITCH)):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found = file.read(_LONGEST).strip()
        except OSError:
            return ""
        return found if found.isascii() and found.isprintable() else ""
    return ""


def switch(*, is_on: bool) -> None:
    """Begin the shadow in every project, or end it. The time of the first beginning stays. Raises OSError."""
    for path in state_places(_SWITCH):
        if not is_on:
            if os.path.lexists(path):
                os.unlink(path)
        elif not os.path.lexists(path):
            make_folder(os.path.dirname(path))
            make_file(path, time.strftime("%Y-%m-%dT%H:%M:%SZ\n", time.gmtime()).encode())


def go_live(home: str) -> None:
    """Start injecting in a project. Raises OSError."""
    make_file(os.path.join(home, _LIVE), time.strftime("%Y-%m-%dT%H:%M:%SZ\n", time.gmtime()).encode())


def answers(home: str) -> dict[str, bool]:
    """Return what a person said: key of a choice → whether it was accepted."""
    try:
        with open(os.path.join(home, _ANSWERS), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return {key: said for key, said in found.items() if isinstance(said, bool)} if isinstance(found, dict) else {}


def keep_answers(home: str, said: dict[str, bool]) -> None:
    """Keep what a person said. Raises OSError."""
    make_file(os.path.join(home, _ANSWERS), json.dumps(said).encode())
