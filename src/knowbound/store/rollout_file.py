"""Where the rollout is, for the hook: `.knowbound/rollout.json`, a copy of what the quality log says.

Specification 2, section 6. The hook loads it: it imports next to nothing. What is missing or damaged is leg 0.
"""

from __future__ import annotations

import json
import os

from knowbound.user_files import make_file, make_folder

NAME = "rollout.json"


class RolloutFile:
    """The present leg, and what it switches on beside ranking."""

    __slots__ = ("corrective_loop", "exploration", "leg")

    def __init__(self, leg: int = 0, corrective_loop: bool = False, exploration: bool = False) -> None:
        self.leg = leg
        self.corrective_loop = corrective_loop
        self.exploration = exploration


def read_rollout(home: str | os.PathLike[str]) -> RolloutFile:
    """As it was written last; leg 0 where nothing can be read."""
    try:
        with open(os.path.join(home, NAME), encoding="utf-8") as file:
            kept = json.load(file)
        leg = kept["leg"]
        if not isinstance(leg, int) or isinstance(leg, bool) or leg < 0:
            return RolloutFile()
        return RolloutFile(leg, kept.get("corrective_loop") is True, kept.get("exploration") is True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return RolloutFile()


def keep_rollout(home: str | os.PathLike[str], rollout: RolloutFile) -> None:
    """Write it as a whole, where it is another than what is there."""
    values = {name: getattr(rollout, name) for name in ("leg", "corrective_loop", "exploration")}
    known = read_rollout(home)
    path = os.path.join(home, NAME)
    if all(getattr(known, name) == value for name, value in values.items()) and os.path.exists(path):
        return
    make_folder(home)
    make_file(path, json.dumps(values).encode() + b"\n")
