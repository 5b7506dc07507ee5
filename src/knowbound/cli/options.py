"""A verb is a function: each parameter is an argument or option of the command line, in the order of --help.

    @verb("draft")
    def draft_command(
        ids: tuple[str, ...] = argument(),
        accept: bool = option("Add the samples IDS to the test set."),
        count: int = option("Let the model write this many at most.", default=10, within=(1, 500)),
    ) -> int:

Names and types are those of the parameter; the docstring is the help. Below are the options that several verbs share,
and the settings they lead to.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from knowbound.cli.output import Out, echo
from knowbound.errors import ConfigError, InputError
from knowbound.report import EVERY_FORMAT, LINE_FORMATS

if TYPE_CHECKING:
    from fractions import Fraction

    from knowbound.config import Settings
    from knowbound.gaps.stored import Filters
    from knowbound.stats.gate import Limits

Result = TypeVar("Result")

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
                    # The options have the names that `_parameters_of` gave them.
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


# The project

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
root = option("Work on this project or knowledge base (default: the current folder).", type=_FOLDER)
project = option("Work on this project (default: the project that the current folder is in).", type=_FOLDER)


def settings_of(root: Path | None, **flags: object) -> Settings:
    """Return the settings of the folder `root`, or of the current folder; a flag that is not None replaces one.

    Raises an error for a data folder of another user: nothing in it is read or written.
    """
    from knowbound.config import load

    settings = checked(load((root or Path()).resolve(), flags=_model_flags() | flags))
    if "cluster_address" in flags and settings.cluster_address:  # refused even where nothing is left to read
        from knowbound.traces.cluster import check_address

        check_address(settings.cluster_address, settings)
    return settings


def _model_flags() -> dict[str, object]:
    """Return the settings that --model of the running command replaces: it counts for every task."""
    from knowbound.cli.asking import MODEL

    context = click.get_current_context(silent=True)
    model_name = context.meta.get(MODEL) if context else None
    if model_name is None:
        return {}
    from knowbound.config import ModelTask

    command_tasks = (task for task in ModelTask if task is not ModelTask.CHOOSE)  # hooks ask that, no command does
    # An empty name leaves a task to `model_name`.
    return {"model_name": model_name} | {f"model_tasks_{task}": "" for task in command_tasks}


as_specified = option("Count failed searches by the letter of specification 1, errors included.")


def project_settings(root: Path | None) -> Settings:
    """Return the settings of `root`, or of the project that the current folder is in."""
    from knowbound.store.data_dir import project_root

    return settings_of(root or Path(project_root(os.getcwd())))


def checked(settings: Settings) -> Settings:
    """Return the settings if their data folder may be used. Says so where the folder is taken over now."""
    from knowbound.config import REPLACED, variable
    from knowbound.store.marking import check_data_folder

    note = check_data_folder(settings.home, is_given=settings.home_is_given)
    if note:
        echo(f"knowbound: {note}", err=True)
    new_names = REPLACED | {variable(old): variable(new) for old, new in REPLACED.items()}
    for key in settings.replaced:
        echo(f"knowbound: {key} still counts; it was replaced by {new_names[key]}.", err=True)
    return settings


def from_stored(settings: Settings, root: Path | None, show: Callable[[Settings], Result]) -> Result:
    """Call `show` with the settings of the folder whose runs are stored.

    Falls back to the one evaluated folder below if the current folder has no run and no root was given: after
    `eval --root docs` the other verbs need no --root.
    """
    from knowbound.evals.history import evaluated_below

    try:
        return show(settings)
    except InputError as error:
        evaluated = evaluated_below(settings) if error.slug == "no-run" and root is None else []
        if not evaluated:
            raise
        root_options = ", ".join(f"--root {os.path.relpath(folder, settings.root)}" for folder in evaluated)
        if len(evaluated) > 1:
            raise InputError(
                "no-run", f"Nothing is stored for this folder, but for several below it. Try one of: {root_options}"
            ) from error
    echo(f"knowbound: nothing is stored for this folder; this is {root_options}.", err=True)
    return show(settings_of(evaluated[0]))


def user_name() -> str:
    """Return the name of the user who runs the command, for logs of changes."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


# The sessions


cluster = option("Read traces with a Dask cluster: tls://host:port, or local:N for N workers here.", metavar="ADDRESS")
every_project = option("Report on every project, not only on this one.")
agent = option("Take only sessions of this agent: claude-code, codex, copilot-cli, gemini-cli, …")


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions that a verb is about, as options choose them."""

    all: bool = False
    since: str | None = None
    project: str | None = None
    agent: str | None = None
    skill: str | None = None

    def filters(self, settings: Settings, paths: Sequence[Path | str]) -> Filters:
        """Return the filters. Without options: the project at the root, and all of a path that is given."""
        from knowbound.gaps.stored import Filters, project_at
        from knowbound.gaps.stored import since as since_time

        project = self.project or ("" if paths or self.all else project_at(settings.root))
        if self.project and ("/" in project or project in (".", "..")):  # a path, not a folder name
            project = os.path.abspath(os.path.expanduser(project))
        since = since_time(self.since) if self.since else ""
        return Filters(since=since, project=project, skill=self.skill or "", agent=self.agent or "")


def sessions(unit: str = "") -> Any:
    """Declare --all, --since, --project, --agent; and --skill for a report about units (samples, turns) of a skill."""
    of_skill = {"skill": option(f"Take only {unit} of this skill (general: {unit} without a skill).")} if unit else {}
    return several(
        Sessions,
        all=every_project,
        since=option("Take only sessions active since then: 7d, 12h, 2w or a date."),
        project=option("Take only sessions that worked in or below this folder (a path or a folder name)."),
        **of_skill,
        agent=agent,
    )


def absolute(paths: Iterable[Path | str]) -> list[Path]:
    """Return the paths from the root of the file system; links stay links, and addresses addresses."""
    from knowbound.traces.source import address_of

    return [Path(path) if address_of(path) else Path(os.path.abspath(path)) for path in paths]


# The format


class FormatName(click.Choice[str]):
    """A built-in format, or for a report the format of an installed package."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. Fails with the built-in names where neither knows it."""
        if value not in self.choices and "html" in self.choices:
            from knowbound.plugins import plugins

            if value in plugins("formats"):
                return str(value)
        return super().convert(value, param, ctx)


def format_of(formats: tuple[str, ...]) -> Any:
    """Declare --format, with these formats."""
    return option("Print in this format.", type=FormatName(formats), default="text")


def report(formats: tuple[str, ...], output_help: str = "Write to FILE, not to stdout.") -> Any:
    """Declare --format, with these formats, and -o: an `Out`."""
    return several(Out, format=format_of(formats), path=option(output_help, "-o", "--output", type=FilePath))


output = report(EVERY_FORMAT)  # for reports with gaps or gates
page = report(LINE_FORMATS)  # for results without gates, such as an answer or a list of questions


# The gates (specification 1, section 7.4)


class LimitType(click.ParamType[Any]):
    """A fraction from 0 to 1, kept exactly as it was written."""

    name = "fraction"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        """Return the fraction. Fails with a message that says what is wrong with the value."""
        from knowbound.stats.gate import limit

        try:
            return limit(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@dataclass(frozen=True, slots=True)
class Gates:
    """The gates that options ask for."""

    max_gap_rate: Fraction | None = None
    gap_rate_regression: Fraction | None = None
    rate: str | None = None
    strict: bool = False

    def limits(self, settings: Settings) -> Limits:
        """Return the limits and the rate that the options name, or else those of the config."""
        from knowbound.stats.figures import RateKind
        from knowbound.stats.gate import Limits, limit

        def limit_of(given: Fraction | None, configured: float | None) -> Fraction | None:
            return limit(configured) if given is None and configured is not None else given

        kind = self.rate or settings.gate_rate
        if kind not in set(RateKind):
            raise ConfigError("config-wrong-type", f"gate.rate must be raw or open, not {kind!r}.")
        return Limits(
            limit_of(self.max_gap_rate, settings.gate_max_gap_rate),
            limit_of(self.gap_rate_regression, settings.gate_gap_rate_regression),
            RateKind(kind),
        )


gates = several(
    Gates,
    max_gap_rate=option("Fail when the gap rate is above F (0.1 is 10%).", type=LimitType(), metavar="F"),
    gap_rate_regression=option(
        "Fail when the gap rate rose by more than F since the last run with this test set that failed no "
        "gate (0.05 is 5%).",
        type=LimitType(),
        metavar="F",
    ),
    rate=option(
        "Gate on this rate: raw counts every signal (default), open only open signals.", choices=("raw", "open")
    ),
    strict=option("Exit 3 when a gate passes on too few samples to be sure."),
)
