"""The catalogue of codes and errors: the source of `knowbound explain`, docs/codes.md and docs/messages.md.

The texts are in `codes.toml` and `errors.toml`, and are read when somebody asks for an explanation; those of
docs/config.md in `settings.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class Code(NamedTuple):
    """A code of reports and JSON with its meaning, and an example or what to do about it."""

    code: str
    group: str
    meaning: str
    example: str
    zh: str = ""  # term and definition in Chinese, of the terms of specification 1
    in_zh: Mapping[str, str] = {}  # Chinese sentences of reports about it (language.py reads them)


class Problem(NamedTuple):
    """A kind of error: what happened, why, what to do."""

    slug: str
    what: str
    why: str
    do: str


@cache
def codes() -> tuple[Code, ...]:
    """Return every code, group by group. A code can have a meaning in two groups (`broken`, `incomplete`)."""
    groups = _table("codes.toml").items()
    return tuple(Code(code, group, **texts) for group, entries in groups for code, texts in entries.items())


def codes_named(code: str) -> tuple[Code, ...]:
    """Return the meanings of a code, one per group that has it."""
    return tuple(entry for entry in codes() if entry.code == code)


@cache
def problems() -> dict[str, Problem]:
    """Return every kind of error by its slug."""
    return {slug: Problem(slug, **texts) for slug, texts in _table("errors.toml").items()}


def settings() -> dict[str, str]:
    """Return the text of each setting by its key."""
    return _table("settings.toml")


def _table(name: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415  (no run without an explanation needs it)

    return tomllib.loads((Path(__file__).parent / name).read_text("utf-8"))
