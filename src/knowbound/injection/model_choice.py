"""What a model made of the candidates. The hook loads it on every prompt: it imports nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.kms.search.ranking import FoundItem

CHOSEN, LATE, FAILED = "chosen", "late", "failed"
# Measured in 20 runs with a load of 7 to 11 on two cores.
RESERVE = 0.15  # seconds to compose, record and write an answer: 4 ms in the middle, 130 at most
TO_LOAD = 0.25  # seconds to load what asks a model: 150 ms at least, 320 at most; 100 ms of CPU


class ModelChoice:
    """The items that a model chose, best first; or why there are none of its choice."""

    def __init__(
        self, outcome: str, ms: float, *, chooser: str = "", items: list[FoundItem] | None = None, problem: str = ""
    ) -> None:
        self.outcome = outcome
        self.ms = ms
        self.chooser = chooser  # the version of the prompt, and the model; "" where it came to neither
        self.items = items  # None where the outcome is not `chosen`
        self.problem = problem  # why it is not


def too_late(ms: float = 0.0, *, chooser: str = "") -> ModelChoice:
    """The model has no time, or took longer."""
    problem = "the model did not answer in time (injection.time_limit_ms)"
    return ModelChoice(LATE, ms, chooser=chooser, problem=problem)
