"""Rules of knowledge files, and whether sessions obeyed them (docs/words.md)."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class RuleVerdict(StrEnum):
    """Verdict on a rule that applied in a session."""

    OBEYED = "obeyed"
    VIOLATED = "violated"
    PARTLY = "partly"


class Rule(msgspec.Struct, frozen=True):
    """A statement that tells agents what to do or not to do, as written."""

    file: str
    line: int
    text: str
    heading: str = ""

    @property
    def key(self) -> str:
        """The file and the words: equal in every version of the file that has the rule."""
        return f"{self.file}\n{' '.join(self.text.split())}"


class RuleFinding(msgspec.Struct, frozen=True):
    """Answer for one rule in one session. None: nobody decided."""

    applicable: bool | None = None
    verdict: RuleVerdict | None = None
    at_line: int = 0  # of the transcript: where it shows; 0 for nowhere
    why: str = ""
    by: str = ""


class RuleCheck(msgspec.Struct, frozen=True):
    """One rule in one session."""

    rule: Rule
    session: str
    started: str
    finding: RuleFinding
    trace: str = ""  # the transcript's file
    calls_before: int | None = None  # tool calls of the session before `at_line`
    calls: int = 0  # of the whole session
    reminded: bool = False  # the user had to remind the agent
    reminded_line: int = 0

    @property
    def is_broken(self) -> bool:
        """Report whether the rule was violated at least once."""
        return self.finding.verdict in (RuleVerdict.VIOLATED, RuleVerdict.PARTLY)
