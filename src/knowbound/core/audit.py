"""The audit of a recorded turn: claims and their support, findings, one diagnosis (docs/audit.md)."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec

from knowbound.core.trace import ReadShares


class ClaimKind(StrEnum):
    """Subject of a claim."""

    TESTS_PASS = "tests_pass"
    BUILD_OK = "build_ok"
    LINT_OK = "lint_ok"  # lint, format, type check
    DONE = "done"  # done, fixed, implemented, works
    LOCATION = "location"  # a file, a line, a name in it
    CAUSE = "cause"
    BEHAVIOUR = "behaviour"
    NUMBER = "number"
    GIT_STATE = "git_state"  # committed, pushed, merged, clean
    ABSENCE = "absence"  # it does not exist, it is not used
    COMMAND_OUTPUT = "command_output"  # a block of console output
    OTHER = "other"


class Support(StrEnum):
    """Verdict of the trace on a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNSEEN = "unseen"  # nothing in the trace backs it
    NOT_CHECKABLE = "not_checkable"


RULES_VERSION = 5  # raise it when the same trace gives other claims or another diagnosis: stored ones are made again
BY_RULES = "rules"
SUCCESS = frozenset({ClaimKind.TESTS_PASS, ClaimKind.BUILD_OK, ClaimKind.LINT_OK, ClaimKind.DONE})
UNSUPPORTED = frozenset({Support.UNSEEN, Support.CONTRADICTED})


class Diagnosis(StrEnum):
    """Outcome of a turn. The first diagnosis that fits wins."""

    INCOMPLETE = "incomplete"
    CHAT = "chat"
    MISLED = "misled"
    UNSUPPORTED = "unsupported"
    BLIND = "blind"
    IGNORED = "ignored"
    UNKNOWN = "unknown"
    GROUNDED = "grounded"


class FindingCode(StrEnum):
    """Reason to doubt an answer or a part of it. `knowbound explain CODE` explains each."""

    SUCCESS_WITHOUT_RUN = "success_without_run"
    EDITED_AFTER_RUN = "edited_after_run"
    FAILURE_LEFT_OUT = "failure_left_out"
    CHECK_MISSES_CHANGE = "check_misses_change"
    RESULT_NOT_SHOWN = "result_not_shown"
    NO_TESTS_RAN = "no_tests_ran"
    PARTIAL_RUN = "partial_run"
    CITED_UNSEEN = "cited_unseen"
    OUTPUT_NOT_PRINTED = "output_not_printed"
    NUMBER_NOT_SHOWN = "number_not_shown"
    STATE_NOT_SHOWN = "state_not_shown"
    CAUSE_WITHOUT_EVIDENCE = "cause_without_evidence"
    BEHAVIOUR_NOT_SHOWN = "behaviour_not_shown"
    ABSENCE_NOT_SEARCHED = "absence_not_searched"
    CLAIM_NOT_SHOWN = "claim_not_shown"
    TRACE_CONTRADICTS = "trace_contradicts"
    USER_CONTRADICTS = "user_contradicts"


class KindOfClaim(NamedTuple):
    """The finding where nothing shows a claim of a kind, and the next step."""

    code: FindingCode
    next: str
    is_of_rules: bool = False  # what rules decide about it wins over a model


KINDS = {
    ClaimKind.TESTS_PASS: KindOfClaim(
        FindingCode.RESULT_NOT_SHOWN, "run the tests after the last edit and read their result", is_of_rules=True
    ),
    ClaimKind.BUILD_OK: KindOfClaim(FindingCode.RESULT_NOT_SHOWN, "build it after the last edit", is_of_rules=True),
    ClaimKind.LINT_OK: KindOfClaim(
        FindingCode.RESULT_NOT_SHOWN, "run the linter or type check after the last edit", is_of_rules=True
    ),
    ClaimKind.DONE: KindOfClaim(FindingCode.SUCCESS_WITHOUT_RUN, "run what was changed"),
    ClaimKind.LOCATION: KindOfClaim(FindingCode.CITED_UNSEEN, "open the cited file at the cited line"),
    ClaimKind.CAUSE: KindOfClaim(FindingCode.CAUSE_WITHOUT_EVIDENCE, "look at history, or run it without the change"),
    ClaimKind.BEHAVIOUR: KindOfClaim(FindingCode.BEHAVIOUR_NOT_SHOWN, "look it up, or try it"),
    ClaimKind.NUMBER: KindOfClaim(FindingCode.NUMBER_NOT_SHOWN, "count again"),
    ClaimKind.GIT_STATE: KindOfClaim(FindingCode.STATE_NOT_SHOWN, "look at git log and git status", is_of_rules=True),
    ClaimKind.ABSENCE: KindOfClaim(FindingCode.ABSENCE_NOT_SEARCHED, "search for the name"),
    ClaimKind.COMMAND_OUTPUT: KindOfClaim(FindingCode.OUTPUT_NOT_PRINTED, "run the command and compare its output"),
    ClaimKind.OTHER: KindOfClaim(FindingCode.CLAIM_NOT_SHOWN, "look at what would show it"),
}
OF_RULES = frozenset(kind for kind, about in KINDS.items() if about.is_of_rules)


class Claim(msgspec.Struct, frozen=True):
    """A checkable statement of an answer, with the verdict of the trace."""

    text: str
    kind: ClaimKind
    support: Support = Support.NOT_CHECKABLE
    why: str = ""
    line: int = 0  # of the trace: the deciding evidence, else the answer
    important: bool = True  # a reader who relies on it is harmed if it is false
    by: str = BY_RULES  # or the model that decided

    @property
    def is_decided(self) -> bool:
        """Report whether the trace decides the claim."""
        return self.support is not Support.NOT_CHECKABLE


class AuditFinding(msgspec.Struct, frozen=True):
    """One reason to doubt an answer, with the line of the trace."""

    code: FindingCode
    text: str
    line: int


class GapRow(msgspec.Struct, frozen=True, rename={"cls": "class"}):
    """A requirement of the turn's intent that its evidence does not meet."""

    cls: str
    have: str
    need: str


class Because(msgspec.Struct, frozen=True):
    """Grounds of a confidence: lowest quality that was needed, requirements met, classes that agree."""

    quality: str = "none"
    coverage: str = "0 of 0"
    agreement: tuple[str, ...] = ()


class AuditedTurn(msgspec.Struct, frozen=True):
    """One turn with its diagnosis."""

    session: str
    turn: int
    message_id: str
    intent: str
    diagnosis: Diagnosis
    confidence: str
    claims: tuple[Claim, ...] = ()
    findings: tuple[AuditFinding, ...] = ()
    gaps: tuple[GapRow, ...] = ()
    next: str = ""
    why: str = ""  # of the diagnosis, in a sentence
    file: str = ""
    line: int = 0  # of the prompt
    time: str = ""
    skill: str = ""
    model: str = ""
    item: str = ""  # of a turn that was misled or that ignored an item: the id of the item
    because: Because = Because()
    by: str = BY_RULES  # or the model that read the answer
    suspicion: int = 0  # reasons to let a model read the answer; 0 for none
    passed: dict[str, str] = {}  # checks that passed in this turn: kind and command


class AuditedSession(msgspec.Struct):
    """The audited turns of one session, as they are stored."""

    session: str
    agent: str
    project: str = ""
    started: str = ""
    ended: str = ""
    turns: list[AuditedTurn] = []
    problem: str = ""  # why the session could not be read
    rules: int = 0  # version of the rules that audited it
    read: ReadShares = ReadShares()  # of its file; of several sessions in one file the first has them
