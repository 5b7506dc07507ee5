"""The report of `lint`: what the tree contradicts, and how many statements were looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from knowbound import __version__
from knowbound.core.statement import CheckedStatement, JunkEntry, SkillCheck, Truth
from knowbound.language import say, translated
from knowbound.report.formats.json import fields, json_line
from knowbound.report.formats.plain import printable
from knowbound.text.digest import digest_of
from knowbound.text.printable import counted

_LONGEST = 160  # characters of a statement


def render_lint(checked: Sequence[CheckedStatement], format_: str) -> Iterator[str]:
    """Yield the report: `text`, a line of JSON for each statement, or what is contradicted for GitHub."""
    renderer = {"sarif": _sarif, "github": _github, "jsonl": _rows}.get(format_)
    if renderer is not None:
        yield from renderer(checked)
        return
    counts = Counter(one.truth for one in checked)
    wrong = [one for one in checked if one.truth is Truth.CONTRADICTED]
    for place, one in enumerate(wrong):
        yield from _shown(one, is_first=not place)
    total = say(
        "{} statements: {} contradicted by the tree, {} whose paths, scripts and versions are there, {} that rules "
        "cannot check.",
        *(len(checked), *(counts[one] for one in (Truth.CONTRADICTED, Truth.CONFIRMED, Truth.NOT_CHECKABLE))),
    )
    yield f"{'' if not wrong else chr(10)}{total}\n"


def _shown(one: CheckedStatement, *, is_first: bool) -> Iterator[str]:
    where = f"{one.statement.file}:{one.statement.line}"
    since = say(" (since {})", one.since) if one.since else ""
    yield printable(f"{'' if is_first else chr(10)}{where}  {one.why}{since}\n")
    yield printable(f"    {_cut(one.statement.text)}\n")
    if one.repair is not None:
        yield printable(f"  → {_cut(one.repair) or translated('(take the line out)')}\n")
    if one.same_as:
        more = " …" if len(one.same_as) > 5 else ""
        yield printable(f"    {say('the same in {}', ', '.join(one.same_as[:5]))}{more}\n")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_KEYS = """file=statement.file line=statement.line statement=statement.text kind truth evidence(path line) repair since?
    same_as by"""


def _rows(checked: Sequence[CheckedStatement]) -> Iterator[str]:
    yield from (json_line(fields(one, _KEYS)) + "\n" for one in checked)


def _wrong_lines(checked: Sequence[CheckedStatement]) -> Iterator[tuple[CheckedStatement, str]]:
    """Yield the contradicted statements of files, each with its message."""
    for one in checked:
        if one.truth is Truth.CONTRADICTED and not one.statement.file.startswith("item:"):
            repair = "" if one.repair is None else f"\nRight would be: {_cut(one.repair) or '(take the line out)'}"
            yield one, printable(f"{one.why}\n{_cut(one.statement.text)}{repair}")


def _github(checked: Sequence[CheckedStatement]) -> Iterator[str]:
    from knowbound.report.formats.github import SHOWN_PER_LEVEL, command  # noqa: PLC0415  (loads what text needs not)

    wrong = list(_wrong_lines(checked))
    for one, message in wrong[:SHOWN_PER_LEVEL]:
        place = f"{printable(one.statement.file)}:{one.statement.line}"
        yield command("warning", "The tree contradicts this line", message, place) + "\n"
    more = f", {len(wrong) - SHOWN_PER_LEVEL} of them not shown" if len(wrong) > SHOWN_PER_LEVEL else ""
    said = f"{len(checked)} statements looked at, {len(wrong)} contradicted{more}."
    yield command("notice", "knowbound lint", said) + "\n"


def _sarif(checked: Sequence[CheckedStatement]) -> Iterator[str]:
    from knowbound.report.formats.sarif import finding, sarif  # noqa: PLC0415

    rule: dict[str, object] = {
        "id": "contradicted_statement",
        "name": "ContradictedStatement",
        "shortDescription": {"text": "The tree contradicts a statement of a knowledge file."},
        "help": {"text": "knowbound lint shows the statement and, where the tree has one, the repair."},
    }
    results = []
    for one, message in _wrong_lines(checked):
        said = one.statement
        prints = {"statement/v1": digest_of([said.file, one.kind, one.named])[:32]}
        lines = (said.line, said.end_line)
        results.append(finding("contradicted_statement", "warning", message, quote(said.file), lines, prints))
    yield sarif(__version__, [rule], "lint/", results, base="The root of the project.")


def render_junk(found: Sequence[JunkEntry], entries: int, format_: str) -> Iterator[str]:
    """Yield the junk of a store: text, or a line of JSON for each entry."""
    if format_ == "jsonl":
        yield from (json_line(one) + "\n" for one in found)
        return
    for one in found:
        other = f" ({one.of})" if one.of else ""
        yield printable(f"{one.id}  {translated(one.kind)}{other}, {counted(one.tokens, 'token')}: {one.why}\n")
        yield printable(f"    {_cut(' '.join(one.content.split()))}\n")
    spent = sum(one.tokens for one in found)
    yield say("{} entries: {} can be deleted, {:,} tokens. Their ids: --format jsonl", entries, len(found), spent)
    yield "\n"


def render_skills(found: Sequence[SkillCheck], format_: str) -> Iterator[str]:
    """Yield the skills with their problems and their use: text, or a line of JSON for each."""
    if format_ == "jsonl":
        yield from (json_line(one) + "\n" for one in found)
        return
    for one in found:
        cost = f"{counted(one.lines, 'line')}, {counted(one.tokens, 'token')} ({one.listed_tokens:,} in every session)"
        yield printable(f"{one.name}  {one.file}: {cost}\n")
        if one.uses is not None:
            used = f"used {counted(one.uses, 'time')} in {counted(one.sessions or 0, 'session')}"
            ends = f"; {one.ended_well:,} ended well, {one.with_gaps:,} hit a gap" if one.uses else ""
            yield f"    {used}{ends}; {one.matched:,} of {one.prompts:,} prompts share words with its description\n"
        yield from (printable(f"    {one.file}:{problem.line}: {problem.text}\n") for problem in one.problems)
    wrong = sum(bool(one.problems) for one in found)
    yield f"{counted(len(found), 'skill')}, {wrong:,} with a problem."
    yield "" if any(one.uses is not None for one in found) else " How they were used: knowbound observe, then again."
    yield "\n"
