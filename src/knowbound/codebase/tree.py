"""A source tree that answers many questions: its files, its text, its definitions.

Nothing is indexed ahead of time: ripgrep searches the files as they are, bounded in time and output, and each result is
kept for the life of the tree, which is one investigation.
"""

from __future__ import annotations

import base64
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from knowbound.codebase.definitions import Definition, definition_on
from knowbound.codebase.tree_search import RankedPassage, WantedWord, find_words, rank_passages
from knowbound.core.paths import MARKDOWN, extension, source_rank
from knowbound.files import is_inside, list_files, read_text, rg
from knowbound.text.terms import canonical_words, glued, one_edit, phrase_pattern, split_words

_SHORTEST_MISTYPED = 8  # characters: a shorter name has too many neighbours
_FILE_BYTES = 2_000_000


class SourceTree:
    """The files below a root, until a deadline (`time.monotonic()`)."""

    def __init__(self, root: Path, deadline: float, only: Sequence[str] | None = None) -> None:
        self.root = root
        self.deadline = deadline
        # `only` are the paths to search: plain ones below the root, since links and ways out are not followed.
        real = os.path.realpath(root)
        below = (path for path in only or () if is_inside(os.path.realpath(root / path), real))
        self._given_paths = None if only is None else sorted(path for path in below if not (root / path).is_symlink())
        # Results of earlier searches.
        self._matches: dict[tuple[object, ...], tuple[list[TextMatch], str]] = {}
        self._files_by_stems: dict[frozenset[str], dict[str, dict[str, list[int]]]] = {}  # with the lines of each stem
        self._texts: dict[str, str | None] = {}
        self._ranked: dict[tuple[str, frozenset[WantedWord]], list[RankedPassage]] = {}

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline, never below zero."""
        return max(0.0, self.deadline - time.monotonic())

    @cached_property
    def _listed(self) -> tuple[list[str], bool]:
        return (self._given_paths, False) if self._given_paths is not None else list_files(self.root, self.seconds_left)

    @property
    def files(self) -> list[str]:
        """Every file that is searched, relative to the root."""
        return self._listed[0]

    @property
    def limited(self) -> str:
        """The limit that cut the list of files; "" if the list is complete."""
        return "the list of files was cut" if self._listed[1] else ""

    @cached_property
    def is_knowledge(self) -> bool:
        """True for a folder of documents: it has more Markdown files than source files."""
        prose = sum(extension(path) in MARKDOWN for path in self.files)
        return prose > sum(source_rank(path) == 0 for path in self.files)

    def matches(
        self, patterns: Sequence[str], *, ignore_case: bool, multiline: bool = False, paths: Sequence[str] = ()
    ) -> tuple[list[TextMatch], str]:
        """Return the matches of any of the patterns, and the limit that cut the search, if one did."""
        if not paths and self._given_paths == []:  # ripgrep would search the whole tree
            return [], ""
        key = (tuple(patterns), ignore_case, multiline, tuple(paths))
        if key not in self._matches:
            self._matches[key] = matches(
                self.root, patterns, self.seconds_left, ignore_case=ignore_case, multiline=multiline,
                paths=paths or self._given_paths or (),
            )  # fmt: skip
        return self._matches[key]

    def ranked(self, question: str, words: Sequence[WantedWord]) -> list[RankedPassage]:
        """Return the passages, the nearest to the question first."""
        key = question, frozenset(words)
        if key not in self._ranked:
            stems = frozenset(stem for word in words for stem in (word.stem, *word.synonyms))
            if stems not in self._files_by_stems:
                self._files_by_stems[stems] = find_words(self.root, stems, self.seconds_left, self._given_paths)
            hits = self._files_by_stems[stems]
            self._ranked[key] = rank_passages(
                self.root, question, words, hits, len(self.files), knowledge=self.is_knowledge, deadline=self.deadline
            )
        return self._ranked[key]

    def text(self, path: str) -> str | None:
        """Return a file as it is now; None if it cannot be read."""
        if path not in self._texts:
            self._texts[path] = read_text(self.root, path, _FILE_BYTES)
        return self._texts[path]

    def line(self, path: str, number: int) -> str:
        """Return one line of a file; "" if there is none."""
        lines = (self.text(path) or "").split("\n")
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def with_name(self, name: str) -> list[TextMatch]:
        """Return the lines that have the name as a whole word, in its case."""
        return self.matches([rf"\b{re.escape(name)}\b"], ignore_case=False)[0]

    def defined(self, name: str) -> list[Definition]:
        """Return the lines that look like a definition of the name."""
        return [definition for definition in _definitions(self.with_name(name)) if definition.name == name]

    def defined_in_another_case(self, name: str) -> list[Definition]:
        """Return the definitions of the name with other capitals."""
        hits, _ = self.matches([rf"\b{re.escape(name)}\b"], ignore_case=True)
        found = (definition for definition in _definitions(hits) if definition.name.lower() == name.lower())
        return [definition for definition in found if definition.name != name]

    def named(self, words: Sequence[str]) -> list[Definition]:
        """Return the definitions whose name is exactly these words, in any spelling."""
        if not words:
            return []
        keys = {glued(canonical_words(" ".join(words))), glued(words)}  # in one spelling, and as they are
        hits, _ = self.matches([phrase_pattern(words)], ignore_case=True, multiline=True)
        found = []
        for definition in _definitions(hits):
            if not keys.isdisjoint({glued(canonical_words(definition.name)), glued(split_words(definition.name))}):
                found.append(definition)
        return found

    def mistyped(self, name: str) -> str | None:
        """Return the defined name that is one edit away; None if there are several or the name is too short."""
        if len(name) < _SHORTEST_MISTYPED or not re.fullmatch(r"[\w$]+", name):
            return None
        hits, _ = self.matches([rf"\b(?:{'|'.join(_one_edit_forms(name))})\b"], ignore_case=False)
        names = {definition.name for definition in _definitions(hits) if definition.kind != "heading"}
        near = {defined for defined in names if one_edit(name, defined)}
        return near.pop() if len(near) == 1 else None


def _definitions(hits: Iterable[TextMatch]) -> Iterator[Definition]:
    """Yield the definitions on the lines of matches, by their look."""
    for hit in hits:
        for number, line in enumerate(hit.text.rstrip("\n").split("\n"), hit.line):
            definition = definition_on(line, hit.path, number)
            if definition is not None:
                yield definition


def _one_edit_forms(name: str) -> list[str]:
    """Return patterns of the names that are one insertion, deletion, replacement or swap away."""
    sign = r"[\w$]"  # any sign of a name
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


_MATCHES_PER_FILE = 200


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A line (or lines) of a file with its matches."""

    path: str
    line: int
    text: str
    spans: tuple[tuple[int, int], ...]  # of the matches in the text


def matches(
    root: Path,
    patterns: Sequence[str],
    seconds: float,
    *,
    ignore_case: bool,
    multiline: bool = False,
    paths: Sequence[str] = (),
) -> tuple[list[TextMatch], str]:
    """Return the matches of any pattern by path and line, and the limit that cut the search ("" if none did)."""
    arguments = ["--json", "--max-count", str(_MATCHES_PER_FILE)]
    arguments += ["--ignore-case"] if ignore_case else []
    arguments += ["--multiline"] if multiline else []
    for pattern in patterns:
        arguments += ["-e", pattern]
    ran = rg(root, [*arguments, "--", *(f"./{path}" for path in paths or ("",))], seconds)
    limited = "the time limit" if ran.timed_out else "the output limit" if ran.cut else ""
    if ran.missing:
        limited = "ripgrep is not installed"
    # ripgrep searches several files at once and prints each when it is done.
    return sorted(_hits(ran.out), key=lambda hit: (hit.path, hit.line)), limited


def _hits(output: bytes) -> Iterator[TextMatch]:
    """Yield the matches in ripgrep's JSON."""
    for raw in output.splitlines():
        if not raw.startswith(b'{"type":"match"'):
            continue
        try:
            data = msgspec.json.decode(raw)["data"]
        except msgspec.DecodeError:
            continue  # the line that the output limit cut
        if not data.get("path") or not data.get("lines"):
            continue
        text = _text(data["lines"])
        spans = tuple((span["start"], span["end"]) for span in data["submatches"])
        if not text.isascii():  # ripgrep counts bytes
            encoded = text.encode("utf-8", "surrogateescape")
            spans = tuple((_characters(encoded[:start]), _characters(encoded[:end])) for start, end in spans)
        yield TextMatch(_text(data["path"]).removeprefix("./"), data.get("line_number") or 0, text, spans)


def _text(shown: dict[str, str]) -> str:
    """Return a text of ripgrep's JSON, which has bytes that are no UTF-8 in base64."""
    if "text" in shown:
        return shown["text"]
    return base64.b64decode(shown.get("bytes", "")).decode("utf-8", "surrogateescape")


def _characters(encoded: bytes) -> int:
    return len(encoded.decode("utf-8", "replace"))
