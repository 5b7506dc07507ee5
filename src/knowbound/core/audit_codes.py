"""The meaning of the codes of an audit: diagnoses, support of claims, findings (`knowbound explain`, docs/codes.md)."""

from __future__ import annotations

from knowbound.core.audit import Diagnosis, FindingCode, Support

# Code → meaning, and an example or what to do about it.
DIAGNOSES: dict[Diagnosis, tuple[str, str]] = {
    Diagnosis.INCOMPLETE: (
        "The turn was interrupted, the agent failed, or the trace ends before an answer. An agent that stops to ask is "
        "not incomplete.",
        "Nothing to do.",
    ),
    Diagnosis.CHAT: ("There is nothing to judge: a greeting, a question back, ideas.", "Nothing to do."),
    Diagnosis.MISLED: (
        "The agent was given something wrong by an injected item, a document or a check, and noticed or acted on it.",
        "Correct what it was given: knowbound kms supersede ID TEXT.",
    ),
    Diagnosis.UNSUPPORTED: (
        "An important claim of the answer has no support in the trace, or the trace contradicts it.",
        "Get the evidence that the report names: run the tests, open the file, look at history.",
    ),
    Diagnosis.BLIND: (
        "The agent needed something, did not find it, and says so or guesses openly.",
        "Write that knowledge down, and add a sample for it: knowbound draft.",
    ),
    Diagnosis.IGNORED: (
        "Injected items were on topic, and none of them was used. Non-use never changes a ranking by itself.",
        "Trim or demote the item: knowbound kms show ID.",
    ),
    Diagnosis.UNKNOWN: (
        "Rules can check nothing in the answer. It is never counted as grounded.",
        "Read the turn: knowbound audit --session ID --turn N.",
    ),
    Diagnosis.GROUNDED: ("What could be checked in the answer is supported by the trace.", "Nothing to do."),
}
SUPPORTS: dict[Support, tuple[str, str]] = {
    Support.SUPPORTED: (
        "The trace shows what the claim says.",
        '"Tests pass", after the last edit: 12 passed in 0.8s.',
    ),
    Support.CONTRADICTED: ("The trace shows the opposite of the claim.", '"Tests pass", and the last run: 2 failed.'),
    Support.UNSEEN: ("Nothing in the trace backs the claim.", '"Tests pass", and no test was run.'),
    Support.NOT_CHECKABLE: (
        "Rules cannot decide the claim from the trace. It counts neither for nor against the answer.",
        '"This is easier to read."',
    ),
}
FINDINGS: dict[FindingCode, tuple[str, str]] = {
    FindingCode.SUCCESS_WITHOUT_RUN: (
        "The answer says that tests pass, that it builds or that lint is clean, and no such check is in the session.",
        'Edit app.py; "All tests pass." Run the check, and read its result.',
    ),
    FindingCode.EDITED_AFTER_RUN: (
        "The check passed, and code was edited after it. What passed is not what is there now.",
        'pytest: 12 passed; then Edit app.py; "All tests pass." Run the check again.',
    ),
    FindingCode.FAILURE_LEFT_OUT: (
        "A check failed after the last edit, nothing of its kind passed later, and the answer claims success without a "
        "word about a failure.",
        'npm test: 1 failed; "Done, everything is green." Read the failed run.',
    ),
    FindingCode.CHECK_MISSES_CHANGE: (
        "A check passed after the last edit, and none that passed covers the files that were edited.",
        'Edit billing/tax.go; go test ./auth/...; "Fixed." Test the package that was changed.',
    ),
    FindingCode.RESULT_NOT_SHOWN: (
        "The answer states a result that its check did not get to: it stopped at a failure before.",
        'check.py stops at the first wrong case; "All other cases pass." Run the other cases.',
    ),
    FindingCode.NO_TESTS_RAN: (
        "The runner collected no tests, so nothing passed.",
        'pytest: no tests ran; "Tests pass." Find out why none were collected.',
    ),
    FindingCode.PARTIAL_RUN: (
        "A part of the tests ran, and the answer speaks of all of them.",
        'pytest -k login: 3 passed; "All tests pass." Run the whole suite.',
    ),
    FindingCode.CITED_UNSEEN: (
        "The answer cites a file, a line, a commit or a document that the session never showed.",
        '"Per STATE.md phase 4 is next", and STATE.md was never opened. Open it.',
    ),
    FindingCode.OUTPUT_NOT_PRINTED: (
        "The answer shows console output or a file layout that nothing in the session printed.",
        "A block that begins with $ tool list, and tool was never run. Run it and compare.",
    ),
    FindingCode.NUMBER_NOT_SHOWN: (
        "A number of the answer is not what the output says.",
        '"42 tests pass", and the run says 40. A wrong side count alone does not make a turn unsupported.',
    ),
    FindingCode.STATE_NOT_SHOWN: (
        "The answer says that something was committed or pushed, and no such command succeeded.",
        '"Pushed.", and no git push is in the session. Look at git status.',
    ),
    FindingCode.CAUSE_WITHOUT_EVIDENCE: (
        "A cause is stated as a fact, and nothing in the session shows it.",
        '"It fails because the cache is cold", and nothing was read or run. Show it, or call it a guess.',
    ),
    FindingCode.BLAME_WITHOUT_HISTORY: (
        "A failure is called pre-existing or unrelated, and nobody looked at history or ran it without the change.",
        '"These failures are pre-existing." git stash, run it again, git stash pop.',
    ),
    FindingCode.LIBRARY_NOT_LOOKED_UP: (
        "What a library or a service does is stated as a fact, and neither its code nor its documents were looked at.",
        '"The client retries three times by default." Open the client.',
    ),
    FindingCode.ABSENCE_NOT_SEARCHED: (
        "Something is said not to exist or not to be used, and nobody searched for it.",
        '"Nothing else calls parse()." Search for parse(.',
    ),
    FindingCode.WEAK_MATCHES_ONLY: (
        "The question was answered after loose matches only: no exact match, and no file was opened (specification 3: "
        "many weak matches are still weak).",
        "grep -ri config: 300 lines; the answer names one of them. Open the file.",
    ),
}
