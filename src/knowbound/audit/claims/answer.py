"""The final answer of a turn as statements, a claim with what the trace says about it, and the kinds of claims."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from knowbound.core.audit import BY_RULES, Claim, ClaimKind, FindingCode, Support
from knowbound.text.sentences import sentences
from knowbound.traces.turns import TraceTurn

_LONGEST_ANSWER = 60_000  # characters of an answer that are read
_SHORT_ANSWER = 60  # an answer this short leans on the message before it: "Done."
_QUESTION = re.compile(r"\?[\"')*_]*\s*$")
# What is asked for, planned, supposed or left to somebody: no statement about what is.
_NOT_STATED = re.compile(
    r"\b(?:should|would|could|might|may|shall|must|let me|let's|i'?ll|we'?ll|i will|we will|i'?m going to|going to"
    r"|want(?:s)? (?:me|to|it)|if|once|until|unless|whether|before (?:you|we|i|merging|committing)|make sure|ensure"
    r"|need(?:s)? to|to verify|to confirm|to check|you can|you'?ll|plan(?:ned)? to|next steps?|todo|suggest(?:ed|ion)?"
    r"|recommend(?:ed)?|consider|e\.g\.|for example|optional(?:ly)?|i'?d|we'?d|propos(?:e|ed|al)|either|probably"
    r"|likely|perhaps|maybe|possibly|presumably|assum(?:e|ing)|seems?|appears? to|i think|i believe|i suspect)\b"
)
_IMPERATIVE = re.compile(
    r"^[\W\d_]*(?:run|try|check|verify|confirm|open|restart|rebuild|use|add|create|set|go|make|please|see|note|test|"
    r"install|click|wait|ask|tell|reply|choose|pick|update|fix|implement|write|remove|move|keep|consider|review)\s"
)
# What is to be true one day: a step of a scenario ("**Then** tests pass"), a box that is not ticked.
_WANTED = re.compile(r"^[-*\s]*(?:\*\*|__)(?:given|when|then|and|but)(?:\*\*|__)|^[-*\s]*\[ \]")


class AnswerSentence(msgspec.Struct, frozen=True):
    """A sentence of the answer: as it is, and with code and quotations masked."""

    text: str
    masked: str
    low: str  # masked, in small letters
    is_open: bool  # asked, planned, supposed: not stated as a fact

    @property
    def is_cell(self) -> bool:
        """Report whether it is a cell of a table: its meaning depends on row and column, which rules do not read."""
        return self.text.startswith("|")


class Answer(msgspec.Struct, frozen=True):
    """The last words of the agent as statements."""

    text: str
    line: int
    statements: tuple[AnswerSentence, ...]


def answer_of(turn: TraceTurn) -> Answer | None:
    """Return the last message of the main agent, with the message before it if it is short; None without any."""
    steps = (step for step in turn.steps if not step.agent_id)
    messages = [(message.text.strip(), message.line) for step in steps for message in step.said if message.text.strip()]
    if not messages:
        return None
    text, line = messages[-1]
    if len(text) < _SHORT_ANSWER and len(messages) > 1:
        text = f"{messages[-2][0]}\n\n{text}"
    return read_answer(text, line)


def read_answer(text: str, line: int = 0) -> Answer:
    """Return an answer as statements."""
    text = text[:_LONGEST_ANSWER]
    statements = tuple(
        AnswerSentence(sentence.text, sentence.masked, low := sentence.masked.lower(), is_open(low))
        for sentence in sentences(text)
        if sentence.masked
    )
    return Answer(text, line, statements)


def is_open(sentence: str) -> bool:
    """Report whether a sentence, in small letters, asks, plans or supposes, and so states nothing."""
    return bool(
        _QUESTION.search(sentence)
        or _NOT_STATED.search(sentence)
        or _IMPERATIVE.match(sentence)
        or _WANTED.match(sentence)
    )


_LONGEST_CLAIM = 300  # characters of a sentence that are kept


class Checked(msgspec.Struct, frozen=True):
    """A claim, and the code of the finding where it has no support."""

    claim: Claim
    code: FindingCode | None = None


def checked(
    text: str,
    kind: ClaimKind,
    support: Support,
    why: str,
    *,
    line: int = 0,
    important: bool = True,
    code: FindingCode | None = None,
    by: str = BY_RULES,
) -> Checked:
    """Return a claim with its support; the code of a finding only if it is unseen or contradicted."""
    short = " ".join(text.split())[:_LONGEST_CLAIM]
    is_bad = support in (Support.UNSEEN, Support.CONTRADICTED)
    return Checked(Claim(short, kind, support, why, line, important, by), code if is_bad else None)


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
