"""Every error: its message, the next step, and a slug for `knowbound explain`.

    KnowboundError              exit 2: wrong usage, config or input
    ├── ConfigError             the settings cannot be used as they are
    ├── InputError              a path or trace cannot be used
    └── StoreError              the data in .knowbound/ cannot be used

Exit codes: 0 good, 1 a gate failed, 2 wrong usage, config or input, 3 undecided or
insufficient evidence, 4 a defect of ours.
"""

from __future__ import annotations

GATE_FAILED, WRONG_INPUT, UNDECIDED, DEFECT = 1, 2, 3, 4


class KnowboundError(Exception):
    """An error that the user can act on: the message names the next step, the slug leads to an explanation."""

    exit_code = WRONG_INPUT

    def __init__(self, slug: str, message: str) -> None:
        super().__init__(message)
        self.slug = slug

    def __str__(self) -> str:
        return f"{self.args[0]}   [{self.slug}]"


class ConfigError(KnowboundError):
    """The settings cannot be used as they are."""


class InputError(KnowboundError):
    """A path or a trace cannot be used."""


class StoreError(KnowboundError):
    """The data in .knowbound/ cannot be used."""
