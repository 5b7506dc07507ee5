"""Errors of reading traces, config and databases, and of items of the knowledge store."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """A kind of error, as `knowbound explain SLUG` and docs/messages.md explain it."""

    slug: str
    what: str
    why: str
    do: str


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
        "Your permission for a project cannot be stored.",
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
        "Leg 0 only measures, and the last leg has no next one.",
        "Run knowbound quality rollout, which shows the legs and the present one.",
    ),
    Problem(
        "store-tracked",
        "The data folder is tracked by git, so it is not used.",
        "Somebody else made the files of a checkout: their items would be injected, their stored verdicts believed.",
        "Run git rm -r --cached .knowbound and commit that, or set KNOWBOUND_HOME to another folder.",
    ),
    Problem(
        "store-not-yours",
        "The data folder was made by another user, or on another machine, so it is not used.",
        "The file `owner` in it does not have the mark of your key (in ~/.local/state/knowbound).",
        "If you know it is yours (a restored backup, a copied folder), run knowbound trust. Otherwise delete it.",
    ),
    Problem(
        "index-not-yours",
        "The index of the knowledge store was not made by you, so it is not used.",
        "A file of that name may come with a checkout, and hooks would inject its items.",
        "Run knowbound kms sync: it rebuilds the index from the items of the backends.",
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
        "It was cut, overwritten, or made by another program. Nothing was changed. index.db can be rebuilt from the "
        "backends; items.db (items) and knowbound.db (findings, evaluations) cannot.",
        "For index.db: knowbound kms sync --all. Restore a copy of the others, or move the file away: `sqlite3 FILE "
        ".recover` saves the readable part.",
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
        "Only one process writes at a time, and the other process took too long.",
        "Run the command again when the other process has ended.",
    ),
    Problem(
        "no-run",
        "There is no stored run to report on.",
        "`report` renders the stored result of an earlier command.",
        "Run knowbound observe first.",
    ),
    Problem(
        "unknown-topic",
        "The newest stored run of observe has no topic with this id or title.",
        "Topics belong to a run: another run, another filter or new sessions may have other topics.",
        "Use one of the ids that the message names, or list all: knowbound report --format json",
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
        "Without the list, forgotten sessions would be read again from the agents' transcripts, so nothing was read.",
        "Move the file away, and run knowbound forget again for what should not be read.",
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
        "A line of the events for rescue cannot be used.",
        "Each line is a JSON object: an event of PostToolUse or PostToolUseFailure, as the client sends it.",
        "Correct the line that the message names.",
    ),
    Problem(
        "tree-too-large",
        "A source tree could not be indexed whole.",
        "It has more than 100,000 files, or listing them took over a minute; the rest of the tree is unknown.",
        "Name a part of the tree with --root, or leave folders out with .gitignore or .ignore.",
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
ITEMS = (
    Problem(
        "item-invalid",
        "An item, or a change to one, is not valid.",
        "Content is text of 1 to 20,000 characters, confidence a number from 0 to 1, type, source and flag one of "
        "the known ones, an id letters, digits and . _ : @ / + -. Nothing was changed.",
        "Correct what the message names.",
    ),
    Problem(
        "quality-invalid",
        "A measured turn, a day or a record of the quality log cannot be stored.",
        "It has invalid characters (half of a surrogate pair, as in a broken file), a number that is too large, "
        "or more than the 16 MB that a document of MongoDB may have. Nothing was changed.",
        "The message names the cause. The other turns are not affected.",
    ),
    Problem(
        "bad-arguments",
        "The arguments of a tool call are not valid.",
        "A tool of the MCP server was called with an argument that it does not have, without one that it needs, or "
        "with a value of another type. Nothing was done.",
        "Call the tool again with the arguments that its schema lists.",
    ),
    Problem(
        "item-unknown",
        "No backend in use has an item with this id.",
        "It was never stored, was reaped, or its backend is not in use (kms.backends).",
        "Search for it: knowbound kms search WORDS. Nothing was changed.",
    ),
    Problem(
        "item-duplicate",
        "The same content is stored already.",
        "Different case, punctuation or white space is the same content. A correction might reach only one of the two.",
        "Use the entry that the message names: kms update, kms supersede.",
    ),
    Problem(
        "item-withdrawn",
        "What is to be stored was retracted, superseded, deleted or reaped.",
        "A fact that was corrected does not come back by being added again, in the same words or, where it was "
        "superseded, in others. The message names the entry, when and by whom it was withdrawn, and its "
        "replacement. Nothing was changed.",
        "Leave it; or, if it is true again, insist with --again (MCP: again). The withdrawn entry then points to "
        "the new one. kms flag ID --clear brings the entry itself back.",
    ),
    Problem(
        "item-unsafe",
        "The text tries to give instructions to the agent.",
        "Stored text is injected into an agent's context as data. Prompt injection, hidden characters, forged "
        "system or tool tags, and requests to send data away are neither stored nor injected.",
        "Write it as a plain fact about the project. The message names the words.",
    ),
    Problem(
        "item-secret",
        "The text contains a secret.",
        "Stored text is shown to agents and models.",
        "Remove the secret, and write instead where to find it. Nothing was stored.",
    ),
    Problem(
        "supersede-cycle",
        "An item cannot be replaced by itself, directly or through others.",
        "Then no item would be left to inject. Nothing was changed.",
        "Name an item that is not superseded itself, or give the new content.",
    ),
    Problem(
        "flag-refused",
        "The item's flag does not allow this.",
        "An item that is not injected must not come back because a weaker flag replaces a stronger one.",
        "Remove the flag first: knowbound kms flag ID --clear. Nothing was changed.",
    ),
    Problem(
        "no-suggestion",
        "No suggested correction of this item waits for an answer.",
        "No turn contradicted its present wording, or it was corrected or answered since.",
        "List the waiting suggestions: knowbound quality corrections. Nothing was changed.",
    ),
    Problem(
        "suggestion-answered",
        "The suggested correction has an answer already.",
        "The first answer counts, even if two are given at once.",
        "Take it back first: knowbound quality corrections undo ID. Nothing was changed.",
    ),
    Problem(
        "suggestion-undrafted",
        "Nothing plausible was drafted for this suggestion.",
        "The agent's statement was a question, about something else, unsafe, or far longer than the item.",
        "Give the new content: knowbound quality corrections accept ID --content '…'. Nothing was changed.",
    ),
    Problem(
        "unknown-backend",
        "There is no such backend, or it is not in use here.",
        "kms.backends lists the backends in use.",
        "Use sqlite, mongo, mem0 or neo4j.",
    ),
    Problem(
        "backend-missing",
        "A package that the backend needs is not installed.",
        "MongoDB, Mem0 and Neo4j are optional extras, so that the base install stays small.",
        "Run the command in the message, for example: python -m pip install 'knowbound[mongo]'",
    ),
    Problem(
        "item-contended",
        "Other writers kept changing the item during the call.",
        "Writers on other machines are not locked out. A change is stored only if the item is still as it was read; "
        "otherwise the call is repeated several times. Nothing of this call was stored.",
        "Make the call again.",
    ),
    Problem(
        "backend-unreachable",
        "A backend does not answer, or refused the request.",
        "Writes to other backends in the same step were rolled back: nothing was changed.",
        "Start it or correct its address in the config, and run the command again.",
    ),
    Problem(
        "import-unreadable",
        "A file to import is not valid.",
        "Nothing of it was imported.",
        "Correct the line that the message names. docs/verbs/kms.md lists the formats.",
    ),
)
