"""What most of a kind say and one of them does not (specification 1, section 9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from knowbound.core.competency import CompetencyQuestion, QuestionKind
from knowbound.documents.sections import BlockKind
from knowbound.evals.questions.base import Document, KnowledgeBase, is_generic, question_of
from knowbound.evals.questions.phrases import Asking, cleaned
from knowbound.evals.questions.tables import NAME_CELL, cells_of
from knowbound.evals.questions.words import FACETS, SILENT
from knowbound.text.terms import canonical_words

_SHARE = 0.6  # of a group of siblings that have a heading, before the others are asked for it
_LEAST = 3


class _Sibling(NamedTuple):
    """One of several that are built alike: a file of a folder, or a section with parts."""

    subject: str
    document: Document
    line: int
    headings: dict[str, str]  # canonical → as written


def parallels(base: KnowledgeBase, asking: Asking) -> Iterator[CompetencyQuestion]:
    """Most runbooks have "Rollback": one without it should be able to answer it too."""
    yield from _without_page(base)
    for group in (*_files_alike(base), *_sections_alike(base)):
        counts: dict[str, list[_Sibling]] = defaultdict(list)
        for sibling in group:
            for key in sibling.headings:
                counts[key].append(sibling)
        for key, having in counts.items():
            if len(having) < max(_LEAST, _SHARE * len(group)) or len(having) == len(group):
                continue
            heading = having[0].headings[key]
            for sibling in group:
                if key in sibling.headings or not _is_subject(sibling.subject):
                    continue
                if asked := asking.facet(heading, sibling.subject):
                    why = f"{len(having)} of {len(group)} like it have {heading!r}"
                    yield question_of(asked, QuestionKind.PARALLEL, why, sibling.document, sibling.line)


def _is_subject(name: str) -> bool:
    """Something a facet can be asked of: a name, not a facet or a sentence itself."""
    name = cleaned(name)
    return bool(name) and len(name.split()) <= 5 and name.lower() not in FACETS and not is_generic(name, SILENT)


def _without_page(base: KnowledgeBase) -> Iterator[CompetencyQuestion]:
    """Rows of a table of which most have a page of their own: the others should have one too."""
    pages = [set(canonical_words(f"{document.path.rpartition('/')[2].partition('.')[0]} {document.title}"))
             for document in base.documents]  # fmt: skip
    for document in base.documents:
        for section in document.sections:
            rows = [block for block in section.blocks if block.kind is BlockKind.ROW]
            names = {cells_of(row)[0].strip("`"): row for row in rows if NAME_CELL.match(cells_of(row)[0])}
            if not _LEAST <= len(names) <= 40:
                continue
            paged = {name for name in names if any(set(canonical_words(name)) <= page for page in pages)}
            if len(paged) < max(2, _SHARE * len(names)):
                continue
            for name, row in names.items():
                if name not in paged:
                    noun = cleaned(row.lead.split("|")[0].rpartition(":")[2]).lower()
                    asked = f"What does the {noun} `{name}` do?" if noun else f"What is `{name}`?"
                    why = f"{len(paged)} of {len(names)} like it have a page"
                    yield question_of(asked, QuestionKind.PARALLEL, why, document, row.line)


def _files_alike(base: KnowledgeBase) -> Iterator[list[_Sibling]]:
    """The files of a folder; skills are one folder deeper, each in its own."""
    folders: dict[tuple[str, str], list[Document]] = defaultdict(list)
    for document in base.documents:
        folder, _, name = document.path.rpartition("/")
        if name.upper() == "SKILL.MD":
            folder = folder.rpartition("/")[0]
        if not document.is_index and not document.gives_principles:
            folders[folder, "skill" if name.upper() == "SKILL.MD" else ""].append(document)
    for documents in folders.values():
        if len(documents) > _LEAST:
            yield [
                _Sibling(document.title, document, 1, _keyed(_top_headings(document)))
                for document in documents
            ]  # fmt: skip


def _top_headings(document: Document) -> list[str]:
    """The headings just below the title."""
    depth = min((len(one.headings) for one in document.sections if len(one.headings) > 1), default=0)
    return [one.headings[-1] for one in document.sections if len(one.headings) == depth and depth]


def _sections_alike(base: KnowledgeBase) -> Iterator[list[_Sibling]]:
    """Sections under one heading that have parts themselves: a service each, with "Deploy" and "Rollback"."""
    for document in base.documents:
        parts: dict[tuple[str, ...], dict[tuple[str, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
        lines: dict[tuple[str, ...], int] = {}
        for section in document.sections:
            lines.setdefault(section.headings, section.line)
            if section.headings:
                parts[section.headings[:-1]].setdefault(section.headings, [])
            if len(section.headings) > 1:
                parts[section.headings[:-2]][section.headings[:-1]].append(section.headings[-1])
        for children in parts.values():
            named = {own: below for own, below in children.items() if below}
            if len(named) > _LEAST:
                yield [
                    _Sibling(own[-1], document, lines.get(own, 1), _keyed(below)) for own, below in named.items()
                ]  # fmt: skip


def _keyed(headings: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for heading in headings:
        name = cleaned(heading)
        if name and (name.lower() in FACETS or not is_generic(name, SILENT)):
            found.setdefault(" ".join(canonical_words(name)), name)
    return found
