"""The report of `rules`: rules by harm, the share obeyed, early against late, before and after a change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from knowbound.core.statement import Rule, RuleCheck, RuleVerdict
from knowbound.language import say
from knowbound.report.formats.json import fields, json_line
from knowbound.report.formats.plain import printable
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted, estimated_tokens, short_line

_SHOWN, _CUT_SHOWN = 10, 5
_LONGEST = 150
LATE_FROM = 50  # tool calls before which a place in a session is early
NEVER_FROM = 30  # sessions without a case after which a rule is a candidate to cut
_SAME = 0.6  # share of words that two versions of a rule have in common


class RuleSummary(NamedTuple):
    """One rule over all sessions, in its newest words."""

    rule: Rule
    obeyed: Rate  # of the sessions in which somebody decided
    violated: int
    partly: int
    reminders: int
    early: Rate  # obeyed, of the places within the first calls of a session
    late: Rate
    before: Rate  # obeyed, in sessions with older words of the rule
    not_applicable: int
    undecided: int
    worst: RuleCheck | None

    @property
    def harm(self) -> tuple[int, int]:
        """Violations and reminders, then cases that were partly obeyed."""
        return (self.violated + self.reminders, self.partly)


def summaries(checks: Sequence[RuleCheck]) -> list[RuleSummary]:
    """Return the rules, most harm first."""
    groups: list[list[RuleCheck]] = []
    by_key: dict[str, list[RuleCheck]] = {}
    for check in sorted(checks, key=lambda one: one.started, reverse=True):
        group = by_key.get(check.rule.key)
        if group is None:
            group = next((one for one in groups if _is_same(one[0].rule, check.rule)), None)
            if group is None:
                group = []
                groups.append(group)
            by_key[check.rule.key] = group
        group.append(check)
    made = [_summary(group) for group in groups]
    return sorted(made, key=lambda one: (one.harm, one.obeyed.n), reverse=True)


def _is_same(rule: Rule, older: Rule) -> bool:
    """Report whether a rule in newer words was the older one."""
    if (rule.file, rule.heading) != (older.file, older.heading):
        return False
    new, old = set(rule.text.lower().split()), set(older.text.lower().split())
    return len(new & old) > _SAME * max(len(new), len(old))


def _summary(group: Sequence[RuleCheck]) -> RuleSummary:
    rule = group[0].rule
    decided = [one for one in group if one.finding.verdict is not None]
    now = [one for one in decided if one.rule.key == rule.key]
    placed = [one for one in decided if one.calls_before is not None]
    broken = [one for one in decided if one.is_broken]
    return RuleSummary(
        rule,
        _obeyed(now),
        sum(one.finding.verdict is RuleVerdict.VIOLATED for one in decided),
        sum(one.finding.verdict is RuleVerdict.PARTLY for one in decided),
        sum(one.reminded for one in group),
        _obeyed([one for one in placed if (one.calls_before or 0) < LATE_FROM]),
        _obeyed([one for one in placed if (one.calls_before or 0) >= LATE_FROM]),
        _obeyed([one for one in decided if one.rule.key != rule.key]),
        sum(one.finding.applicable is False for one in group),
        sum(one.finding.verdict is None and one.finding.applicable is not False for one in group),
        next((one for one in broken if one.finding.verdict is RuleVerdict.VIOLATED), broken[0] if broken else None),
    )


def _obeyed(checks: Sequence[RuleCheck]) -> Rate:
    return Rate(sum(one.finding.verdict is RuleVerdict.OBEYED for one in checks), len(checks))


def render_rules(
    checks: Sequence[RuleCheck], sessions: int, of: int, notes: Sequence[str], format_: str
) -> Iterator[str]:
    """Yield the report: text, or a line of JSON for each rule and session."""
    if format_ == "jsonl":
        yield from (json_line(rule_row(one)) + "\n" for one in checks)
        return
    made = summaries(checks)
    ignored = [one for one in made if one.harm > (0, 0)]
    for number, one in enumerate(ignored[:_SHOWN], 1):
        yield from (printable(line) + "\n" for line in _lines(number, one))
    if len(ignored) > _SHOWN:
        yield f"   {say('{} more: --format jsonl', len(ignored) - _SHOWN)}\n"
    never = [one for one in made if one.not_applicable >= NEVER_FROM and not one.obeyed.n and not one.undecided]
    if never:
        yield f"\n{say('Never applied in {} sessions or more: candidates to cut', NEVER_FROM)}\n"
    for one in sorted(never, key=lambda one: -_cost(one))[:_CUT_SHOWN]:
        spent = counted(_cost(one), "token")
        yield printable(f"   {_place(one.rule)}  {short_line(one.rule.text, _LONGEST)}  ({spent})\n")
    decided = sum(one.obeyed.n + one.before.n for one in made)
    undecided = sum(one.undecided for one in made)
    obeyed = _obeyed([one for one in checks if one.finding.verdict is not None])
    yield "\n" if ignored or never else ""
    yield say(
        "{} in {} of {} sessions: {} cases decided, obeyed {}; {} cases nobody decided.",
        *(counted(len(made), "rule"), sessions, of, decided, obeyed, undecided),
    )
    yield "\n"
    yield from (printable(note) + "\n" for note in notes)


def _lines(number: int, one: RuleSummary) -> Iterator[str]:
    yield f"{number}. {_place(one.rule)}  {short_line(one.rule.text, _LONGEST)}"
    parts = [say("violated in {}", counted(one.violated, "session")) if one.violated else ""]
    parts += [say("partly obeyed in {}", one.partly) if one.partly else ""]
    parts += [say("obeyed {}", one.obeyed) if one.obeyed.n else ""]
    parts += [say("the user reminded {} times", one.reminders) if one.reminders else ""]
    yield f"   {' · '.join(filter(None, parts))}"
    shares = []
    if one.early.n and one.late.n:
        counts = (one.early.k, one.early.n, one.late.k, one.late.n)
        shares.append(say("first {} calls {} of {}, later {} of {}", LATE_FROM, *counts))
    if one.before.n:
        shares.append(say("in its older words {} of {}", one.before.k, one.before.n))
    if shares:
        yield f"   {say('obeyed: {}', '; '.join(shares))}"
    if one.worst is not None:
        where = f"{one.worst.trace}:{one.worst.finding.at_line}" if one.worst.finding.at_line else one.worst.session
        yield f"   {short_line(one.worst.finding.why, _LONGEST)}  ({where})"


def _cost(one: RuleSummary) -> int:
    """Return the tokens that a rule took in the sessions that loaded it."""
    return estimated_tokens(one.rule.text) * one.not_applicable


def _place(rule: Rule) -> str:
    return f"{rule.file}:{rule.line}"


_ROW = """file=rule.file line=rule.line rule=rule.text session applicable=finding.applicable verdict=finding.verdict
    at_line=finding.at_line? calls_before reminded why=finding.why by=finding.by?"""


def rule_row(one: RuleCheck) -> dict[str, object]:
    """Return the row of one rule in one session (docs/json.md)."""
    return fields(one, _ROW)
