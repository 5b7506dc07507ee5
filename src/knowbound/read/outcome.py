"""How a tool call ended, from the words of its result: what clients write when a call does not succeed.

Specification 1, source 1 asks for misses. A rejection, a cancellation, a time-out, the error of a
sibling call, a permission or usage error is none; a path that is not there and a search without a
match are.
"""

from __future__ import annotations

import re

from knowbound.core.trace import Outcome

# Asked in this order: the first that matches the start of an error text decides.
_FAILURES: tuple[tuple[Outcome, str, re.Pattern[str]], ...] = tuple(
    (outcome, reason, re.compile(pattern, re.IGNORECASE))
    for outcome, reason, pattern in (
        (
            Outcome.REJECTED,
            "the user or a rule refused it",
            r"user (?:doesn't|does not) want to (?:proceed|take this action)|tool use was rejected|user rejected"
            r"|rejected by (?:the )?user|permission to use \S+ (?:with command .* )?has been denied"
            r"|requested permissions? to .* but you haven't granted|denied by (?:a )?(?:permission|policy|hook)"
            r"|blocked by (?:a )?(?:hook|policy)|operation stopped by hook|user denied|was declined"
            r"|permission denied and could not request permission|user cancelled the approval",
        ),
        (
            Outcome.CANCELLED,
            "cancelled or interrupted",
            r"sibling tool call errored|cancelled: parallel tool call|request interrupted by user"
            r"|\bwas (?:cancell?ed|interrupted|aborted)\b|aborted by (?:the )?user"
            r"|^\W*(?:cancell?ed|interrupted|aborted)\b"
            r"|command was aborted|tool call (?:was )?(?:cancell?ed|aborted|interrupted)|interrupted by (?:the )?user",
        ),
        (
            Outcome.TIMEOUT,
            "timed out",
            r"command timed out|timed out after|\btimeout (?:of|after|exceeded)\b|operation timed out"
            r"|deadline exceeded|ripgrep (?:search )?timed out|etimedout",
        ),
        (
            Outcome.ERROR,
            "wrong input",
            r"inputvalidationerror|invalid (?:params|arguments|pattern|regex|input|tool)|regex parse error"
            r"|unexpected argument"
            r"|exceeds maximum allowed|file content \(.*\) exceeds|eisdir|is a directory|not a directory"
            r"|missing required (?:parameter|argument)|unknown option|unrecognized option|usage:",
        ),
        (
            Outcome.ERROR,
            "no permission",
            r"permission denied|eacces|eperm|operation not permitted|access denied|not allowed"
            r"|outside (?:of )?the (?:workspace|allowed)",
        ),
        (
            Outcome.MISSING,
            "the path is not there",
            r"(?:does not exist|doesn't exist|file not found|path not found|directory not found|folder not found)"
            r"|(?:file|path|directory|folder) [^\n]{0,200}(?: not found| could not be found)"
            r"|no such file or directory|enoent|cannot find (?:the )?(?:path|file)|no such (?:file|path|directory)"
            r"|could not find (?:the )?(?:file|path|directory)|error: file not found|resource not found",
        ),
    )
)

_NOTHING = re.compile(
    r"^\W*(?:no (?:\w+ ){0,3}(?:matches|match|files?|results?|entries|hits|documents?|items|records|occurrences"
    r"|symbols|references)"
    r"(?: (?:were )?(?:found|matched|available|returned))?\b"
    r"|0 (?:matches|results|files|hits|items|documents|records|occurrences)\b"
    r"|found 0 (?:\w+ ){0,2}(?:matches|results|files|hits|items|documents|occurrences)"
    r"|nothing (?:was )?found|did not (?:match|find) any|no .{1,80} (?:matched|found)\b|zero (?:matches|results)"
    r"|(?:没有|未)(?:找到|匹配|搜索到)|无(?:匹配|结果))",
    re.IGNORECASE,
)
# JSON that holds an empty list of results, whatever the list is called.
_EMPTY_JSON = re.compile(
    r'^\s*(?:\[\s*\]|\{\s*\}|null|""|\{[^{}\[\]]*"(?:results?|matches|items|documents?|hits|data|files|entries|records|issues|nodes|content|symbols|memories)"'
    r"\s*:\s*(?:\[\s*\]|null)[^{}\[\]]*\})\s*$"
)
_SHOWN = 600  # how far into a text the words of a failure are looked for


def failure(text: str) -> tuple[Outcome, str]:
    """The outcome and its reason for the text of a call that its client reports as an error."""
    head = text[:_SHOWN]
    for outcome, reason, pattern in _FAILURES:
        if pattern.search(head):
            return outcome, reason
    return Outcome.ERROR, "the tool reported an error"


def found_nothing(text: str) -> bool:
    """Whether the text of a search that ran says that nothing matched."""
    head = text[:_SHOWN]
    return not head.strip() or bool(_NOTHING.match(head.strip())) or bool(_EMPTY_JSON.match(head))


def searched(text: str, is_error: bool) -> tuple[Outcome, str]:
    """The outcome of a search or listing known only by its text."""
    if is_error:
        outcome, reason = failure(text)
        if outcome is Outcome.ERROR and found_nothing(text):
            return Outcome.EMPTY, "the search matched nothing"
        return outcome, reason
    if found_nothing(text):
        return Outcome.EMPTY, "the search matched nothing"
    return Outcome.OK, ""


def read_back(text: str, is_error: bool) -> tuple[Outcome, str]:
    """The outcome of a read known only by its text. An empty file was read all the same."""
    return failure(text) if is_error else (Outcome.OK, "")
