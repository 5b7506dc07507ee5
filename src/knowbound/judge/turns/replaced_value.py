"""The plainest contradiction: "9090, not 8080", where 8080 is what the item says (specification 2, section 2).

Another value stands right before the item's own, which is set aside by "not", "rather than" or "instead of". What the
prompt has said already does not count: there the answer may only take up the user's words.
"""

from __future__ import annotations

from functools import cache

import regex

from knowbound.judge.turns.passages import Passages

_VALUE = regex.compile(
    r"(?<![\w./-])(?:v?\d+(?:[.:]\d+)*(?:\s?(?:ms|s|GB|MB|KB|%|min|h|d))?|[\w-]+(?:[./_][\w-]+)+)(?![\w/-])"
)
_MARKS = r"[`*\"'“”]{0,3}"
_SET_ASIDE = r",? (?:and )?(?:not|rather than|instead of|no longer) (?:(?:on|in|at|to|from|the|port|version) ){0,3}"
_MOST_VALUES = 20  # of an item


def replaced_in(item: Passages, prompt: Passages, response: Passages) -> int | None:
    """The place of the passage of the response that sets a value of the item aside for another; None without one."""
    asked = " ".join(one.text for one in prompt.all)
    values = dict.fromkeys(value for one in item.all for value in _VALUE.findall(one.text) if value not in asked)
    for value in list(values)[:_MOST_VALUES]:
        for at, passage in enumerate(response.all):
            if value in passage.text and any(
                found["other"] != value and _VALUE.fullmatch(found["other"].rstrip(".:"))
                for found in _pattern(value).finditer(passage.text)
            ):
                return at
    return None


@cache
def _pattern(value: str) -> regex.Pattern[str]:
    own = regex.escape(value)
    return regex.compile(rf"(?P<other>[^\s,;()`*\"'“”]{{1,80}}){_MARKS}{_SET_ASIDE}{_MARKS}{own}(?![\w.-]*\w)")
