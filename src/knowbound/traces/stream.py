"""What the stream of an agent's command line has beside events: what the run cost, and how it holds the prompt.

Such a stream is what `claude -p` and `codex exec` print; the prompt went in by another way and is not in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec

_MOST_TOKENS = 10**15  # what says more is no number of tokens


class RunUsage(msgspec.Struct, frozen=True):
    """What a run used, as far as its stream says."""

    model: str = ""
    usd: float | None = None
    tokens_in: int | None = None  # with those that came from a cache
    tokens_out: int | None = None


@runtime_checkable
class Stream(Protocol):
    """A reader of a command line's stream."""

    def prompt_lines(self, session: str, prompt: str) -> bytes:
        """Lines to put before a stream, so that it holds the prompt it was started with."""
        ...

    def spent(self, file: Path) -> RunUsage:
        """What the run used."""
        ...


def count(value: object) -> int | None:
    """A number of tokens; None where there is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS else None
