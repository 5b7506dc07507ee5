"""Errors of reading traces, config and databases."""

from __future__ import annotations

from knowbound.problems.kind import Problem

READING = (
    Problem(
        "no-sessions",
        "No agent trace was found where we looked.",
        "The folders do not exist, hold no file that any reader recognises, or the filters exclude every session.",
        "Give a path: knowbound observe PATH. The message names every folder that was searched.",
    ),
    Problem(
        "no-such-path",
        "A path that was given does not exist or cannot be read.",
        "Nothing was read, so that a typing error cannot look like a clean result.",
        "Correct the path and run the command again.",
    ),
    Problem(
        "bad-since",
        "The value of --since is neither a duration nor a date.",
        "It takes a number with h, d or w (7d, 12h, 2w), or a date such as 2026-11-01.",
        "For example: knowbound observe --since 7d",
    ),
    Problem(
        "config-unreadable",
        "The config file is not valid TOML or cannot be read.",
        "Settings are read before anything else, so nothing was done.",
        "Correct the file at the line that the message names.",
    ),
    Problem(
        "config-unknown-key",
        "The config has a key that knowbound does not know.",
        "An unknown key is most often a typing error, and ignoring it would change results silently.",
        "Use the key that the message suggests, or remove it. docs/config.md lists every key.",
    ),
    Problem(
        "config-wrong-type",
        "A setting has a value of the wrong type.",
        "The message names the key, where it was set, and the type that is needed.",
        "Correct the value. docs/config.md lists every key with its type.",
    ),
    Problem(
        "config-untrusted",
        "The project's config decides something that it may not decide alone.",
        "A setting that runs a program, names an address or a credential, leaves the root or lifts a limit of the "
        "hooks would let a cloned repository run code or receive your transcripts.",
        "Run knowbound trust, which shows these settings and asks; or set them in your own config file "
        "(~/.config/knowbound/config.toml), in the environment or on the command line.",
    ),
    Problem(
        "config-unwritable",
        "What you trust cannot be kept.",
        "It is kept in your state folder (~/.local/state/knowbound), never in the project.",
        "Make that folder writable, or set XDG_STATE_HOME.",
    ),
    Problem(
        "switch-unwritable",
        "The switch of the hooks cannot be changed.",
        "It is a file in your state folder (~/.local/state/knowbound).",
        "Make that folder writable, or set KNOWBOUND_OFF=1 in the environment that your agent starts with.",
    ),
    Problem(
        "rollout-refused",
        "The rollout of measured ranking cannot move that way.",
        "Leg 0 only measures, and after the last leg there is none.",
        "Run knowbound quality rollout, which shows the legs and where it is.",
    ),
    Problem(
        "store-tracked",
        "The data folder is tracked by git, so it is not used.",
        "What came with a checkout somebody else made: its items would be injected, its stored verdicts believed.",
        "Run git rm -r --cached .knowbound and commit that, or set KNOWBOUND_HOME to another folder.",
    ),
    Problem(
        "store-not-yours",
        "The data folder was made by another user, or on another machine, so it is not used.",
        "The file `owner` in it does not carry the mark of your key (in ~/.local/state/knowbound).",
        "If you know it is yours (a restored backup, a copied folder), run knowbound trust. Otherwise delete it.",
    ),
    Problem(
        "index-not-yours",
        "The index of the knowledge store was not made by you, so it is not used.",
        "A file of that name may come with a checkout, and hooks inject what it holds.",
        "Run knowbound kms sync: it makes the index anew from the items of the backends.",
    ),
    Problem(
        "store-unwritable",
        "The data folder cannot be written.",
        "Results are kept in .knowbound/ of the project, so that unchanged files are not read again.",
        "Set KNOWBOUND_HOME to a folder that can be written, or use --root.",
    ),
    Problem(
        "store-corrupt",
        "A database in the data folder is damaged or is not ours.",
        "It was cut, overwritten, or made by another program. Nothing was changed. index.db can be made anew from "
        "the backends; items.db (items) and knowbound.db (findings, evaluations) hold what cannot.",
        "For index.db: knowbound kms sync --all. For the others put a copy back, or move the file away: `sqlite3 "
        "FILE .recover` saves what can be read of it.",
    ),
    Problem(
        "store-newer",
        "The database was written by a newer version of knowbound.",
        "An older version could damage data that it does not know.",
        "Update knowbound, or set KNOWBOUND_HOME to another folder.",
    ),
    Problem(
        "store-busy",
        "Another process has been writing to the database for longer than we wait.",
        "Two processes write one after the other; the other one took too long.",
        "Run the command again when the other one has ended.",
    ),
    Problem(
        "no-run",
        "There is no stored run to report on.",
        "`report` renders what an earlier command stored.",
        "Run knowbound observe first.",
    ),
    Problem(
        "unknown-topic",
        "The newest stored run of observe has no topic with this id or title.",
        "Topics belong to a run: another run, another filter or new sessions may have others.",
        "Use one of the ids that the message names, or see them all: knowbound report --format json",
    ),
    Problem(
        "nothing-kept",
        "There is nothing to forget.",
        "The project has no data folder.",
        "Name the project with --root, or the data folder with KNOWBOUND_HOME.",
    ),
    Problem(
        "forgotten-unreadable",
        "The list of forgotten sessions cannot be used.",
        "Without it, what was forgotten would be read again from the agents' transcripts, so nothing was read.",
        "Move the file away, and forget again what should not be read.",
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
        "hedging_classifier.model names the judge that decides whether a sentence is a hedge, judge.model the one "
        "that scores rubrics. The name is stored with every verdict, so it must not contain a key.",
        "Use `rules`, the built-in judge, or a name in a form that knowbound judge list shows.",
    ),
    Problem(
        "bad-events",
        "A line of the events for rescue is not what it should be.",
        "Each line is a JSON object: an event of PostToolUse or PostToolUseFailure, as the client sends it.",
        "Correct the line that the message names.",
    ),
    Problem(
        "tree-too-large",
        "A source tree could not be indexed whole.",
        "It has more than 100,000 files, or listing them took over a minute; what is missing in it is not known.",
        "Name a part of it with --root, or leave folders out with .gitignore or .ignore.",
    ),
    Problem(
        "bad-questions",
        "A line of the file of questions cannot be used.",
        "investigate --input takes one JSON object per line, with question and optionally id.",
        'Correct the line: {"id": "q1", "question": "where is X defined"}',
    ),
    Problem(
        "output-unwritable",
        "The file named by -o cannot be written.",
        "The result is complete, but it could not be saved. No incomplete file was written.",
        "Name another file, or leave -o out to print to the terminal.",
    ),
)
