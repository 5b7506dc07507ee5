"""A regular expression that is compiled when it is first used.

A hook loads modules with about two hundred expressions and uses a few. Compiling all of them took most of its time.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _LazyPattern:
    """A stand-in with the methods of the compiled expression, each looked up once."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._pattern_and_flags = (pattern, flags)
        self._compiled: re.Pattern[str] | None = None

    def __getattr__(self, name: str) -> Any:
        if self._compiled is None:
            self._compiled = re.compile(*self._pattern_and_flags)
        method = self.__dict__[name] = getattr(self._compiled, name)  # the next look-up does not come here
        return method


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return the expression. A malformed one is an error at its first use."""
    return _LazyPattern(pattern, flags)  # type: ignore[return-value]
