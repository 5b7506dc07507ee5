"""What tables are asked: what a column says of a row, what an empty cell leaves open (specification 1, section 9)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from knowbound.core.competency import CompetencyQuestion, QuestionKind
from knowbound.documents.sections import Block, BlockKind, Section
from knowbound.evals.questions.base import Document, is_plural, question_of
from knowbound.evals.questions.words import THIRD_PERSONS
from knowbound.text.terms import canonical

_EMPTY_CELL = re.compile(r"^(?:\?+|TODO|TBD|n/?k|unknown|…|\.\.\.|)$", re.IGNORECASE)
NAME_CELL = re.compile(r"^`[^`]+`$|^[A-Za-z][\w./-]*(?: [\w./-]+){0,2}$")
_COLUMN = re.compile(
    r"^(?!.*\b(?:link|url|links|example|examples|sponsor|popularity|activity|sample)\b)[A-Za-z][A-Za-z -]{2,30}$", re.I
)
_NO_NOUN = re.compile(r"(?:ed|ing|able|ible|\?)$|\b(?:for|to|by|in|on|at|when|what|who)$")
_SHORT = re.compile(r"[A-Z]{2,}s?")
_SHARE = 0.6  # of the rows that fill a column, before an empty cell asks
_MOST_EMPTY = 2


def tables_of(section: Section) -> Iterator[tuple[list[str], list[Block]]]:
    """The tables of a section: the names of the columns, and the rows."""
    found: dict[str, list[Block]] = defaultdict(list)
    for block in section.blocks:
        if block.kind is BlockKind.ROW:
            found[block.lead].append(block)
    for lead, rows in found.items():
        yield [cell.strip() for cell in lead.split("|")], rows


def of_filled_cells(document: Document, section: Section) -> Iterator[CompetencyQuestion]:
    """One question per table: what a column says of a row."""
    for head, rows in tables_of(section):
        named = _named_columns(head, section)
        filled = (asked for row in rows for asked in _of_row(named, cells_of(row), empty=False))
        if len(rows) >= 2 and (asked := next(filled, "")):
            why = f"a table with {' | '.join(head)}"
            yield question_of(asked, QuestionKind.STRUCTURE, why, document, rows[0].line)


def of_empty_cells(document: Document, section: Section) -> Iterator[CompetencyQuestion]:
    """Cells that are empty in a column that most rows fill; two of a table are enough."""
    for head, rows in tables_of(section):
        table = [cells_of(row) for row in rows]
        sparse = {
            column
            for at, column in enumerate(_named_columns(head, section))
            if sum(len(row) > at and _says_something(row[at]) for row in table) < max(2.0, _SHARE * len(rows))
        }
        names = [column if column not in sparse else "" for column in _named_columns(head, section)]
        asked = [(row, one) for row in rows for one in _of_row(names, cells_of(row), empty=True)]
        for row, one in asked[:_MOST_EMPTY]:
            yield question_of(one, QuestionKind.STUB, "an empty cell of a table", document, row.line)


def _named_columns(head: list[str], section: Section) -> list[str]:
    """Below "Ports" the column "HTTP" is the HTTP port."""
    heading = section.headings[-1] if section.headings else ""
    if not is_plural(heading) or not heading.isalpha():
        return head
    noun = canonical(heading.lower())
    return [f"{column} {noun}" if _SHORT.fullmatch(column) else column for column in head]


def _says_something(cell: str) -> bool:
    """A tick or a yes is no text: a table of ticks is full where it is empty."""
    return len(re.sub(r"[^\w]", "", cell)) > 3 and cell.lower() not in ("none", "true", "false", "n/a")


def cells_of(row: Block) -> list[str]:
    """The cells of a row."""
    return [cell.strip() for cell in row.text.split("|")]


def _of_row(head: list[str], cells: list[str], *, empty: bool) -> Iterator[str]:
    """Questions about the cells of one row that are empty, or that are not."""
    if len(head) < 2 or len(cells) != len(head) or not NAME_CELL.match(cells[0]) or not head[0]:
        return
    name = cells[0]
    for column, cell in zip(head[1:], cells[1:], strict=True):
        if bool(_EMPTY_CELL.match(cell)) is not empty or not _COLUMN.match(column):
            continue
        low = column.lower()
        if low in THIRD_PERSONS:
            yield f"What does {name} {THIRD_PERSONS[low]}?"
        elif low in ("description", "meaning", "purpose", "what it does", "notes", "details", "summary"):
            yield f"What does {name} mean?" if low == "meaning" else f"What is {name} for?"
        elif low in ("for", "used for", "use for"):
            yield f"What is {name} used for?"
        elif len(low.split()) <= 2 and low.split()[0] not in THIRD_PERSONS and not _NO_NOUN.search(low):
            verb = "are" if is_plural(low) else "is"
            shown = " ".join(word if word.isupper() else word.lower() for word in column.split())
            yield f"What {verb} the {shown} of {name}?"
