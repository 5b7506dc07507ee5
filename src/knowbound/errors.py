"""Every error: what happened, where we looked, the next command, and a slug that `knowbound explain` knows.

    KnowboundError              exit 2: wrong usage, config or input
    ├── ConfigError             the settings cannot be used as they are
    ├── InputError              a path or trace cannot be used
    └── StoreError              the data in .knowbound/ cannot be used

Exit codes (DESIGN): 0 good, 1 a gate failed, 2 wrong usage, config or input, 3 undecided or
insufficient evidence, 4 a defect of ours.
"""

from __future__ import annotations

from typing import NamedTuple

GATE_FAILED, WRONG_INPUT, UNDECIDED, DEFECT = 1, 2, 3, 4


class Problem(NamedTuple):
    """A kind of error, as `knowbound explain SLUG` and docs/messages.md tell it."""

    slug: str
    what: str
    why: str
    do: str


PROBLEMS: dict[str, Problem] = {
    problem.slug: problem
    for problem in (
        Problem(
            "no-sessions",
            "No agent trace was found where we looked.",
            "The folders do not exist, hold no file that any reader recognises, or the filters leave nothing.",
            "Give a path: knowbound observe PATH. The message names every place that was looked at.",
        ),
        Problem(
            "no-such-path",
            "A path that was given does not exist or may not be read.",
            "Nothing was read, so that a typing error cannot look like a clean result.",
            "Correct the path and run the command again.",
        ),
        Problem(
            "bad-since",
            "The value of --since is not a span of time or a date.",
            "It takes a number with h, d or w (7d, 12h, 2w), or a date such as 2026-11-01.",
            "For example: knowbound observe --since 7d",
        ),
        Problem(
            "config-unreadable",
            "The config file is not valid TOML or cannot be read.",
            "Settings are read before anything else, so nothing was done.",
            "Mend the file at the line named in the message.",
        ),
        Problem(
            "config-unknown-key",
            "The config has a key that knowbound does not know.",
            "An unknown key is most often a typing error, and ignoring it would change results silently.",
            "Take the suggestion in the message, or remove the key. docs/config.md lists every key.",
        ),
        Problem(
            "config-wrong-type",
            "A setting has a value of the wrong type.",
            "The message names the key, where it was set, and the type that is needed.",
            "Correct the value. docs/config.md lists every key with its type.",
        ),
        Problem(
            "store-unwritable",
            "The data folder cannot be written.",
            "Results are kept in .knowbound/ of the project, so that unchanged files are not read again.",
            "Set KNOWBOUND_HOME to a folder that can be written, or use --root.",
        ),
        Problem(
            "store-corrupt",
            "The database in the data folder is damaged or is not ours.",
            "Everything in it can be made again from the traces.",
            "Move the file away and run the command again.",
        ),
        Problem(
            "store-newer",
            "The database was written by a newer version of knowbound.",
            "An older version must not change what it does not understand.",
            "Update knowbound, or set KNOWBOUND_HOME to another folder.",
        ),
        Problem(
            "store-busy",
            "Another process holds the database for longer than we wait.",
            "Two runs that write at once take turns; one of them took too long.",
            "Run the command again when the other one has ended.",
        ),
        Problem(
            "no-run",
            "There is no stored run to report on.",
            "`report` renders what an earlier command stored.",
            "Run knowbound observe first.",
        ),
        Problem(
            "unknown-code",
            "`explain` does not know this code.",
            "It knows every error slug, signal, status, outcome, band and tier.",
            "Run knowbound explain without a code to see them all.",
        ),
        Problem(
            "unknown-judge",
            "The configured judge does not exist.",
            "hedging_classifier.model names the judge that decides whether a sentence is a hedge.",
            "Use `rules`, the embedded judge.",
        ),
        Problem(
            "output-unwritable",
            "The file named by -o cannot be written.",
            "The result is complete, but there is no place to put it; nothing was half written.",
            "Name another file, or leave -o out to print to the terminal.",
        ),
        Problem(
            "defect",
            "knowbound itself failed.",
            "This is a defect of ours, not of your input.",
            "Please report it with the message and the traceback (KNOWBOUND_TRACEBACK=1 shows it).",
        ),
    )
}


class KnowboundError(Exception):
    """What happened, with the next command; `slug` leads to the explanation."""

    exit_code = WRONG_INPUT

    def __init__(self, slug: str, message: str) -> None:
        if slug not in PROBLEMS:
            raise KeyError(slug)
        super().__init__(message)
        self.slug = slug

    def __str__(self) -> str:
        return f"{self.args[0]}   [{self.slug}]"


class ConfigError(KnowboundError):
    """The settings cannot be used as they are."""


class InputError(KnowboundError):
    """A path or a trace cannot be used."""


class StoreError(KnowboundError):
    """The data in .knowbound/ cannot be used."""
