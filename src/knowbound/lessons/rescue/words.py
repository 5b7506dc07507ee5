"""The values of rescue: a lookup that missed, and the answer, one factual sentence, escaped and without secrets."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

PATTERN, GLOB, PATH = "pattern", "glob", "path"  # kinds of a lookup
FOUND, ABSENT, SILENT = "found", "absent", "silent"
KNOWN = ("lesson", "item")  # rules that say what is known, and not only what the tree has
MOST_PLACES = 3
_LONGEST_QUOTE = 120


class MissedLookup(NamedTuple):
    """One lookup that found nothing. Paths are relative to the root of the tree."""

    kind: str  # PATTERN: text in files; GLOB: files by a pattern of their paths; PATH: one file or folder
    query: str  # the pattern, the glob or the path
    where: tuple[str, ...] = ()  # files and folders that were searched; empty: the whole tree
    globs: tuple[str, ...] = ()  # which files of them
    type: str = ""  # ripgrep's name of a file type
    syntax: str = "rust"  # of a pattern: rust, perl, extended, basic, fixed
    ignore_case: bool = False
    wrong: str = ""  # what is wrong with the call, in words; "" where nothing is
    is_check: bool = False  # it asked whether something is there: either answer was expected
    tool: str = ""
    hides_errors: bool = False  # what the search complained about was thrown away


class SuggestedPlace(NamedTuple):
    """A place, relative to the root, and why it is one."""

    path: str
    line: int | None
    why: str

    @property
    def shown(self) -> str:
        """The place as the sentence shows it."""
        return quoted(f"{self.path}:{self.line}" if self.line else self.path)


class Rescue(NamedTuple):
    """The answer to a miss."""

    status: str = SILENT
    text: str = ""
    suggestions: tuple[SuggestedPlace, ...] = ()
    rule: str = ""  # which found it, for the record
    is_miss: bool = True  # whether the call was a lookup that found nothing
    names: tuple[str, ...] = ()  # besides the places, by what a call is known that follows it
    item: str = ""  # the id of the item of the store that says it, where one does
    problem: str = ""  # the reason why a model that was asked gave no answer

    @property
    def is_open(self) -> bool:
        """Report whether a lookup missed and no place is known: a model may know what was meant."""
        return self.is_miss and self.status != FOUND


NOTHING = Rescue()
NO_MISS = Rescue(is_miss=False)


def quoted(text: str) -> str:
    """A text between backticks: on one line, cut, without what could end the quotation."""
    from knowbound.text.printable import shorten  # noqa: PLC0415  # most misses are left alone

    shown = "".join(sign if sign.isprintable() else " " for sign in text).replace("`", "'").strip()
    return f"`{shorten(shown, _LONGEST_QUOTE)}`"


def as_line(text: str) -> str:
    """Return a person's or an item's words on one line, without the markup of clients and models."""
    from knowbound.injection.bundle import cleaned  # noqa: PLC0415  # most rescues quote nobody
    from knowbound.text.printable import printable_line  # noqa: PLC0415

    return printable_line(cleaned(text))


def found(text: str, places: list[SuggestedPlace], rule: str) -> Rescue:
    """A rescue with its places, at most three."""
    return Rescue(FOUND, text, tuple(places[:MOST_PLACES]), rule)


def listed(places: list[SuggestedPlace]) -> str:
    """Up to three places in a row."""
    shown = [place.shown for place in places[:MOST_PLACES]]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def texts_of(event: Mapping[str, Any]) -> list[str]:
    """Return what the agent gave its tool."""
    given = event.get("tool_input")
    return [value for value in given.values() if isinstance(value, str)] if isinstance(given, dict) else []


def without_secrets(said: Rescue, asked: Iterable[str]) -> Rescue:
    """The rescue with its secrets redacted; a place whose path has one is not suggested.

    If the request has a secret, nothing is said: a cut quotation of a secret may not be recognised.
    """
    from knowbound.text.redact import redact  # noqa: PLC0415  # costs 20 ms, where something is said

    if any(redact(part) != part for text in asked for part in dict.fromkeys((text, *text.split("|")))):
        return NOTHING
    kept = tuple(place for place in said.suggestions if redact(place.path) == place.path)
    text = redact(said.text)
    if (said.suggestions and not kept) or (said.rule in KNOWN and text != said.text):
        return NOTHING  # what a lesson or an item says is said as it is, or not at all
    return said._replace(text=text, suggestions=tuple(place._replace(why=redact(place.why)) for place in kept))
