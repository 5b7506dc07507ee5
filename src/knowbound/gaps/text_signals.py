"""Signals in an agent's own words (specification 1, sources 2 and 3): explicit markers, and candidates for hedging.

A marker counts at the start of a line, inside a sentence and in a cell of a table. One in a quotation or in code, a
link, an index or a type, one that is only talked about, or one that a table explains, does not. A sentence with a word
of doubt is a candidate for hedging; a judge decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from knowbound.core.signal import SignalType
from knowbound.judge.hedging.verdict import HedgingCandidate
from knowbound.text.hedges import cues, may_hedge
from knowbound.text.redact import cut
from knowbound.text.sentences import HIDDEN, Sentence, mask, prose_lines, sentences, shape

_MARKER = re.compile(
    r"【\s{0,3}(?:推断|知识缺口|未知)\s{0,3}】"
    r"|(?<![_\])}\[\\|^$¤!])\\?\[\s{0,3}(?:inferred|unknown|knowledge[ _-]{1,3}gap)\s{0,3}\\?\]"
    r"(?![_(\[{|?+]|:\s?http|\s?[+*/%-]?=|\.\w)",  # not an index, a link, a type, a pattern, an assignment
    re.IGNORECASE,
)
_MAY_MARK = re.compile(r"[【\[]\s{0,3}(?:推断|知识缺口|未知|inferred|unknown|knowledge[ _-]{1,3}gap)", re.IGNORECASE)
# "mark it with 【推断】", "we use [unknown] for": the marker is the object of the talk.
_TALK_BEFORE = re.compile(
    r"(?:\b(?:use[sd]?|using|add(?:ed|ing|s)?|mark(?:ed|ing|s)?|tag(?:ged|ging|s)?|label(?:led|ed|s)?|flag(?:ged|s)?|with|as"
    r"|called|named|contains?|means?|writes?|prefix(?:ed)?)"
    r"|标记|标注|标[为成]|使用|采用|请用|会用|带有?|添加|加上|写成|含有?|包含|没有|[】\]]\s?(?:、|和|或|/|,|and|or))\W{0,3}$",
    re.IGNORECASE,
)
_TALK_AFTER = re.compile(
    r"\W{0,3}(?:\b(?:tags?|markers?|marks?|labels?|prefix(?:es)?|annotations?|entries)\b"
    r"|标记|标签|标注|字样|前缀|表示|的(?:内容|条目|部分))|\s?(?:、|和|或|/|,|and|or)\s?[【\[]",
    re.IGNORECASE,
)
# "the [inferred] limit" marks the limit; "the [unknown] is printed" is about the marker.
_ARTICLE = re.compile(r"\b(?:the|an?|of|no|any|each|every)\W{0,3}$", re.IGNORECASE)
_NO_NOUN_AFTER = re.compile(
    r"\W{0,3}(?:$|[.,;:)]|(?:is|are|was|were|means?|in|on|at|for|with|from|by|to|and|or|when|where|instead)\b)",
    re.IGNORECASE,
)
# A name right before the bracket has an index or a type there: `Array[unknown]`, `byName[unknown]`, `n[unknown] + 1`
_NAME_BEFORE = re.compile(r"(?:\b[A-Z][a-z]+|[a-z][A-Z]\w*|_\w+)$")
_WORD_BEFORE = re.compile(r"[A-Za-z0-9]$")
_SENTENCE_GOES_ON = re.compile(r"\s+[A-Za-z\u4e00-\u9fff]|\s*(?:$|[.,;:)。，；：）|])|[\u4e00-\u9fff]")
_IS_OR_MEANS = re.compile(r"\W{0,3}\b(?:is|are|means?)\b", re.IGNORECASE)
_TABLE_RULE = re.compile(r"\s*\|[\s|:-]+\Z")
_LEGEND = re.compile(
    r"\b(?:markers?|marks?|tags?|labels?|symbols?|legend|meanings?|means)\b|标记|标签|标注|符号|含义|意思|表示|图例",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W\d_]{2}")
_NEAR_CHARS = 24  # on each side of a marker, which show whether it is talked about
_LONGEST_CHARS = 1500  # what runs on longer is output or minified code, not a sentence


def explicit_markers(text: str) -> list[str]:
    """The lines of an agent's text that carry a marker of its own, in order."""
    if not ("[" in text or "【" in text) or not _MAY_MARK.search(text):
        return []
    found: list[str] = []
    table: list[str] = []
    for line in [*prose_lines(text), ""]:
        if line.lstrip().startswith("|"):
            table.append(line)
            continue
        found += _marked_rows(table)
        table = []
        if _MARKER.search(line) and _has_real_marker(mask(line)):  # a mask hides the address that makes it a link
            found.append(line.strip())
    return found


def _hide_markers(masked: str) -> str:
    """The text with its markers masked, character for character: their words are no words of doubt."""
    if not ("[" in masked or "【" in masked):
        return masked
    return _MARKER.sub(lambda marker: HIDDEN * len(marker[0]), masked)


def _marked_rows(table: list[str]) -> list[str]:
    """The rows of a table with a marker in a cell; the header names its columns and marks nothing."""
    has_header = len(table) > 1 and bool(_TABLE_RULE.match(table[1]))
    is_legend = not has_header or bool(_LEGEND.search(table[0]))
    return [row.strip() for row in table[2 * has_header :] if _row_has_real_marker(mask(row), is_legend)]


def _row_has_real_marker(masked: str, is_legend: bool) -> bool:
    """Report whether a row is marked. In a legend, a marker alone in the first cell is only explained."""
    first, *others = [cell.strip(" \t*_") for cell in masked.strip().strip("|").split("|")]
    if _MARKER.fullmatch(first):
        return not is_legend and any(_WORDS.search(cell) for cell in others)
    return any(map(_has_real_marker, [first, *others]))


def _has_real_marker(masked: str) -> bool:
    return any(not _is_talked_about(masked, marker) for marker in _MARKER.finditer(masked))


def _is_talked_about(masked: str, marker: re.Match[str]) -> bool:
    """Report whether a text is about a marker, or has it as an index or type, instead of marking something with it."""
    before = masked[max(0, marker.start() - _NEAR_CHARS) : marker.start()]
    after = masked[marker.end() : marker.end() + _NEAR_CHARS]
    if _TALK_BEFORE.search(before) or _TALK_AFTER.match(after):
        return True
    if _WORD_BEFORE.search(before) and (_NAME_BEFORE.search(before) or not _SENTENCE_GOES_ON.match(after)):
        return True
    if _ARTICLE.search(before):
        return bool(_NO_NOUN_AFTER.match(after))
    return bool(_IS_OR_MEANS.match(after)) and not before.rstrip()[-1:].isalnum()


def hedging_candidates(text: str) -> list[HedgingCandidate]:
    """The sentences of an agent's text that may express doubt, each with its neighbours."""
    if not may_hedge(text):
        return []
    found = []
    for sentence in sentences(text, worth=may_hedge):
        if sentence.masked and len(sentence.masked) <= _LONGEST_CHARS and _has_doubt(sentence):
            context = " ".join(filter(None, (sentence.before, sentence.text, sentence.after)))
            found.append(HedgingCandidate(sentence.text, cut(context, 2 * _LONGEST_CHARS)))
    return found


def _has_doubt(sentence: Sentence) -> bool:
    """Report whether a sentence outside headings has a word of doubt beside its markers."""
    masked = _hide_markers(sentence.masked)
    return may_hedge(masked) and bool(cues(masked)) and shape(sentence.text) != "heading"


def _unmarked_hedges(text: str) -> list[tuple[str, str]]:
    """Return the candidates with their contexts. A marked sentence is one signal, not two."""
    unmarked = (found for found in hedging_candidates(text) if not explicit_markers(found.sentence))
    return [(found.sentence, found.context) for found in unmarked]


# Each finder returns the signals of its type in a text, with their contexts, "" if the text itself is enough.
_FINDERS: dict[SignalType, Callable[[str], list[tuple[str, str]]]] = {
    SignalType.EXPLICIT_MARKER: lambda text: [(marker, "") for marker in explicit_markers(text)],
    SignalType.HEDGING: _unmarked_hedges,
}


def text_signals(text: str) -> list[tuple[SignalType, str, str]]:
    """Return the signals of a text: type, text, context."""
    return [(type_, found, context) for type_, find in _FINDERS.items() for found, context in find(text)]
