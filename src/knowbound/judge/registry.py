"""Judges by name, and their versions without loading them."""

from __future__ import annotations

import hashlib
from importlib import resources
from typing import TYPE_CHECKING

from knowbound.errors import ConfigError

if TYPE_CHECKING:
    from knowbound.judge.verdict import HedgingJudge

RULES = "rules"


def judge_named(model: str) -> HedgingJudge:
    """The judge of that name."""
    _check(model)
    from knowbound.judge.rules import RulesJudge  # noqa: PLC0415  (compiles its patterns)

    return RulesJudge()


def judge_version(model: str) -> str:
    """What changes whenever a verdict of this judge may change."""
    _check(model)
    weights = resources.files("knowbound.judge").joinpath("hedging_rules.json").read_bytes()
    return f"{RULES}-{hashlib.sha256(weights).hexdigest()[:12]}"


def _check(model: str) -> None:
    if model != RULES:
        raise ConfigError("unknown-judge", f"There is no judge {model!r}. Try: hedging_classifier.model = {RULES!r}")
