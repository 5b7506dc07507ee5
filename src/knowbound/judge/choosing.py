"""The choice of the items that a prompt needs, by a model, among candidates that rules found.

Prompt, conversation and items are data: they are cleared of secrets and stand in fences that they cannot close, and the
answer is read for numbers of candidates alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from knowbound.judge.material import names_in, shortened
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import MalformedError, parse_answer
from knowbound.judge.models.questions import sendable
from knowbound.judge.prompts import CHOOSE, load_prompt
from knowbound.text.printable import both_ends, estimated_tokens
from knowbound.text.redact import excerpt

MOST = 3  # items for one prompt
_OF_AN_ITEM = 500  # characters
_PROMPT, _CONVERSATION = 1_200, 500  # tokens
_MESSAGES = 6  # the last ones
_LONGEST_READ = 40_000  # characters of a prompt: clearing them of secrets takes up to 15 ms


class Choosing(NamedTuple):
    """A prompt, the messages before it, and the contents of the candidates."""

    prompt: str
    candidates: Sequence[str]
    conversation: Sequence[str] = ()  # each begins with who said it: "user: …"


class ChosenEntry(msgspec.Struct, frozen=True):
    """A candidate that a model chose, by its number from 1, and why."""

    number: int
    reason: str = ""


class ChoiceAnswer(msgspec.Struct, frozen=True):
    """Answer of the model, best first."""

    chosen: list[ChosenEntry]


def choose(asker: Asker, several: Sequence[Choosing]) -> list[list[ChosenEntry] | None]:
    """Return the chosen candidates for each prompt; None if the model gave no usable answer."""
    asked = asker.ask(
        load_prompt(CHOOSE),
        [inputs_of(one) for one in several],
        ChoiceAnswer,
        checks=[lambda answer, one=one: _problem(answer, len(one.candidates)) for one in several],  # type: ignore[misc]
    )
    return [None if one.value is None else one.value.chosen[:MOST] for one in asked]


def inputs_of(one: Choosing) -> dict[str, str]:
    """Return the texts of the prompt file: without secrets, long ones around what the candidates name."""
    names = names_in(one.candidates)
    lines = (
        msgspec.json.encode({"number": number, "text": excerpt(text, _OF_AN_ITEM)}).decode("utf-8")
        for number, text in enumerate((sendable(text) for text in one.candidates), 1)
    )
    said = "\n".join(sendable(message) for message in one.conversation[-_MESSAGES:])
    prompt = sendable(both_ends(one.prompt, _LONGEST_READ, "\n[…]\n"))
    if estimated_tokens(prompt) > _PROMPT:
        prompt = "\n".join(dict.fromkeys(prompt.splitlines()))  # a pasted log repeats itself
    return {
        "conversation": shortened(said, _CONVERSATION, names),
        "prompt": shortened(prompt, _PROMPT, names),
        "entries": "\n".join(lines),
    }


def chosen_in(text: str, candidates: int) -> list[ChosenEntry]:
    """Return what an answer chooses. Raises MalformedError if it names no candidate at all."""
    answer = parse_answer(text, ChoiceAnswer)
    if problem := _problem(answer, candidates):
        raise MalformedError(problem)
    return [one for one in answer.chosen if 1 <= one.number <= candidates][:MOST]


def _problem(answer: ChoiceAnswer, candidates: int) -> str:
    if answer.chosen and not any(1 <= one.number <= candidates for one in answer.chosen):
        return "the answer names no number of an entry"
    return ""
