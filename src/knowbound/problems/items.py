"""Errors about items: adding, correcting and importing them, and where they are kept."""

from __future__ import annotations

from knowbound.problems.kind import Problem

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
        "It holds characters that are none (half of a pair, as a broken file has), a number that is too large, "
        "or more than the 16 MB that a document of MongoDB may have. Nothing was changed.",
        "The message names what. The other turns are not affected.",
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
        "No backend in use holds an item with this id.",
        "It was never stored, was reaped, or its backend is not among those in use (kms.backends).",
        "Search for it: knowbound kms search WORDS. Nothing was changed.",
    ),
    Problem(
        "item-duplicate",
        "The same content is stored already.",
        "Case, punctuation and white space make no other content. A correction might reach only one of the two.",
        "Use the entry that the message names: kms update, kms supersede.",
    ),
    Problem(
        "item-withdrawn",
        "What is to be stored was retracted, superseded, deleted or reaped.",
        "A fact that was corrected does not come back by being added again, in the same words or, where it was "
        "superseded, in others. The message names the entry, when and by whom it was withdrawn, and what is in "
        "force instead. Nothing was changed.",
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
        "What is stored is shown to agents and models.",
        "Remove the secret, and write where it is kept instead. Nothing was stored.",
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
        "No turn contradicted it as it is worded now, or it was corrected or answered since.",
        "See what waits: knowbound quality corrections. Nothing was changed.",
    ),
    Problem(
        "suggestion-answered",
        "The suggested correction has an answer already.",
        "The first answer holds, also where two are given at once.",
        "Take it back first: knowbound quality corrections undo ID. Nothing was changed.",
    ),
    Problem(
        "suggestion-undrafted",
        "Nothing plausible was drafted for this suggestion.",
        "What the agent said was a question, about something else, unsafe, or far longer than the item.",
        "Give the new content: knowbound quality corrections accept ID --content '…'. Nothing was changed.",
    ),
    Problem(
        "unknown-backend",
        "There is no such backend, or it is not in use here.",
        "kms.backends lists those in use.",
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
        "Others changed an item again and again while it was to be changed.",
        "Writers on other machines are not locked out: a change is made only where the item is as it was read, and "
        "is otherwise read and made again, several times. Nothing of this call was stored.",
        "Make the call again.",
    ),
    Problem(
        "backend-unreachable",
        "A backend does not answer, or refused the request.",
        "What was written to other backends in the same step was rolled back: nothing was changed.",
        "Start it or correct its address in the config, and run the command again.",
    ),
    Problem(
        "import-unreadable",
        "A file to import is not valid.",
        "Nothing of it was imported.",
        "Correct the line that the message names. docs/verbs/kms.md lists the formats.",
    ),
)
