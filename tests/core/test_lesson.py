from __future__ import annotations

from knowbound.core.lesson import ActionKind, action_id


def test_the_id_of_an_action_is_the_same_in_every_version() -> None:
    """Users type it, and answers to an action are kept under it."""
    assert action_id(ActionKind.REPAIR, "CLAUDE.md:3") == "44238b57"
    assert action_id(ActionKind.WRITE, "CLAUDE.md:3") != action_id(ActionKind.REPAIR, "CLAUDE.md:3")
