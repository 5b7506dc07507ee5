"""One module per source of evidence, behind one interface."""

from functools import cache
from importlib import import_module
from inspect import getmembers, isabstract, isclass
from pkgutil import iter_modules

from knowbound.evidence.producers.protocol import Producer


@cache
def every_producer() -> tuple[Producer, ...]:
    """Return a producer of each class that a module of this folder defines."""
    found: list[Producer] = []
    for name in (f"{__name__}.{module.name}" for module in iter_modules(__path__)):
        for _, class_ in getmembers(import_module(name), isclass):
            if class_.__module__ == name and issubclass(class_, Producer) and not isabstract(class_):  # not imported
                found.append(class_())
    return tuple(found)
