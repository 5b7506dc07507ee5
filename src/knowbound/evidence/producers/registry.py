"""The producers that an investigation has."""

from __future__ import annotations

from functools import cache

from knowbound.evidence.producers.build_and_test import Build, Tests
from knowbound.evidence.producers.ci import RunList, RunView
from knowbound.evidence.producers.discovery import ManifestScan, TreeScan
from knowbound.evidence.producers.find import Find
from knowbound.evidence.producers.git import GitLog, GitStatus
from knowbound.evidence.producers.grep import Grep
from knowbound.evidence.producers.passages import Passages
from knowbound.evidence.producers.protocol import Producer
from knowbound.evidence.producers.read import Read
from knowbound.evidence.producers.references import References


@cache
def default_producers() -> tuple[Producer, ...]:
    """All of them; of two that suit a gap equally well the first is asked."""
    return (
        References(),
        Find(),
        Grep(),
        Passages(),
        Read(),
        ManifestScan(),
        TreeScan(),
        GitLog(),
        GitStatus(),
        Build(),
        Tests(),
        RunList(),
        RunView(),
    )
