"""The final answer of a turn as statements, the words in which it claims success or takes a claim back, and claims.

Every pattern of such words is for text in small letters: that is twice as quick as ignoring the case.
"""

from __future__ import annotations

import re

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
_SCENARIO_STEP = re.compile(r"^[-*\s]*(?:\*\*|__)(?:given|when|then|and|but)(?:\*\*|__)|^[-*\s]*\[ \]")


class AnswerSentence(msgspec.Struct, frozen=True):
    """A sentence of the answer: as it is, and with code and quotations masked."""

    text: str
    masked: str
    low: str  # masked, in small letters
    is_open: bool  # asked, planned, supposed: not stated as a fact
    line: int = 0  # of the message that it is in

    def claim(
        self, kind: ClaimKind, support: Support, why: str, code: FindingCode | None = None, line: int = 0,
        *, important: bool = True,
    ) -> Checked:  # fmt: skip
        """Return the sentence as a claim, at the line of the call or edit that decides; 0: at that of the answer."""
        return checked(self.text, kind, support, why, line=line or self.line, important=important, code=code)

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
    steps = (step for step in turn.steps if not step.agent_id)  # a sub-agent's words are for the agent
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
        AnswerSentence(sentence.text, sentence.masked, low := sentence.masked.lower(), is_open(low), line)
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
        or _SCENARIO_STEP.match(sentence)
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
    """Return a claim with its support; it keeps the code of its finding only if it is unseen or contradicted."""
    short = " ".join(text.split())[:_LONGEST_CLAIM]
    is_bad = support in (Support.UNSEEN, Support.CONTRADICTED)
    return Checked(Claim(short, kind, support, why, line, important, by), code if is_bad else None)


_GOOD = (
    r"(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|successful(?:ly)?|clean(?:ly)?|ok|good|✅|✓|✔|"
    r"(?:no|0|zero) (?:\w+ )?(?:errors?|issues?|failures?|warnings?|problems?|fail(?:ed|ing)?)|work(?:s|ing)|fine)"
)
_BETWEEN = r"(?:(?!\b(?:but|except|fail\w*|not|never|without|however)\b)[^.;!?]){0,60}?"
# What is built is no build: "build a heatmap", "builds on that".
_BUILT = r"(?:an?|the|your|our|my|it|this|that|these|on|up|out|me|us|upon)"
SUBJECTS: dict[str, str] = {
    "tests": r"(?:tests|test suites?|specs|suites?|(?:test|spec) cases|cases)",
    "lint": r"(?:lint(?:er|ing|s)?|eslint|biome|ruff|golangci-lint|clippy|formatt(?:er|ing)|fmt|prettier)",
    "types": r"(?:type[- ]?check(?:s|ing|er)?|typescript|tsc|types(?! of\b)|mypy|pyright)",
    "build": rf"(?:(?<!to )(?<!will )builds?(?! {_BUILT}\b)|compil(?:es?|ation|ed|ing)|bundles?)",
    "checks": r"(?:all checks|pre-commit checks|quality gates?|overall(?: result)?)",
}


def _claim(subject: str) -> re.Pattern[str]:
    """Return the pattern of a subject that is said to be good: "tests pass", or "passed all 12 tests"."""
    return re.compile(
        rf"\b{subject}\b{_BETWEEN}(?:\b{_GOOD}\b|[✅✓✔])|(?:[✅✓✔]\W{{0,6}}|\b(?:pass(?:es|ed)?|clean) "
        rf"(?:all |the |every |each )*(?:\d[\d,]* )?(?:\w+ ){{0,2}}){subject}\b"
    )


CLAIMS = {name: _claim(subject) for name, subject in SUBJECTS.items()}
# Claims that name their subject by the verb or the count.
BY_THEMSELVES = {
    "build": re.compile(
        r"\b(?:builds|(?:re)?compiles|(?:re)?compiled|built|building) (?:\w+ ){0,3}?"
        r"(?:clean(?:ly)?|fine|successfully|without|ok)\b|"
        r"(?<!what )(?<!how )(?<!when )(?<!where )\b(?:it|code|project|everything) (?:now )?"
        r"(?:builds|compiles)\b(?! (?:an?|the)\b)"
    ),
    "tests": re.compile(r"\b\d[\d,]*(?:/\d[\d,]*)? (?:tests? )?pass(?:ed|ing|es)?\b"),
    "lint": re.compile(r"\b(?:no|0|zero) (?:lint(?:er|ing)?|style|formatting) (?:errors?|issues?|warnings?)\b"),
    "types": re.compile(r"\b(?:no|0|zero) (?:type(?:script)?|tsc) (?:errors?|issues?)\b"),
}
MAY_CLAIM = re.compile(
    r"test|spec|suite|case|lint|biome|ruff|clippy|fmt|format|prettier|typ|tsc|mypy|pyright|build|built|compil|bundl"
    r"|check|everything|pipeline|gate|overall|\bci\b|pass|green|clean|clear|good"
)
ALL_GREEN = re.compile(
    r"^\W*(?:all|everything) (?:is |are |now )*"
    r"(?:green|clean|clear|good|passing|passes|passed|checks? (?:pass|are green))\b"
)
NEGATED = re.compile(
    r"\b(?:not|never|n't|cannot|can't|without|untested|fail(?:s|ed|ing|ures?)?|broken|didn't|don't|isn't|aren't)\b"
)
ZERO = re.compile(r"\b(?:0|no|zero|without(?: any)?) (?:\w+ )?(?:fail(?:s|ed|ing|ures?)?|errors?)\b")
SHARE = re.compile(r"\b(\d[\d,]*)\s?(?:/|of|out of)\s?(\d[\d,]*)\b")
FAILS = re.compile(
    r"\b(?:fail(?:s|ed|ing|ures?)?|errors?|broken|red|crash\w*|doesn't (?:pass|work|compile|build)|timed? ?out|flaky"
    r"|not pass\w*|skipped|blocked|unable|could(?:n't| not)|abort\w*|hangs?|hung|killed|refus\w*"
    r"|unavailable|missing)\b|❌|⚠|✗|✖"
)
# Subjects of a failed check: an error code in the code that an answer describes is no failure.
CHECKED = re.compile(
    r"\b(?:tests?|specs?|suites?|e2e|lint\w*|type-?checks?|typecheck\w*|types|tsc|build|compil\w*|checks?|check\w*|hooks?"
    r"|ci|pipelines?|asserts?|assertions?|cases?|commands?|runs?|scripts?|steps?|verification|commit|push)\b"
)
BLAMES = re.compile(
    r"\bpre-?existing\b|\bexisted before\b|\balready (?:failing|broken)\b|\bnot related to\b"
    r"|\bunrelated (?:to\b|\w+ (?:failures?|errors?|tests?|timeouts?)|(?:failures?|errors?|tests?|issues?|timeouts?))"
)
ALL_TESTS = re.compile(
    r"\b(?:all|every) (?:of )?(?:the |existing )*tests?\b|\b(?:full|entire|whole|complete) (?:test )?suite\b"
)
WANTED = re.compile(r"\bto (?:pass|succeed|be (?:green|clean))\b")  # a condition of a plan, not a result
OTHERS = re.compile(r"\ball (?:the )?(?:other|remaining|rest)")
CI = re.compile(
    r"\b(?:ci|github actions?|workflow|pipeline|pr checks?|checks? (?:on|for) (?:the )?pr|remote checks?)\b"
)
NUMBER = re.compile(r"\b(\d[\d,]*)\b")
COUNTED = re.compile(r"\b(\d[\d,]*) (?:\w+ ){0,2}?tests?\b|\btests?\W{1,3}(\d[\d,]*) pass")
MAY_BE_DONE = re.compile(
    r"done|fixed|complet|finish|resolv|implement|work|functional|in place|wired|live|all set|verif|tested|confirm|valid"
    r"|proven"
)
DONE = re.compile(
    r"^\W*(?:all )?(?:\w+ (?:is|are) )?(?:done|fixed|complete[d]?|finished|resolved|implemented|all set)\b"
    r"|(?<!what )\b(?:is|are|was|were|has been|have been|now|fully|successfully) (?:now )?(?:fully |all )?"
    r"(?:done|fixed|complete[d]?|finished|resolved|implemented|working|functional|in place|wired up|live)\b"
    r"|(?<!how )\b(?:it|this|that|everything|which|feature|fix|flow|page|command|app|script|build) (?:now )?works\b"
    r"|\b(?:implementation|fix|feature|task|migration|refactor(?:ing)?|change) (?:is )?complete\b"
)
# That it works now, and not only that it was changed.
WORKS = re.compile(
    r"^\W*(?:all )?(?:fixed|resolved)\b(?! in )|\b(?:is|are|has been|have been|now) (?:now )?"
    r"(?:fixed|resolved|working|functional)\b"
    r"|(?<!how )\b(?:it|this|that|everything|feature|fix|flow|page|command|app|script) (?:now )?works\b"
)
# "Done." and no more: what was done is said in the sentences after it.
BARE_DONE = re.compile(r"^\W*(?:all )?done\W*$")
# What is seen only when it runs, as a fact. What can be read off the edit ("now returns 3") needs no run.
BEHAVES = re.compile(
    r"^\W*(?:done\W+)?the fix is in\b|\bnow (?:\w+ly )?(?:renders?|fades?|displays?|loads?|behaves?|responds?)\b"
)
VERIFIED = re.compile(
    r"\b(?:verified|tested|confirmed (?:working|that it works|it works)|validated|proven"
    r"|works (?:correctly|as expected|end[- ]to[- ]end))\b"
)
CHANGED = re.compile(
    r"\b(?:added|removed|updated|changed|created|renamed|moved|replaced|deleted|inserted|saved|posted|applied"
    r"|re-applied|extended|refactored|wired|switched|merged|committed|pushed|reverted|rewritten|rewrote|introduced"
    r"|extracted|bumped|enabled|disabled|configured|installed|opened|closed|sent|dispatched|written|filed|generated"
    r"|converted|implemented)\b"
)


def says_failure(text: str) -> bool:
    """Report whether a sentence speaks of a failure; "0 failures" does not."""
    return bool(FAILS.search(ZERO.sub("", text)))


def mentions_failure(sentence: AnswerSentence, tool: str = "") -> bool:
    """Report whether a sentence speaks of a check that failed, and not of errors that code handles.

    The check may be named in code: "`npm test` aborts".
    """
    if BLAMES.search(sentence.low):  # "pre-existing", "unrelated": said of failures alone
        return True
    if not says_failure(sentence.low):
        return False
    with_code = sentence.text.lower()
    return bool(CHECKED.search(with_code) or (tool and tool in with_code))


def is_negated(text: str) -> bool:
    """Report whether a sentence takes back what it names; "0 failures" does not."""
    return bool(NEGATED.search(ZERO.sub("", text)))
