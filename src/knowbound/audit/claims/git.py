"""Claims about the state of git: committed, pushed, a clean working tree, a commit by its hash."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowbound.audit.claims.answer import Answer, AnswerSentence
from knowbound.audit.claims.checked import Checked, checked
from knowbound.audit.claims.success import doubt_of
from knowbound.audit.facts import SessionView, TurnFacts
from knowbound.core.audit import ClaimKind, FindingCode, Support

_HASH = re.compile(r"(?<![\w/-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w-])")
_DID = (
    r"(?:i|i've|we|we've|i have|we have|(?:changes?|everything|it|fix|all of it|work|branch|commit) "
    r"(?:is|are|was|were|has been|have been))"
)
_AFTER = r"(?=\s*(?:$|[.,:;!()—–-]|as\b|and\b|on\b|to\b|in\b|with\b|the\b|all\b|both\b|successfully\b|¤|[0-9a-f]{7}))"
_COMMITTED = re.compile(rf"(?:^\W*(?:done\W+)?(?:all )?|\b{_DID} (?:now |all |also )?|\band )committed{_AFTER}")
_PUSHED = re.compile(rf"(?:^\W*(?:done\W+)?(?:all )?|\b{_DID} (?:now |all |also )?|\band )(?:force-)?pushed{_AFTER}")
_NOT = re.compile(r"\b(?:not|n't|un(?:committed|pushed)|never|nothing|haven't|yet to|without|no)\b")
_CLEAN = re.compile(r"\b(?:working (?:tree|directory|copy)|work tree|git status) (?:is |are )?(?:now |all )?clean\b")
_SAID_CLEAN = ("nothing to commit", "working tree clean")
_COMMITS = frozenset({"commit", "merge", "rebase", "cherry-pick", "revert", "am"})


def git_claims(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """Return what the answer says about commits, pushes and the working tree, checked."""
    doubt = doubt_of(facts, view)
    done: set[str] = set()
    for one in answer.statements:
        low = one.low
        if one.is_open or not ("committed" in low or "pushed" in low) or _NOT.search(low):
            continue
        for name, pattern, verbs in (("commit", _COMMITTED, _COMMITS), ("push", _PUSHED, frozenset({"push"}))):
            if name not in done and pattern.search(low):
                done.add(name)
                yield _state(one, name, verbs, answer, facts, view, doubt.why)
    tree = next((one for one in answer.statements if not one.is_open and _CLEAN.search(one.low)), None)
    if tree is not None:
        yield _clean(tree, answer, facts, view, doubt.why)
    for one in answer.statements:
        unknown = [found[0] for found in _HASH.finditer(one.text) if not view.has(found[0][:7])]
        if unknown and not one.is_open and not view.is_cut and not doubt.why and "hash" not in done:
            done.add("hash")
            # A client tells the agent of the last commits, and its transcript does not hold that.
            support = Support.UNSEEN if _COMMITTED.search(one.low) else Support.NOT_CHECKABLE
            why = f"the commit {unknown[0][:10]} was never shown"
            code = FindingCode.CITED_UNSEEN
            yield checked(one.text, ClaimKind.GIT_STATE, support, why, line=answer.line, code=code)


def _clean(one: AnswerSentence, answer: Answer, facts: TurnFacts, view: SessionView, doubt: str) -> Checked:
    """The working tree is clean: git must have been asked, or have committed, after the last edit."""

    def say(support: Support, why: str) -> Checked:
        code = FindingCode.STATE_NOT_SHOWN
        return checked(one.text, ClaimKind.GIT_STATE, support, why, line=answer.line, code=code)

    edited = max((edit.order for edit in facts.edits), default=0)
    acts = {act.verb for act in view.gits if act.order > edited}
    if "status" in acts:
        return say(Support.SUPPORTED, "git was asked after the last edit")
    if (
        acts
        or doubt
        or view.is_cut
        or not facts.edits
        or "clean" in view.prompt.lower()
        or any(map(view.has, _SAID_CLEAN))
    ):
        return say(Support.NOT_CHECKABLE, doubt or "it may speak of what was shown before")
    return say(Support.UNSEEN, "git was not asked after the last edit")


def _state(
    one: AnswerSentence,
    name: str,
    verbs: frozenset[str],
    answer: Answer,
    facts: TurnFacts,
    view: SessionView,
    doubt: str,
) -> Checked:
    def say(support: Support, why: str, line: int = 0) -> Checked:
        code = FindingCode.STATE_NOT_SHOWN
        return checked(one.text, ClaimKind.GIT_STATE, support, why, line=line or answer.line, code=code)

    acts = [act for act in view.gits if act.verb in verbs]
    good = [act for act in acts if act.ok]
    if good:
        return say(Support.SUPPORTED, f"git {name} succeeded", good[-1].line)
    own = [act for act in facts.gits if act.verb in verbs]
    if own and all(act.ok is False for act in own) and not any(act.order > own[-1].order for act in facts.gits):
        return say(Support.CONTRADICTED, f"git {name} failed", own[-1].line)
    if acts or doubt or view.gits or view.is_cut or name in view.prompt.lower():
        return say(Support.NOT_CHECKABLE, doubt or f"the trace does not show how git {name} ended")
    if not facts.calls:
        return say(Support.NOT_CHECKABLE, "it may speak of earlier work")
    return say(Support.UNSEEN, f"no git {name} is in the trace")
