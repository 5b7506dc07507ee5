"""A source tree that is asked many things: its files, its text, what it defines. ripgrep first, and never twice.

Nothing is indexed ahead of time: what is asked is looked for in the files as they are, and each look is remembered for
as long as this value lives, which is one investigation.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from knowbound.codebase.ripgrep import TextMatch, matches
from knowbound.codebase.symbols import Definition, definition_on
from knowbound.codebase.tree_search import RankedPassage, TreeHits, WantedWord, find_words, rank_passages
from knowbound.core.paths import MARKDOWN, extension, source_rank
from knowbound.files import is_inside, list_files, read_text
from knowbound.text.terms import canonical_words, glued, one_edit, phrase_pattern, split_words

_SHORTEST_MISTYPED = 8  # characters: a shorter name has too many neighbours
_FILE_BYTES = 2_000_000
_OWNERS = frozenset("class struct interface trait impl".split())


@dataclass(slots=True)
class _Looked:
    """What was looked for before."""

    matches: dict[tuple[object, ...], tuple[list[TextMatch], str]] = field(default_factory=dict)
    words: dict[frozenset[str], TreeHits] = field(default_factory=dict)
    texts: dict[str, str | None] = field(default_factory=dict)
    ranked: dict[tuple[str, frozenset[WantedWord]], list[RankedPassage]] = field(default_factory=dict)


class SourceTree:
    """The files below a root, until a deadline (`time.monotonic()`)."""

    def __init__(self, root: Path, deadline: float, only: Sequence[str] | None = None) -> None:
        self.root = root
        self.deadline = deadline
        # What is named must be a plain path below the root; links and ways out are not followed.
        self._only = None if only is None else sorted(path for path in only if _is_below(root, path))
        self._looked = _Looked()

    @property
    def seconds_left(self) -> float:
        """Never below zero."""
        return max(0.0, self.deadline - time.monotonic())

    @cached_property
    def _listed(self) -> tuple[list[str], bool]:
        return (self._only, False) if self._only is not None else list_files(self.root, self.seconds_left)

    @property
    def files(self) -> list[str]:
        """Every file that is searched, relative to the root."""
        return self._listed[0]

    @property
    def limited(self) -> str:
        """What kept us from seeing all of it, or nothing."""
        return "the list of files was cut" if self._listed[1] else ""

    @cached_property
    def is_knowledge(self) -> bool:
        """Whether it is a folder of documents: most of what is in it that people read is prose."""
        prose = sum(extension(path) in MARKDOWN for path in self.files)
        return prose > sum(source_rank(path) == 0 for path in self.files)

    def matches(
        self, patterns: Sequence[str], *, ignore_case: bool, multiline: bool = False, paths: Sequence[str] = ()
    ) -> tuple[list[TextMatch], str]:
        """The matches of any of the patterns; and what limited the search."""
        key = (tuple(patterns), ignore_case, multiline, tuple(paths))
        if key not in self._looked.matches:
            found, limited = matches(
                self.root, patterns, self.seconds_left, ignore_case=ignore_case, multiline=multiline,
                paths=paths or self._only or (),
            )  # fmt: skip
            self._looked.matches[key] = found, limited
        return self._looked.matches[key]

    def words(self, stems: Iterable[str]) -> TreeHits:
        """Where the words occur, in any form and as parts of names."""
        key = frozenset(stems)
        if key not in self._looked.words:
            self._looked.words[key] = find_words(self.root, key, self.seconds_left, self._only)
        return self._looked.words[key]

    def ranked(self, question: str, words: Sequence[WantedWord]) -> list[RankedPassage]:
        """The passages in the order of their nearness to the question."""
        key = question, frozenset(words)
        if key not in self._looked.ranked:
            every = {one.stem for one in words} | {other for one in words for other in one.synonyms}
            self._looked.ranked[key] = rank_passages(
                self.root, question, words, self.words(every), len(self.files), knowledge=self.is_knowledge
            )
        return self._looked.ranked[key]

    def text(self, path: str) -> str | None:
        """A file as it is now; None where it cannot be read."""
        if path not in self._looked.texts:
            self._looked.texts[path] = read_text(self.root, path, _FILE_BYTES)
        return self._looked.texts[path]

    def line(self, path: str, number: int) -> str:
        """One line of a file; "" where there is none."""
        lines = (self.text(path) or "").split("\n")
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def with_name(self, name: str) -> list[TextMatch]:
        """The lines that have the name as a whole, in its case."""
        return self.matches([rf"\b{re.escape(name)}\b"], ignore_case=False)[0]

    def defined(self, name: str) -> list[Definition]:
        """The lines that look like a definition of the name."""
        return [one for one in _definitions(self.with_name(name)) if one.name == name]

    def defined_in_another_case(self, name: str) -> list[Definition]:
        """Definitions of the name with other capitals."""
        hits, _ = self.matches([rf"\b{re.escape(name)}\b"], ignore_case=True)
        return [one for one in _definitions(hits) if one.name != name and one.name.lower() == name.lower()]

    def named(self, words: Sequence[str]) -> list[Definition]:
        """The definitions whose name is exactly these words, in whatever spelling."""
        if not words:
            return []
        keys = {glued(canonical_words(" ".join(words))), glued(words)}
        hits, _ = self.matches([phrase_pattern(words)], ignore_case=True, multiline=True)
        found = []
        for one in _definitions(hits):
            if not keys.isdisjoint({glued(canonical_words(one.name)), glued(split_words(one.name))}):
                found.append(one)
        return found

    def members(self, words: Sequence[str]) -> list[Definition]:
        """Methods whose class and name together are exactly these words (`AppContext.push`)."""
        found = []
        for cut in range(1, len(words)) if len(words) > 2 else ():
            owners = [one for one in self.named(words[:cut]) if one.kind in _OWNERS]
            methods = [one for one in self.named(words[cut:]) if one.kind == "function" and one.indented]
            for owner in owners if methods else ():
                found += [one for one in methods if one.path == owner.path and self._is_inside(one, owner)]
        return found

    def _is_inside(self, method: Definition, owner: Definition) -> bool:
        lines = (self.text(owner.path) or "").split("\n")[owner.line : max(owner.line, method.line - 1)]
        between = (definition_on(line, owner.path, 0) for line in lines)
        others = any(one is not None and one.kind in _OWNERS and not one.indented for one in between)
        return method.line > owner.line and not others

    def mistyped(self, name: str) -> str | None:
        """The one defined name that is a single edit away, for names long enough to be sure."""
        if len(name) < _SHORTEST_MISTYPED or not re.fullmatch(r"[\w$]+", name):
            return None
        hits, _ = self.matches([rf"\b(?:{'|'.join(_one_edit_forms(name))})\b"], ignore_case=False)
        near = {one.name for one in _definitions(hits) if one.kind != "heading" and one_edit(name, one.name)}
        return near.pop() if len(near) == 1 else None


def _is_below(root: Path, path: str) -> bool:
    return is_inside(os.path.realpath(root / path), os.path.realpath(root)) and not (root / path).is_symlink()


def _definitions(hits: Iterable[TextMatch]) -> Iterator[Definition]:
    """What the lines of the matches define, by their look; a match over several lines has each of them."""
    for hit in hits:
        for number, line in enumerate(hit.text.rstrip("\n").split("\n"), hit.line):
            one = definition_on(line, hit.path, number)
            if one is not None:
                yield one


def _one_edit_forms(name: str) -> list[str]:
    """Patterns for every name that is one letter away."""
    sign = r"[\w$]"
    forms = []
    for at in range(len(name) + 1):
        before, after = re.escape(name[:at]), re.escape(name[at:])
        forms.append(f"{before}{sign}{after}")
        if at < len(name):
            rest = re.escape(name[at + 1 :])
            forms += [f"{before}{rest}", f"{before}{sign}{rest}"]
        if at + 1 < len(name):
            forms.append(f"{before}{re.escape(name[at + 1])}{re.escape(name[at])}{re.escape(name[at + 2 :])}")
    return list(dict.fromkeys(forms))
