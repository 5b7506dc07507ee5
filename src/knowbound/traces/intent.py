"""What a lookup that missed was for, as far as the call alone shows it (specification 1, section 10)."""

from __future__ import annotations

import re
from functools import lru_cache

_THINGS = (
    r"(?:references?|refs|usages?|uses|occurrences?|instances?|mentions?|imports?|traces?|callers?|calls|"
    r"matches|hits|leftovers?|violations?|todos?|conflicts?|markers?|consumers?)"
)
_OLD = r"(?:remaining|left-?over|lingering|stale|dangling|stray|residual|outdated)"
_ABSENCE = re.compile(
    "|".join(
        (
            r"\bno longer\b",
            rf"\bno (?:{_OLD}|more)\b",
            rf"\b{_OLD}\s(?:[\w'`\"./-]+\s){{0,3}}{_THINGS}\b",
            r"\b(?:any|for) (?:remnants?|remains)\b|\bleft ?overs?\b",
            r"\bstill (?:referenced|used|present|exists?|there|mention\w*|import\w*|contains?|refer\w*|uses?)\b",
            r"\bstill (?:has|have|in use)\b",
            r"\b(?:was|were|is|are|been|got|fully|completely|properly|all) "
            r"(?:removed|deleted|gone|eliminated|cleaned up|purged|absent)\b",
            r"\bnothing (?:left|remains|else|references|uses|still)\b|\bnone (?:left|remain)",
            r"\b(?:verif\w+|confirm\w*|ensur\w+|mak(?:e|ing) sure|double[- ]check\w*|validat\w+|assert\w*)\b"
            r"[^.;\n]{0,80}?\b(?:no(?!-)|none|nothing|not|never|without|gone|remov(?:ed|al)|delet(?:ed|ion)|absent|"
            r"absence|zero|hidden|isn't|aren't|don't|doesn't)\b",
            r"\bcheck\w*\b[^.;\n]{0,40}?\b(?:that no|there (?:is|are) no|for no|nothing|are gone|is gone)\b",
            r"\b(?:should|must) (?:be (?:gone|empty|none|zero)|not (?:exist|appear|be there)|have no)\b",
            r"残留|遗留|不再|(?:已经?|都|全部)(?:删除|移除|清除|清理)|没有(?:剩余|残留|遗漏)",
            r"是否还(?:有|存在)|还有没有|清理干净|(?:确认|确保|验证|检查).{0,30}?(?:没有|不存在|已删|已移|无残|不含)",
        )
    ),
    re.IGNORECASE,
)


_LONGEST_SPEECH = 2_000  # characters; what says it says it early
# Every way to speak of absence in English has one of these in it: a cheap check before the long one.
_HINTS = (
    *("no ", "non", "not", "n't", "never", "without", "zero", "left", "still", "gone", "hidden", "absen", "remain"),
    *("remov", "delet", "eliminat", "clean", "purg", "linger", "stale", "dangling", "stray", "residual", "outdated"),
    *("remnant", "empty"),
)


@lru_cache(maxsize=4096)
def speaks_of_absence(text: str) -> bool:
    """Whether a text is about checking that something is gone or absent, rather than finding it."""
    text = text[:_LONGEST_SPEECH]
    if not text:
        return False
    low = text.lower()
    if text.isascii() and not any(map(low.__contains__, _HINTS)):
        return False
    return _ABSENCE.search(text) is not None
