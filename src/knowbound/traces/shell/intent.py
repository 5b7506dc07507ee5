"""What a command line that missed was for: its shape shows whether it asked, searched or looked at the machine."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.core.paths import is_machine_state
from knowbound.core.trace import LookupIntent, ToolKind
from knowbound.traces.intent import asks, expects_it, speaks_of_absence
from knowbound.traces.patterns import fault
from knowbound.traces.shell.plan import LinePlan, Lookup
from knowbound.traces.shell.programs import ParsedCommand


def line_intent(line: LinePlan, main: ParsedCommand, purpose: str, folder: str) -> tuple[LookupIntent, str]:
    """The intent of a line whose lookups found nothing, and what is wrong with a malformed one.

    `main` is the lookup that the call stands for, `purpose` the agent's description of the call, `folder` where it ran.
    """
    wrong = fault(main.query, main.syntax) if main.syntax else ""
    if wrong:
        return LookupIntent.MALFORMED, wrong
    if all(_is_incidental(lookup.parsed, folder) for lookup in line.lookups):
        return LookupIntent.INCIDENTAL, ""
    if asks(purpose) or _checks_absence(line):
        return LookupIntent.CHECK, ""
    # One who says that it wants to find something prepares for a miss, too, and still wants to find it.
    return (LookupIntent.CHECK if _asks(line) and not expects_it(purpose) else LookupIntent.LOOKUP), ""


def _is_incidental(parsed: ParsedCommand, folder: str) -> bool:
    """It asks for a state, or looks only where no project keeps anything."""
    if parsed.is_state:
        return True
    return bool(parsed.operands) and all(is_machine_state(operand, folder) for operand in parsed.operands)


# ---- lines that ask whether something is there


def _asks(line: LinePlan) -> bool:
    """Whether the line is made for either answer: it tests, counts, or says itself that nothing is there."""
    lookups = line.lookups
    if lookups[0].parsed.program in ("test", "[", "[["):
        return True
    answered = {known.lookup for known in line.prints if not known.when}
    open_ = [one for at, one in enumerate(lookups) if at not in answered and not _takes_nothing(one)]
    # `ls x && cat x/y || echo none`: the text answers for both.
    return not open_ or (len(lookups) - 1 in answered and all(one.parsed.kind is not ToolKind.SEARCH for one in open_))


def _takes_nothing(lookup: Lookup) -> bool:
    """For this lookup 0, a status or silence is an answer: `grep -c`, `grep -q`, `ls x 2>/dev/null`.

    The messages of a search are thrown away for other reasons.
    """
    return lookup.counts or lookup.silent or (lookup.muted and lookup.parsed.kind is not ToolKind.SEARCH)


# ---- lines that check that something is not there


def _checks_absence(line: LinePlan) -> bool:
    """Whether the line itself treats "not found" as success."""
    reported = {known.lookup for known in line.prints if known.lookup >= 0}
    if (line.negated and not reported) or line.removes:
        return True
    if any("<<<<<<<" in lookup.parsed.query for lookup in line.lookups):
        return True  # nobody hopes to find conflict markers
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
