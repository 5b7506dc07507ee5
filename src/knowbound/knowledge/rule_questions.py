"""Rules that the records do not decide by themselves, decided by a model: one question for each session.

The model sees the rules that are open and a shortened record of the session. It quotes what its verdict rests on; an
entry without a verbatim quotation does not count, and the rule stays undecided.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby, pairwise
from typing import NamedTuple

import msgspec

from knowbound.core.statement import Rule, RuleFinding, RuleVerdict
from knowbound.judge.material import is_quoted
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import AnswerSource, AskedEntry, EntryGroup, sendable
from knowbound.judge.prompts import load_prompt
from knowbound.knowledge.statements import is_rule
from knowbound.text.digest import digest_of
from knowbound.text.printable import estimated_tokens, short_line
from knowbound.traces.activity import ActivityRecord, RecordKind, SessionActivity

_TOKENS, _RULE_TOKENS = 5_100, 2_600  # of rules and record together, and of rules alone; 6,000 with the instructions
_LINES_PER_QUESTION = 60  # lines of a knowledge file in one question
_EDIT_CHARACTERS = (1_600, 900, 500, 300, 160, 80)  # characters of an edit, tried in this order until the record fits
_FIRST_LINES = 4  # of an edit, before the lines that name something of a rule
_MOST_QUESTIONS = 3  # about one session, if its rules do not fit into one
_FIRST_PROMPT, _PROMPT, _COMMAND, _SAID, _OTHER = 1_600, 500, 260, 320, 100  # characters that are shown of each
_WORD = re.compile(r"[A-Za-z_@][\w.-]{3,}")
_SPAN = re.compile(r"`([^`\n]+)`")
_MOST_READS = 12  # paths in one line


class AskedVerdict(StrEnum):
    """Verdict of a model on a rule that applied."""

    OBEYED = "obeyed"
    VIOLATED = "violated"
    PARTLY = "partly"
    UNKNOWN = "unknown"


class RuleAnswer(msgspec.Struct, frozen=True):
    """Answer about one rule."""

    number: int
    verdict: AskedVerdict
    quote: str = ""
    reminder: str = ""


class RuleAnswers(msgspec.Struct, frozen=True):
    """Answer about one session: the rules that applied."""

    rules: list[RuleAnswer]


class RuleLine(msgspec.Struct, frozen=True):
    """Answer about one line of a knowledge file."""

    id: str
    rule: bool


def which_are_rules(lines: Iterable[Rule], asker: Asker) -> Callable[[Rule], bool]:
    """Return a filter that keeps rules among lines: by the model's answer, or by the words of a line without answer."""
    distinct_lines = list({_line_key(line): line for line in lines}.values())
    entries = [
        AskedEntry(str(number), {"heading": sendable(line.heading), "line": sendable(line.text)}, _line_key(line))
        for number, line in enumerate(distinct_lines, 1)
    ]
    (asked,) = asker.ask_entries(load_prompt("rule_lines"), [EntryGroup(entries)], RuleLine, size=_LINES_PER_QUESTION)
    answers = {
        _line_key(line): result.value.rule for line, result in zip(distinct_lines, asked, strict=True) if result.value
    }
    return lambda line: answers.get(_line_key(line), is_rule(line))


def _line_key(line: Rule) -> str:
    return digest_of([line.heading, line.text])


class AskedSession(NamedTuple):
    """A session and its rules that are open."""

    activity: SessionActivity
    rules: Sequence[Rule]


class AnsweredRule(NamedTuple):
    """Finding of a model on a rule, and the line of the user's reminder (0: none)."""

    finding: RuleFinding
    reminded_line: int = 0


def ask_sessions(sessions: Sequence[AskedSession], asker: Asker) -> tuple[list[dict[Rule, AnsweredRule]], str]:
    """Return for each session what the model says of its rules, and the first problem. What is missing is undecided."""
    parts = [(at, rules) for at, session in enumerate(sessions) for rules in _parts(session)]  # `at`: whose they are
    shown = [(at, _SessionMaterial(sessions[at].activity, rules)) for at, rules in parts]
    asked = asker.ask(
        load_prompt("rules"),
        [material.inputs() for _, material in shown],
        RuleAnswers,
        sources=[AnswerSource(sessions[at].activity.session, sessions[at].activity.project) for at, _ in shown],
    )
    found: list[dict[Rule, AnsweredRule]] = [{} for _ in sessions]
    for (at, material), answer in zip(shown, asked, strict=True):
        if answer.value is not None:
            found[at] |= material.verified(answer.value.rules, asker.judge)
    problem = next((answer.problem for answer in asked if answer.value is None), "")
    return found, problem


class _SessionMaterial:
    """The material of one question."""

    def __init__(self, activity: SessionActivity, rules: list[Rule]) -> None:
        self._activity, self.rules = activity, rules
        tokens_left = _TOKENS - sum(map(_tokens_of, self.rules))
        terms = frozenset(word.lower() for rule in self.rules for word in _terms(rule))
        for most in _EDIT_CHARACTERS:
            self.lines = list(_record_lines(self._activity, terms, most))
            if estimated_tokens("\n".join(text for _, text in self.lines)) <= tokens_left:
                return
        self.lines = _first_and_last(self.lines, tokens_left)

    def inputs(self) -> dict[str, str]:
        """Return the texts of the prompt file."""
        rows = (
            {"number": number, "file": rule.file, "heading": rule.heading, "rule": sendable(rule.text)}
            for number, rule in enumerate(self.rules, 1)
        )
        return {
            "rules": "\n".join(msgspec.json.encode(row).decode("utf-8") for row in rows),
            "record": sendable("\n".join(text for _, text in self.lines)),
        }

    def verified(self, answers: Iterable[RuleAnswer], judge: str) -> dict[Rule, AnsweredRule]:
        """Return the findings whose quotations are in the record; the rules that were left out did not apply."""
        found = {rule: AnsweredRule(RuleFinding(applicable=False, by=judge)) for rule in self.rules}
        for answer in answers:
            if not 1 <= answer.number <= len(self.rules):
                continue
            rule, record = self.rules[answer.number - 1], self._record_quoted(answer.quote)
            if answer.verdict is AskedVerdict.UNKNOWN or record is None:
                found[rule] = AnsweredRule(RuleFinding(applicable=True if record else None))
                continue
            finding = RuleFinding(True, RuleVerdict(answer.verdict), record.line, f"“{answer.quote.strip()}”", judge)
            reminder = self._record_quoted(answer.reminder, later_prompts=True) if answer.reminder else None
            found[rule] = AnsweredRule(finding, reminder.line if reminder else 0)
        return found

    def _record_quoted(self, quote: str, *, later_prompts: bool = False) -> ActivityRecord | None:
        """Return the record whose line has the quotation; None if it is verbatim in none."""
        first = next((record for record in self._activity.records if record.kind is RecordKind.PROMPT), None)
        for record, text in self.lines:
            if later_prompts and (record.kind is not RecordKind.PROMPT or record is first):
                continue  # the first prompt reminds of nothing
            if is_quoted(quote, [sendable(text)]):
                return record
        return None


def _parts(asked: AskedSession) -> list[list[Rule]]:
    """Return the rules in parts that fit into a question each, in their order. What is beyond stays undecided."""
    parts: list[list[Rule]] = [[]]
    left = _RULE_TOKENS
    for rule in asked.rules:
        left -= _tokens_of(rule)
        if left < 0 and parts[-1]:
            parts.append([])
            left = _RULE_TOKENS - _tokens_of(rule)
        parts[-1].append(rule)
    return parts[:_MOST_QUESTIONS]


def _tokens_of(rule: Rule) -> int:
    return estimated_tokens(f"{rule.text} {rule.file} {rule.heading}") + 12


def _terms(rule: Rule) -> set[str]:
    spans = " ".join(_SPAN.findall(rule.text))
    return set(_WORD.findall(spans or rule.text))


def _record_lines(activity: SessionActivity, terms: frozenset[str], most: int) -> Iterator[tuple[ActivityRecord, str]]:
    """Yield the record line by line: reads in a row as one, of words only the last before a prompt or the end."""
    others = [record for record in activity.records if record.kind is not RecordKind.READ]
    next_kind = {record.order: following.kind for record, following in pairwise(others)}
    first_prompt = next((record for record in others if record.kind is RecordKind.PROMPT), None)
    for is_read, group in groupby(activity.records, key=lambda record: record.kind is RecordKind.READ and record.done):
        if is_read:
            reads = list(group)
            paths = dict.fromkeys(read.path for read in reads[:_MOST_READS])
            yield reads[0], f"L{reads[0].line} read {', '.join(paths)}"
            continue
        for entry in group:
            is_last_word = next_kind.get(entry.order, RecordKind.PROMPT) is RecordKind.PROMPT
            if entry is first_prompt:
                yield entry, f"L{entry.line} user: {short_line(entry.text, _FIRST_PROMPT)}"
            elif line := _line(entry, terms, most, is_last_word=is_last_word):
                yield entry, line


def _line(record: ActivityRecord, terms: frozenset[str], most: int, *, is_last_word: bool) -> str:
    """Return the line of a record; "" for words of the agent that more work follows."""
    ended = " (refused by the user)" if not record.done else "" if record.ok else " (failed)"
    match record.kind:
        case RecordKind.PROMPT:
            return f"L{record.line} user: {short_line(record.text, _PROMPT)}"
        case RecordKind.SAID:
            return f"L{record.line} agent said: {short_line(record.text, _SAID)}" if is_last_word else ""
        case RecordKind.COMMAND:
            return f"L{record.line} ran{ended}: {short_line(record.text, _COMMAND)}"
        case RecordKind.EDIT:
            return f"L{record.line} wrote{ended} {record.path}: {_written(record, terms, most)}"
        case RecordKind.SEARCH:
            return f"L{record.line} searched{ended}: {short_line(record.text, _OTHER)}"
        case RecordKind.SKILL:
            return f"L{record.line} used the skill {short_line(record.text, _OTHER)}"
        case RecordKind.OTHER:
            return f"L{record.line} used {record.tool}{ended}: {short_line(record.text, _OTHER)}"
    return ""


def _written(record: ActivityRecord, terms: frozenset[str], most: int) -> str:
    """Return the first lines that were added, and those that name something of a rule."""
    old = {line.strip() for line in record.old.splitlines()}
    added = [line.strip() for line in record.text.splitlines() if line.strip() and line.strip() not in old]
    named = [line for line in added[_FIRST_LINES:] if any(word.lower() in terms for word in _WORD.findall(line))]
    others = [line for line in added[_FIRST_LINES:] if line not in named]
    return short_line(" ⏎ ".join((*added[:_FIRST_LINES], *named, *others)), most) or "(text not shown)"


def _first_and_last(lines: list[tuple[ActivityRecord, str]], left: int) -> list[tuple[ActivityRecord, str]]:
    """Return the first and the last lines that fit."""
    kept: list[int] = []
    order = (at for pair in zip(range(len(lines)), reversed(range(len(lines))), strict=True) for at in pair)
    for at in dict.fromkeys(order):
        left -= estimated_tokens(lines[at][1])
        if left < 0:
            break
        kept.append(at)
    return [lines[at] for at in sorted(kept)]
