"""The files of a log or a queue in the data folder that hooks append to: one a day, one record per line."""

from __future__ import annotations

from pathlib import Path


def day_files(home: Path, folder: str) -> list[Path]:
    """The files, oldest day first; the name begins with the day. A folder that is a link is not ours."""
    return [] if (home / folder).is_symlink() else sorted((home / folder).glob("[0-9]*.jsonl"))
