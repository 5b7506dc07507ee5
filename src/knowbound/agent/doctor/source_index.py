"""Whether the index of the source tree, which missed lookups are answered from, is there and was looked after."""

from __future__ import annotations

import json
from collections.abc import Iterator

from knowbound.agent.doctor.check import NOTE, OK, HealthCheck
from knowbound.agent.index_worker import FAILED, LOG
from knowbound.codebase.kept_index import open_tree
from knowbound.config import Settings

_SECONDS = 5.0


def check_source_index(settings: Settings) -> Iterator[HealthCheck]:
    """Nothing where missed lookups are not answered, or no session has started yet."""
    problem = _last_failure(settings)
    tree = open_tree(str(settings.home), str(settings.root), work_seconds=_SECONDS) if settings.rescue_enabled else None
    if problem and settings.rescue_enabled:
        yield HealthCheck("source index", NOTE, f"the last update failed: {problem}", "knowbound explain defect")
    elif tree:
        yield HealthCheck("source index", OK, f"{len(tree.paths):,} files, {tree.age_words} old")
        tree.close()


def _last_failure(settings: Settings) -> str:
    try:
        last = json.loads((settings.home / LOG).read_bytes().splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return ""
    return str(last.get("reason")) if isinstance(last, dict) and last.get("event") == FAILED else ""
