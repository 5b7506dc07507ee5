"""Labelled turns, judges of them and recordings of a model's answers, for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from knowbound.core.quality import ItemVerdict, JudgedCall, JudgedItem, JudgedTurn
from knowbound.judge.labels import ItemLabel, LabelledTurn
from knowbound.judge.model_judges import entries_of
from knowbound.judge.models.completion import RecordedAnswer
from knowbound.judge.prompts import load_prompt
from knowbound.judge.turns import TurnVerdicts

Says = Callable[[LabelledTurn, str, ItemLabel], tuple[bool, bool, bool]]


def turn(number: int = 1, count: int = 2, **given: Any) -> JudgedTurn:
    """A turn with some items."""
    several = tuple(JudgedItem(f"i{number}-{at}", f"Fact {at} of service {number}.") for at in range(count))
    calls = (JudgedCall("Read", {"file_path": f"conf/{number}.toml"}, f"port = {9000 + number}"),)
    usual = JudgedTurn(f"t{number}", f"Which port has service {number}?", f"Port {9000 + number}.", several, calls)
    return msgspec.structs.replace(usual, **given)


def labelled(number: int, *labels: tuple[bool, bool, bool], **given: Any) -> LabelledTurn:
    """A labelled turn with one item per label."""
    one = turn(number, len(labels))
    return LabelledTurn(
        id=one.id,
        prompt=one.prompt,
        items=one.items,
        response=one.response,
        tool_calls=one.tool_calls,
        labels={item.id: ItemLabel(*label) for item, label in zip(one.items, labels, strict=True)},
        **given,
    )


def usual_labels(turns: int = 120) -> list[LabelledTurn]:
    """Turns with two items each, of which every second is on topic and used, and every tenth contradicted."""
    return [labelled(number, (True, number % 4 < 2, number % 5 == 0), (False, False, False)) for number in range(turns)]


def as_labelled(_turn: LabelledTurn, _item: str, label: ItemLabel) -> tuple[bool, bool, bool]:
    """What a judge without error says."""
    return label.on_topic, label.used, label.contradicted


class PlantedJudge:
    """A judge of turns that says what it is told to."""

    def __init__(self, turns: Iterable[LabelledTurn], says: Says = as_labelled, version: str = "planted/1") -> None:
        self.version, self.costs = version, False
        self._verdicts = {
            one.id: tuple(ItemVerdict(item, *says(one, item, label)) for item, label in one.labels.items())
            for one in turns
        }

    def judge(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        return [TurnVerdicts(self._verdicts[one.id]) for one in turns]


def answer_of(verdicts: Iterable[tuple[str, bool, bool, bool]], quote: str = "Port 900") -> str:
    """What a model writes about a turn; the quotation is in the answer of `turn()`."""
    return json.dumps({"items": [_row(*verdict, quote) for verdict in verdicts]})


def _row(id_: str, on_topic: bool, used: bool, contradicted: bool, quote: str) -> dict[str, Any]:
    verdict = {"id": id_, "on_topic": on_topic, "used": used, "contradicted": contradicted}
    return verdict | {"quote": quote, "correction": "", "reason": "so"}


def record(path: Path, turns: Iterable[LabelledTurn], says: Says = as_labelled) -> str:
    """Record what a model says about labelled turns; gives the name of the judge."""
    version, lines = load_prompt("turns").version, []
    for one in turns:
        for entry, (item, label) in zip(entries_of(one.judged), one.labels.items(), strict=True):
            answer = json.dumps(_row(entry.id, *says(one, item, label), quote="Port 9"))
            lines.append(RecordedAnswer("turns", entry.key, answer, version))
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return f"recorded:{path}"


def write_labels(path: Path, turns: Iterable[LabelledTurn]) -> Path:
    """A file of labelled turns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in turns))
    return path
