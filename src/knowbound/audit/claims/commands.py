"""Commands that an answer names as its check: "`npm test` passes", "Verified with `pnpm lint`".

Such a claim is exact: this command, after the last edit, and how it ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowbound.audit.claims import words
from knowbound.audit.claims.answer import Answer, AnswerSentence
from knowbound.audit.claims.checked import Checked, checked
from knowbound.audit.claims.coverage import short_name
from knowbound.audit.claims.success import Doubt, doubt_of, still_failing
from knowbound.audit.facts import SessionView, TurnFacts
from knowbound.audit.runs.programs import Check, Checking
from knowbound.audit.runs.results import Ended
from knowbound.audit.runs.runs import plan_of
from knowbound.core.audit import ClaimKind, FindingCode, Support

_CODE = re.compile(r"`([^`\n]{3,200})`")
_GOOD = re.compile(r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|successful(?:ly)?|clean(?:ly)?)\b|[✅✓✔]")
_CHECKED_WITH = re.compile(r"\b(?:verified|validated|tested|checked|confirmed|re-?ran|ran)\b(?! (?:out of|into))")
# A line that a list of commands stands below.
_LEAD = re.compile(
    r"^\W*(?:verified|validated|checks run|tests run|i ran|ran|tested(?: with)?)\b[^.:]{0,60}(?::\W*|\*\*)$"
)
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s")
_NOT_RUN = re.compile(
    r"\b(?:not|never|n't|cannot|can't|without|skip\w*|instead of|rather than|only after|before you|next|later)\b"
)
_KINDS = {
    Check.TEST: ClaimKind.TESTS_PASS,
    Check.BUILD: ClaimKind.BUILD_OK,
    Check.TYPES: ClaimKind.LINT_OK,
    Check.LINT: ClaimKind.LINT_OK,
    Check.FORMAT: ClaimKind.LINT_OK,
}
_MOST = 8  # claims


def command_claims(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """The commands that an answer says to have run with success, each with its run."""
    if "`" not in answer.text:
        return
    doubt, found, is_listed = doubt_of(facts, view), 0, False
    for one in answer.statements:
        is_listed = (is_listed and bool(_ITEM.match(one.text))) or bool(_LEAD.search(one.low))
        if "`" not in one.text or one.is_open or one.is_cell or not _says_so(one, is_listed):
            continue
        for code in _CODE.findall(one.text):
            for planned in plan_of(code).checks:
                kind = next((_KINDS[kind] for kind in _KINDS if kind in planned.checking.kinds), None)
                is_named = planned.checking.is_own_script  # a file that the answer speaks of
                if kind is not None and not is_named and found < _MOST:
                    found += 1
                    yield _checked(planned.checking, kind, one, answer, view, doubt)


def _says_so(one: AnswerSentence, is_listed: bool) -> bool:
    if words.says_failure(one.low) or _NOT_RUN.search(one.low) or words.CI.search(one.low):
        return False
    return is_listed or bool(_GOOD.search(one.low) or _CHECKED_WITH.search(one.low))


def _checked(
    named: Checking, kind: ClaimKind, one: AnswerSentence, answer: Answer, view: SessionView, doubt: Doubt
) -> Checked:
    def say(support: Support, why: str, code: FindingCode | None = None, line: int = 0) -> Checked:
        return checked(one.text, kind, support, why, line=line or answer.line, code=code)

    edit = view.last_code_edit
    own = [run for run in view.runs if run.tool == named.tool]
    alike = [run for run in view.runs if run.kinds & named.kinds]
    after = [run for run in own or alike if edit is None or run.order > edit.order]
    failing = still_failing(after)
    if failing:
        if _GOOD.search(one.low) and failing[-1].is_printed and own:
            why = f"{failing[-1].tool} failed, and did not pass later"
            return say(Support.CONTRADICTED, why, FindingCode.FAILURE_LEFT_OUT, failing[-1].line)
        return say(Support.NOT_CHECKABLE, f"{failing[-1].tool} failed")
    if passed := [run for run in after if run.ended is Ended.PASSED]:
        return say(Support.SUPPORTED, f"{passed[-1].tool} passed", line=passed[-1].line)
    if after:
        return say(Support.NOT_CHECKABLE, f"how {after[-1].tool} ended is not shown")
    if doubt.why or view.is_cut or view.unseen_agents:
        return say(Support.NOT_CHECKABLE, doubt.why or "the trace does not hold all of the session")
    if view.last_act > (edit.order if edit is not None else 0):
        return say(Support.NOT_CHECKABLE, "something was run that rules do not know")
    if alike and edit is not None and any(run.order > edit.order and run.ended is Ended.PASSED for run in view.runs):
        return say(Support.NOT_CHECKABLE, f"{alike[-1].tool} ran before the last edit, and another check after it")
    if alike and edit is not None:
        why = f"{short_name(edit)} was edited after the last {alike[-1].tool}"
        return say(Support.UNSEEN, why, FindingCode.EDITED_AFTER_RUN, edit.line)
    return say(Support.UNSEEN, f"{named.tool} is not in the trace", FindingCode.SUCCESS_WITHOUT_RUN)
