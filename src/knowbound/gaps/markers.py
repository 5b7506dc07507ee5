"""Explicit markers (specification 1, source 2): lines in which the agent itself marks what it inferred or lacks.

A marker in a quotation or in code, a link, an index or a type, or one that is only talked about, does not count.
"""

from __future__ import annotations

import re

from knowbound.text.sentences import HIDDEN, mask, prose_lines

_MARKER = re.compile(
    r"【\s{0,3}(?:推断|知识缺口|未知)\s{0,3}】"
    r"|(?<![\w\])}\[\\|^$¤!])\\?\[\s{0,3}(?:inferred|unknown|knowledge[ _-]{1,3}gap)\s{0,3}\\?\]"
    r"(?![\w(\[{|?+]|:\s?http|\s?=|\.\w)",  # not an index, a link, a type, a pattern, an assignment
    re.IGNORECASE,
)
# "mark it with 【推断】", "the [unknown] tag": the marker is the object of the talk.
_TALK_BEFORE = re.compile(
    r"(?:\b(?:use[sd]?|using|add(?:ed|ing|s)?|mark(?:ed|ing|s)?|tag(?:ged|ging|s)?|label(?:led|ed|s)?|flag(?:ged|s)?|with|as"
    r"|the|an?|of|no|any|each|every|called|named|contains?|means?|writes?|prefix(?:ed)?)"
    r"|标记|标注|标[为成]|使用|采用|请用|会用|带有?|添加|加上|写成|含有?|包含|没有|[】\]]\s?(?:、|和|或|/|,|and|or))\W{0,3}$",
    re.IGNORECASE,
)
_TALK_AFTER = re.compile(
    r"\W{0,3}(?:\b(?:tags?|markers?|marks?|labels?|prefix(?:es)?|annotations?|entries|is|are|means?)\b"
    r"|标记|标签|标注|字样|前缀|表示|的(?:内容|条目|部分))|\s?(?:、|和|或|/|,|and|or)\s?[【\[]",
    re.IGNORECASE,
)


def explicit_markers(text: str) -> list[str]:
    """The lines of an agent's text that carry a marker of its own, in order."""
    if not ("[" in text or "【" in text) or not _MARKER.search(text):
        return []
    return [line.strip() for line in prose_lines(text) if _marks(line)]


def hide_markers(masked: str) -> str:
    """The text with its markers masked, character for character: their words are no words of doubt."""
    if not ("[" in masked or "【" in masked):
        return masked
    return _MARKER.sub(lambda marker: HIDDEN * len(marker[0]), masked)


def _marks(line: str) -> bool:
    masked = mask(line)
    if masked.lstrip().startswith("|"):
        return False  # a table explains its words
    return any(not _is_talk(masked, marker) for marker in _MARKER.finditer(masked))


def _is_talk(masked: str, marker: re.Match[str]) -> bool:
    before = masked[max(0, marker.start() - 24) : marker.start()]
    after = masked[marker.end() : marker.end() + 24]
    return bool(_TALK_BEFORE.search(before) or _TALK_AFTER.match(after))
