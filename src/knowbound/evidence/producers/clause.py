"""Descriptions: "the class that redirects writes to a console".

What proves a description is a sentence that says it: all its words, in order and close together; or all of them in the
name and the first sentence of one definition. Words that merely share a file prove nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec

from knowbound.codebase.ripgrep import TextMatch, matches
from knowbound.core.evidence import Evidence, Place, Quality
from knowbound.core.paths import source_rank
from knowbound.evidence.producers.protocol import Ask, Context
from knowbound.evidence.question.terms import Term
from knowbound.text.stems import common_start, stem
from knowbound.text.stop_words import STOP_WORDS
from knowbound.text.terms import canonical, split_words

_CONTEXT_LINES = 3
_SENTENCE_END = re.compile(r"[.!?:]\s|\n\s*\n|\n\s*[=~\-^#*]{3,}|\"\"\"|'''|\*/|[{};]\s*\n")
_DEFINITION = re.compile(
    r"^\s*(?:@|(?:export|default|public|private|protected|static|async|pub|abstract|final)\s+)*"
    r"(?:class|def|func|fn|function|struct|interface|enum|trait|type|module)\s+\W*(\w+)"
)
_HEAD_WORDS = 3  # so many words of a description suffice for the head of one definition


@dataclass(frozen=True, slots=True)
class _Said:
    path: str
    line: int
    how: int  # 0 in order and close, 1 in the head of one definition, 2 in one sentence
    near: int  # words in between


def find_clause(tool: str, ask: Ask, term: Term, context: Context, paths: list[str]) -> Evidence | None:
    """Where the description is said; None where it is not."""
    starts, words = [common_start(word) for word in term.words], [stem(word) for word in term.words]
    rarest = max(term.words, key=len)
    pattern = rf"\b{re.escape(_prefix(rarest))}\w*"
    hits, limited = matches(
        context.root, [pattern], context.seconds_left, ignore_case=True, context=_CONTEXT_LINES, paths=paths
    )
    said = [one for block in _blocks(hits) for one in _said_in(block, starts, words)]
    if not said:
        return None
    often = Counter(one.path for one in said if one.how == 0)
    said.sort(
        key=lambda one: (one.how > 0, source_rank(one.path), one.how, one.near, -often[one.path], one.path, one.line)
    )
    in_order = [one for one in said if one.how == 0]
    strong = in_order or [one for one in said if one.how == 1]
    note = "the description in order, in one place" if in_order else "all its words in the head of one definition"
    quality = Quality.STRONG
    if not strong:
        quality, note, strong = Quality.MODERATE, "all its words in one sentence, in another order", said
    found = ask.evidence(
        tool,
        quality,
        [Place(one.path, one.line) for one in strong],
        exact=len(in_order),
        phrase=bool(in_order),
        note=note + (f"; {limited} was reached" if limited else ""),
        query=" ".join(term.words),
    )
    return msgspec.structs.replace(found, match_count=len(said))  # strength is that of the best places alone


def _prefix(word: str) -> str:
    """What all forms of a word begin with."""
    start = common_start(word)
    return start if len(start) >= 4 else canonical(word)


def _blocks(hits: Sequence[TextMatch]) -> Iterator[list[TextMatch]]:
    """Neighbouring lines of one file."""
    for _, lines in groupby(hits, key=lambda hit: hit.path):
        block: list[TextMatch] = []
        for hit in lines:
            if block and hit.line > block[-1].line + 1:
                yield block
                block = []
            block.append(hit)
        if block:
            yield block


def _said_in(block: list[TextMatch], starts: list[str], words: list[str]) -> Iterator[_Said]:
    """Whether the sentences of some neighbouring lines say the description."""
    path = block[0].path
    text = "".join(hit.text if hit.text.endswith("\n") else hit.text + "\n" for hit in block)
    low = text.lower()
    if not all(start in low for start in starts):
        return
    offsets, at = [], 0
    for hit in block:
        offsets.append(at)
        at += len(hit.text) + (not hit.text.endswith("\n"))
    begin = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        sentence, offset = text[begin:end], begin
        begin = end
        tokens = [
            (stem(part), match.start())
            for match in re.finditer(r"\w+", sentence)
            for part in split_words(match.group())
        ]
        stems = [token for token, _ in tokens]
        if not set(words) <= set(stems):
            continue
        place = _in_order(stems, words) or (_in_order(stems, words[::-1]) if len(words) == 2 else None)
        if place is not None:
            first, between = place
            yield _Said(path, _line_at(block, offsets, offset + tokens[first][1]), 0, between)
        else:
            yield _Said(path, _line_at(block, offsets, offset + tokens[stems.index(words[0])][1]), 2, len(stems))
    if len(words) >= _HEAD_WORDS:
        yield from _heads(block, words)


def _in_order(stems: list[str], words: list[str]) -> tuple[int, int] | None:
    """Where all words follow one another, with at most as many meaningful words between as there are beyond two."""
    for first in (at for at, one in enumerate(stems) if one == words[0]):
        at, between, stops = first, 0, 0
        for word in words[1:]:
            at += 1
            while at < len(stems) and stems[at] != word and between <= len(words):
                if stems[at] in _STOP_STEMS:
                    stops += 1
                else:
                    between += 1
                at += 1
            if at >= len(stems) or stems[at] != word:
                break
        else:
            if between <= len(words) - 2 and stops <= 2 * len(words):
                return first, between
    return None


_STOP_STEMS = frozenset(stem(word) for word in STOP_WORDS)


def _heads(block: list[TextMatch], words: list[str]) -> Iterator[_Said]:
    """A definition whose name and next lines of prose have all the words."""
    for at, hit in enumerate(block):
        defined = _DEFINITION.match(hit.text)
        if defined is None:
            continue
        head = hit.text + "".join(one.text for one in block[at + 1 : at + 3])
        stems = {stem(part) for match in re.finditer(r"\w+", head) for part in split_words(match.group())}
        if set(words) <= stems:
            yield _Said(hit.path, hit.line, 1, len(stems))


def _line_at(block: list[TextMatch], starts: list[int], offset: int) -> int:
    at = max(index for index, start in enumerate(starts) if start <= offset)
    return block[at].line
