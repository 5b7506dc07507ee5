"""What a command line that missed was for: its shape says whether it asked, searched or looked at the machine."""

from __future__ import annotations

import re

from knowbound.core.trace import Intent
from knowbound.traces.intent import speaks_of_absence
from knowbound.traces.shell.plan import LinePlan


def line_intent(line: LinePlan) -> Intent:
    """The intent of a command line whose lookups found nothing."""
    return Intent.CHECK if _checks_absence(line) else Intent.LOOKUP


def _checks_absence(line: LinePlan) -> bool:
    """Whether the line itself treats "not found" as success."""
    if not line.lookups:
        return line.removes
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


_RELIEF = re.compile(
    r"[✓✅👍]|\b(?:clean|ok|okay|good|gone|hidden|correct|correctly|expected|pass|passed|success|removed|deleted)\b"
    r"|\b(?:none left|all clear|safe|done)\b"
    r"|\bno (?:more|remaining|leftovers?|other|stale|old|dangling|hits? left|violations?|conflicts?|leaks?)\b",
    re.IGNORECASE,
)
_ALARM = re.compile(r"[✗✘❌⚠]|\b(?:fail|failed|bad|still|leak|leftover|warning|problem|oops|remains?)\b", re.IGNORECASE)
