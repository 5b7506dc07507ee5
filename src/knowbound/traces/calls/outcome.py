"""Outcome of a tool call by the text of its result: the phrases that clients write if a call does not succeed.

Specification 1, source 1 asks for misses. A missing path and a search without a match are misses; a rejection, a
cancellation, a time-out, the error of a sibling call, a permission or usage error are none.
"""

from __future__ import annotations

import re

import msgspec

from knowbound.core.lazy_pattern import lazy
from knowbound.core.trace import Outcome

SUCCESS = (Outcome.OK, "")
REFUSED = (Outcome.REJECTED, "the user or a rule refused it")
INTERRUPTED = (Outcome.CANCELLED, "the turn was interrupted")
TIMED_OUT = (Outcome.TIMEOUT, "timed out")
STILL_RUNNING = (Outcome.UNKNOWN, "still running")
NO_MATCH = (Outcome.EMPTY, "the search matched nothing")
NO_PATH = (Outcome.MISSING, "the path is not there")
WRONG_INPUT = (Outcome.ERROR, "wrong input")
_CANCELLED = (Outcome.CANCELLED, "cancelled or interrupted")

# The first outcome with one of its phrases in the start of an error text (in lower case) decides.
_FAILURES = tuple(
    (outcome, tuple(phrases.split("|")))
    for outcome, phrases in (
        (
            REFUSED,
            "user doesn't want to|user does not want to|tool use was rejected|user rejected|rejected by user|"
            "rejected by the user|has been denied|but you haven't granted|denied by a|denied by p|blocked by a hook|"
            "blocked by hook|blocked by policy|stopped by hook|user denied|was declined|could not request permission|"
            "user cancelled the approval",
        ),
        (
            _CANCELLED,
            "sibling tool call errored|cancelled: parallel tool call|interrupted by user|interrupted by the user|"
            "was cancelled|was canceled|was interrupted|was aborted|aborted by user|aborted by the user|"
            "command was aborted|tool call cancelled|tool call aborted",
        ),
        (TIMED_OUT, "timed out|timeout of |timeout after|timeout exceeded|deadline exceeded|etimedout"),
        (
            WRONG_INPUT,
            "inputvalidationerror|invalid params|invalid arguments|invalid pattern|invalid regex|invalid input|"
            "invalid tool|regex parse error|unexpected argument|exceeds maximum allowed|eisdir|is a directory|"
            "not a directory|missing required |unknown option|unrecognized option|usage:|posix_spawn|spawn e",
        ),
        (
            (Outcome.ERROR, "no permission"),
            "permission denied|eacces|eperm|operation not permitted|access denied|not allowed|outside the workspace|"
            "outside of the workspace|outside the allowed",
        ),
        (
            NO_PATH,
            "does not exist|doesn't exist|no such file|no such path|no such directory|enoent|cannot find the path|"
            "cannot find path|cannot find the file|could not find file|could not find the file|resource not found",
        ),
    )
)
# "Path /a/b not found", "File 'x' could not be found": the name is in between.
_NAMED_MISSING = lazy(r"\b(?:file|path|directory|folder)\b[^\n]{0,200}\b(?:not found|could not be found)")

_NOTHING_FOUND = lazy(
    r"^\W*(?:no (?:\w+ ){0,3}(?:matches|match|files?|results?|entries|hits|documents?|items|records|occurrences"
    r"|symbols|references)"
    r"(?: (?:were )?(?:found|matched|available|returned))?\b"
    r"|0 (?:matches|results|files|hits|items|documents|records|occurrences)\b"
    r"|found 0 (?:\w+ ){0,2}(?:matches|results|files|hits|items|documents|occurrences)"
    r"|nothing (?:was )?found|(?:(?:sorry,? )?(?:i|we) )?(?:did not|didn't|could not|couldn't) (?:match|find) any"
    r"|no .{1,80} (?:matched|found)\b|zero (?:matches|results)"
    r"|(?:没有|未)(?:找到|匹配|搜索到)|无(?:匹配|结果))",
    re.IGNORECASE,
)
# Numbers under these names are counts of results.
_COUNTS = frozenset("count total total_count totalcount num_results numresults matches hits results size found".split())
_LONGEST_EMPTY = 4000  # a longer answer has something in it
_SEARCHED_HEAD = 600  # characters of a text that are searched for the phrases of a failure


def failure(text: str) -> tuple[Outcome, str]:
    """Return the outcome and its reason for the text of a call that its client reports as an error."""
    head = text[:_SEARCHED_HEAD].lower()
    for outcome_and_reason, phrases in _FAILURES:
        if any(phrase in head for phrase in phrases):
            return outcome_and_reason
    if head.lstrip("<[( ").startswith(("cancelled", "canceled", "interrupted", "aborted")):
        return _CANCELLED
    if " found" in head and _NAMED_MISSING.search(head):
        return NO_PATH
    return Outcome.ERROR, "the tool reported an error"


def is_empty_result(text: str) -> bool:
    """Report whether the text of a search that ran says that nothing matched."""
    head = text[:_SEARCHED_HEAD].strip()
    if not head or _NOTHING_FOUND.match(head) or head.lower().endswith((": 0 matches", ": 0 results", ": no results")):
        return True
    if head[0] in "[{" and len(text) <= _LONGEST_EMPTY:  # longer JSON has results
        try:
            value = msgspec.json.decode(text)
            return _says_nothing(value) is True or value in ({}, None, "")
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return False
    return head in ("null", '""')


def _says_nothing(value: object) -> bool | None:
    """Return True for empty lists and counts of 0, False for results, None for other values (a query, a duration)."""
    if isinstance(value, list):
        return all(_says_nothing(part) for part in value)
    if isinstance(value, str) and value.strip()[:1] in ("[", "{"):
        return is_empty_result(value)
    if not isinstance(value, dict):
        return None
    verdicts = [
        part == 0 if name.lower() in _COUNTS and isinstance(part, int) else _says_nothing(part)
        for name, part in value.items()
    ]
    return None if all(verdict is None for verdict in verdicts) else False not in verdicts


def search_outcome(text: str, is_error: bool) -> tuple[Outcome, str]:
    """Return the outcome of a search or listing by its text."""
    if is_error:
        outcome, reason = failure(text)
        if outcome is Outcome.ERROR and is_empty_result(text):
            return NO_MATCH
        return outcome, reason
    return NO_MATCH if is_empty_result(text) else SUCCESS
