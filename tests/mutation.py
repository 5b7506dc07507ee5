"""Valid fixtures made strange: what a reader must survive."""

from __future__ import annotations

import random
from typing import Any

_STRANGE: tuple[Any, ...] = (
    None, True, 7, -1.5, 10**30, "", "x", "\ud800", [], {}, [[]], [None], {"type": ["text"]}, {"a": {"b": 1}},
)  # fmt: skip


def mutated(value: Any, seed: int) -> Any:
    """The value with some of its parts left out or replaced by values of other types."""
    dice = random.Random(seed)

    def walk(part: Any) -> Any:
        if dice.random() < 0.05:
            return dice.choice(_STRANGE)
        if isinstance(part, dict):
            return {key: walk(inner) for key, inner in part.items() if dice.random() > 0.03}
        return [walk(inner) for inner in part] if isinstance(part, list) else part

    return walk(value)
