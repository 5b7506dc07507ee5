"""What a clause wants, by its grammar: the order's verb with its object, or what a question says of what.

A keyword decides nothing alone. "Where do we run the tests" asks where; "the build module's tests" are tests; a
pipeline is one of CI only where something is said of it that is said of runs (green, failed, finished).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowbound.core.evidence import QuestionKind as Kind
from knowbound.text.questions.clauses import Clause, Mood
from knowbound.text.questions.orders import ordered
from knowbound.text.questions.rules import (
    BAD,
    BUILD_VERB,
    CALLERS,
    CAUSE,
    CHANGED,
    CI,
    COMPARE,
    COMPILES,
    FAILURE,
    GOING,
    GOOD,
    HISTORY,
    HISTORY_NOUN,
    IF_CHANGED,
    LOCATE,
    OF_CI,
    ON_CI,
    RAN_BEFORE,
    REVIEW,
    SAID_GREEN,
    TESTS,
    TREE,
    asks_how_ci_went,
    asks_if_tests_pass,
    has,
    rule,
)


def kind_of(clause: Clause, message: str) -> Kind:
    """What one clause wants; `message` is all that was said, where a clause alone leaves that open."""
    if clause.mood is Mood.ORDER:
        return ordered(clause.text, message)
    if clause.mood is Mood.WHAT and has(IF_CHANGED, message):
        return Kind.CALLERS
    return _asked(clause.text, clause.mood)


def reports_failure(text: str) -> bool:
    """Whether a statement says that a run fails: whoever says so wants to know why."""
    return has(FAILURE, text)


def _asked(text: str, mood: Mood) -> Kind:
    word = re.sub(r"^(?:in|on|by|at|from|to|for|since|under|of|with|until) ", "", text).partition(" ")[0]
    how_it_works = word == "where" or bool(
        re.match(r"how (?!many|much|old|long|often|far|recent|has|have|had|did|good)", text)
    )
    if has(COMPARE, text):
        return Kind.COMPARE
    wrong = re.search(r"\b(?:go|goes|went|going) wrong\b|^what is (?:wrong|up|the matter) with\b", text)
    if wrong and re.search(
        rf"{CI}|\b(?:in|with|during|of) (?:the |our |my |last |this )*(?:\w+ )?(?:build|{TESTS}|run|deploy|"
        rf"deployment)$",
        text,
    ):
        return Kind.CI_CAUSE
    if has(FAILURE, text) and (
        has(CAUSE, text) or (mood is Mood.WHAT and word in ("why", "what") and not _asks_which(text))
    ):
        return (
            Kind.CI_CAUSE
            if not re.match(r"what (?:happens|would happen|do we do|should|to do)\b", text)
            else Kind.EXPLAIN
        )
    if word == "where" and not re.match(r"where (?:am i|are we|do (?:i|we) stand)", text):
        return Kind.CALLERS if has(CALLERS, text) else Kind.LOCATE
    doing = (
        re.match(
            r"how (?:is|are|did) .*\b(?:do|doing|look|looking|go|going)\b|how .*\b(?:ended|went|turned out)$", text
        )
        is not None
    )
    if (not how_it_works or doing) and not _asks_for_code(text):
        state = _state(text, mood, word)
        if state is not None:
            return state
    if has(CALLERS, text) and not re.match(
        r"(?:what|which) (?:\w+ ){0,3}(?:is|are|was) (?:\w+ )*(?:used|called)\b", text
    ):
        return Kind.CALLERS
    if has(REVIEW, text):
        return Kind.REVIEW
    if mood is Mood.STATEMENT:
        return Kind.LOCATE
    if mood is Mood.WHETHER and not has(LOCATE, text):
        return Kind.EXPLAIN
    return Kind.LOCATE if word == "who" or (has(LOCATE, text) and word not in ("how", "why")) else Kind.EXPLAIN


def _asks_which(text: str) -> bool:
    """ "Which tests fail" wants their names, not the cause."""
    return bool(re.match(rf"(?:which|what|how many) (?:\w+ ){{0,4}}?{TESTS}\b", text)) and not has(rule(ON_CI), text)


def _asks_for_code(text: str) -> bool:
    """ "Which function detects uncommitted changes": the thing that does it, not the state."""
    found = re.match(
        r"(?:in )?(?:which|what) (?:\w+ ){0,2}?(?:file|module|class|function|method|script|part|code|component|yaml|"
        r"doc|notebook|command|setting|option|page|section|test helper|helper)s?\b(.*)",
        text,
    )
    return found is not None and not re.search(
        r"\b(?:have|did|has) (?:i|we|been)\b|\b(?:not|n't) (?:yet )?committed\b|^ (?:are|is|was|were|have been|"
        r"has been) (?:\w+ )?(?:changed|dirty|modified|uncommitted|staged|touched|edited|unstaged|untracked)\b",
        found[1],
    )


def _state(text: str, mood: Mood, word: str) -> Kind | None:
    """What is asked about runs, the tree or the history."""
    past = bool(re.match(r"(?:did|has|have|was|were|when)\b", text))
    about_tests = re.search(rf"\b{TESTS}\b", text) is not None
    on_ci = re.search(ON_CI, text) is not None or (re.search(CI, text) is not None and not about_tests)
    said = re.search(rf"\b(?:{GOOD}|{BAD}{'|work(?:s|ing)?' if about_tests else ''})\b", text) is not None
    if re.search(r"\b(?:any good|good enough|well written|meaningful|worth|thorough|readable)\b", text):
        return None
    asks_outcome = mood is not Mood.WHAT or bool(re.match(r"(?:what|how|which|when)\b", text))
    if word in ("who", "whom", "whose") or re.match(
        r"(?:in |by |with )?(?:which|what) (?:\w+ )?(?:commit|release|version|pr|revision|tag)\b", text
    ):
        return Kind.HISTORY if has(HISTORY, text) else None
    if word == "why":
        return Kind.HISTORY if has(HISTORY, text) else None
    if (
        about_tests
        and said
        and mood is Mood.WHETHER
        and re.match(rf"(?:\w+ ){{0,4}}?{TESTS}\b", text)
        and not re.search(ON_CI, text)
    ):
        return Kind.WORKS if _builds_too(text) else Kind.TESTS_PASS
    if asks_outcome and not has(TREE, text):
        in_ci = re.search(rf"{CI}", text) is not None
        if word == "when" and not (in_ci and said):
            return Kind.HISTORY if has(HISTORY, text) else None
        if (
            about_tests
            and (said or re.search(rf"\b{GOING}\b", text) or "status" in text or "state" in text)
            and re.search(ON_CI, text)
        ):
            return Kind.CI_STATE
        if about_tests and said and mood is Mood.WHETHER and _builds_too(text):
            return Kind.WORKS
        if has(OF_CI, text) and (has(SAID_GREEN, text) or (past and not re.search(rf"\b{CHANGED}\b", text))):
            return Kind.CI_STATE
        if about_tests and said and not re.match(r"(?:what|how) (?:happens|do|does|should|would|to)\b", text):
            return Kind.TESTS_PASS
        if (on_ci and has(SAID_GREEN, text)) or (has(SAID_GREEN, text) and not about_tests and not has(COMPILES, text)):
            return Kind.CI_STATE
        if (
            mood is Mood.WHETHER
            and past
            and has(RAN_BEFORE, text)
            and not about_tests
            and not re.search(rf"\b(?:i|anyone|someone)\b.*\b{CHANGED}\b", text)
        ):
            return Kind.CI_STATE
        if (mood is Mood.WHETHER and has(COMPILES, text)) or re.match(
            r"(?:what|which|how many) .*\b(?:compiler?|compilation|type|build|linker|lint) (?:errors?|warnings?)\b",
            text,
        ):
            return Kind.COMPILES
    if mood is Mood.WHETHER and not has(TREE, text) and not has(REVIEW, text):
        if asks_how_ci_went(text):
            return Kind.CI_STATE
        if asks_if_tests_pass(text):
            return Kind.TESTS_PASS
    if has(TREE, text):
        return Kind.TREE_STATE
    if mood is Mood.STATEMENT and not has(HISTORY_NOUN, text):
        return None
    return Kind.HISTORY if has(HISTORY, text) else None


def _builds_too(text: str) -> bool:
    return re.search(rf"\b{BUILD_VERB}s? and\b|\band (?:\w+ ){{0,3}}?{BUILD_VERB}s?\b", text) is not None


def last_request(clauses: Sequence[Clause]) -> tuple[int, Clause] | None:
    """The last clause that asks or orders; "or" goes on with what was asked before it."""
    requests = [(at, clause) for at, clause in enumerate(clauses) if clause.mood is not Mood.STATEMENT]
    while len(requests) > 1 and requests[-1][1].joined:
        requests.pop()
    return requests[-1] if requests else None
