"""The intent of a message, by the short table; a reader can check each row."""

from __future__ import annotations

import pytest

from knowbound.core.evidence import Intent
from knowbound.text.intent import intent_of


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Where is the retry middleware defined?", Intent.LOCATE),
        ("Which file implements the voucher cache?", Intent.LOCATE),
        ("How often is a failed webhook retried?", Intent.LOCATE),
        ("Where is the job timeout enforced?", Intent.LOCATE),
        ("Open blueprints.py", Intent.NAVIGATE),
        ("Who calls make_client?", Intent.NAVIGATE),
        ("Where is make_client used?", Intent.NAVIGATE),
        ("Explain the rate limiter", Intent.EXPLAIN),
        ("How does the session store expire?", Intent.EXPLAIN),
        ("Why does the client wait?", Intent.EXPLAIN),
        ("What does --dry-run do?", Intent.EXPLAIN),
        ("what kind of project is this", Intent.EXPLAIN),
        ("Review the login form for misuse.", Intent.REVIEW),
        ("Is AppContext.push reentrant?", Intent.REVIEW),
        ("Compare A_one and B_two.", Intent.COMPARE),
        ("What's the difference between a Command and a Group?", Intent.COMPARE),
        ("Why is the CI build failing?", Intent.DIAGNOSE),
        ("Why do the tests fail?", Intent.DIAGNOSE),
        ("Is the pipeline green?", Intent.STATUS),
        ("What is the last commit?", Intent.STATUS),
        ("When was RetryMiddleware added?", Intent.STATUS),
        ("Is the working tree clean?", Intent.STATUS),
        ("Run the tests.", Intent.EXECUTE),
        ("Do the tests pass?", Intent.EXECUTE),
        ("does it compile", Intent.EXECUTE),
        ("Rename echo to print_line.", Intent.MODIFY),
        ("Please add a timeout to the client.", Intent.MODIFY),
        ("hello there", Intent.CHAT),
        ("thanks!", Intent.CHAT),
        ("", Intent.CHAT),
    ],
)
def test_intent(question: str, intent: Intent) -> None:
    assert intent_of(question) is intent
