"""Intent of a command line whose lookups found nothing (specification 1, section 10)."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.core.paths import is_machine_state
from knowbound.core.tool_kinds import LookupIntent, ToolKind
from knowbound.traces.patterns import fault
from knowbound.traces.purpose import announces_check, expects_it, speaks_of_absence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.traces.shell.plan import LinePlan, Lookup
    from knowbound.traces.shell.programs import ParsedCommand


def line_intent(line: LinePlan, main: ParsedCommand, purpose: str, folder: str) -> tuple[LookupIntent, str]:
    """Return the intent of a command line whose lookups found nothing, and the fault of a malformed one.

    `main` is the lookup that stands for the call, `purpose` the agent's description of it, `folder` its working folder.
    """
    wrong = fault(main.query, main.syntax) if main.syntax else ""
    if wrong:
        return LookupIntent.MALFORMED, wrong
    if all(_is_incidental(lookup.parsed, folder) for lookup in line.lookups):
        return LookupIntent.INCIDENTAL, ""
    if announces_check(purpose) or _checks_absence(line):
        return LookupIntent.CHECK, ""
    # An agent that announces a search may prepare for a miss, and still wants to find something.
    return (LookupIntent.CHECK if _takes_either(line) and not expects_it(purpose) else LookupIntent.LOOKUP), ""


def _is_incidental(parsed: ParsedCommand, folder: str) -> bool:
    """Report whether a lookup asks for a state, or only looks outside of what a project knows."""
    if parsed.is_state:
        return True
    return bool(parsed.operands) and all(is_machine_state(operand, folder) for operand in parsed.operands)


def _takes_either(line: LinePlan) -> bool:
    """Report whether a line is made for either answer: it tests, counts, or prints itself that nothing is there."""
    lookups = line.lookups
    if lookups[0].parsed.program in ("test", "[", "[["):
        return True
    answered = {known.lookup for known in line.prints if not known.when}
    open_ = [one for at, one in enumerate(lookups) if at not in answered and not _takes_nothing(one)]
    # `ls x && cat x/y || echo none`: the text answers for both.
    return not open_ or (len(lookups) - 1 in answered and all(one.parsed.kind is not ToolKind.SEARCH for one in open_))


def _takes_nothing(lookup: Lookup) -> bool:
    """Report whether 0, a status or silence is an answer: `grep -c`, `grep -q`, `ls x 2>/dev/null`.

    The messages of a search are discarded for other reasons.
    """
    return lookup.counts or lookup.silent or (lookup.muted and lookup.parsed.kind is not ToolKind.SEARCH)


def _checks_absence(line: LinePlan) -> bool:
    """Report whether a line treats "not found" as success."""
    reported = {known.lookup for known in line.prints if known.lookup >= 0}
    if (line.negated and not reported) or line.removes:
        return True
    if any("<<<<<<<" in lookup.parsed.query for lookup in line.lookups):
        return True  # conflict markers are only searched for to see that none is left
    if any(
        lookup.parsed.inverted and lookup.parsed.silent and at not in reported for at, lookup in enumerate(line.lookups)
    ):
        return True
    for known in line.prints:
        if known.lookup < 0:
            continue
        if not known.when and (_RELIEF.search(known.text) or speaks_of_absence(known.text)):
            return True
        if known.when and line.lookups[known.lookup].silent and _ALARM.search(known.text):
            return True
    return False


_RELIEF = lazy(
    r"[✓✅👍]|\b(?:clean|ok|okay|good|gone|hidden|correct|correctly|expected|pass|passed|success|removed|deleted)\b"
    r"|\b(?:none left|all clear|safe|done)\b"
    r"|\bno (?:more|remaining|leftovers?|other|stale|old|dangling|hits? left|violations?|conflicts?|leaks?)\b",
    re.IGNORECASE,
)
_ALARM = lazy(r"[✗✘❌⚠]|\b(?:fail|failed|bad|still|leak|leftover|warning|problem|oops|remains?)\b", re.IGNORECASE)
