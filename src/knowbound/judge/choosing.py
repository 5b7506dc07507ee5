"""The choice of the items that a prompt needs, by a model, among candidates that rules found.

Prompt, conversation and items are data: they are cleared of secrets and put in fences that they cannot close, and the
answer is read for numbers of candidates alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from knowbound.judge.material import names_in, shortened
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import sendable
from knowbound.judge.prompts import load_prompt
from knowbound.text.printable import both_ends, estimated_tokens
from knowbound.text.redact import excerpt

MOST = 3  # items for one prompt
_OF_AN_ITEM = 400  # characters
_LONGEST_SEARCH = 500  # characters
_PROMPT, _CONVERSATION = 1_200, 500  # tokens
_MESSAGES = 6  # the last ones
_LONGEST_READ = 40_000  # characters of a prompt; twice as many are cleared of secrets, which takes up to 30 ms


class Choosing(NamedTuple):
    """A prompt, the messages before it, and the contents of the candidates."""

    prompt: str
    candidates: Sequence[str]
    conversation: Sequence[str] = ()  # each begins with who said it: "user: …"


class ChosenEntry(msgspec.Struct, frozen=True):
    """A candidate that a model chose, by its number from 1, and why."""

    number: int
    reason: str = ""


class Chosen(NamedTuple):
    """The chosen candidates, best first; or the problem if the model gave no usable answer."""

    entries: list[ChosenEntry] | None
    problem: str = ""
    search: str = ""  # if none was chosen: words that the fitting entry may use, to look for further candidates


class ChoiceAnswer(msgspec.Struct, frozen=True):
    """Answer of the model, best first."""

    chosen: list[ChosenEntry]
    search: list[str] = []


def choose(asker: Asker, several: Sequence[Choosing]) -> list[Chosen]:
    """Return the chosen candidates for each prompt. Numbers of no candidate are ignored."""
    asked = asker.ask(
        load_prompt("choose"),
        [_inputs_of(choosing) for choosing in several],
        ChoiceAnswer,
        checks=[partial(_problem, len(choosing.candidates)) for choosing in several],
    )
    return [
        Chosen(None, answer.problem) if answer.value is None else _chosen(len(choosing.candidates), answer.value)
        for choosing, answer in zip(several, asked, strict=True)
    ]


def _inputs_of(choosing: Choosing) -> dict[str, str]:
    """Return the text for each placeholder of the prompt: without secrets, long texts cut around candidates' names."""
    names = names_in(choosing.candidates)
    lines = (
        msgspec.json.encode({"number": number, "text": excerpt(text, _OF_AN_ITEM)}).decode("utf-8")
        for number, text in enumerate((sendable(text) for text in choosing.candidates), 1)
    )
    said = "\n".join(sendable(message) for message in choosing.conversation[-_MESSAGES:])
    # Cut again after secrets are gone: the first cut may go through a secret.
    prompt = both_ends(sendable(both_ends(choosing.prompt, 2 * _LONGEST_READ, "\n[…]\n")), _LONGEST_READ, "\n[…]\n")
    if estimated_tokens(prompt) > _PROMPT:
        prompt = "\n".join(dict.fromkeys(prompt.splitlines()))  # a pasted log repeats itself
    return {
        "conversation": shortened(said, _CONVERSATION, names),
        "prompt": shortened(prompt, _PROMPT, names),
        "entries": "\n".join(lines),
    }


def _valid(candidates: int, answer: ChoiceAnswer) -> list[ChosenEntry]:
    return [entry for entry in answer.chosen if 1 <= entry.number <= candidates]


def _chosen(candidates: int, answer: ChoiceAnswer) -> Chosen:
    entries = _valid(candidates, answer)[:MOST]
    return Chosen(entries, search="" if entries else " ".join(answer.search)[:_LONGEST_SEARCH])


def _problem(candidates: int, answer: ChoiceAnswer) -> str:
    is_wrong = answer.chosen and not _valid(candidates, answer)
    return "the answer names no number of an entry" if is_wrong else ""
