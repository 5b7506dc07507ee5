"""The tree at its present commit, and lessons checked against it: confirmed, not to be seen, or contradicted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from knowbound.codebase.checkout import Checkout, TreeLine
from knowbound.core.evidence import SUCCESS, EvidenceClass, Quality
from knowbound.core.lesson import CheckKind, TreeCheck, Verified
from knowbound.evidence.investigate import investigate

_MOST_QUESTIONS = 40  # to the engine of `investigate` in one run
_SOURCES_SEEN = 5  # places that define a symbol


class Tree(Checkout):
    """One checkout."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._questions: dict[str, TreeLine | None] = {}

    def definition(self, symbol: str) -> TreeLine | None:
        """Return where a symbol is defined, as `investigate` finds it with strong evidence."""
        if symbol not in self._questions:
            if len(self._questions) >= _MOST_QUESTIONS:  # each costs a search
                return None
            found = investigate(f"where is `{symbol}` defined", self.root)
            graded = [
                shown for shown in found.evidence if shown.cls is EvidenceClass.FILE_SEARCH and shown.target == symbol
            ]
            best = max((shown.quality for shown in graded), default=Quality.NONE, key=list(Quality).index)
            strong = found.outcome == SUCCESS and found.sources and best in (Quality.STRONG, Quality.VERIFIED)
            files = {source.path for source in found.sources[:_SOURCES_SEEN]} if strong else set()
            source = found.sources[0] if len(files) == 1 else None  # of several, which one is meant is not known
            self._questions[symbol] = TreeLine(source.path, source.line, best) if source else None
        return self._questions[symbol]


class TreeVerdict(NamedTuple):
    """The verdict of the tree on a lesson."""

    verified: Verified | None
    contradicted: str = ""  # which check failed, in words


def verify(checks: Sequence[TreeCheck], tree: Tree | None) -> TreeVerdict:
    """Return the verdict: verified if all checks hold, by the weakest quality and the first place that one shows."""
    if tree is None or not checks:
        return TreeVerdict(None)
    places: list[TreeLine] = []
    for check in checks:
        place = _confirmed_at(check, tree)
        if place is None:
            return TreeVerdict(None, check_words(check))
        places.append(place)
    shown = next((place for place in places if place.path), None)  # absence has no place
    quality = min((place.quality for place in places), key=lambda quality: list(Quality).index(Quality(quality)))
    return TreeVerdict(Verified(str(quality), shown.path if shown else ".", shown.line if shown else 0))


_HOLDS = TreeLine("")  # it holds, and no line shows it


def _confirmed_at(check: TreeCheck, tree: Tree) -> TreeLine | None:
    """Return where a check is confirmed; None where it is not."""
    match check.kind:
        case CheckKind.FILE:
            return TreeLine(check.path) if tree.has(check.path) else None
        case CheckKind.ABSENT:
            return None if tree.has(check.path) else _HOLDS
        case CheckKind.TEXT:
            if check.path:
                return tree.line_with(check.path, check.text)
            return next(iter(tree.lines_with(check.text)), None)
        case CheckKind.SCRIPT:
            return tree.script(check.text, check.path)
        case CheckKind.NO_SCRIPT:
            return None if tree.script(check.text, check.path) else _HOLDS
        case CheckKind.SYMBOL:
            found = tree.definition(check.text)
            return found if found is not None and found.path == check.path else None


def check_words(check: TreeCheck) -> str:
    """Return the expectation of a check, in words."""
    where = f" in {check.path}" if check.path else ""
    return {
        CheckKind.FILE: f"{check.path} is there",
        CheckKind.ABSENT: f"{check.path} is not there",
        CheckKind.TEXT: f"{check.text!r} is{where or ' in some file'}",
        CheckKind.SCRIPT: f"there is a script {check.text}{where}",
        CheckKind.NO_SCRIPT: f"there is no script {check.text}{where}",
        CheckKind.SYMBOL: f"{check.text} is defined{where}",
    }[check.kind]
