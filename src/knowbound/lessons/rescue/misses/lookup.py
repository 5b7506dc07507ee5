"""A lookup that found nothing, as a value: what was looked for, where, and in which syntax."""

from __future__ import annotations

from typing import NamedTuple

PATTERN, GLOB, PATH = "pattern", "glob", "path"  # kinds


class MissedLookup(NamedTuple):
    """One lookup that found nothing. Paths are relative to the root of the tree."""

    kind: str  # PATTERN: text in files; GLOB: files by a pattern of their paths; PATH: one file or folder
    query: str  # the pattern, the glob or the path
    where: tuple[str, ...] = ()  # files and folders that were searched; empty: the whole tree
    globs: tuple[str, ...] = ()  # which files of them
    type: str = ""  # ripgrep's name of a file type
    syntax: str = "rust"  # of a pattern: rust, perl, extended, basic, fixed
    ignore_case: bool = False
    multiline: bool = False
    skipped: int = 0  # matches that were passed over
    wrong: str = ""  # what is wrong with the call, in words; "" where nothing is
    is_check: bool = False  # it asked whether something is there: either answer was expected
    is_folder: bool = False  # a path that was to be listed
    tool: str = ""
    hides_errors: bool = False  # what the search complained about was thrown away
