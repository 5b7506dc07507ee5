"""What a question asks for, and what it is about."""

from __future__ import annotations

import pytest

from knowbound.core.evidence import Intent
from knowbound.evidence.question.parsing import parse
from knowbound.evidence.question.terms import Focus, TermKind
from knowbound.text.questions.intent import read_question


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Where is the retry middleware defined?", Intent.LOCATE),
        ("Wher is the retry middleware defind?", Intent.LOCATE),
        ("Which module handles uploads?", Intent.LOCATE),
        ("Is there a lazy file class here?", Intent.LOCATE),
        ("Open blueprints.py", Intent.NAVIGATE),
        ("Who calls make_client?", Intent.NAVIGATE),
        ("If I rename make_client, which modules have to change?", Intent.NAVIGATE),
        ("Explian how the rate limiter works", Intent.EXPLAIN),
        ("How does the session store expire?", Intent.EXPLAIN),
        ("Review the login form for misuse.", Intent.REVIEW),
        ("Is AppContext.push reentrant?", Intent.REVIEW),
        ("Compare A_one and B_two.", Intent.COMPARE),
        ("What's the difference between a Command and a Group?", Intent.COMPARE),
        ("Why is the CI build failing?", Intent.DIAGNOSE),
        ("Why do the tests fail?", Intent.DIAGNOSE),
        ("Where is the job timeout enforced?", Intent.LOCATE),
        ("Why does the test client raise an error?", Intent.EXPLAIN),
        ("What is the last commit?", Intent.STATUS),
        ("When was RetryMiddleware added?", Intent.STATUS),
        ("Explain how the commit message is parsed.", Intent.EXPLAIN),
        ("Run the tests.", Intent.EXECUTE),
        ("Do the tests pass?", Intent.EXECUTE),
        ("Rename echo to print_line.", Intent.MODIFY),
        ("Please add a timeout to the client.", Intent.MODIFY),
        ("hello there", Intent.CHAT),
        ("thanks!", Intent.CHAT),
    ],
)
def test_intent(question: str, intent: Intent) -> None:
    assert parse(read_question(question)).intent == intent


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("Where is the retry middleware defined?", [("retry middleware", TermKind.PHRASE)]),
        ("Which file implements the voucher cache?", [("voucher cache", TermKind.PHRASE)]),
        ("Explain how the shadow file replaces its target.", [("shadow file replaces target", TermKind.DESCRIPTION)]),
        ("Explain how the shadow file works.", [("shadow file", TermKind.PHRASE)]),
        ("How does the secure cookie interface store a session?",
         [("secure cookie interface store session", TermKind.DESCRIPTION)]),
        ("Review the status line export.", [("status line export", TermKind.PHRASE)]),
        ("Review the smtp responder for thread safety.", [("smtp responder", TermKind.PHRASE)]),
        ("Where is RetryMiddleware?", [("RetryMiddleware", TermKind.IDENTIFIER)]),
        ("What does `stream_with_context()` do?", [("stream_with_context", TermKind.IDENTIFIER)]),
        ("Where is the --no-input flag read?", [("--no-input", TermKind.OPTION)]),
        ('Where is "Too many attempts" raised?', [("Too many attempts", TermKind.QUOTE)]),
        ("Compare RowBox and ColumnBox.", [("RowBox", TermKind.IDENTIFIER), ("ColumnBox", TermKind.IDENTIFIER)]),
        ("Find the class that redirects writes to a console.", [("redirects writes console", TermKind.DESCRIPTION)]),
        ("Which module does the lossless encoding of dates?", [("lossless encoding dates", TermKind.DESCRIPTION)]),
        ("What would break if I removed the promise limit?", [("promise limit", TermKind.PHRASE)]),
        ("Our docs mention the trace filter. Where is it?", [("trace filter", TermKind.PHRASE)]),
        ("Rename echo to print_line.", [("echo", TermKind.WORD)]),
    ],
)  # fmt: skip
def test_terms(question: str, terms: list[tuple[str, TermKind]]) -> None:
    assert [(term.text, term.kind) for term in parse(read_question(question)).terms] == terms


def test_a_concept_in_a_named_file_must_be_found_in_that_file() -> None:
    file, concept = parse(read_question("How does blueprints.py rank the blueprint priorities?")).terms
    assert (file.text, file.kind) == ("blueprints.py", TermKind.FILE)
    assert (concept.text, concept.within) == ("rank blueprint priorities", "blueprints.py")


@pytest.mark.parametrize(
    ("question", "focus"),
    [
        ("Who calls make_client?", Focus.USES),
        ("Which modules import make_client?", Focus.USES),
        ("Where is make_client used?", Focus.USES),
        ("Where is RETRY_LIMIT read?", Focus.OCCURRENCES),
        ("Where is make_client defined?", Focus.DEFINITION),
        ("Find the option usage report.", Focus.DEFINITION),
        ("Find the function called echo.", Focus.DEFINITION),
    ],
)
def test_which_places_are_asked_for(question: str, focus: Focus) -> None:
    assert parse(read_question(question)).focus is focus
