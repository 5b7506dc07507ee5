"""A regression sample from a lesson: the question that it answers, and what a right answer has to name."""

from __future__ import annotations

import re

from knowbound.core.lesson import Lesson, LessonKind

_CODE = re.compile(r"`([^`]+)`")
_NEGATED = re.compile(r"(?:not|no|without)(?: in| at)? `([^`]+)`")


def sample_of_lesson(lesson: Lesson) -> dict[str, object]:
    """An entry of a samples file. The wrong names of the lesson are in the question, the right ones in the answer."""
    wrong = list(dict.fromkeys(_NEGATED.findall(lesson.text)))
    right = [name for name in dict.fromkeys(_CODE.findall(lesson.text)) if name not in wrong]
    found: dict[str, object] = {"sample_id": f"lesson-{lesson.id}", "prompt": _question(lesson, wrong, right)}
    if right:
        found["assertions"] = [{"type": "contains_any", "values": right}]
    found["provenance"] = "production-trace"
    found["metadata"] = {"drafted_from": "lesson", "lesson": lesson.id, "expected": lesson.text, "status": "accepted"}
    return found


def _question(lesson: Lesson, wrong: list[str], right: list[str]) -> str:
    if lesson.kind is LessonKind.LOCATION:
        return f"Where in this project is `{wrong[0]}`, or what is there instead?" if wrong else _about(lesson, right)
    if lesson.kind is LessonKind.COMMAND and wrong:
        return f"`{wrong[0]}` fails in this project. What has to be run instead?"
    return _about(lesson, right)


def _about(lesson: Lesson, right: list[str]) -> str:
    what = "What does one have to know" if lesson.kind is not LessonKind.CORRECTION else "What do the users expect"
    return f"{what} about `{right[0]}` in this project?" if right else f"{what} in this project before a commit?"
