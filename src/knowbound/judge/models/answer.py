"""Parses a typed value from a model's answer: a JSON object, alone, in a fence or within prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec

_T = TypeVar("_T")
_FENCE = re.compile(r"```[a-zA-Z]*\n(.*?)```", re.DOTALL)
_STARTS = 200  # braces tried in one text: a model that writes more is not answering
_decoder = json.JSONDecoder()


class MalformedError(Exception):
    """An answer that is not what was asked for; the text tells the model what is wrong."""


def parse_answer(text: str, type_: type[_T]) -> _T:
    """The last JSON object in the text that fits the type: a model that thinks aloud ends with its answer."""
    problem = "there is no JSON object in it"
    for found in _objects(text):
        try:
            return msgspec.json.decode(found, type=type_)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            if problem.startswith("there is no"):
                problem = str(error)
    raise MalformedError(problem)


def _objects(text: str) -> Iterator[str]:
    """Texts of JSON objects, the likeliest first: the whole, then fences and loose ones from the end."""
    whole = text.strip()
    if whole.startswith("{") and whole.endswith("}"):
        yield whole
    for fenced in reversed(_FENCE.findall(text)):
        yield from reversed(list(_loose(fenced)))
    yield from reversed(list(_loose(text)))


def _loose(text: str) -> Iterator[str]:
    """JSON objects in the text that are not nested in one another."""
    at = text.find("{")
    for _ in range(_STARTS):
        if at < 0:
            return
        try:
            _, end = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield text[at:end]
        at = text.find("{", end)
