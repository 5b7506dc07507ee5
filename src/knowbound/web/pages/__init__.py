"""One running studio, and its pages, one module each (docs/studio.md, "How a page is added")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple, TypeAlias

from knowbound.config import Settings
from knowbound.core.paths import project_name
from knowbound.web.access import Access, Right
from knowbound.web.live import Live


@cache
def studio_pages() -> tuple[StudioPage, ...]:
    """Return the page of each module in this folder, in the order of the menu, each with a key of its own."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    pages: dict[str, StudioPage] = {}
    for page in sorted((module.PAGE for module in modules), key=lambda page: page.place):
        key = next(letter for letter in page.name if letter not in pages)
        pages[key] = page._replace(key=key)
    return tuple(pages.values())


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


class Asked(NamedTuple):
    """One request for a page or a change, by somebody who may make it."""

    studio: Studio
    user: str
    path: Mapping[str, str]  # the values of the placeholders in the address
    query: Mapping[str, str]
    form: Mapping[str, str] = {}


class Shown(NamedTuple):
    """A page as a template and its values. `status` is that of the answer."""

    template: str
    values: Mapping[str, Any] = {}
    status: int = 200


class Goto(NamedTuple):
    """An answer that leads to another page."""

    path: str


class Plain(NamedTuple):
    """An answer that is text and nothing else."""

    text: str


View: TypeAlias = Callable[[Asked], Shown | Goto | Plain]


class StudioPage(NamedTuple):
    """A page: its title and its place in the menu, and the functions at its addresses, the one in the menu first."""

    title: str
    place: int
    views: Mapping[str, View]
    changes: Mapping[str, View] = {}
    right: Right = Right.WORK  # that its changes need
    key: str = ""  # after `g`, it opens the page: the first letter of the title that no page before it has

    @property
    def name(self) -> str:
        """Name of the module."""
        return self.title.lower()

    @property
    def path(self) -> str:
        """Address in the menu."""
        return next(iter(self.views))
