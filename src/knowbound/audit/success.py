"""Claims of success: tests pass, it builds, lint is clean, it is done. Each needs a check after the last edit.

The rules that readers of real turns arrived at: a runner's own result after the last relevant edit; lint needs lint; no
tests, and a part of the tests, do not carry "all tests"; a failure shown after the last edit with no later success of
the same command, which the answer leaves out, is a contradiction; an edit of documentation or comments needs no check.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from knowbound.audit.answer import (
    ALL_GREEN,
    ALL_TESTS,
    BARE_DONE,
    BEHAVES,
    BY_THEMSELVES,
    CHANGED,
    CI,
    CLAIMS,
    COUNTED,
    DONE,
    MAY_BE_DONE,
    MAY_CLAIM,
    NUMBER,
    OTHERS,
    SHARE,
    VERIFIED,
    WANTED,
    WORKS,
    Answer,
    AnswerSentence,
    Checked,
    is_negated,
    mentions_failure,
)
from knowbound.audit.checks import Check, Ended
from knowbound.audit.facts import (
    Edit,
    GitAct,
    SessionView,
    TurnFacts,
    covers,
    is_of_other_file,
    is_test,
    short_name,
)
from knowbound.audit.runs import Run
from knowbound.core.audit import ClaimKind, FindingCode, Support

KINDS = {
    "tests": frozenset({Check.TEST}),
    "lint": frozenset({Check.LINT, Check.FORMAT}),
    "types": frozenset({Check.TYPES, Check.BUILD}),
    "build": frozenset({Check.BUILD, Check.TYPES, Check.TEST}),
    "checks": frozenset({Check.TEST, Check.LINT, Check.BUILD, Check.TYPES, Check.FORMAT}),
}
_CLAIM_KINDS = {
    "tests": ClaimKind.TESTS_PASS, "lint": ClaimKind.LINT_OK, "types": ClaimKind.LINT_OK, "build": ClaimKind.BUILD_OK,
    "checks": ClaimKind.TESTS_PASS,
}  # fmt: skip
_PROVING = frozenset({Check.TEST, Check.BUILD, Check.TYPES})  # work can be done while a linter complains
_NEEDED = {
    "tests": "a test run", "lint": "a lint run", "types": "a type check", "build": "a build", "checks": "a check",
}  # fmt: skip


def success_claims(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """Yield the claims of success in an answer, checked."""
    says_failure = any(run.ended is Ended.FAILED for run in view.runs) and any(
        mentions_failure(statement) for statement in answer.statements
    )
    for sentence in answer.statements:
        if sentence.is_open or not MAY_CLAIM.search(sentence.low):
            continue
        for name in _subjects(sentence):
            yield _checked(name, sentence, facts, view, says_failure)
    yield from _done(answer, facts, view, says_failure)
    yield from _described(answer, facts)
    yield from wrong_counts(answer, view)


def _subjects(sentence: AnswerSentence) -> list[str]:
    """Return the subjects that a sentence says to be good: tests, lint, types, build; nothing if it is negated."""
    text = sentence.low
    if sentence.is_cell and not NUMBER.search(text):
        return []  # a label or a plan of a table
    if (is_negated(text) and not OTHERS.search(text)) or WANTED.search(text):
        return []
    if any(part != whole for part, whole in SHARE.findall(text)):
        return []  # "11 of 12 pass"
    found = [name for name, pattern in CLAIMS.items() if pattern.search(text)]
    found += [name for name, pattern in BY_THEMSELVES.items() if pattern.search(text) and name not in found]
    if ALL_GREEN.search(text) and not found:
        return ["checks"]
    return [name for name in found if name != "checks" or len(found) == 1]  # a named check says which it was


def _checked(name: str, sentence: AnswerSentence, facts: TurnFacts, view: SessionView, says_failure: bool) -> Checked:
    """Check that this subject ("tests", "lint", …) is good: by its runs after the last edit, or what CI says."""
    kind = _CLAIM_KINDS[name]
    say = partial(sentence.claim, kind)
    if CI.search(sentence.low) or (name == "checks" and _looks_at_ci(facts) and not view.runs):
        if ci := _looks_at_ci(facts):
            return say(Support.SUPPORTED, "what CI says was looked at", line=ci.line)
        return say(Support.NOT_CHECKABLE, "it is about CI")
    edit = view.last_code_edit
    runs = [run for run in view.runs if run.kinds & KINDS[name]]
    after = [run for run in runs if edit is None or run.order > edit.order]
    failing = still_failing(after)
    passed = [run for run in after if run.ended is Ended.PASSED]
    if failing:
        bad = failing[-1]
        if OTHERS.search(sentence.low) and not bad.passed:  # "all other tests pass"
            why = f"{bad.tool} failed and printed no other result"
            return say(Support.UNSEEN, why, FindingCode.RESULT_NOT_SHOWN, bad.line)
        if says_failure:
            return say(Support.NOT_CHECKABLE, f"{bad.tool} failed, and the answer mentions a failure")
        return say(
            Support.CONTRADICTED, f"{bad.tool} failed, and did not pass later", FindingCode.FAILURE_LEFT_OUT, bad.line
        )
    if passed:
        return _passed(name, sentence, edit, passed, kind)
    empty = next((run for run in reversed(after) if run.ended is Ended.EMPTY), None)
    if empty is not None and name == "tests":
        return say(Support.CONTRADICTED, f"{empty.tool} ran no tests", FindingCode.NO_TESTS_RAN, empty.line)
    if after:
        return say(Support.NOT_CHECKABLE, f"how {after[-1].tool} ended is not shown")
    if facts.doubt or view.is_cut:
        return say(Support.NOT_CHECKABLE, facts.doubt or "the session is longer than what was kept of it")
    if any(act.verb.startswith("gh ") for act in facts.gits):
        return say(Support.NOT_CHECKABLE, "it may be about what CI or a review says")
    asks = CLAIMS["tests"].search  # a plan that asks for green tests says nothing about them
    if not facts.edits and asks(sentence.low) and asks(view.prompt.lower()):
        return say(Support.NOT_CHECKABLE, "the user said so")
    if view.last_act > (edit.order if edit is not None else 0):
        return say(Support.NOT_CHECKABLE, "something was run that rules do not know")
    if runs and edit is not None:
        why = f"{short_name(edit)} was edited after the last {runs[-1].tool}"
        return say(Support.UNSEEN, why, FindingCode.EDITED_AFTER_RUN, edit.line)
    return say(Support.UNSEEN, f"{_NEEDED[name]} is not in the trace", FindingCode.SUCCESS_WITHOUT_RUN)


def _looks_at_ci(facts: TurnFacts) -> GitAct | None:
    verbs = ("gh run", "gh pr checks", "gh pr view", "gh workflow")
    return next((act for act in reversed(facts.gits) if act.ok and act.verb.startswith(verbs)), None)


def _passed(name: str, sentence: AnswerSentence, edit: Edit | None, passed: list[Run], kind: ClaimKind) -> Checked:
    """Return the claim as supported, if what passed is what the sentence speaks of."""
    whole = [run for run in passed if not run.is_filtered]
    numbers = {int(text.replace(",", "")) for text in NUMBER.findall(sentence.low)}
    printed = {run.passed for run in passed if run.passed is not None}
    # "All 12 tests" with the number of a part that ran means that part.
    if name == "tests" and not whole and ALL_TESTS.search(sentence.low) and not numbers & printed:
        why, code = f"{passed[-1].tool} ran a part of the tests", FindingCode.PARTIAL_RUN
        if edit is not None and all(is_of_other_file(run, edit) for run in passed):
            why, code = f"{passed[-1].tool} ran tests of other files alone", FindingCode.CHECK_MISSES_CHANGE
        return sentence.claim(kind, Support.UNSEEN, why, code, passed[-1].line)
    return sentence.claim(kind, Support.SUPPORTED, f"{passed[-1].tool} passed", line=passed[-1].line)


def checks_that_clear(run: Run) -> frozenset[Check]:
    """Return the checks whose success takes a failure back: those of its kind; a build, too, if types failed."""
    return run.kinds | {Check.BUILD} if Check.TYPES in run.kinds else run.kinds


def still_failing(runs: list[Run]) -> list[Run]:
    """Return the runs that failed and after which no check of that tool or kind passed, or ended in an unknown way."""
    found = []
    for at, run in enumerate(runs):
        if run.ended is not Ended.FAILED:
            continue
        clearing = checks_that_clear(run)
        later = [after for after in runs[at + 1 :] if after.ended is not Ended.FAILED and after.kinds & clearing]
        # What a script of the project checks is its own: only itself takes its failure back, and it no other's.
        if not any(after.tool == run.tool or not (run.is_own_script or after.is_own_script) for after in later):
            found.append(run)
    return found


def _done(answer: Answer, facts: TurnFacts, view: SessionView, says_failure: bool) -> Iterator[Checked]:
    """Yield the first "done", "fixed" or "works", checked; and a sentence that states behaviour unseen."""
    for sentence in answer.statements:
        if sentence.is_open or not MAY_BE_DONE.search(sentence.low):
            continue
        if (DONE.search(sentence.low) or VERIFIED.search(sentence.low)) and not is_negated(sentence.low):
            yield _done_checked(sentence, facts, view, says_failure)
            break
    yield from _behaves(answer, facts, view)


def _behaves(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """Yield a sentence that states the behaviour of changed code as a fact, if nothing was run after the edit."""
    edit = facts.last_code_edit
    if edit is None or facts.doubt or any(run.order > edit.order for run in view.runs) or view.last_act > edit.order:
        return
    for sentence in answer.statements:
        if not sentence.is_open and BEHAVES.search(sentence.low) and not is_negated(sentence.low):
            yield unchecked_edit(sentence, edit)
            return


def _described(answer: Answer, facts: TurnFacts) -> Iterator[Checked]:
    """Yield the first change that the answer reports, supported by the successful edit or command."""
    for sentence in answer.statements:
        if not sentence.is_open and CHANGED.search(sentence.low):
            acted = facts.edits or facts.gits or facts.acts
            support = Support.SUPPORTED if acted else Support.NOT_CHECKABLE
            why = (
                "the edit succeeded"
                if facts.edits
                else "the command succeeded"
                if acted
                else "nothing was changed here"
            )
            yield sentence.claim(ClaimKind.DONE, support, why, important=False)
            return


def _done_checked(sentence: AnswerSentence, facts: TurnFacts, view: SessionView, says_failure: bool) -> Checked:
    """Check "done": of code it needs a check after the edit; of documentation the edit is enough."""
    say = partial(sentence.claim, ClaimKind.DONE)
    edit = facts.last_code_edit
    if edit is None:
        if facts.edits:
            return say(Support.SUPPORTED, "the edit succeeded", line=facts.edits[-1].line)
        good = [act.line for act in facts.gits if act.ok] + [
            run.line for run in facts.runs if run.ended is Ended.PASSED
        ]
        if good:
            return say(Support.SUPPORTED, "what it did succeeded", line=good[-1])
        why = "nothing was changed in this turn"
        return say(Support.NOT_CHECKABLE, why, important=False)
    after = [run for run in view.runs if run.order > edit.order]
    passed = [run for run in after if run.ended is Ended.PASSED]
    failing = still_failing([run for run in after if run.kinds & _PROVING])
    if failing and not says_failure and not facts.is_compared:  # else the answer tells it, or it failed before
        bad = failing[-1]
        return say(
            Support.CONTRADICTED, f"{bad.tool} failed, and did not pass later", FindingCode.FAILURE_LEFT_OUT, bad.line
        )
    if passed:
        if not any(covers(run, edit) for run in passed) and not view.is_cut:
            why = f"no check that passed covers {short_name(edit)}"
            return say(Support.UNSEEN, why, FindingCode.CHECK_MISSES_CHANGE, edit.line)
        return say(Support.SUPPORTED, f"{passed[-1].tool} passed after the last edit", line=passed[-1].line)
    if after or facts.doubt:
        return say(Support.NOT_CHECKABLE, facts.doubt or "how the check ended is not shown")
    if view.last_act > edit.order:
        return say(Support.NOT_CHECKABLE, "something was run that rules do not know")
    if all(map(is_test, edit.paths)) and any(run.ended is Ended.PASSED for run in view.runs):
        return say(Support.NOT_CHECKABLE, f"only {short_name(edit)}, a test, was edited after the last check")
    return unchecked_edit(sentence, edit)


def unchecked_edit(sentence: AnswerSentence, edit: Edit) -> Checked:
    """Return the claim about code that nothing ran after: unseen for "works" or "verified"; "done" may say edited."""
    path = short_name(edit)
    if VERIFIED.search(sentence.low) or WORKS.search(sentence.low) or BEHAVES.search(sentence.low):
        why = f"nothing was run after {path} was edited"
        return sentence.claim(ClaimKind.DONE, Support.UNSEEN, why, FindingCode.SUCCESS_WITHOUT_RUN, edit.line)
    why, is_important = f"{path} was edited, and nothing was run", not BARE_DONE.search(sentence.low)
    return sentence.claim(ClaimKind.DONE, Support.NOT_CHECKABLE, why, line=edit.line, important=is_important)


def wrong_counts(answer: Answer, view: SessionView) -> Iterator[Checked]:
    """Yield a count of passing tests that is not what the runs after the last edit printed.

    More tests than all these runs together had is a contradiction; another count is a side remark.
    """
    edit = view.last_code_edit
    after = [run for run in view.runs if edit is None or run.order > edit.order]
    known = [run for run in after if run.passed is not None and Check.TEST in run.kinds]
    counts = {run.passed or 0 for run in known} | {(run.passed or 0) + run.failed for run in known}
    if not counts or len(known) < len([run for run in after if Check.TEST in run.kinds]):
        return  # the number may be of a run that printed none
    most = sum((run.passed or 0) + run.failed for run in known)  # the answer may add runs up
    for sentence in answer.statements:
        if sentence.is_open or not CLAIMS["tests"].search(sentence.low):
            continue
        said = {int((first or second).replace(",", "")) for first, second in COUNTED.findall(sentence.low)}
        if not said or said & counts:
            continue
        is_more = min(said) > most and not view.unseen_agents
        if is_more or not any(view.has(f"{number}") for number in said):
            why = f"the runs say {', '.join(map(str, sorted(counts)))}"
            kind, code = ClaimKind.TESTS_PASS if is_more else ClaimKind.NUMBER, FindingCode.NUMBER_NOT_SHOWN
            yield sentence.claim(kind, Support.CONTRADICTED, why, code, known[-1].line, important=is_more)
            return


def left_out(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """Yield the failure that the answer leaves out, as one contradicted claim; nothing in doubt."""
    if facts.waits or facts.unseen_agents or facts.is_compared:
        return  # it may have passed where the trace does not show it, or have failed without the change
    failed = [run for run in last_failures(facts) if not run.hides_exit or run.is_printed]
    if not failed or answer.text.rstrip(" *_`\n").endswith("?"):
        return  # whoever asks has not closed the work
    run = failed[-1]
    if any(mentions_failure(statement, run.tool.split()[0]) for statement in answer.statements):
        return
    reported = next((statement for statement in answer.statements if _reports(statement, run)), None)
    if reported is not None:
        why, code = f"{run.tool} failed, and did not pass later", FindingCode.FAILURE_LEFT_OUT
        yield reported.claim(ClaimKind.DONE, Support.CONTRADICTED, why, code, run.line)


def last_failures(facts: TurnFacts) -> list[Run]:
    """Return the checks of this turn that failed after its last edit of code, and that nothing took back."""
    edit = facts.last_code_edit
    found = []
    for run in facts.runs:
        if run.ended is not Ended.FAILED or not run.kinds & _PROVING or (edit is not None and run.order < edit.order):
            continue
        later = [after for after in facts.runs if after is not run and after.order >= run.order]
        if any(after.ended is not Ended.FAILED and after.kinds & checks_that_clear(run) for after in later):
            continue  # it passed later, or how it ended later is not shown
        if run.is_by_hook and any(act.verb in ("commit", "push") and act.order > run.order for act in facts.gits):
            continue  # the hook let it through, or it was skipped: another question
        found.append(run)
    return found


def _reports(sentence: AnswerSentence, failed: Run) -> bool:
    """Report whether a sentence says that work is done or good, and names no other check alone."""
    text = sentence.low
    if sentence.is_open or sentence.is_cell or is_negated(text):
        return False
    named = [name for name, pattern in CLAIMS.items() if pattern.search(text)]
    if named:
        return any(KINDS[name] & failed.kinds for name in named)
    return bool(DONE.search(text) or CHANGED.search(text) or VERIFIED.search(text))
