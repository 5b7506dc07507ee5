"""Where the knowledge base itself says that something is missing (specification 1, section 9)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from knowbound.core.competency import CompetencyQuestion, QuestionKind
from knowbound.documents.sections import Section, plain
from knowbound.evals.questions.base import Document, KnowledgeBase, question_of
from knowbound.evals.questions.phrases import Asking
from knowbound.evals.questions.tables import of_empty_cells

_STUB = re.compile(
    r"\b(?:TODO|TBD|FIXME|TBC)\b:?|\b(?:coming soon|to be (?:written|documented|defined|decided|done|added)|"
    r"work in progress|not yet documented|under construction|fill (?:this )?in)\b|待补充|待定|待完善",
)  # fmt: skip
_WANTED = re.compile(
    r"^(?:please )?(?:(?:document|describe|explain|write (?:down|up|about)|cover|mention|define|clarify|specify)\s+|"
    r"(?:write|add)\s+(?:the )?(?:docs?|documentation|an? (?:section|page|paragraph)) (?:for|on|about)\s+)"
    r"(.+?)[\s.!)]*$",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"\[([^\[\]]{2,120})\]\(<?([^()<>\s#?]+\.(?:md|mdx|mdc|markdown))(?:#[^()\s]*)?>?(?:\s+\"[^\"]*\")?\)", re.I
)


def stubs(base: KnowledgeBase, asking: Asking) -> Iterator[CompetencyQuestion]:
    """Where the knowledge base itself says that something is missing."""
    known = {document.path for document in base.documents}
    for document in base.documents:
        yield from _empty_sections(document, asking)
        for section in document.sections:
            yield from of_empty_cells(document, section)
        yield from _todos(document, asking)
        yield from _dead_links(document, known, asking)


def _empty_sections(document: Document, asking: Asking) -> Iterator[CompetencyQuestion]:
    for at, section in enumerate(document.sections):
        following = document.sections[at + 1] if at + 1 < len(document.sections) else None
        has_parts = following is not None and following.headings[: len(section.headings)] == section.headings
        only_stub = len(section.blocks) == 1 and _is_stub(section.blocks[0].text)
        if not section.headings or has_parts or (section.blocks and not only_stub):
            continue
        if _has_hidden_content(document, section, following):
            continue
        if asked := asking.of_heading(section.headings[-1], section.headings[:-1], document.path):
            yield question_of(asked, QuestionKind.STUB, "a section without content", document, section.line)


def _has_hidden_content(document: Document, section: Section, following: Section | None) -> bool:
    """HTML, a directive or an image under a heading is content, though no text."""
    lines = document.text.split("\n")[section.line : following.line - 1 if following else None]
    return any(
        line.strip() and not _STUB.search(line) and not line.startswith(("#", "=", "-", "<!--")) for line in lines
    )


def _is_stub(text: str) -> bool:
    found = _STUB.search(text)
    return found is not None and len(text) - len(found[0]) < 60


def _todos(document: Document, asking: Asking) -> Iterator[CompetencyQuestion]:
    fenced = False
    for number, line in enumerate(document.text.split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        found = None if fenced else _STUB.search(line)
        if found is None or "`" in line[: found.end() + 1]:
            continue
        said = plain(line[found.end() :].replace("-->", "").strip(" :-–*_()"))[0]
        wanted = _WANTED.match(said)
        if wanted and (asked := asking.of_heading(wanted[1][0].upper() + wanted[1][1:], (), document.path)):
            yield question_of(asked, QuestionKind.STUB, f"{found[0].strip(':')}: {said}", document, number)


def _dead_links(document: Document, known: set[str], asking: Asking) -> Iterator[CompetencyQuestion]:
    """A page that is linked and not there; only where its folder is part of the knowledge base."""
    folders = {path.rpartition("/")[0] for path in known}
    for number, line in enumerate(document.text.split("\n"), 1):
        for shown, target in _LINK.findall(line):
            if "://" in target or target.startswith(("/", "~")):
                continue
            path = _joined(document.path.rpartition("/")[0], unquote(target))
            if path is None or path in known or path.rpartition("/")[0] not in folders:
                continue
            name = plain(shown)[0] if "/" not in shown and not shown.endswith(".md") else _stem(path)
            asked = asking.of_heading(name, (), document.path)
            if asked:
                yield question_of(asked, QuestionKind.STUB, f"links to {path}, which is not there", document, number)


def _joined(folder: str, target: str) -> str | None:
    parts = [part for part in folder.split("/") if part]
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _stem(path: str) -> str:
    return re.sub(r"[-_]+", " ", path.rpartition("/")[2].partition(".")[0])
