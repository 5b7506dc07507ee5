"""Turns judged by a model: one question per turn, about all of its items (specification 2, "The judge").

A turn has a verdict on each item, or none and the problem: then it can be judged again. Every verdict has the version
of the prompt and the model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from knowbound.core.quality import ItemVerdict, JudgedTurn
from knowbound.judge.models.asking import Asker, AskResult
from knowbound.judge.prompts import TURNS, load_prompt
from knowbound.judge.turns.shortening import material_of
from knowbound.judge.turns.verdict import TurnVerdicts
from knowbound.text.printable import listed
from knowbound.text.redact import redact

_LONGEST_CORRECTION, _LONGEST_REASON = 1_000, 300  # characters
_PLAIN_ID = re.compile(r"[\w.:/@#+-]{1,80}", re.ASCII)


class ItemAnswer(msgspec.Struct, frozen=True):
    """Answer of the model about one item."""

    id: str
    on_topic: bool
    used: bool
    contradicted: bool
    correction: str = ""
    reason: str = ""


class TurnAnswer(msgspec.Struct, frozen=True):
    """Answer of the model about a turn."""

    items: list[ItemAnswer]


class ModelTurnJudge:
    """Judges turns by asking a model, or a recording of one."""

    def __init__(self, version: str, costs: bool, asker: Asker) -> None:
        self.version, self.costs, self._asker = version, costs, asker

    def judge(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        """Return one answer per turn, asking about several at once, and not about a turn without items."""
        names = [item_names(turn) for turn in turns]
        places = [place for place, turn in enumerate(turns) if turn.items]
        asked = self._asker.ask(
            load_prompt(TURNS),
            [material_of(turns[place], names[place]) for place in places],
            TurnAnswer,
            checks=[_complete(names[place]) for place in places],
        )
        found = {place: self._verdicts(names[place], one) for place, one in zip(places, asked, strict=True)}
        return [found.get(place, TurnVerdicts()) for place in range(len(turns))]

    def _verdicts(self, names: dict[str, str], asked: AskResult[TurnAnswer]) -> TurnVerdicts:
        if asked.value is None:
            return TurnVerdicts(problem=asked.problem, usd=asked.usd)
        given = {answer.id: answer for answer in asked.value.items}
        return TurnVerdicts(tuple(self._verdict(id_, given[name]) for id_, name in names.items()), usd=asked.usd)

    def _verdict(self, id_: str, given: ItemAnswer) -> ItemVerdict:
        return ItemVerdict(
            item=id_,
            on_topic=given.on_topic,
            used=given.used,
            contradicted=given.contradicted,
            correction=given.correction.strip()[:_LONGEST_CORRECTION] if given.contradicted else "",
            reason=given.reason.strip()[:_LONGEST_REASON],
            judge=self.version,
        )


def item_names(turn: JudgedTurn) -> dict[str, str]:
    """Return the name of each item in the material: its id, unless that has spaces, is long or looks like a secret."""
    names: dict[str, str] = {}
    for number, item in enumerate(turn.items, 1):
        is_plain = _PLAIN_ID.fullmatch(item.id) is not None and redact(item.id) == item.id
        names.setdefault(item.id, item.id if is_plain else f"entry-{number}")
    return names


def _complete(names: dict[str, str]) -> Callable[[TurnAnswer], str]:
    """Return a check for answers that leave items out; ids of no item are ignored."""

    def problem(answer: TurnAnswer) -> str:
        missing = sorted(set(names.values()) - {one.id for one in answer.items})
        return f"there is nothing about {listed(missing)}" if missing else ""

    return problem
