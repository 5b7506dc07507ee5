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
_ITEM_CHARACTERS, _SEARCH_CHARACTERS = 400, 500
_PROMPT_TOKENS, _CONVERSATION_TOKENS = 1_200, 500
_LAST_MESSAGES = 6  # of the conversation
_PROMPT_CHARACTERS = 40_000  # twice as many are cleared of secrets, which takes up to 30 ms
_GAP = "\n[…]\n"  # in the place of the middle of a long prompt


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
        checks=[
            partial(lambda number, answer: _chosen(number, answer).problem, len(choosing.candidates))
            for choosing in several
        ],
    )
    return [
        Chosen(None, answer.problem) if answer.value is None else _chosen(len(choosing.candidates), answer.value)
        for choosing, answer in zip(several, asked, strict=True)
    ]


def _inputs_of(choosing: Choosing) -> dict[str, str]:
    """Return the text of each placeholder: without secrets, of long texts the lines with the candidates' names."""
    names = names_in(choosing.candidates)
    lines = (
        msgspec.json.encode({"number": number, "text": excerpt(text, _ITEM_CHARACTERS)}).decode("utf-8")
        for number, text in enumerate((sendable(text) for text in choosing.candidates), 1)
    )
    conversation = "\n".join(sendable(message) for message in choosing.conversation[-_LAST_MESSAGES:])
    # The first cut bounds the time, and may go through a secret; the second cut, in the middle, leaves its halves out.
    without_secrets = sendable(both_ends(choosing.prompt, 2 * _PROMPT_CHARACTERS, _GAP))
    prompt = both_ends(without_secrets, _PROMPT_CHARACTERS, _GAP)
    if estimated_tokens(prompt) > _PROMPT_TOKENS:
        prompt = "\n".join(dict.fromkeys(prompt.splitlines()))  # a pasted log repeats itself
    return {
        "conversation": shortened(conversation, _CONVERSATION_TOKENS, names),
        "prompt": shortened(prompt, _PROMPT_TOKENS, names),
        "entries": "\n".join(lines),
    }


def _chosen(candidates: int, answer: ChoiceAnswer) -> Chosen:
    """Return the entries of an answer that are candidates; a problem if it names numbers of none."""
    entries = [entry for entry in answer.chosen if 1 <= entry.number <= candidates][:MOST]
    if answer.chosen and not entries:
        return Chosen(None, "the answer names no number of an entry")
    return Chosen(entries, search="" if entries else " ".join(answer.search)[:_SEARCH_CHARACTERS])
