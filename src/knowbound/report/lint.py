"""The report of `lint`: what the tree contradicts, and how many statements were looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from knowbound.core.statement import CheckedStatement, Truth
from knowbound.report.formats.plain import printable

_LONGEST = 160  # characters of a statement


def render_lint(checked: Sequence[CheckedStatement], format_: str) -> Iterator[str]:
    """Yield the report: `text`, or a line of JSON for each statement that names something."""
    if format_ == "jsonl":
        for one in checked:
            yield msgspec.json.encode(_row(one)).decode() + "\n"
        return
    counts = Counter(one.truth for one in checked)
    wrong = [one for one in checked if one.truth is Truth.CONTRADICTED]
    for place, one in enumerate(wrong):
        yield from _shown(one, is_first=not place)
    total = f"{len(checked)} statements: {counts[Truth.CONTRADICTED]} contradicted by the tree, "
    total += f"{counts[Truth.CONFIRMED]} whose paths, scripts and versions are there, "
    total += f"{counts[Truth.NOT_CHECKABLE]} that rules cannot check."
    yield f"{'' if not wrong else chr(10)}{total}\n"


def _shown(one: CheckedStatement, *, is_first: bool) -> Iterator[str]:
    where = f"{one.statement.file}:{one.statement.line}"
    since = f" (since {one.since})" if one.since else ""
    yield printable(f"{'' if is_first else chr(10)}{where}  {one.why}{since}\n")
    yield printable(f"    {_cut(one.statement.text)}\n")
    if one.repair is not None:
        yield printable(f"  → {_cut(one.repair) or '(take the line out)'}\n")
    if one.same_as:
        yield printable(f"    the same in {', '.join(one.same_as[:5])}{' …' if len(one.same_as) > 5 else ''}\n")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _row(one: CheckedStatement) -> dict[str, object]:
    evidence = {"path": one.evidence.path, "line": one.evidence.line} if one.evidence else None
    return {
        "file": one.statement.file,
        "line": one.statement.line,
        "statement": one.statement.text,
        "kind": one.kind,
        "truth": one.truth,
        "evidence": evidence,
        "repair": one.repair,
        "since": one.since or None,
        "same_as": list(one.same_as),
        "by": one.by,
    }
