"""Causes of failed samples: one for each sample, because every cause has another fix."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Cause(StrEnum):
    """Cause of a failed sample, in the order of a report."""

    MISSING = "missing"  # no passage of the knowledge says it
    NOT_FOUND = "not_found"  # a passage says it, and the agent's tools did not return it
    NOT_USED = "not_used"  # the agent had the passage before its eyes
    CONTRADICTED = "contradicted"  # passages disagree about it
    AGENT_FAILED = "agent_failed"  # crashed, took too long, left no whole trace
    SAMPLE_BAD = "sample_bad"  # a right answer fails
    UNDECIDED = "undecided"  # rules cannot tell, and no model did


class SampleCause(msgspec.Struct, frozen=True):
    """The cause of one failed sample, with what shows it."""

    sample: str
    cause: Cause
    why: str = ""
    path: str = ""  # of the quotation; of a missing answer, the file that it belongs in
    line: int = 0
    quote: str = ""  # verbatim in that file
    other_path: str = ""  # of what contradicts it
    other_line: int = 0
    other_quote: str = ""
    fix: str = ""
    expected: str = ""  # the right answer, by the sample's author
    by: str = "rules"
    problem: str = ""  # why a model did not decide
