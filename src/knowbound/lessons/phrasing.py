"""A configured model words lessons better. It is held to the same checks: not a name more or less than was verified.

A lesson whose wording cannot be used, or that the model fails on, keeps the words of the rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from knowbound.core.lesson import Lesson
from knowbound.judge.models.asking import Asker
from knowbound.judge.prompts import load_prompt
from knowbound.lessons.proposing import clean_line

PROMPT = "lesson-1"
_CODE = re.compile(r"`([^`]+)`")
_PATH = re.compile(r"(?<![\w/`.-])(?:[\w.-]+/)+[\w.-]+")
_LONGER = 1.3  # times as long as the line of the rules, at most


class Wording(msgspec.Struct, frozen=True):
    """The model's answer."""

    text: str


def phrased(lessons: Sequence[Lesson], asker: Asker) -> tuple[list[Lesson], str]:
    """The lessons in the model's words where those can be used; and why some are not, or nothing."""
    checks = [_check(lesson.text) for lesson in lessons]
    asked = asker.ask(load_prompt(PROMPT), [{"line": lesson.text} for lesson in lessons], Wording, checks)
    worded = [
        replace(lesson, text=clean_line(one.value.text), by=asker.judge) if one.value is not None else lesson
        for lesson, one in zip(lessons, asked, strict=True)
    ]
    problem = next((one.problem for one in asked if one.value is None), "")
    return worded, f"{asker.judge} did not word every lesson: {problem}" if problem else ""


def _check(line: str) -> Callable[[Wording], str]:
    return lambda wording: why_unfit(line, wording.text)


def why_unfit(line: str, wording: str) -> str:
    """Why a wording does not say what the line says, or nothing."""
    text = clean_line(wording)
    if not text:
        return "it is no clean line"
    if Counter(set(_CODE.findall(text))) != Counter(set(_CODE.findall(line))):
        return "it has other names between backticks than the line"
    if set(_PATH.findall(_CODE.sub("", text))) - set(_PATH.findall(line)):
        return "it names a path that the line does not have"
    return "it is much longer than the line" if len(text) > _LONGER * len(line) + 20 else ""
