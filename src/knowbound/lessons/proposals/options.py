"""Options that agents give to a program again and again, and that it does not have."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import takewhile

from knowbound.core.lesson import LessonEvidence, LessonKind
from knowbound.lessons.invocations import MACHINE
from knowbound.lessons.material import Failure, Material
from knowbound.lessons.proposals.proposal import SEVERAL, Corpus, LessonProposal, code, listed

_SHOWN = 3  # commands in one line
_SHORT = 2  # characters: what a letter stands for, a wrapper around a program may read otherwise
_EVERYWHERE = MACHINE | {"git"}
_SUBCOMMAND = re.compile(r"[a-z][a-z:-]*")


def unknown_options(corpus: Corpus) -> Iterator[LessonProposal]:
    """One lesson for each program and option."""
    seen: dict[tuple[str, str], list[tuple[Material, Failure, str]]] = defaultdict(list)
    for material in corpus.materials:
        for failure in material.failures:
            called = command_with(failure)
            program = called.partition(" ")[0]
            if called and program not in _EVERYWHERE and len(failure.option) > _SHORT:
                seen[program, failure.option].append((material, failure, called))
    for (program, option), group in seen.items():
        if len({material.session for material, _, _ in group}) < SEVERAL:
            continue
        commands = Counter(called for _, _, called in group)
        shown = [called for called, _ in commands.most_common(_SHOWN)]
        verb = "has" if len(shown) == 1 else "have"
        yield LessonProposal(
            LessonKind.COMMAND,
            f"option {program} {option}",
            f"{listed(map(code, shown))} {verb} no {code(option)} option: leave it out.",
            tuple(LessonEvidence(material.session, failure.line, failure.file) for material, failure, _ in group),
            len(group),
            (f"option:{program}:{option}",),
            unverified=f"that {program} refuses {option} was seen in sessions, not in the tree",
        )


def command_with(failure: Failure) -> str:
    """The command that was given an option which it does not have: its program and subcommands."""
    for command in failure.commands if failure.option else ():
        words = command.split()
        if any(word == failure.option or word.startswith(f"{failure.option}=") for word in words):
            program, *rest = words
            subcommands = list(takewhile(_SUBCOMMAND.fullmatch, rest[:2]))
            return " ".join([program.rpartition("/")[2], *subcommands])
    return ""
