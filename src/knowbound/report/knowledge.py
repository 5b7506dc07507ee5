"""Reports of `lint`, `rules` and `learn`, in any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Unpack

from knowbound import __version__
from knowbound.core.lesson import WRITTEN, Lesson, LessonStatus
from knowbound.core.statement import CheckedStatement, JunkEntry, Rule, RuleCheck, RuleVerdict, SkillCheck, Truth
from knowbound.language import say, translated
from knowbound.report import Layout, LineFormat, PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import fields, json_line, lines_or_rows
from knowbound.report.formats.plain import printable
from knowbound.report.lines import Line, data, joined, prose, soft, strong
from knowbound.report.sections import Entry, Note, Page, Section, listing, section, table
from knowbound.report.words import place_words
from knowbound.stats.rate import Rate
from knowbound.text.digest import digest_of
from knowbound.text.printable import counted, estimated_tokens, short_line

_LONGEST_STATEMENT = 160  # characters of a statement


def render_lint(checked: Sequence[CheckedStatement], format_: str) -> Iterator[str]:
    """Return the report: `text`, a line of JSON for each statement, or what is contradicted for GitHub."""
    machine = {"sarif": _sarif, "github": _github}.get(format_)
    if machine is not None:
        return machine(checked)
    return lines_or_rows(format_, _checked_lines(checked), (fields(check, _STATEMENT_KEYS) for check in checked))


def _checked_lines(checked: Sequence[CheckedStatement]) -> Iterator[str]:
    """Yield each contradicted statement with its repair and its copies, then the counts."""
    for check in checked:
        if check.truth is not Truth.CONTRADICTED:
            continue
        since = say(" (since {})", check.since) if check.since else ""
        yield f"{check.statement.file}:{check.statement.line}  {check.why}{since}"
        yield f"    {_cut(check.statement.text)}"
        if check.repair is not None:
            yield f"  → {_cut(check.repair) or translated('(take the line out)')}"
        if check.same_as:
            more = " …" if len(check.same_as) > 5 else ""
            yield f"    {say('the same in {}', ', '.join(check.same_as[:5]))}{more}"
        yield ""
    counts = Counter(check.truth for check in checked)
    yield say(
        "{} statements: {} contradicted by the tree, {} whose paths, scripts and versions are there, {} that rules "
        "cannot check.",
        *(len(checked), *(counts[truth] for truth in (Truth.CONTRADICTED, Truth.CONFIRMED, Truth.NOT_CHECKABLE))),
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_STATEMENT else f"{text[:_LONGEST_STATEMENT]}…"


_STATEMENT_KEYS = """file=statement.file line=statement.line statement=statement.text kind truth evidence(path line)
    repair since? same_as by"""


def _wrong_lines(checked: Sequence[CheckedStatement]) -> Iterator[tuple[CheckedStatement, str]]:
    """Yield the contradicted statements of files, each with its message; items have no line to show it at."""
    for check in checked:
        if check.truth is Truth.CONTRADICTED and not check.statement.file.startswith("item:"):
            repair = "" if check.repair is None else f"\nRight would be: {_cut(check.repair) or '(take the line out)'}"
            yield check, printable(f"{check.why}\n{_cut(check.statement.text)}{repair}")


def _github(checked: Sequence[CheckedStatement]) -> Iterator[str]:
    from knowbound.report.formats.ci import SHOWN_PER_LEVEL, command  # noqa: PLC0415  (loads what text needs not)

    wrong = list(_wrong_lines(checked))
    for check, message in wrong[:SHOWN_PER_LEVEL]:
        place = f"{printable(check.statement.file)}:{check.statement.line}"
        yield command("warning", "The tree contradicts this line", message, place) + "\n"
    more = f", {len(wrong) - SHOWN_PER_LEVEL} of them not shown" if len(wrong) > SHOWN_PER_LEVEL else ""
    summary = f"{len(checked)} statements looked at, {len(wrong)} contradicted{more}."
    yield command("notice", "knowbound lint", summary) + "\n"


def _sarif(checked: Sequence[CheckedStatement]) -> Iterator[str]:
    from knowbound.report.formats.sarif import finding, sarif  # noqa: PLC0415

    rule: dict[str, object] = {
        "id": "contradicted_statement",
        "name": "ContradictedStatement",
        "shortDescription": {"text": "The tree contradicts a statement of a knowledge file."},
        "help": {"text": "knowbound lint shows the statement and, where the tree has one, the repair."},
    }
    results = []
    for check, message in _wrong_lines(checked):
        statement = check.statement
        prints = {"statement/v1": digest_of([statement.file, check.kind, check.named])[:32]}
        place = f"{statement.file}:{statement.line}"
        end = statement.end_line
        results.append(finding("contradicted_statement", "warning", message, place, prints, end_line=end))
    yield sarif(__version__, [rule], "lint/", results, base="The root of the project.")


def render_junk(found: Sequence[JunkEntry], entries: int, format_: str) -> Iterator[str]:
    """Return the junk of a store: text, or a line of JSON for each entry."""
    return lines_or_rows(format_, _junk_lines(found, entries), found)


def _junk_lines(junk: Sequence[JunkEntry], entries: int) -> Iterator[str]:
    """Yield each entry that can be deleted with its reason, then their number."""
    for entry in junk:
        other = f" ({entry.of})" if entry.of else ""
        yield f"{entry.id}  {translated(entry.kind)}{other}, {counted(entry.tokens, 'token')}: {entry.why}"
        yield f"    {_cut(' '.join(entry.content.split()))}"
    spent = sum(entry.tokens for entry in junk)
    yield say("{} entries: {} can be deleted, {:,} tokens. Their ids: --format jsonl", entries, len(junk), spent)


def render_skills(found: Sequence[SkillCheck], format_: str) -> Iterator[str]:
    """Return the skills with their problems and their use: text, or a line of JSON for each."""
    return lines_or_rows(format_, _skill_lines(found), found)


def _skill_lines(skills: Sequence[SkillCheck]) -> Iterator[str]:
    """Yield each skill with its size, its use and its problems, then their numbers."""
    for skill in skills:
        always = f"{skill.listed_tokens:,} in every session"
        cost = f"{counted(skill.lines, 'line')}, {counted(skill.tokens, 'token')} ({always})"
        yield f"{skill.name}  {skill.file}: {cost}"
        if skill.uses is not None:
            used = f"used {counted(skill.uses, 'time')} in {counted(skill.sessions or 0, 'session')}"
            ends = f"; {skill.ended_well:,} ended well, {skill.with_gaps:,} hit a gap" if skill.uses else ""
            yield f"    {used}{ends}; {skill.matched:,} of {skill.prompts:,} prompts share words with its description"
        yield from (f"    {skill.file}:{problem.line}: {problem.text}" for problem in skill.problems)
    wrong, is_used = sum(bool(skill.problems) for skill in skills), any(skill.uses is not None for skill in skills)
    hint = "" if is_used else " How they were used: knowbound observe, then again."
    yield f"{counted(len(skills), 'skill')}, {wrong:,} with a problem.{hint}"


_SHOWN, _CUT_SHOWN = 10, 5  # rules that were ignored, and that may be cut
_LONGEST_RULE = 150  # characters
LATE_FROM = 50  # tool calls before which a place in a session is early
NEVER_FROM = 30  # sessions without a case after which a rule is a candidate to cut
_COMMON_WORDS = 0.6  # share of words that two versions of a rule have in common


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
    def never_applied(self) -> bool:
        """Report whether the rule had no case in many sessions, so that it may be cut."""
        return self.not_applicable >= NEVER_FROM and not self.obeyed.n and not self.undecided

    @property
    def harm(self) -> tuple[int, int]:
        """Violations and reminders, then cases that were partly obeyed."""
        return (self.violated + self.reminders, self.partly)


def summaries(checks: Sequence[RuleCheck]) -> list[RuleSummary]:
    """Return the rules, most harm first. Wordings of a rule are one rule, in its newest words."""
    groups: list[list[RuleCheck]] = []
    by_key: dict[str, list[RuleCheck]] = {}
    for check in sorted(checks, key=lambda check: check.started, reverse=True):
        group = by_key.get(check.rule.key)
        if group is None:
            group = next((newer for newer in groups if _is_rewording(newer[0].rule, check.rule)), None)
            if group is None:
                group = []
                groups.append(group)
            by_key[check.rule.key] = group
        group.append(check)
    made = [_summary(group) for group in groups]
    return sorted(made, key=lambda summary: (summary.harm, summary.obeyed.n), reverse=True)


def _is_rewording(rule: Rule, older: Rule) -> bool:
    """Report whether an older rule is an earlier wording of this rule."""
    if (rule.file, rule.heading) != (older.file, older.heading):
        return False
    new, old = set(rule.text.lower().split()), set(older.text.lower().split())
    return len(new & old) > _COMMON_WORDS * max(len(new), len(old))


def _summary(group: Sequence[RuleCheck]) -> RuleSummary:
    """Return the summary of a rule from its checks, which are newest first and may be of older wordings."""
    rule = group[0].rule
    decided = [check for check in group if check.finding.verdict is not None]
    # With the number of calls that the session had before.
    timed = [(check, check.calls_before) for check in decided if check.calls_before is not None]
    verdicts = Counter(check.finding.verdict for check in decided)
    broken = sorted((check for check in decided if check.is_broken), key=_is_partly)
    return RuleSummary(
        rule=rule,
        obeyed=_obeyed([check for check in decided if check.rule.key == rule.key]),
        violated=verdicts[RuleVerdict.VIOLATED],
        partly=verdicts[RuleVerdict.PARTLY],
        reminders=sum(check.reminded for check in group),
        early=_obeyed([check for check, calls in timed if calls < LATE_FROM]),
        late=_obeyed([check for check, calls in timed if calls >= LATE_FROM]),
        before=_obeyed([check for check in decided if check.rule.key != rule.key]),
        not_applicable=sum(check.finding.applicable is False for check in group),
        undecided=sum(check.finding.verdict is None and check.finding.applicable is not False for check in group),
        worst=broken[0] if broken else None,
    )


def _is_partly(check: RuleCheck) -> bool:
    return check.finding.verdict is RuleVerdict.PARTLY


def _obeyed(checks: Sequence[RuleCheck]) -> Rate:
    return Rate(sum(check.finding.verdict is RuleVerdict.OBEYED for check in checks), len(checks))


def render_rules(
    checks: Sequence[RuleCheck], sessions: int, of: int, notes: Sequence[str], format_: str
) -> Iterator[str]:
    """Return the report: text, or a line of JSON for each rule and session."""
    lines = _rule_lines(checks, sessions, of, notes)
    return lines_or_rows(format_, lines, (fields(check, _ROW) for check in checks))


def _rule_lines(checks: Sequence[RuleCheck], sessions: int, of: int, notes: Sequence[str]) -> Iterator[str]:
    """Yield the rules that agents ignore, those that never applied, and the counts."""
    rules = summaries(checks)
    ignored = [summary for summary in rules if summary.harm > (0, 0)]
    for number, summary in enumerate(ignored[:_SHOWN], 1):
        yield from _summary_lines(number, summary)
    if len(ignored) > _SHOWN:
        yield f"   {say('{} more: --format jsonl', len(ignored) - _SHOWN)}"
    never = [summary for summary in rules if summary.never_applied]
    if never:
        yield ""
        yield say("Never applied in {} sessions or more: candidates to cut", NEVER_FROM)
    # The sessions in which a rule did not apply have read its tokens for nothing.
    costs = ((estimated_tokens(summary.rule.text) * summary.not_applicable, summary.rule) for summary in never)
    for tokens, rule in sorted(costs, key=lambda cost: -cost[0])[:_CUT_SHOWN]:
        yield f"   {_place(rule)}  {short_line(rule.text, _LONGEST_RULE)}  ({counted(tokens, 'token')})"
    if ignored or never:
        yield ""
    decided = sum(summary.obeyed.n + summary.before.n for summary in rules)
    undecided = sum(summary.undecided for summary in rules)
    obeyed = _obeyed([check for check in checks if check.finding.verdict is not None])
    yield say(
        "{} in {} of {} sessions: {} cases decided, obeyed {}; {} cases nobody decided.",
        *(counted(len(rules), "rule"), sessions, of, decided, obeyed, undecided),
    )
    yield from notes


def _summary_lines(number: int, summary: RuleSummary) -> Iterator[str]:
    """Yield a rule with how often it was broken and obeyed, and its worst case."""
    yield f"{number}. {_place(summary.rule)}  {short_line(summary.rule.text, _LONGEST_RULE)}"
    parts = [say("violated in {}", counted(summary.violated, "session")) if summary.violated else ""]
    parts += [say("partly obeyed in {}", summary.partly) if summary.partly else ""]
    parts += [say("obeyed {}", summary.obeyed) if summary.obeyed.n else ""]
    parts += [say("the user reminded {} times", summary.reminders) if summary.reminders else ""]
    yield f"   {' · '.join(filter(None, parts))}"
    shares = []
    if summary.early.n and summary.late.n:
        counts = (summary.early.k, summary.early.n, summary.late.k, summary.late.n)
        shares.append(say("first {} calls {} of {}, later {} of {}", LATE_FROM, *counts))
    if summary.before.n:
        shares.append(say("in its older words {} of {}", summary.before.k, summary.before.n))
    if shares:
        yield f"   {say('obeyed: {}', '; '.join(shares))}"
    if (worst := summary.worst) is not None:
        where = f"{worst.trace}:{worst.finding.at_line}" if worst.finding.at_line else worst.session
        yield f"   {short_line(worst.finding.why, _LONGEST_RULE)}  ({where})"


def _place(rule: Rule) -> str:
    return f"{rule.file}:{rule.line}"


_ROW = """file=rule.file line=rule.line rule=rule.text session applicable=finding.applicable verdict=finding.verdict
    at_line=finding.at_line? calls_before reminded why=finding.why by=finding.by?"""


Format = PageFormat | LineFormat
_LESSON_KEYS = "id kind text file sessions cost evidence verified status project unverified? by applied"
_NOTHING = "Nothing failed in the same way in several sessions: there is nothing to write down yet."


def render_lessons(
    lessons: Sequence[Lesson],
    format: Format,
    *,
    about: str,
    left_out: int = 0,
    status: bool = False,
    **layout: Unpack[Layout],
) -> str:
    """The lessons in a format; `about` says what they were made from, `status` asks for what became of them."""
    if format == "jsonl":
        return "".join(json_line(_document_of(lesson)) + "\n" for lesson in lessons)

    def page() -> Page:
        sections = _status_sections(lessons) if status else _lesson_sections(lessons, left_out)
        shown, commands = tuple(sections), tuple(_lesson_commands(lessons))
        return Page(verb="learn", title="Lessons", lead=about, totals=about, sections=shown, commands=commands)

    def document() -> dict[str, object]:
        return {"format": "knowbound.lessons/1", "left_out": left_out, "lessons": list(map(_document_of, lessons))}

    return render(format, page, document, **layout)


def _document_of(lesson: Lesson) -> dict[str, object]:
    return fields(lesson, _LESSON_KEYS)


def _lesson_sections(lessons: Sequence[Lesson], left_out: int) -> Iterator[Section]:
    new, waiting, stale = (
        [_lesson_entry(lesson) for lesson in lessons if lesson.status is status]
        for status in (LessonStatus.NEW, LessonStatus.ACCEPTED, LessonStatus.STALE)
    )
    more = say("{:,} more did not fit the budget.", left_out) if left_out else ""
    parts = (listing(new, 40), Note(soft(more))) if new else (Note(_NOTHING),)
    yield section("What to write down", "new", *parts)
    yield section("Accepted, not written yet", "accepted", listing(waiting, 40))
    yield section("Stale: the tree has moved on", "stale", listing(stale, 40))


def _lesson_entry(lesson: Lesson) -> Entry:
    seen = f"{translated(lesson.kind)} · {counted(lesson.sessions, 'session')}, {counted(lesson.cost.calls, 'call')}"
    checked: Line = ""
    if lesson.verified is not None:
        found, quality = place_words(lesson.verified.path, lesson.verified.line), translated(lesson.verified.quality)
        # “.” stands for the tree as a whole.
        checked = say("{} in the tree", quality) if found == "." else (say("{} in ", quality), data(found))
    not_checked: Line = ("not verified: ", prose(lesson.unverified)) if lesson.unverified else ""
    first = lesson.evidence[0] if lesson.evidence else None
    place: Line = data(place_words(first.file or first.session, first.line)) if first else ""
    lines = tuple(line for line in (joined((seen, ("in ", data(lesson.file)), checked)), not_checked) if line)
    return Entry((strong(lesson.id), " ", prose(lesson.text)), lines, place, anchor=lesson.id)


def _status_sections(lessons: Sequence[Lesson]) -> Iterator[Section]:
    order = list(LessonStatus)
    shown = sorted(lessons, key=lambda lesson: (-order.index(lesson.status), -lesson.saves, lesson.id))
    rows = (
        (strong(lesson.id), translated(lesson.status), *_missed_words(lesson), prose(lesson.text)) for lesson in shown
    )
    yield section("What became of them", "status", table("id | status | before | after | lesson", rows, 60))


def _missed_words(lesson: Lesson) -> tuple[str, str]:
    """Sessions that missed it, of all, before and after it was written; with its interval."""
    if lesson.applied is None or lesson.status not in WRITTEN:
        return "", ""
    sides = (lesson.applied.before, lesson.applied.after)
    before, after = (str(Rate(side.missed, side.sessions)) if side.sessions else "no sessions" for side in sides)
    return before, after


def _lesson_commands(lessons: Sequence[Lesson]) -> Iterator[tuple[str, str]]:
    new = next((lesson for lesson in lessons if lesson.status is LessonStatus.NEW), None)
    if new is not None:
        yield f"knowbound fix {new.id}", "write it into its file, after a look at the diff (--reject: never again)"
    if any(lesson.status in WRITTEN for lesson in lessons):
        yield "knowbound learn --status", "what became of those that were written down"
