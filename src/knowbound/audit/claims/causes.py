"""Claims about why and how: causes, what was there before, what a library does, what does not exist.

Rules decide few of these: names that were shown together support a sentence; "pre-existing" needs history. The rest is
not checkable by rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowbound.audit.claims.answer import Answer, AnswerSentence
from knowbound.audit.claims.checked import Checked, checked
from knowbound.audit.claims.success import doubt_of
from knowbound.audit.facts import SessionView, TurnFacts
from knowbound.audit.runs.programs import Check
from knowbound.audit.runs.results import Ended
from knowbound.core.audit import ClaimKind, FindingCode, Support

_BLAME = re.compile(
    r"\b(?:pre-?existing|not (?:something (?:we|i) )?(?:introduced|caused)(?: by)?"
    r"|unrelated to (?:our|my|this|these|the) change|(?:was|were|is|are) already (?:failing|broken|there before)"
    r"|existed before|(?:existing,? unrelated|unrelated,? (?:and )?existing)"
    r"|(?:known|existing) (?:\w+ ){0,2}(?:failures?|timeouts?|flak\w+))\b"
)
_TROUBLE = re.compile(r"\b(?:issues?|fail\w*|timeouts?|errors?|bugs?|warnings?|slow|flaky|broken|problems?|tests?)\b")
_HISTORY = frozenset({"stash", "log", "blame", "checkout", "worktree", "bisect", "show", "switch"})
_OTHER_COMMIT = re.compile(r"^(?:HEAD[~^]|origin/|upstream/|main\b|master\b|develop\b|[0-9a-f]{7,40}\b)|\.\.")
_CAUSE = re.compile(
    r"\b(?:root cause|(?:the|this|your) (?:\w+ )?(?:problem|issue|bug|error|failure|crash) "
    r"(?:is|was|comes|came|happens|happened)|because|caused by|due to|the reason|that's why|which is why|culprit)\b"
)
_ABSENT = re.compile(
    r"\b(?:no (?:other )?(?:usages?|references?|callers?|uses?|occurrences?|matches|mentions?)"
    r"|not used (?:anywhere|elsewhere)|unused|(?:does not|doesn't) exist|nothing else (?:uses|calls|references)"
    r"|is never (?:called|used|read))\b"
)
# What a product of others does: a proper name, and what it supports, allows or does by default.
_PRODUCT = re.compile(
    r"(?<![.!?:] )(?<!^)\b[A-Z][a-z]+(?:[A-Z]\w+)?(?: [A-Z]\w+)? (?:\w+ly )?"
    r"(?:supports?|allows?|requires?|accepts?|rejects?|does not support|doesn't support|won't accept|defaults? to)\b"
    r"|\b(?:officially|explicitly) (?:supported|allowed|recommended) (?:in|by|for)\b"
)
_MAY_CLAIM = re.compile(
    r"existing|introduced|caused|cause|unrelated|already|existed|because|due to|reason|why|culprit|problem|issue|bug"
    r"|error|failure|crash|usage|reference|caller|\buses?\b|occurrence|matches|mention|used|exist|nothing else"
    r"|never|support|allow|require|accept|reject|default|recommended"
)
_CODE = re.compile(r"`([^`\n]{2,80})`")
_NAME = re.compile(r"[A-Za-z_][\w.]{2,}")
_MOST = 6  # claims of one kind
_LONG_CELL = 12  # characters of a cell of a table that say something


def cause_claims(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """Causes, behaviour and absences, checked as far as names and history go."""
    doubt, counts = doubt_of(facts, view).why, dict[ClaimKind, int]()
    for one in answer.statements:
        if one.is_open:
            continue
        found = _claim(one, answer, facts, view, doubt)
        if found is None or counts.get(found.claim.kind, 0) >= _MOST:
            continue
        counts[found.claim.kind] = counts.get(found.claim.kind, 0) + 1
        yield found


def _claim(one: AnswerSentence, answer: Answer, facts: TurnFacts, view: SessionView, doubt: str) -> Checked | None:
    text = one.low
    if not _MAY_CLAIM.search(text):
        return _other(one, answer, view)
    if _BLAME.search(text) and _TROUBLE.search(text):
        return _blame(one, answer, facts, view, doubt)
    if _ABSENT.search(text):
        return _absence(one, answer, view, doubt)
    if _CAUSE.search(text):
        return _cause(one, answer, facts, view, doubt)
    if _PRODUCT.search(one.masked) and not view.looked_up and not facts.edits and not doubt and not view.is_cut:
        why, code = "neither documentation nor code was looked at in this session", FindingCode.LIBRARY_NOT_LOOKED_UP
        return checked(one.text, ClaimKind.BEHAVIOUR, Support.UNSEEN, why, line=answer.line, code=code)
    return _other(one, answer, view)


def _other(one: AnswerSentence, answer: Answer, view: SessionView) -> Checked | None:
    """A sentence about something that it names, or a cell of a table that repeats what was shown."""
    if "`" in one.text and _CODE.search(one.text):
        return _named(one, ClaimKind.BEHAVIOUR, answer, view, "what it names was shown")
    if one.text.startswith("|") and len(cell := one.text.strip("| ")) >= _LONG_CELL and view.has(cell):
        return checked(cell, ClaimKind.OTHER, Support.SUPPORTED, "it was shown", line=answer.line, important=False)
    return None


def _blame(one: AnswerSentence, answer: Answer, facts: TurnFacts, view: SessionView, doubt: str) -> Checked:
    """It was broken before: somebody must have looked at history, or run it without the change."""

    def say(support: Support, why: str) -> Checked:
        code = FindingCode.BLAME_WITHOUT_HISTORY
        return checked(one.text, ClaimKind.CAUSE, support, why, line=answer.line, code=code)

    if any(
        act.verb in _HISTORY or (act.verb == "diff" and any(map(_OTHER_COMMIT.search, act.arguments)))
        for act in view.gits
    ):
        return say(Support.SUPPORTED, "history was looked at")
    first = view.first_code_edit
    if any(run.ended is Ended.FAILED and (first is None or run.order < first.order) for run in view.runs):
        return say(Support.SUPPORTED, "it failed before the first edit")
    if first is None and any(Check.TEST in run.kinds or Check.LINT in run.kinds for run in view.runs):
        return say(Support.SUPPORTED, "it was run, and nothing was changed")
    if doubt or view.is_cut or _BLAME.search(view.prompt.lower()):
        return say(Support.NOT_CHECKABLE, doubt or "the user said so")
    return say(Support.UNSEEN, "neither history nor a run without the change is in the trace")


def _cause(one: AnswerSentence, answer: Answer, facts: TurnFacts, view: SessionView, doubt: str) -> Checked:
    """Why something happens: of the names in it at least one must have been shown."""
    names = [name for code in _CODE.findall(one.text) for name in _NAME.findall(code)]
    parts = [part for name in names for part in (name, name.rsplit(".", 1)[-1])]
    if names and not doubt and not view.is_cut and facts.calls and not any(map(view.has, parts)):
        why, code = f"{names[0]} was never shown", FindingCode.CAUSE_WITHOUT_EVIDENCE
        return checked(one.text, ClaimKind.CAUSE, Support.UNSEEN, why, line=answer.line, code=code)
    return _named(one, ClaimKind.CAUSE, answer, view, "what it names was shown")


def _absence(one: AnswerSentence, answer: Answer, view: SessionView, doubt: str) -> Checked:
    """It does not exist or is not used: somebody must have searched."""
    names = [name for code in _CODE.findall(one.text) for name in _NAME.findall(code)]
    if names and not view.searches and not view.commands and not doubt and not view.is_cut and view.calls:
        why, code = f"nobody searched for {names[0]}", FindingCode.ABSENCE_NOT_SEARCHED
        return checked(one.text, ClaimKind.ABSENCE, Support.UNSEEN, why, line=answer.line, code=code)
    return _named(one, ClaimKind.ABSENCE, answer, view, "it was searched for")


def _named(one: AnswerSentence, kind: ClaimKind, answer: Answer, view: SessionView, why: str) -> Checked:
    """A sentence whose names were all shown is supported as far as names go; else rules cannot tell."""
    names = [name for code in _CODE.findall(one.text) for name in _NAME.findall(code)][:8]
    shown = [name for name in names if view.has(name)]
    if names and len(shown) == len(names) and view.calls:
        return checked(one.text, kind, Support.SUPPORTED, why, line=answer.line, important=False)
    return checked(one.text, kind, Support.NOT_CHECKABLE, "rules cannot tell", line=answer.line, important=False)
