"""A knowledge folder to be asked many questions: read and indexed once, safe to use from many threads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from knowbound.core.paths import DOCUMENTS, extension
from knowbound.documents.answer import DocumentAnswer, Passage, answer_from_sections
from knowbound.documents.section_index import SectionIndex
from knowbound.files import read_text
from knowbound.text.intent import AskedQuestion
from knowbound.text.markdown import sections_of

_READ = DOCUMENTS | {"toml"}
_DOCUMENT_NAMES = frozenset("readme agents claude .cursorrules .windsurfrules copilot-instructions".split())
_FILE_BYTES = 2_000_000
_LONGEST_QUOTE = 2400


class Library:
    """The documents of a folder."""

    def __init__(self, index: SectionIndex, texts: Mapping[str, list[str]]) -> None:
        self._index = index
        self._texts = texts  # by path: the lines as they are written, to quote from

    @classmethod
    def of(cls, root: Path, files: Sequence[str]) -> Library:
        """The documents among the files (relative to the root); links and what cannot be read are left out."""
        folder = Path(os.path.realpath(root))
        sections = []
        texts = {}
        for path in sorted(set(files)):
            if extension(path) not in _READ and path.rpartition("/")[2].lower() not in _DOCUMENT_NAMES:
                continue
            text = read_text(folder, path, _FILE_BYTES)
            if text is not None:
                sections.extend(sections_of(path, text))
                texts[path] = text.splitlines()
        return cls(SectionIndex(sections), texts)

    def answer(self, question: AskedQuestion) -> DocumentAnswer:
        """What the documents say to a question, or what is missing in them."""
        found = answer_from_sections(self._index, question)
        return msgspec.structs.replace(found, passages=tuple(map(self._as_written, found.passages)))

    def _as_written(self, passage: Passage) -> Passage:
        """A passage with its tables, code and marks, where it is not too long for that."""
        text = "\n".join(self._texts[passage.path][passage.line - 1 : passage.end_line]).strip()
        return msgspec.structs.replace(passage, text=text) if 0 < len(text) <= _LONGEST_QUOTE else passage
