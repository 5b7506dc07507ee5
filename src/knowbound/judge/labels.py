"""Labels: people's own decisions on the texts and turns that judges decide on.

Specification 2, "The judge", asks for a comparison with hand-labelled turns before a judge is used. The judge of hedges
(specification 1) is compared with hand-labelled sentences in the same way. `label_files.py` reads and writes the
files, one JSON object per line.

A line of `labels.jsonl` is

    {"text", "label": true|false, "context", "question": "hedging", "by", "time", "note", "session", "weight"}

with `text` and `label` required. For the question `rubric` the text is an answer, the context its prompt, `rubric` the
criteria, and the label a score from 1 to 5.

A line of `turn-labels.jsonl` is

    {"id", "prompt", "items": [{"id", "content"}], "response", "tool_calls": [{"name", "input", "output"}],
     "labels": {item: {"on_topic", "used", "contradicted"}}, "by", "time", "weight", "session", "judge"}

with the last five optional. An item may have no label. `judge` is the version that judged the turn when it was drawn.

`session` is the session of a text or a turn: labels of one session are alike. `weight` says how much more often such
texts or turns occur than they were drawn.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import msgspec

from knowbound.core.quality import ItemVerdict, JudgedCall, JudgedItem, JudgedTurn, Metric
from knowbound.stats.calibration import Pair

HEDGING = "hedging"
RUBRIC = "rubric"
_SCORES = range(1, 6)


class Unlabelled(msgspec.Struct, frozen=True):
    """A sentence to label, without the judge's verdict so that it cannot influence the label."""

    text: str
    context: str = ""
    session: str = ""
    weight: float = 1.0


class Label(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person's decision on a text."""

    text: str
    label: bool | int
    context: str = ""
    question: str = HEDGING
    by: str = ""
    time: str = ""
    note: str = ""
    session: str = ""
    weight: float = 1.0
    rubric: str = ""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("the text is empty")
        if self.question == RUBRIC:
            if isinstance(self.label, bool) or self.label not in _SCORES:
                raise ValueError("the label of a rubric must be a score from 1 to 5")
            if not self.rubric.strip():
                raise ValueError("a score needs the rubric that it was given for")
        elif not isinstance(self.label, bool):
            raise ValueError("the label must be true or false")
        _check_weight(self.weight)

    @property
    def key(self) -> tuple[str, str]:
        """Equal for labels of the same text and rubric."""
        return self.text, self.rubric

    @property
    def answer(self) -> bool | int:
        """The decision, to compare with another label of the same text."""
        return self.label

    @property
    def cluster(self) -> str:
        """The session; a text without a session is alone."""
        return self.session or self.text


class ItemLabel(msgspec.Struct, frozen=True):
    """A person's decision on one item of a turn."""

    on_topic: bool
    used: bool
    contradicted: bool

    def says(self, metric: Metric) -> bool:
        """Return the answer to one question."""
        return bool(getattr(self, metric))


class UnlabelledTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn to label, without verdicts so that they cannot influence the labels."""

    id: str
    prompt: str
    items: tuple[JudgedItem, ...]
    response: str = ""
    tool_calls: tuple[JudgedCall, ...] = ()
    session: str = ""
    weight: float = 1.0
    judge: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("the id is empty")
        ids = [item.id for item in self.items]
        if not ids:
            raise ValueError("there is no item")
        if len(set(ids)) < len(ids):
            raise ValueError("two items have the same id")
        _check_weight(self.weight)

    @property
    def judged(self) -> JudgedTurn:
        """The turn as a judge sees it."""
        return JudgedTurn(self.id, self.prompt, self.response, self.items, self.tool_calls)


class LabelledTurn(UnlabelledTurn, frozen=True, kw_only=True, omit_defaults=True):
    """A turn with a person's decisions on its items."""

    labels: dict[str, ItemLabel]
    by: str = ""
    time: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.labels:
            raise ValueError("no item has a label")
        if unknown := self.labels.keys() - {item.id for item in self.items}:
            raise ValueError(f"there is no item {min(unknown)!r} to label")

    @property
    def key(self) -> str:
        """Equal for labels of the same turn."""
        return self.id

    @property
    def answer(self) -> dict[str, ItemLabel]:
        """The decisions, to compare with other labels of the same turn."""
        return self.labels

    @property
    def cluster(self) -> str:
        """The session; a turn without a session is alone. Items of one turn are alike."""
        return self.session or self.id

    def pairs(self, verdicts: Collection[ItemVerdict], metric: Metric) -> list[Pair]:
        """Return each label with the verdict on the same item."""
        said = {verdict.item: verdict.says(metric) for verdict in verdicts}
        return [
            Pair(label.says(metric), said.get(item), self.weight, self.cluster) for item, label in self.labels.items()
        ]


def _check_weight(weight: float) -> None:
    if not (math.isfinite(weight) and weight > 0):
        raise ValueError("the weight must be more than 0")
