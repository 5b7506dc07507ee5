"""One running studio, its pages in the order of its menu, and what a page's module has.

A page is a module in `pages/` with `show`, a template of its name, and a line here. Further addresses of a page are in
its `VIEWS`, what it can change in its `CHANGES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from knowbound.config import Settings
from knowbound.core.paths import project_name
from knowbound.web.access import Access, Right
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


class StudioPage(NamedTuple):
    """A page: its module and template, its words in the menu, its address, and the key after `g` that opens it."""

    name: str
    title: str
    path: str
    key: str


PAGES = (
    StudioPage("review", "Review", "/", "r"),
    StudioPage("sessions", "Sessions", "/sessions", "s"),
    StudioPage("knowledge", "Knowledge", "/knowledge", "k"),
    StudioPage("gaps", "Gaps", "/gaps", "g"),
    StudioPage("injection", "Injection", "/injection", "i"),
    StudioPage("evaluations", "Evaluations", "/evaluations", "e"),
    StudioPage("ask", "Ask", "/ask", "a"),
    StudioPage("judges", "Judges", "/judges", "j"),
)


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


class Changing(NamedTuple):
    """A change at an address: the right that it needs, and the function that makes it and says where to go."""

    right: Right
    make: View


def views_of(page: StudioPage) -> dict[str, View]:
    """Return the addresses of a page, each with the function that shows it."""
    module = import_module(f"knowbound.web.pages.{page.name}")
    return {page.path: module.show, **cast(dict[str, View], getattr(module, "VIEWS", {}))}


def changes_of(page: StudioPage) -> dict[str, Changing]:
    """Return the addresses at which a page changes something."""
    module = import_module(f"knowbound.web.pages.{page.name}")
    return cast(dict[str, Changing], getattr(module, "CHANGES", {}))
