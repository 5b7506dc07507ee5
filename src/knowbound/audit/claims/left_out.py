"""A check that failed last, in this turn, and an answer that reports work and does not speak of it.

Readers of real turns hold it against an answer whatever it claims: "a failure shown after the last edit with no later
success of the same command, unmentioned or explained away, is a contradiction".
"""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.audit.claims import words
from knowbound.audit.claims.answer import Answer, AnswerSentence
from knowbound.audit.claims.checked import Checked, checked
from knowbound.audit.claims.success import KINDS, taken_back_by
from knowbound.audit.facts import SessionView, TurnFacts
from knowbound.audit.runs.programs import Check
from knowbound.audit.runs.results import Ended
from knowbound.audit.runs.runs import Run
from knowbound.core.audit import ClaimKind, FindingCode, Support

_CHECKS = frozenset({Check.TEST, Check.BUILD, Check.TYPES})


def left_out(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """The failure that the answer leaves out, as one contradicted claim; nothing in doubt."""
    if facts.waits or facts.unseen_agents or facts.is_compared:
        return
    failed = [run for run in last_failures(facts, view) if not run.hides_exit or run.is_printed]
    if not failed or answer.text.rstrip(" *_`\n").endswith("?"):
        return
    run = failed[-1]
    if any(words.mentions_failure(one, run.tool.split()[0]) for one in answer.statements):
        return
    reported = next((one for one in answer.statements if _reports(one, run)), None)
    if reported is not None:
        why, code = f"{run.tool} failed, and did not pass later", FindingCode.FAILURE_LEFT_OUT
        yield checked(reported.text, ClaimKind.DONE, Support.CONTRADICTED, why, line=run.line, code=code)


def last_failures(facts: TurnFacts, view: SessionView) -> list[Run]:
    """The checks of this turn that failed after its last edit of code, and that nothing took back."""
    edit = facts.last_code_edit
    found = []
    for run in facts.runs:
        if run.ended is not Ended.FAILED or not run.kinds & _CHECKS or (edit is not None and run.order < edit.order):
            continue
        later = [one for one in facts.runs if one.order > run.order or (one.order == run.order and one is not run)]
        if any(one.ended is not Ended.FAILED and one.kinds & taken_back_by(run) for one in later):
            continue  # it passed later, or how it ended later is not shown
        if run.is_by_hook and any(act.verb in ("commit", "push") and act.order > run.order for act in facts.gits):
            continue  # the hook let it through, or it was skipped: another question
        found.append(run)
    return found


def _reports(one: AnswerSentence, failed: Run) -> bool:
    """Whether a sentence says that work was done or is good, and does not speak of another check alone."""
    text = one.low
    if one.is_open or one.is_cell or words.is_negated(text):
        return False
    named = [name for name, pattern in words.CLAIMS.items() if pattern.search(text)]
    if named:
        return any(KINDS[name] & failed.kinds for name in named)
    return bool(words.DONE.search(text) or words.CHANGED.search(text) or words.VERIFIED.search(text))
