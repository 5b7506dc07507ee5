"""A verb is a function: each parameter is an argument or option of the command line, in the order of --help.

    @verb("draft")
    def draft_command(
        ids: tuple[str, ...] = argument(),
        accept: bool = option("Add the samples IDS to the test set."),
        count: int = option("Let the model write this many at most.", default=10, within=(1, 500)),
    ) -> int:

Names and types are those of the parameter; the docstring is the help.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import click

FilePath = click.Path(path_type=Path)
_AROUND = "around"
_TYPES: dict[str, Any] = {"str": click.STRING, "int": click.INT, "float": click.FLOAT, "Path": FilePath}


class OptionSpec(NamedTuple):
    """The default of a parameter: the argument or option that gives its value."""

    kind: type[click.Parameter]
    names: tuple[str, ...]  # of an option; none: by the name of the parameter
    given: dict[str, Any]  # for click, beside names and type


class Several(NamedTuple):
    """The default of a parameter: options that make its value together, by the parameters of `make`."""

    make: Callable[..., Any]
    parts: dict[str, OptionSpec]


def option(
    about: str, *names: str, within: tuple[float, float | None] | None = None, choices: Sequence[str] = (), **given: Any
) -> Any:
    """Declare an option; a `bool` is a switch, a `tuple` may be repeated. `within`: the least and the largest value."""
    if within:
        given["type"] = (click.FloatRange if isinstance(within[0], float) else click.IntRange)(*within)
    elif choices:
        given["type"] = click.Choice(choices)
    return OptionSpec(click.Option, names, {"help": about} | given)


def argument(choices: Sequence[str] = (), **given: Any) -> Any:
    """Declare an argument; a `tuple` takes any number, and what may be None may be left out."""
    return OptionSpec(click.Argument, (), ({"type": click.Choice(choices)} if choices else {}) | given)


def several(make: Callable[..., Any], **parts: Any) -> Any:
    """Declare options that make one value."""
    return Several(make, parts)


def verb(
    name: str,
    group: click.Group | None = None,
    cls: type[click.Command] = click.Command,
    *,
    around: Any = None,
    **attributes: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that makes a command of a function, and adds it to the group.

    `around`, options that make a context manager, surrounds the call.
    """

    def command(function: Callable[..., Any]) -> click.Command:
        declared = {part.name: (str(part.annotation), part.default) for part in _signature(function)}
        if around is not None:
            declared[_AROUND] = ("", around)

        @functools.wraps(function)
        def call(**values: Any) -> Any:
            for parameter, (_, default) in declared.items():
                if isinstance(default, Several):
                    parts = {part: values.pop(f"{parameter}_{part}") for part in default.parts}
                    values[parameter] = default.make(**parts)
            with values.pop(_AROUND, None) or nullcontext():
                return function(**values)

        params = [
            made
            for parameter, (annotation, default) in declared.items()
            for made in _parameters_of(parameter, annotation, default)
        ]
        made = cls(name, params=params, callback=call, help=function.__doc__, **attributes)
        if group is not None:
            group.add_command(made)
        return made

    return command


def _signature(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _parameters_of(name: str, annotation: str, default: OptionSpec | Several) -> Iterator[click.Parameter]:
    """Yield what the command line has for a parameter of a verb."""
    if isinstance(default, Several):
        types = {part.name: str(part.annotation) for part in _signature(default.make)}
        for part, declared in default.parts.items():
            yield _parameter(f"{name}_{part}", part, types.get(part, "str | None"), declared)
    else:
        yield _parameter(name, name, annotation, default)


def _parameter(unique_name: str, name: str, annotation: str, declared: OptionSpec) -> click.Parameter:
    """Make the argument or option that a declaration and the annotation of its parameter describe."""
    type_name, _, may_be_none = annotation.partition(" | ")
    is_many = type_name.startswith("tuple[")
    type_name = type_name.removeprefix("tuple[").removesuffix(", ...]")
    attributes: dict[str, Any] = {"type": _TYPES.get(type_name)} | declared.given
    if declared.kind is click.Argument:
        if name.endswith("_"):
            attributes = {"metavar": name.strip("_").upper()} | attributes
        is_required = not (is_many or may_be_none or "default" in attributes)
        attributes = {"nargs": -1 if is_many else 1, "required": is_required} | attributes
        return click.Argument([unique_name], **attributes)
    flag = "--" + name.strip("_").replace("_", "-")
    if type_name == "bool":
        attributes = {"is_flag": True, "default": None if may_be_none else False} | attributes
        flag += flag.replace("--", "/--no-", 1) if may_be_none else ""
    elif type_name == "str" and not (may_be_none or is_many):
        attributes = {"default": ""} | attributes
    shows_default = (type_name != "bool" and attributes.get("default") not in (None, "")) or None
    return click.Option(
        [unique_name, *(declared.names or (flag,))], **{"multiple": is_many, "show_default": shows_default} | attributes
    )
