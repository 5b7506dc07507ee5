"""One running studio: the project that it shows, who may use it, and what its pages read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from knowbound.config import Settings
from knowbound.core.paths import project_name
from knowbound.web.access import Access
from knowbound.web.live import Live


@dataclass(frozen=True, slots=True)
class Studio:
    """The project of a studio, with its settings; `paths` are traces that were named."""

    settings: Settings
    access: Access
    live: Live
    paths: tuple[Path, ...] = ()

    @property
    def project(self) -> str:
        """The name of the project."""
        return project_name(str(self.settings.root))
