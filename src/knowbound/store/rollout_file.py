"""State of the rollout for the hook: `.knowbound/rollout.json`, a copy of the state in the quality log.

Specification 2, section 6. Hooks load this module: it imports little. A missing or damaged file means leg 0.
"""

from __future__ import annotations

import json
import os

from knowbound.user_files import make_file, make_folder

NAME = "rollout.json"


class RolloutFile:
    """The present leg, and whether prompts explore."""

    __slots__ = ("exploration", "leg")

    def __init__(self, leg: int = 0, exploration: bool = False) -> None:
        self.leg = leg
        self.exploration = exploration


def read_rollout(home: str | os.PathLike[str]) -> RolloutFile:
    """Return the stored state; leg 0 if the file cannot be read."""
    try:
        with open(os.path.join(home, NAME), encoding="utf-8") as file:
            kept = json.load(file)
        leg = kept["leg"]
        if not isinstance(leg, int) or isinstance(leg, bool) or leg < 0:
            return RolloutFile()
        return RolloutFile(leg, kept.get("exploration") is True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return RolloutFile()


def keep_rollout(home: str | os.PathLike[str], rollout: RolloutFile) -> None:
    """Replace the file if the state differs."""
    values = {name: getattr(rollout, name) for name in RolloutFile.__slots__}
    known = read_rollout(home)
    path = os.path.join(home, NAME)
    if all(getattr(known, name) == value for name, value in values.items()) and os.path.exists(path):
        return
    make_folder(home)
    make_file(path, json.dumps(values).encode() + b"\n")
