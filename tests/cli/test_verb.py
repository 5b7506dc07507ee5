"""A verb is a function: its parameters are its arguments and options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from knowbound.cli.options import argument, option, several, verb

said: list[object] = []


@dataclass(frozen=True)
class Span:
    since: str | None = None
    all: bool = False


SPAN = several(Span, since=option("From then on."), all=option("Everything."))


@contextmanager
def counted(*, quiet: bool) -> Iterator[None]:
    said.append("quietly" if quiet else "aloud")
    yield
    said.append("done")


@verb("try", around=several(counted, quiet=option("Say nothing.")))
def tried(
    place: str = argument(),
    more: tuple[Path, ...] = argument(),
    count: int = option("Take so many.", default=3, within=(1, 5)),
    share: float | None = option("Take this share.", within=(0.0, 1)),
    dry_run: bool = option("Change nothing."),
    cache: bool | None = option("Keep answers."),
    kinds: tuple[str, ...] = option("Only these.", "--kind", choices=("a", "b")),
    note: str = option("Say why."),
    span: Span = SPAN,
) -> int:
    """Try it."""
    said.append((place, more, count, share, dry_run, cache, kinds, note, span))
    return 7


def run(*arguments: str) -> list[object]:
    said.clear()
    CliRunner().invoke(tried, arguments, catch_exceptions=False, standalone_mode=False)
    return list(said)


def test_what_is_not_given_has_its_default() -> None:
    assert run("here")[1] == ("here", (), 3, None, False, None, (), "", Span())


def test_names_and_types_are_those_of_the_parameters() -> None:
    given = ["here", "a.md", "b.md", "--count", "5", "--share", ".5", "--dry-run", "--no-cache", "--kind", "b"]
    found = run(*given, "--kind", "a", "--note", "n", "--since", "7d", "--all")[1]
    files = (Path("a.md"), Path("b.md"))
    assert found == ("here", files, 5, 0.5, True, False, ("b", "a"), "n", Span("7d", True))


@pytest.mark.parametrize(
    "given",
    [[], ["here", "--count", "6"], ["here", "--count", "2.5"], ["here", "--share", "1.5"], ["here", "--kind", "c"]],
)
def test_what_does_not_fit_is_a_wrong_usage(given: list[str]) -> None:
    with pytest.raises(click.UsageError):
        run(*given)
    assert said == []


def test_the_call_is_surrounded_by_what_its_options_make() -> None:
    assert [run("here", "--quiet")[at] for at in (0, 2)] == ["quietly", "done"]
    assert run("here")[0] == "aloud"


def test_the_docstring_is_the_help_with_defaults_that_say_something() -> None:
    shown = CliRunner().invoke(tried, ["--help"]).output
    assert "Usage: try [OPTIONS] PLACE [MORE]...\n\n  Try it." in shown
    assert "[default: 3; 1<=x<=5]" in shown
    assert shown.count("default:") == 1
    assert "--cache / --no-cache" in shown


def test_a_verb_of_a_group_is_found_there() -> None:
    group = click.Group("all")
    verb("one", group)(lambda: None)
    assert list(group.commands) == ["one"]
