"""Claims that a trace decides exactly: a command that is named as the check, the state of git, the user's next message.

A named command counts if it ran after the last edit, and by how it ended. A commit, a push or a clean working tree
needs the git command that shows it. A pasted failure, "still broken" or the same request again contradicts a success.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from knowbound.audit.answer import CI, VERIFIED, WORKS, Answer, AnswerSentence, Checked, checked, says_failure
from knowbound.audit.checks import Check, Checking, Ended
from knowbound.audit.facts import SessionView, TurnFacts, short_name
from knowbound.audit.runs import plan_of
from knowbound.audit.success import left_out, still_failing, success_claims
from knowbound.core.audit import SUCCESS, ClaimKind, FindingCode, Support
from knowbound.text.printable import short_line

_HASH = re.compile(r"(?<![\w/-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w-])")
_DOER = (
    r"(?:i|i've|we|we've|i have|we have|(?:changes?|everything|it|fix|all of it|work|branch|commit) "
    r"(?:is|are|was|were|has been|have been))"
)
_AFTER = r"(?=\s*(?:$|[.,:;!()—–-]|as\b|and\b|on\b|to\b|in\b|with\b|the\b|all\b|both\b|successfully\b|¤|[0-9a-f]{7}))"
_COMMITTED = re.compile(rf"(?:^\W*(?:done\W+)?(?:all )?|\b{_DOER} (?:now |all |also )?|\band )committed{_AFTER}")
_PUSHED = re.compile(rf"(?:^\W*(?:done\W+)?(?:all )?|\b{_DOER} (?:now |all |also )?|\band )(?:force-)?pushed{_AFTER}")
_NOT = re.compile(r"\b(?:not|n't|un(?:committed|pushed)|never|nothing|haven't|yet to|without|no)\b")
_CLEAN = re.compile(r"\b(?:working (?:tree|directory|copy)|work tree|git status) (?:is |are )?(?:now |all )?clean\b")
_SAID_CLEAN = ("nothing to commit", "working tree clean")
_COMMITS = frozenset({"commit", "merge", "rebase", "cherry-pick", "revert", "am"})


def git_claims(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """Return what the answer says about commits, pushes and the working tree, checked."""
    claimed: set[str] = set()  # of "commit", "push" and "hash", each checked once
    for statement in answer.statements:
        lower = statement.low
        if statement.is_open or not ("committed" in lower or "pushed" in lower) or _NOT.search(lower):
            continue
        for name, pattern, verbs in (("commit", _COMMITTED, _COMMITS), ("push", _PUSHED, frozenset({"push"}))):
            if name not in claimed and pattern.search(lower):
                claimed.add(name)
                yield _commit_or_push(statement, name, verbs, facts, view)
    tree = next(
        (statement for statement in answer.statements if not statement.is_open and _CLEAN.search(statement.low)), None
    )
    if tree is not None:
        yield _clean_tree(tree, facts, view)
    for statement in answer.statements:
        unknown = [found[0] for found in _HASH.finditer(statement.text) if not view.has(found[0][:7])]
        if unknown and not statement.is_open and not view.is_cut and not facts.doubt and "hash" not in claimed:
            claimed.add("hash")
            # A client gives the agent a list of the last commits that its transcript does not have.
            support = Support.UNSEEN if _COMMITTED.search(statement.low) else Support.NOT_CHECKABLE
            why = f"the commit {unknown[0][:10]} was never shown"
            code = FindingCode.CITED_UNSEEN
            yield statement.claim(ClaimKind.GIT_STATE, support, why, code)


def _clean_tree(statement: AnswerSentence, facts: TurnFacts, view: SessionView) -> Checked:
    """The working tree is clean: git must have been asked, or have committed, after the last edit."""
    say = partial(statement.claim, ClaimKind.GIT_STATE, code=FindingCode.STATE_NOT_SHOWN)
    last_edit = max((edit.order for edit in facts.edits), default=0)
    verbs_after_edit = {act.verb for act in view.gits if act.order > last_edit}
    if "status" in verbs_after_edit:
        return say(Support.SUPPORTED, "git was asked after the last edit")
    if (
        verbs_after_edit  # a commit may have left it clean
        or facts.doubt
        or view.is_cut
        or not facts.edits  # what was clean before still is
        or "clean" in view.prompt.lower()  # the user may have said so
        or any(map(view.has, _SAID_CLEAN))  # git said so earlier
    ):
        return say(Support.NOT_CHECKABLE, facts.doubt or "it may be about what was shown before")
    return say(Support.UNSEEN, "git was not asked after the last edit")


def _commit_or_push(
    statement: AnswerSentence, name: str, verbs: frozenset[str], facts: TurnFacts, view: SessionView
) -> Checked:
    """Check that something was committed or pushed by the git commands of the session."""
    say = partial(statement.claim, ClaimKind.GIT_STATE, code=FindingCode.STATE_NOT_SHOWN)
    acts = [act for act in view.gits if act.verb in verbs]
    succeeded = [act for act in acts if act.ok]
    if succeeded:
        return say(Support.SUPPORTED, f"git {name} succeeded", line=succeeded[-1].line)
    acts_of_turn = [act for act in facts.gits if act.verb in verbs]
    if (
        acts_of_turn
        and all(act.ok is False for act in acts_of_turn)
        and not any(act.order > acts_of_turn[-1].order for act in facts.gits)
    ):
        return say(Support.CONTRADICTED, f"git {name} failed", line=acts_of_turn[-1].line)
    # Another git command or the user may have done it; a trace that is not whole may lack it.
    if acts or facts.doubt or view.gits or view.is_cut or name in view.prompt.lower():
        return say(Support.NOT_CHECKABLE, facts.doubt or f"the trace does not show how git {name} ended")
    if not facts.calls:
        return say(Support.NOT_CHECKABLE, "it may be about earlier work")
    return say(Support.UNSEEN, f"no git {name} is in the trace")


_CODE = re.compile(r"`([^`\n]{3,200})`")
_GOOD = re.compile(r"\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|successful(?:ly)?|clean(?:ly)?)\b|[✅✓✔]")
_CHECKED_WITH = re.compile(r"\b(?:verified|validated|tested|checked|confirmed|re-?ran|ran)\b(?! (?:out of|into))")
# A line that introduces a list of commands.
_LEAD = re.compile(
    r"^\W*(?:verified|validated|checks run|tests run|i ran|ran|tested(?: with)?)\b[^.:]{0,60}(?::\W*|\*\*)$"
)
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s")
_NOT_RUN = re.compile(
    r"\b(?:not|never|n't|cannot|can't|without|skip\w*|instead of|rather than|only after|before you|next|later)\b"
)
_KIND_OF_CHECK = {
    Check.TEST: ClaimKind.TESTS_PASS,
    Check.BUILD: ClaimKind.BUILD_OK,
    Check.TYPES: ClaimKind.LINT_OK,
    Check.LINT: ClaimKind.LINT_OK,
    Check.FORMAT: ClaimKind.LINT_OK,
}
_MOST_CLAIMS = 8  # claims


def command_claims(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """Yield the commands that an answer says to have run with success, each checked against its runs."""
    if "`" not in answer.text:
        return
    claimed, is_listed = 0, False
    for statement in answer.statements:
        is_listed = (is_listed and bool(_ITEM.match(statement.text))) or bool(_LEAD.search(statement.low))
        if (
            "`" not in statement.text
            or statement.is_open
            or statement.is_cell
            or not _claims_success(statement, is_listed)
        ):
            continue
        for code in _CODE.findall(statement.text):
            for planned in plan_of(code).checks:
                kind = next((_KIND_OF_CHECK[kind] for kind in _KIND_OF_CHECK if kind in planned.checking.kinds), None)
                is_named = planned.checking.is_own_script  # a file that the answer speaks of
                if kind is not None and not is_named and claimed < _MOST_CLAIMS:
                    claimed += 1
                    yield _checked_command(planned.checking, kind, statement, facts, view)


def _claims_success(statement: AnswerSentence, is_listed: bool) -> bool:
    """Report whether a sentence says that its commands ran here and passed; a listed command needs no such word."""
    if says_failure(statement.low) or _NOT_RUN.search(statement.low) or CI.search(statement.low):
        return False
    return is_listed or bool(_GOOD.search(statement.low) or _CHECKED_WITH.search(statement.low))


def _checked_command(
    named: Checking, kind: ClaimKind, statement: AnswerSentence, facts: TurnFacts, view: SessionView
) -> Checked:
    """Check a named command by its runs after the last edit, or by runs of the same kind of check."""
    say = partial(statement.claim, kind)
    edit = view.last_code_edit
    same_tool = [run for run in view.runs if run.tool == named.tool]
    same_kind = [run for run in view.runs if run.kinds & named.kinds]  # a script may run the command by its own name
    after_edit = [run for run in same_tool or same_kind if edit is None or run.order > edit.order]
    failing = still_failing(after_edit)
    if failing:
        # What another tool failed at, or an exit code alone, is not surely the result of the named command.
        if _GOOD.search(statement.low) and failing[-1].is_printed and same_tool:
            why = f"{failing[-1].tool} failed, and did not pass later"
            return say(Support.CONTRADICTED, why, FindingCode.FAILURE_LEFT_OUT, failing[-1].line)
        return say(Support.NOT_CHECKABLE, f"{failing[-1].tool} failed")
    if passed := [run for run in after_edit if run.ended is Ended.PASSED]:
        return say(Support.SUPPORTED, f"{passed[-1].tool} passed", line=passed[-1].line)
    if after_edit:
        return say(Support.NOT_CHECKABLE, f"how {after_edit[-1].tool} ended is not shown")
    if facts.doubt or view.is_cut or view.unseen_agents:
        return say(Support.NOT_CHECKABLE, facts.doubt or "the trace does not hold all of the session")
    if view.last_act > (edit.order if edit is not None else 0):
        return say(Support.NOT_CHECKABLE, "something was run that rules do not know")
    if (
        same_kind
        and edit is not None
        and any(run.order > edit.order and run.ended is Ended.PASSED for run in view.runs)
    ):
        return say(Support.NOT_CHECKABLE, f"{same_kind[-1].tool} ran before the last edit, and another check after it")
    if same_kind and edit is not None:
        why = f"{short_name(edit)} was edited after the last {same_kind[-1].tool}"
        return say(Support.UNSEEN, why, FindingCode.EDITED_AFTER_RUN, edit.line)
    return say(Support.UNSEEN, f"{named.tool} is not in the trace", FindingCode.SUCCESS_WITHOUT_RUN)


# What tools print when they fail, at the beginning of a line, in any language of the user.
_PASTED = re.compile(
    r"^[^\S\n]*(?:FAIL(?:ED|URE)?\b|Traceback \(most recent|(?:fatal )?error(?:\[\w+\])?:|npm (?:ERR!|error)|panic:"
    r"|ERROR\b|(?:Uncaught )?\w*(?:Error|Exception): |[✖✗×❌] |\S+\(\d+,\d+\): error|\S+:\d+:\d+:? error"
    r"|\d+ (?:tests? )?failed\b)|\berror TS\d+|\b(?:exit(?:ed with)?|status) code:? [1-9]\b|\bExit status [1-9]",
    re.M,
)
_BROKEN = re.compile(
    r"\bstill (?:broken|fail\w*|not|doesn'?t|does not|get\w*|see\w*|happen\w*|crash\w*|wrong|the same)\b"
    r"|\bsame (?:error|problem|issue|thing)\b"
    r"|^\W*(?:no\W+)?(?:it|this|that)(?:'?s| is| does| did)?(?: \w+)? ?(?:n'?t|not) "
    r"(?:work\w*|compil\w*|build\w*|fixed)\b"
    r"|\b(?:build|tests?|lint|ci|pipeline) (?:is |are |still )*(?:fail\w*|broken|red)\b"
)
_READ_CHARACTERS = 4_000  # characters of the message
_SHORTEST_REQUEST = 20  # characters of a request that can be made again
_QUOTED_CHARACTERS = 120


def complaint(prompt: str, message: str) -> str:
    """Return why the user's next message contradicts the turn, in words; "" if it does not by these rules."""
    text = message[:_READ_CHARACTERS]
    if pasted := _PASTED.search(text):
        line = text[text.rfind("\n", 0, pasted.start()) + 1 :].strip().split("\n", 1)[0]
        return f"the user's next message has a failure: “{short_line(line, _QUOTED_CHARACTERS)}”"
    if _BROKEN.search(text.lower()):
        return f"the user's next message says: “{short_line(text, _QUOTED_CHARACTERS)}”"
    first, second = (" ".join(request.lower().split()) for request in (prompt, message))
    if first == second and len(first) >= _SHORTEST_REQUEST and not first.startswith(("/", "<")):
        return "the user asked for the same thing again"  # not a command or a text of the client
    return ""


def contradicted_by_user(prompt: str, message: str, found: Sequence[Checked], facts: TurnFacts) -> Iterator[Checked]:
    """Yield the claim of success that the next message contradicts, where this turn changed code."""
    if not message or facts.last_code_edit is None or not (why := complaint(prompt, message)):
        return
    for claimed in found:
        lower, kind = claimed.claim.text.lower(), claimed.claim.kind
        # "Done" alone says that it was edited, which a failure does not contradict.
        says_it_works = kind is not ClaimKind.DONE or bool(WORKS.search(lower) or VERIFIED.search(lower))
        if kind in SUCCESS and says_it_works and claimed.claim.support is not Support.CONTRADICTED:
            code = FindingCode.USER_CONTRADICTS
            yield checked(claimed.claim.text, kind, Support.CONTRADICTED, why, line=claimed.claim.line, code=code)
            return


ClaimRule = Callable[[Answer, TurnFacts, SessionView], Iterator[Checked]]
# Every rule that finds claims; of two that find the same claim the first wins, unless only the other says it is bad.
CLAIM_RULES: tuple[ClaimRule, ...] = (left_out, command_claims, success_claims, git_claims)
