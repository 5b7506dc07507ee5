"""Texts that a command line prints itself, by `echo` and `printf`: they are no output of its lookups."""

from __future__ import annotations

from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowbound.traces.shell.parser import Command

_ECHO_OPTIONS = lazy(r"-[neE]+")
_CONVERSION = lazy(r"%[-+ 0]*\d*(?:\.\d+)?[sdiqfxb]")
_MOST_ROUNDS = 20  # of a format that repeats


class PrintedText(NamedTuple):
    """A line of text that the command line itself prints."""

    pieces: tuple[str, ...]  # the text before, between and after its expansions
    is_prefix: bool  # no newline follows: the output of the next command is in the same line
    lookup: int  # the lookup that it reports on, -1 for none
    if_found: bool  # it is printed if that lookup found something
    status_number: int  # the expansion with `$?`, -1 for none

    @property
    def is_unknown(self) -> bool:
        """Report whether the line may be anything: variables alone."""
        return not any(self.pieces) and self.status_number < 0

    def match(self, line: str) -> tuple[list[str], str] | None:
        """Return the values of the expansions and the rest of the line; None if the line is not this text."""
        if not line.startswith(self.pieces[0]):
            return None
        at, values = len(self.pieces[0]), []
        for left, piece in zip(range(len(self.pieces) - 2, -1, -1), self.pieces[1:], strict=True):
            end = line.find(piece, at)
            if not left and not (self.is_prefix and piece):  # the last piece ends the line
                end = len(line) - len(piece) if line.endswith(piece) else -1
            if end < at:
                return None
            values.append(line[at:end].strip())
            at = end + len(piece)
        rest = line[at:].strip()
        return None if rest and not self.is_prefix else (values, rest)


def printed_texts(command: Command, lookup: int, when: bool) -> Iterator[PrintedText]:
    """Yield the lines that `echo` or `printf` prints, if the condition of `lookup` and `when` holds."""
    words = list(command.words[1:])
    escapes, newline = command.program == "printf", command.program == "echo"
    while command.program == "echo" and words and _ECHO_OPTIONS.fullmatch(words[0].text):
        newline &= "n" not in words[0].text
        escapes |= "e" in words[0].text
        words = words[1:]
    parts, names = list[str](), list[str]()
    for word in words:
        part, at = "", 0
        for expansion in word.expansions:
            part += word.text[at : expansion.start] + "\0"  # \0 stands for an expansion
            at = expansion.end
            names.append(expansion.name)
        parts.append(part + word.text[at:])
    text = _formatted(parts) if command.program == "printf" else " ".join(parts)
    newline |= escapes and text.endswith(("\\n", "\n"))
    lines = text.replace("\\n", "\n").replace("\\t", "\t").split("\n")
    for number, line in enumerate(lines):
        pieces = tuple(piece.strip() for piece in line.split("\0"))
        names_in_line, names = names[: len(pieces) - 1], names[len(pieces) - 1 :]
        if any(pieces) or names_in_line:
            status = names_in_line.index("?") if "?" in names_in_line else -1  # `$?`
            is_prefix = not newline and number == len(lines) - 1
            yield PrintedText(pieces, is_prefix, lookup, when, status)


def _formatted(parts: list[str]) -> str:
    """Return printf's format filled with its arguments; the format repeats while arguments are left."""
    form, given = "".join(parts[:1]), iter(parts[1:])
    rounds = -(-len(parts[1:]) // max(1, len(_CONVERSION.findall(form))))  # rounded up
    return _CONVERSION.sub(lambda _: next(given, ""), form * min(max(1, rounds), _MOST_ROUNDS))
