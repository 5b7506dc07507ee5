"""Labelled turns: those of this repository (`bench/turns/*.jsonl`), those that lie beside it, and those of any file.

Half of the turns of each set of this repository are kept aside, by a hash of their ids: nothing is learnt or tuned
from them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from bench.labels import SHARED
from bench.measuring import hashed
from knowbound.core.quality import JudgedCall, JudgedItem, JudgedTurn, Metric

HERE = Path(__file__).parent / "turns"
REAL = HERE / "real.jsonl"  # labels alone: bench/real_turns.py
WRITTEN_ITEMS = HERE / "written_items.jsonl"  # items written for turns of real sessions, with their labels
BESIDE = SHARED / "injection" / "turns.jsonl"


class Label(msgspec.Struct, frozen=True):
    """What an author said about an item of a turn."""

    on_topic: bool
    used: bool
    contradicted: bool

    def says(self, metric: Metric) -> bool:
        return bool(getattr(self, metric))


class LabelledTurn(msgspec.Struct, frozen=True):
    """A turn, the labels of its items in their order, and which set it is of."""

    turn: JudgedTurn
    labels: tuple[Label, ...]
    set: str
    language: str
    kinds: tuple[str, ...] = ()  # what each item was written as

    @property
    def is_aside(self) -> bool:
        """Whether it is only measured, never learnt from."""
        return self.set != BESIDE.stem and not self.is_real and is_aside(self.turn.id)

    @property
    def is_real(self) -> bool:
        """Whether it is a turn of a real session, not one that was written for the set."""
        return self.set.startswith("real ")


class _Row(msgspec.Struct):
    id: str
    prompt: str
    response: str
    items: list[JudgedItem]
    labels: dict[str, Label]
    tool_calls: list[dict[str, Any]] = []
    lang: str = ""
    kind: str = ""


def is_aside(turn: str) -> bool:
    """Whether a turn is kept aside: half of them are, by a hash of the id."""
    return hashed(turn, 2) == 1


def read_set(path: Path) -> list[LabelledTurn]:
    return [
        _labelled(msgspec.json.decode(line, type=_Row), path.stem) for line in path.read_bytes().splitlines() if line
    ]


def all_sets() -> list[LabelledTurn]:
    """The turns of this repository, and those beside it where they are there."""
    paths = [
        *sorted(path for path in HERE.glob("*.jsonl") if path not in (REAL, WRITTEN_ITEMS)),
        *([BESIDE] if BESIDE.exists() else []),
    ]
    return [turn for path in paths for turn in read_set(path)]


def _labelled(row: _Row, name: str) -> LabelledTurn:
    calls = tuple(
        JudgedCall(str(one.get("name", "")), one.get("input") or {}, str(one.get("output") or ""))
        for one in row.tool_calls
    )
    turn = JudgedTurn(row.id, row.prompt, row.response, tuple(row.items), calls)
    chinese = sum("\u4e00" <= sign <= "\u9fff" for sign in row.prompt + row.response)
    language = row.lang or ("zh" if chinese > 20 else "en")
    labels = tuple(row.labels[item.id] for item in row.items)
    return LabelledTurn(turn, labels, name, language, (row.kind,) * len(labels))
