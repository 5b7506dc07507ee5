"""From the sessions of a project to its lessons: every rule proposes, the tree decides, the budget keeps the best."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from knowbound.core.lesson import Lesson, LessonKind, lesson_id
from knowbound.core.signal import Cost
from knowbound.lessons.placing import knowledge_file
from knowbound.lessons.proposals.corrections import corrections
from knowbound.lessons.proposals.invocations import wrong_invocations
from knowbound.lessons.proposals.locations import locations
from knowbound.lessons.proposals.proposal import Corpus, Proposal, first_of_each
from knowbound.lessons.proposals.repairs import repairs
from knowbound.lessons.proposals.rules import broken_rules, indentation, repository
from knowbound.lessons.tree import Tree
from knowbound.lessons.verifying import verify
from knowbound.text.redact import redact

RULES: tuple[Callable[[Corpus], Iterator[Proposal]], ...] = (
    locations, wrong_invocations, repairs, broken_rules, repository, indentation, corrections,
)  # fmt: skip
LONGEST = 400  # characters of a line
_NO_TREE = "no tree of this project was there to check it"
_CODE = re.compile(r"`([^`]+)`")


def lessons_of(corpus: Corpus) -> list[Lesson]:
    """The lessons of a project, most useful first. What the tree contradicts is left out."""
    found: dict[str, Lesson] = {}
    for rule in RULES:
        for proposal in rule(corpus):
            lesson = _lesson(proposal, corpus)
            if lesson is not None:
                found.setdefault(lesson.id, lesson)
    return sorted(found.values(), key=lambda one: (-one.saves, one.id))


def _lesson(proposal: Proposal, corpus: Corpus) -> Lesson | None:
    tree = corpus.tree
    verdict = verify(proposal.checks, tree)
    file = knowledge_file(proposal.subject, tree, corpus.materials)
    text = clean_line(proposal.text)
    if verdict.contradicted or not text or (tree is not None and is_said(text, file, tree)):
        return None
    unverified = [proposal.unverified] if proposal.unverified else []
    unverified += [_NO_TREE] if tree is None else []
    return Lesson(
        id=lesson_id(corpus.project, proposal.kind, proposal.key),
        kind=proposal.kind,
        text=text,
        file=file,
        project=corpus.project,
        sessions=proposal.sessions,
        cost=Cost(proposal.calls),
        evidence=first_of_each(proposal.evidence),
        checks=list(proposal.checks),
        verified=verdict.verified,
        unverified="; ".join(unverified),
        topics=list(proposal.topics),
        names=list(proposal.names),
    )


def clean_line(text: str) -> str:
    """A lesson as one printable line without secrets; "" where one was in it: then it is no line to write down."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if redact(line) == line and "[redacted" not in line and len(line) <= LONGEST else ""


def is_said(text: str, file: str, tree: Tree) -> bool:
    """Whether one line of the knowledge file has every name of the lesson already."""
    names = _CODE.findall(text)
    return bool(names) and any(all(name in line for name in names) for line in tree.text(file).splitlines())


def within_budget(lessons: Iterable[Lesson], lines: int, tokens: int) -> list[Lesson]:
    """The most useful ones that fit: a knowledge file that only grows helps nobody."""
    kept: list[Lesson] = []
    for lesson in sorted(lessons, key=lambda one: (-one.saves, one.id)):
        if len(kept) < lines and sum(map(tokens_of, kept)) + tokens_of(lesson) <= tokens:
            kept.append(lesson)
    return kept


def tokens_of(lesson: Lesson) -> int:
    """Tokens of its line, at four characters each."""
    return (len(lesson.text) + 6) // 4


def kinds_of(lessons: Iterable[Lesson]) -> dict[LessonKind, int]:
    """How many there are of each kind."""
    counts = dict.fromkeys(LessonKind, 0)
    for one in lessons:
        counts[one.kind] += 1
    return counts
