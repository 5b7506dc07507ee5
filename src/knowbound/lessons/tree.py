"""The tree that lessons are checked against: a checkout, where its symbols are defined, and how it is indented."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from pathlib import Path

from knowbound.codebase.checkout import Checkout, TreeLine
from knowbound.core.evidence import SUCCESS, EvidenceClass, Quality
from knowbound.evidence.investigate import investigate

_SOURCES = (
    ".ts",
    ".tsx",
    ".js",
    ".jsx",
    ".py",
    ".go",
    ".rs",
    ".java",
    ".kt",
    ".rb",
    ".c",
    ".cc",
    ".cpp",
    ".h",
    ".swift",
)
_SAMPLED = 60  # sources that are read for their indentation
_MOST_QUESTIONS = 40  # to the engine of `investigate` in one run
_SOURCES_SEEN = 5  # places that define a symbol


class Tree(Checkout):
    """One checkout."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._questions: dict[str, TreeLine | None] = {}

    def definition(self, symbol: str) -> TreeLine | None:
        """Where a symbol is defined, as `investigate` finds it with strong evidence."""
        if symbol not in self._questions:
            if len(self._questions) >= _MOST_QUESTIONS:
                return None
            found = investigate(f"where is `{symbol}` defined", self.root)
            graded = [one for one in found.evidence if one.cls is EvidenceClass.FILE_SEARCH and one.target == symbol]
            best = max((one.quality for one in graded), default=Quality.NONE, key=list(Quality).index)
            strong = found.outcome == SUCCESS and found.sources and best in (Quality.STRONG, Quality.VERIFIED)
            files = {one.path for one in found.sources[:_SOURCES_SEEN]} if strong else set()
            source = found.sources[0] if len(files) == 1 else None  # of several, which one is meant is not known
            self._questions[symbol] = TreeLine(source.path, source.line, best) if source else None
        return self._questions[symbol]

    @cached_property
    def uses_tabs(self) -> bool | None:
        """Whether most indented lines of the sources begin with a tab; None where there are too few."""
        counts: Counter[str] = Counter()
        for path in sorted(one for one in self.files if one.endswith(_SOURCES))[:: max(1, len(self.files) // _SAMPLED)]:
            counts.update(line[0] for line in self.text(path).splitlines() if line[:1] in ("\t", " "))
        return counts["\t"] > 0.9 * counts.total() if counts.total() >= 50 else None
