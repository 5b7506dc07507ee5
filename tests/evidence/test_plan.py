"""The plan of a question: its own terms by a small lexical reading, and terms that somebody proposes."""

from __future__ import annotations

import pytest

from knowbound.core.evidence import Intent
from knowbound.evidence.plan import Focus, TermKind, read_plan, term_of


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("Where is the retry middleware defined?", [("retry middleware", TermKind.PHRASE)]),
        ("Which file implements the voucher cache?", [("voucher cache", TermKind.PHRASE)]),
        ("Explain how the shadow file replaces its target.", [("shadow replaces target", TermKind.DESCRIPTION)]),
        ("Where is the retry budget enforced?", [("retry budget enforced", TermKind.DESCRIPTION)]),
        ("Where is RetryMiddleware?", [("RetryMiddleware", TermKind.IDENTIFIER)]),
        ("What does `stream_with_context()` do?", [("stream_with_context", TermKind.IDENTIFIER)]),
        ("Where is the --no-input flag read?", [("--no-input", TermKind.OPTION)]),
        ('Where is "Too many attempts" raised?', [("Too many attempts", TermKind.QUOTE)]),
        ("Compare RowBox and ColumnBox.", [("RowBox", TermKind.IDENTIFIER), ("ColumnBox", TermKind.IDENTIFIER)]),
        ("Compare pool.py and queue.py.", [("pool.py", TermKind.FILE), ("queue.py", TermKind.FILE)]),
        ("How often is a failed webhook retried?", [("failed webhook retried", TermKind.DESCRIPTION)]),
        ("Where is the retry budget x enforced?", [("retry budget enforced", TermKind.DESCRIPTION)]),
        ("thanks!", []),
    ],
)
def test_terms_of_the_lexical_reading(question: str, terms: list[tuple[str, TermKind]]) -> None:
    assert [(term.text, term.kind) for term in read_plan(question).terms] == terms


def test_a_concept_in_a_named_file_must_be_found_in_that_file() -> None:
    file, concept = read_plan("How does blueprints.py rank the blueprint priorities?").terms
    assert (file.text, file.kind) == ("blueprints.py", TermKind.FILE)
    assert (concept.text, concept.within) == ("rank blueprint priorities", "blueprints.py")


@pytest.mark.parametrize(
    ("question", "focus"),
    [
        ("Who calls make_client?", Focus.USES),
        ("Where is make_client used?", Focus.USES),
        ("Where is RETRY_LIMIT read?", Focus.OCCURRENCES),
        ("Where is make_client defined?", Focus.DEFINITION),
    ],
)
def test_which_places_are_asked_for(question: str, focus: Focus) -> None:
    assert read_plan(question).terms[0].focus is focus


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("RetryMiddleware", TermKind.IDENTIFIER),
        ("Pool", TermKind.IDENTIFIER),
        ("retry_limit", TermKind.IDENTIFIER),
        ("app.push()", TermKind.IDENTIFIER),
        ("src/app/main.py", TermKind.FILE),
        ("--force", TermKind.OPTION),
        ('"Too many attempts"', TermKind.QUOTE),
        ("retry budget", TermKind.PHRASE),
        ("throttle", TermKind.WORD),
    ],
)
def test_a_proposed_term_is_what_it_is_written_like(text: str, kind: TermKind) -> None:
    term = term_of(text)
    assert term is not None
    assert term.kind is kind


def test_a_proposed_term_that_the_question_does_not_have_is_marked() -> None:
    plan = read_plan("Where do we throttle uploads?", Intent.LOCATE, ["throttle uploads", "RateLimiter", " ", "?!"])
    assert [(term.text, term.is_proposed) for term in plan.proposed] == [
        ("throttle uploads", False),
        ("RateLimiter", True),
    ]


def test_the_kind_of_whoever_asks_decides() -> None:
    assert read_plan("Where is it?", Intent.COMPARE).intent is Intent.COMPARE
    assert read_plan("Where is it?", None, ["RetryMiddleware"]).targets == ("RetryMiddleware",)
