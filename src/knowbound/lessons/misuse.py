"""What a program prints that was called by a wrong name, with a wrong script, or in the wrong folder."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy

_MISUSED = lazy(
    r"""[^\n]{0,60}(?:unrecognized\ (?:sub)?command|unknown\ (?:sub)?command|no\ such\ (?:sub)?command
    |script\ not\ found
    |missing\ script|command\ not\ found|is\ not\ a\ (?:valid\ |known\ )?(?:command|task|script|subcommand|recipe)
    |no\ module\ named|no\ rule\ to\ make\ target|ERR_PNPM_NO_SCRIPT|no\ projects\ matched|couldn't\ find\ a\ script
    |no\ task\b[^\n]{0,30}\bfound|task\b[^\n]{0,40}\bdoes\ not\ exist)[^\n]{0,100}""",
    re.IGNORECASE | re.VERBOSE,
)
_OPTION = lazy(
    r"(?:unknown|unrecognized|unrecognised|no such|invalid|unexpected|unsupported) (?:command[- ]line )?"
    r"(?:flag|option|argument|arguments|switch|shorthand flag)s?:? (?:-- )?[`'\"]?(?P<option>--?[A-Za-z][\w-]*)",
    re.IGNORECASE,
)
_HEAD, _TAIL = 6_000, 6_000  # characters of an output that are looked through


def both_ends(output: str) -> str:
    """The parts of a long output that say why a command failed."""
    return output if len(output) <= _HEAD + _TAIL else f"{output[:_HEAD]}\n{output[-_TAIL:]}"


def misused_line(output: str) -> str:
    """The line that says that a command was called wrongly; "" where none does."""
    found = _MISUSED.search(both_ends(output))
    return " ".join(found[0].split()) if found else ""


def unknown_option(output: str) -> str:
    """The option that a program says it does not have; "" where none does."""
    found = _OPTION.search(both_ends(output))
    return found["option"] if found else ""
