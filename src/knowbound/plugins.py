"""Parts that other installed packages add: one group of entry points for each kind of part.

    knowbound.readers     a format of traces: an object of the shape of `traces.registry.Reader`
    knowbound.backends    a store of items: a function from `Settings` to a `kms.backends.protocol.Backend`
    knowbound.judges      a model: a function from the model's name to a `judge.models.completion.Completer`
    knowbound.executors   an agent that runs samples: a function from its argument to an `evals.executor.Executor`
    knowbound.formats     a report format: a function from a `report.sections.Page` to text

Only a name that nothing built in has is looked for here, so a package cannot replace a part of ours.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from knowbound.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal["readers", "backends", "judges", "executors", "formats"]


@cache
def plugins(group: Group) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; of two with one name the first that is found."""
    from importlib import metadata  # noqa: PLC0415  (slow, and rarely needed)

    entries: dict[str, EntryPoint] = {}
    for entry in metadata.entry_points(group=f"knowbound.{group}"):
        entries.setdefault(entry.name, entry)
    return entries


def load_plugin(group: Group, name: str) -> Any:
    """Return the object behind an entry point; raise a ConfigError that names the package if it does not load."""
    entry = plugins(group)[name]
    try:
        return entry.load()
    except Exception as error:  # any error of a foreign package
        package = entry.dist.name if entry.dist else entry.value
        raise ConfigError(
            "plugin-broken", f"{name!r} of the package {package} cannot be loaded: {type(error).__name__}: {error}."
        ) from error
