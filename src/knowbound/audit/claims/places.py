"""Claims about where something is and what state it is in: cited files and lines, commits, pushes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowbound.audit.claims.answer import Answer, AnswerSentence
from knowbound.audit.claims.checked import Checked, checked
from knowbound.audit.claims.success import doubt_of
from knowbound.audit.facts import SessionView, TurnFacts
from knowbound.core.audit import ClaimKind, FindingCode, Support
from knowbound.core.paths import FILE_EXTENSIONS

_CITED = re.compile(
    r"(?<![\w/@.:-])(?P<path>(?:[\w@.~+-]+/){0,12}[\w@.+-]*\w\.(?P<ext>[A-Za-z][A-Za-z0-9]{0,6}))"
    r"(?::(?P<line>\d{1,6})(?:[-–]\d{1,6})?)?(?![\w/])"
)
_ACCORDING = re.compile(
    r"\b(?:per|according to|as (?:stated|described|documented|noted|written|listed) in)\s+(?:the )?[`*\[]*$", re.I
)
_HASH = re.compile(r"(?<![\w/-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w-])")
_DID = (
    r"(?:i|i've|we|we've|i have|we have|(?:changes?|everything|it|fix|all of it|work|branch|commit) "
    r"(?:is|are|was|were|has been|have been))"
)
_AFTER = r"(?=\s*(?:$|[.,:;!()—–-]|as\b|and\b|on\b|to\b|in\b|with\b|the\b|all\b|both\b|successfully\b|¤|[0-9a-f]{7}))"
_COMMITTED = re.compile(rf"(?:^\W*(?:done\W+)?(?:all )?|\b{_DID} (?:now |all |also )?|\band )committed{_AFTER}")
_PUSHED = re.compile(rf"(?:^\W*(?:done\W+)?(?:all )?|\b{_DID} (?:now |all |also )?|\band )(?:force-)?pushed{_AFTER}")
_NOT = re.compile(r"\b(?:not|n't|un(?:committed|pushed)|never|nothing|haven't|yet to|without|no)\b")
_URL = re.compile(r"https://[\w.-]+/[\w.-]+/[\w.-]+/(?:pull|issues|commit|actions/runs|merge_requests)/[\w#-]+")
# Years and numbers of files stand everywhere: that they were shown says nothing.
_VALUE = re.compile(
    r"https?://(?:localhost|127\.0\.0\.1)(?::\d+)?|(?<![\w.,:/#-])(?!0|(?:19|20)\d\d\b)\d{4,}(?![\w,:/-]|\.\d)"
)
_AT_LINE = re.compile(
    r"`([A-Za-z_]\w{5,})(?:\(\))?` (?:is |was )?(?:defined |declared )?(?:at|on|in|\(|—|-)? ?lines? \d+"
)
_CLEAN = re.compile(r"\b(?:working (?:tree|directory|copy)|work tree|git status) (?:is |are )?(?:now |all )?clean\b")
_MOST = 8  # claims of one kind
_SAID_CLEAN = ("nothing to commit", "working tree clean")
_COMMITS = frozenset({"commit", "merge", "rebase", "cherry-pick", "revert", "am"})


def place_claims(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """Cited places and states of git, checked."""
    yield from _locations(answer, view)
    yield from _git_states(answer, facts, view)
    yield from _links(answer, facts, view)
    yield from _names_at_lines(answer, view)
    yield from _shown_values(answer, view)


def _locations(answer: Answer, view: SessionView) -> Iterator[Checked]:
    seen: set[str] = set()
    for one in answer.statements:
        for cited in _CITED.finditer(one.text) if "." in one.text else ():
            path, line = cited["path"], cited["line"]
            if (
                path in seen
                or cited["ext"].lower() not in FILE_EXTENSIONS
                or len(seen) >= _MOST
                or "://" in one.text[max(0, cited.start() - 8) : cited.start()]
            ):
                continue
            seen.add(path)
            said_by = bool(_ACCORDING.search(one.text[max(0, cited.start() - 40) : cited.start()]))
            if (line or said_by) and not (one.is_open and not said_by):
                yield _location(one, path, int(line or 0), said_by, answer, view)


def cited_places(text: str) -> Iterator[tuple[str, int, bool]]:
    """The files that a sentence cites: path, line (0: none), and whether it says what stands in the file."""
    for cited in _CITED.finditer(text):
        if cited["ext"].lower() in FILE_EXTENSIONS:
            source = bool(_ACCORDING.search(text[max(0, cited.start() - 40) : cited.start()]))
            yield cited["path"], int(cited["line"] or 0), source


def _location(one: AnswerSentence, path: str, line: int, said_by: bool, answer: Answer, view: SessionView) -> Checked:
    def say(support: Support, why: str) -> Checked:
        return checked(one.text, ClaimKind.LOCATION, support, why, line=answer.line, code=FindingCode.CITED_UNSEEN)

    name = path.rsplit("/", 1)[-1]
    if view.is_cut:
        return say(Support.NOT_CHECKABLE, "the session is longer than what was kept of it")
    if view.unseen_agents:
        return say(Support.NOT_CHECKABLE, "the trace does not hold the calls of a sub-agent")
    if said_by and not view.opened(name) and not _was_printed(name, view):
        return say(Support.UNSEEN, f"what {name} says was never shown")
    if not view.knows_file(path):
        return say(Support.UNSEEN, f"{name} was never shown")
    if line and not view.opened(name) and not view.has(f"{name}:{line}") and not _was_printed(name, view):
        return say(Support.NOT_CHECKABLE, f"{name} was named, and not opened")
    return say(Support.SUPPORTED, f"{name} was shown")


def _was_printed(name: str, view: SessionView) -> bool:
    """Whether a command line that may print a file named it."""
    return any(name in command for command in view.commands)


def _git_states(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
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


def _links(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """Links to a pull request, an issue or a run: they must have been shown."""
    for found in dict.fromkeys(_URL.findall(answer.text)):
        if view.has(found):
            yield checked(found, ClaimKind.LOCATION, Support.SUPPORTED, "it was shown", line=answer.line)
        elif facts.calls and not view.is_cut and not doubt_of(facts, view).why:
            why, code = "this link was never shown", FindingCode.CITED_UNSEEN
            yield checked(found, ClaimKind.LOCATION, Support.NOT_CHECKABLE, why, line=answer.line, code=code)


def _names_at_lines(answer: Answer, view: SessionView) -> Iterator[Checked]:
    """ "`total` at line 12": a name that the session has never shown is not there."""
    if view.is_cut or view.unseen_agents or not view.calls:
        return
    for one in answer.statements:
        named = None if one.is_open else _AT_LINE.search(one.text)
        if named is not None and not view.has(named[1]):
            why, code = f"{named[1]} was never shown", FindingCode.CITED_UNSEEN
            yield checked(one.text, ClaimKind.LOCATION, Support.UNSEEN, why, line=answer.line, code=code)
            return


def _shown_values(answer: Answer, view: SessionView) -> Iterator[Checked]:
    """Long numbers and addresses of this machine that the session has shown: supported as far as they go."""
    for one in answer.statements:
        values = [] if one.is_open else _VALUE.findall(one.text)
        if values and view.calls and all(map(view.has, values)):
            why = f"{values[0]} was shown"
            yield checked(one.text, ClaimKind.NUMBER, Support.SUPPORTED, why, line=answer.line, important=False)
            return


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
