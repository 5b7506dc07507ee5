"""What an assertion sees of a run, and what comes out of checking it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from knowbound.evals.samples.values import Assertion
from knowbound.text.printable import short_line
from knowbound.text.redact import excerpt

SHOWN = 80  # characters of a text in a detail or a reason
SAID = 300  # characters of what a judge or a program says


class ToolUse(msgspec.Struct, frozen=True):
    """A tool call as assertions see it."""

    tool: str  # the agent's own name for the tool
    input: str = ""
    output: str = ""
    kind: str = ""  # what the tool does, whatever its name: a value of `Kind`
    input_cut: bool = False  # whether there was more than is kept here
    output_cut: bool = False


class AgentAnswer(msgspec.Struct, frozen=True):
    """An answer and how it was found. What cannot be known is None."""

    answer: str
    seconds: float | None = None
    usd: float | None = None
    steps: int | None = None  # of the agent: the turns of the samples format
    calls: tuple[ToolUse, ...] | None = ()


class CheckResult(NamedTuple):
    """Whether an assertion holds (None: undecided), and the fact that decided it."""

    passed: bool | None
    reason: str

    def inverted(self) -> CheckResult:
        """Passed and failed exchanged; undecided stays undecided."""
        return self if self.passed is None else CheckResult(not self.passed, self.reason)


Rule = Callable[[Assertion, AgentAnswer], CheckResult]


def inverse(rule: Rule) -> Rule:
    """The rule that passes where this one fails."""
    return lambda assertion, answered: rule(assertion, answered).inverted()


def negated(assertion: Assertion, result: CheckResult) -> CheckResult:
    """The result of an assertion, with its `not`."""
    return result.inverted() if assertion.negated else result


def short(text: str, most: int = SHOWN) -> str:
    """The start of a text, on one line; secrets are removed before it is cut, as half a secret is not recognised."""
    return short_line(excerpt(text, 4 * most), most)
