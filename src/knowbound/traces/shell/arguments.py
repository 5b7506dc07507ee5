"""Splits a program's arguments as getopt does: options, their values, operands."""

from __future__ import annotations

import msgspec


class Arguments(msgspec.Struct, frozen=True, gc=False):
    """The arguments of a program, by what they are."""

    flags: frozenset[str]
    values: dict[str, list[str]]
    operands: list[str]

    def has(self, *names: str) -> bool:
        """Whether one of the options was given, with or without a value."""
        return any(name in self.flags or name in self.values for name in names)


def arguments(words: list[str], short: str = "", long: frozenset[str] = frozenset()) -> Arguments:
    """Read options as getopt does; `short` and `long` name those that take a value."""
    flags: set[str] = set()
    values: dict[str, list[str]] = {}
    operands: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            operands += words[at:]
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if equals:
                values.setdefault(name, []).append(value)
            elif name in long and at < len(words):
                values.setdefault(name, []).append(words[at])
                at += 1
            else:
                flags.add(name)
        elif word.startswith("-") and len(word) > 1:
            for position, letter in enumerate(word[1:], 2):
                if letter not in short:
                    flags.add(letter)
                    continue
                value = word[position:]
                if not value and at < len(words):
                    value = words[at]
                    at += 1
                values.setdefault(letter, []).append(value)
                break
        else:
            operands.append(word)
    return Arguments(frozenset(flags), values, operands)
