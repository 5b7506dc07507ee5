"""Labelled turns: what people say about the injected items of a turn, one JSON object per line.

Specification 2, "The judge": the hand-labelled turns. A line is

    {"id", "prompt", "items": [{"id", "content"}], "response", "tool_calls": [{"name", "input", "output"}],
     "labels": {item: {"on_topic", "used", "contradicted"}}, "by", "time", "weight", "session", "judge"}

of which the last five are optional. `session` is where the turn was: turns of one session are alike. `weight` says how
much more often turns like this one occur than they were drawn. `judge` is the version that judged the turn when it was
drawn. Items without a label are allowed: whoever labels may skip one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection
from pathlib import Path
from typing import TypeVar

import msgspec

from knowbound.core.quality import ItemVerdict, JudgedCall, JudgedItem, JudgedTurn, Metric
from knowbound.errors import InputError
from knowbound.judge.labels import append_row
from knowbound.judge.models.asking import sendable
from knowbound.judge.turns.shortening import sendable_input
from knowbound.stats.calibration import Pair

NAME = "turn-labels.jsonl"  # in the data folder
TURNS = "turns"
_EXAMPLE = '{"id": "…", "prompt": "…", "items": [{"id": "…", "content": "…"}], "response": "…", "tool_calls": []}'


class ItemLabel(msgspec.Struct, frozen=True):
    """What a person says about one item of a turn."""

    on_topic: bool
    used: bool
    contradicted: bool

    def says(self, metric: Metric) -> bool:
        """The answer to one question."""
        return bool(getattr(self, metric))


class UnlabelledTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn to label, without verdicts, so that they cannot influence the labels."""

    id: str
    prompt: str
    items: tuple[JudgedItem, ...]
    response: str = ""
    tool_calls: tuple[JudgedCall, ...] = ()
    session: str = ""
    weight: float = 1.0
    judge: str = ""  # the version that judged it when it was drawn

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("the id is empty")
        ids = [item.id for item in self.items]
        if not ids:
            raise ValueError("there is no item")
        if len(set(ids)) < len(ids):
            raise ValueError("two items have the same id")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ValueError("the weight must be more than 0")

    @property
    def judged(self) -> JudgedTurn:
        """The turn as a judge sees it."""
        return JudgedTurn(self.id, self.prompt, self.response, self.items, self.tool_calls)


class LabelledTurn(UnlabelledTurn, frozen=True, kw_only=True, omit_defaults=True):
    """A turn with what a person says about its items."""

    labels: dict[str, ItemLabel]
    by: str = ""
    time: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.labels:
            raise ValueError("no item has a label")
        if unknown := self.labels.keys() - {item.id for item in self.items}:
            raise ValueError(f"there is no item {min(unknown)!r} to label")

    def pairs(self, verdicts: Collection[ItemVerdict], metric: Metric) -> list[Pair]:
        """Each label with the verdict on the same item; items of one turn are alike, as turns of one session are."""
        said = {verdict.item: verdict.says(metric) for verdict in verdicts}
        where = self.session or self.id
        return [Pair(label.says(metric), said.get(item), self.weight, where) for item, label in self.labels.items()]


_Turn = TypeVar("_Turn", bound=UnlabelledTurn)


class TurnLabels(msgspec.Struct, frozen=True):
    """The labelled turns of a file, the newest labels of each."""

    path: str
    sha256_8: str  # of the whole file
    turns: tuple[LabelledTurn, ...]
    repeated: int = 0  # turns that were labelled more than once
    disagreements: int = 0  # of these: labelled differently

    @property
    def labels(self) -> int:
        """Items with a label."""
        return sum(len(turn.labels) for turn in self.turns)


def read_turn_labels(path: Path) -> TurnLabels:
    """The labelled turns of a file. A line that is none is an error: one lost in silence would change the figures."""
    data = _bytes(path)
    given: dict[str, list[LabelledTurn]] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            turn = _row(line, path, number, LabelledTurn)
            given.setdefault(turn.id, []).append(turn)
    if not given:
        raise _no_labels(path)
    return TurnLabels(
        path=str(path),
        sha256_8=hashlib.sha256(data).hexdigest()[:8],
        turns=tuple(_newest(turns) for turns in given.values()),
        repeated=sum(len(turns) > 1 for turns in given.values()),
        disagreements=sum(any(turn.labels != turns[0].labels for turn in turns) for turns in given.values()),
    )


def labelled_ids(path: Path) -> frozenset[str]:
    """The turns that have labels already: none where the file is not there yet."""
    if not path.exists():
        return frozenset()
    return frozenset(turn.id for turn in read_turn_labels(path).turns)


def given_turns(path: Path, known: Collection[str] = ()) -> list[UnlabelledTurn]:
    """The turns of a file that are not labelled yet, each once."""
    lines = enumerate(_bytes(path).splitlines(), 1)
    found = [_row(line, path, number, UnlabelledTurn) for number, line in lines if line.strip()]
    fresh = {turn.id: turn for turn in found if turn.id not in known}
    if not fresh:
        raise InputError("nothing-to-label", f"{path} has no turn that is not labelled yet.")
    return [redacted_turn(turn) for turn in fresh.values()]


def append_turn(path: Path, turn: UnlabelledTurn, labels: dict[str, ItemLabel], by: str, time: str) -> bytes:
    """Write a labelled turn. Returns the bytes written, for `take_back`."""
    clean = redacted_turn(turn)
    kept = {name: getattr(clean, name) for name in UnlabelledTurn.__struct_fields__}
    return append_row(path, LabelledTurn(**kept, labels=labels, by=by, time=time))


def redacted_turn(turn: UnlabelledTurn) -> UnlabelledTurn:
    """The turn without secrets: what is shown and kept."""
    return msgspec.structs.replace(
        turn,
        prompt=sendable(turn.prompt),
        response=sendable(turn.response),
        items=tuple(msgspec.structs.replace(item, content=sendable(item.content)) for item in turn.items),
        tool_calls=tuple(
            JudgedCall(sendable(call.name), sendable_input(call.input), sendable(call.output))
            for call in turn.tool_calls
        ),
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise _no_labels(path) from None
    except OSError as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error


def _no_labels(path: Path) -> InputError:
    return InputError("no-labels", f"There is no turn in {path}. Try: knowbound judge label --question turns")


def _row(line: bytes, path: Path, number: int, type_: type[_Turn]) -> _Turn:
    try:
        return msgspec.json.decode(line, type=type_)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError("bad-labels", f"{path}:{number} is no turn: {error}. Try: {_EXAMPLE}") from None


def _newest(turns: list[LabelledTurn]) -> LabelledTurn:
    """By time where both say one, else by place: files are appended to."""
    newest = turns[0]
    for turn in turns[1:]:
        if not turn.time or not newest.time or turn.time >= newest.time:
            newest = turn
    return newest
