"""When a project may not decide a setting alone: what runs a program, names an address or lifts a limit (trust.py).

Each function looks at a project's value and at what would count without the project. Its docstring is shown in
docs/config.md. What is not known to be harmless counts as risky.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from knowbound.trust import Risk

RiskOf = Callable[[Any, Any], Risk | None]


def harmless(_value: Any, _without: Any) -> Risk | None:
    """No."""
    return None


def address(_value: Any, _without: Any) -> Risk | None:
    """Yes."""
    return Risk.ADDRESS


def higher(value: Any, without: Any) -> Risk | None:
    """If it is higher than without the project."""
    return Risk.LIMIT if value > without else None


def path(value: Any, _without: Any) -> Risk | None:
    """If it leaves the root."""
    paths = value if isinstance(value, tuple) else (value,)
    return Risk.OUTSIDE if any(map(_leaves_root, paths)) else None


def judge(value: Any, _without: Any) -> Risk | None:
    """Unless it is `rules`, or a recording inside the root."""
    kind, _, rest = value.strip().partition(":")
    if kind == "recorded":
        return Risk.OUTSIDE if _leaves_root(rest.strip()) else None
    if kind in ("http", "https", "anthropic", "openai"):
        return Risk.ADDRESS
    return Risk.PROGRAM if ":" in value else None  # without a colon it is `rules`, or no judge at all


def executor(value: Any, _without: Any) -> Risk | None:
    """Unless it is `investigate`."""
    kind = value.strip().partition(":")[0].strip()
    if kind == "model":
        return Risk.ADDRESS
    return None if kind == "investigate" else Risk.PROGRAM


def backends(value: Any, _without: Any) -> Risk | None:
    """Unless it is `sqlite` alone."""
    return None if set(value) <= {"sqlite"} else Risk.ADDRESS


def _leaves_root(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    return path.startswith(("~", "!~")) or ".." in parts or os.path.isabs(path.lstrip("!")) or ":" in parts[0]
