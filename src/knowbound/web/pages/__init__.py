"""The pages of the studio, one module each (docs/studio.md, "How a page is added")."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from knowbound.web.studio import StudioPage


@cache
def studio_pages() -> tuple[StudioPage, ...]:
    """Return the page of each module in this folder, in the order of the menu."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    return tuple(sorted((module.PAGE for module in modules), key=lambda page: page.place))
