from __future__ import annotations

from knowbound.core.lesson import ActionKind, Lesson, LessonKind, action_id, lesson_id
from knowbound.core.signal import Cost


def test_the_id_of_an_action_is_the_same_in_every_version() -> None:
    """Users type it, and answers to an action are kept under it."""
    assert action_id(ActionKind.REPAIR, "CLAUDE.md:3") == "44238b57"
    assert action_id(ActionKind.WRITE, "CLAUDE.md:3") != action_id(ActionKind.REPAIR, "CLAUDE.md:3")


def test_the_id_of_a_lesson_is_made_of_its_project_its_kind_and_its_subject() -> None:
    assert lesson_id("shop", LessonKind.LOCATION, "export.ts") == "e5aefeb2"
    others = [
        ("other", LessonKind.LOCATION, "a"),
        ("shop", LessonKind.COMMAND, "a"),
        ("shop", LessonKind.LOCATION, "b"),
    ]
    assert len({lesson_id("shop", LessonKind.LOCATION, "a"), *(lesson_id(*other) for other in others)}) == 4
    assert len(lesson_id("", LessonKind.COMMAND, "\ud800")) == 8


def test_a_lesson_saves_its_calls_and_half_a_call_a_session() -> None:
    assert Lesson("l1", LessonKind.COMMAND, "text", "CLAUDE.md", sessions=3, cost=Cost(4)).saves == 5.5
    assert Lesson("l1", LessonKind.COMMAND, "text", "CLAUDE.md").saves == 0
