"""The producers that an investigation has."""

from __future__ import annotations

from functools import cache

from knowbound.evidence.build import Build
from knowbound.evidence.check import Tests
from knowbound.evidence.ci import RunList, RunView
from knowbound.evidence.discovery import ManifestScan, TreeScan
from knowbound.evidence.find import Find
from knowbound.evidence.git import GitLog, GitStatus
from knowbound.evidence.grep import Grep
from knowbound.evidence.language_server import LanguageServer
from knowbound.evidence.producer import Producer
from knowbound.evidence.read import Read
from knowbound.evidence.references import References


def _runners() -> tuple[Producer, ...]:
    """Those that run or ask something outside the tree."""
    return (Build(), Tests(), RunList(), RunView())


@cache
def default_producers() -> tuple[Producer, ...]:
    """All of them; of two that suit a gap equally well the first is asked."""
    searches: tuple[Producer, ...] = (References(), LanguageServer(), Find(), Grep())
    return (*searches, Read(), ManifestScan(), TreeScan(), GitLog(), GitStatus(), *_runners())
