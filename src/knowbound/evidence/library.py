"""A knowledge folder to be asked many questions: read and indexed once, then the same for every thread."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from knowbound.evidence.consult import Consultation, consult
from knowbound.evidence.sections import sections_of
from knowbound.evidence.shelf import Shelf
from knowbound.evidence.tree import extension, read_text

_DOCUMENTS = frozenset("md mdx mdc markdown txt text rst adoc org toml".split())
_DOCUMENT_NAMES = frozenset("readme agents claude .cursorrules .windsurfrules copilot-instructions".split())
_FILE_BYTES = 2_000_000


class Library:
    """The documents of a folder."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    @classmethod
    def of(cls, root: Path, files: Sequence[str]) -> Library:
        """The documents among the files (relative to the root); links and what cannot be read are left out."""
        folder = Path(os.path.realpath(root))
        sections = []
        for path in sorted(set(files)):
            if extension(path) not in _DOCUMENTS and path.rpartition("/")[2].lower() not in _DOCUMENT_NAMES:
                continue
            text = read_text(folder, path, _FILE_BYTES)
            if text is not None:
                sections.extend(sections_of(path, text))
        return cls(Shelf(sections))

    def consult(self, question: str) -> Consultation:
        """What the documents say to a question, or what is missing in them."""
        return consult(self._shelf, question)
