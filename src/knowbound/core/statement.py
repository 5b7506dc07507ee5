"""Statements and rules of knowledge files, what the tree and sessions say about them, and junk of memory stores."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec


class StatementKind(StrEnum):
    """Kind of the thing that a statement names."""

    PATH = "path"
    COMMAND = "command"
    SYMBOL = "symbol"
    VERSION = "version"
    LAYOUT = "layout"
    BEHAVIOUR = "behaviour"
    RULE = "rule"
    OTHER = "other"
    VARIABLE = "variable"
    LINK = "link"
    OPTION = "option"
    SKILL = "skill"


LINT_VERSION = 4  # raise it when the same files and tree give other verdicts: kept screens are made again


class Truth(StrEnum):
    """Verdict of the tree on a statement."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_CHECKABLE = "not_checkable"


class Statement(msgspec.Struct, frozen=True):
    """A sentence, bullet, row or line of code of a knowledge file, as written."""

    file: str
    line: int
    end_line: int
    text: str
    is_code: bool = False  # a line of a block of commands
    path: str = ""  # of a row of a drawn tree: the path of the row
    heading: str = ""
    under: str = ""  # of a bullet: the folder that the sentence before the list names


class StatementPlace(msgspec.Struct, frozen=True):
    """A line of the tree that shows something."""

    path: str
    line: int = 0


class CheckedStatement(msgspec.Struct, frozen=True):
    """A statement with its truth. The first thing that is contradicted decides; else everything named has to hold."""

    statement: Statement
    kind: StatementKind
    truth: Truth
    named: str = ""  # the thing that decided
    evidence: StatementPlace | None = None
    repair: str | None = None  # the statement as it would be right
    swap: tuple[str, str] | None = None  # the words of the repair: those that go, and those that come
    why: str = ""
    since: str = ""  # the commit that made it wrong, if history shows one
    same_as: tuple[str, ...] = ()  # other statements that name the same wrong thing, as file:line
    by: str = "rules"


class Looked(NamedTuple):
    """Result of looking one named thing up."""

    truth: Truth
    place: StatementPlace | None = None  # where it is, or what contradicts it
    instead: str = ""  # what the tree has in its place
    since: str = ""  # the commit that took it away, if history shows one


UNKNOWN = Looked(Truth.NOT_CHECKABLE)


class JunkKind(StrEnum):
    """Kind of junk."""

    DUPLICATE = "duplicate"
    NEAR_COPY = "near_copy"
    CONTRADICTED = "contradicted"
    DISPROVED = "disproved"
    OFF_TOPIC = "off_topic"


class JunkEntry(msgspec.Struct, frozen=True):
    """An entry that can be deleted, and why."""

    id: str
    kind: JunkKind
    content: str
    why: str = ""
    of: str = ""  # the entry that says the same, or disproves it
    tokens: int = 0  # what it costs whenever it is injected
    by: str = "rules"


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


class SkillProblem(msgspec.Struct, frozen=True):
    """One thing that is wrong with a skill, at a line of its SKILL.md."""

    line: int
    code: str
    text: str


class SkillCheck(msgspec.Struct, frozen=True):
    """A skill, its cost, and its use in the sessions of the newest `observe`. None: no sessions were read."""

    file: str
    name: str
    lines: int
    tokens: int  # of SKILL.md, whenever it is used
    listed_tokens: int  # of its name and description, in every session
    problems: list[SkillProblem] = []
    prompts: int | None = None
    matched: int | None = None  # prompts that share two words with its name and description
    uses: int | None = None  # samples of this skill
    sessions: int | None = None  # with such a sample
    ended_well: int | None = None  # samples that ended whole and without an open gap
    with_gaps: int | None = None  # samples with an open gap
