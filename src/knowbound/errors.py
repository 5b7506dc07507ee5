"""Every error: what happened, where we looked, the next command, and a slug that `knowbound explain` knows.

    KnowboundError              exit 2: wrong usage, config or input
    ├── ConfigError             the settings cannot be used as they are
    ├── InputError              a path or trace cannot be used
    └── StoreError              the data in .knowbound/ cannot be used

Exit codes: 0 good, 1 a gate failed, 2 wrong usage, config or input, 3 undecided or
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
            "hedging_classifier.model names the judge that decides whether a sentence is a hedge, judge.model the one "
            "that scores rubrics. A name is stored with every verdict, so it holds no key.",
            "Use `rules`, the embedded judge, or a form that knowbound judge list shows.",
        ),
        Problem(
            "bad-questions",
            "The file of questions has a line that is no question.",
            "investigate --input takes one JSON object per line, with question and, where wanted, id.",
            'Correct the line: {"id": "q1", "question": "where is X defined"}',
        ),
        Problem(
            "output-unwritable",
            "The file named by -o cannot be written.",
            "The result is complete, but there is no place to put it; nothing was half written.",
            "Name another file, or leave -o out to print to the terminal.",
        ),
        Problem(
            "item-invalid",
            "An item, or a change to one, cannot be as given.",
            "Content is text of 1 to 20,000 characters, confidence a number from 0 to 1, type, source and flag one of "
            "the known ones, an id letters, digits and . _ : @ / + -. Nothing was changed.",
            "Correct what the message names.",
        ),
        Problem(
            "item-unknown",
            "No backend in use holds an item with this id.",
            "It was never stored, was reaped, or its backend is not among those in use (kms.backends).",
            "Look for it: knowbound kms search WORDS. Nothing was changed.",
        ),
        Problem(
            "item-duplicate",
            "The same content is stored already.",
            "Two entries that say the same are found twice and corrected once. A flagged entry counts too: what was "
            "retracted, superseded or deleted does not come back by being added again.",
            "Use the entry that the message names: kms update, kms supersede, or kms flag ID --clear.",
        ),
        Problem(
            "item-unsafe",
            "The text tries to give the agent orders.",
            "Stored text is injected into an agent's context as data. Words that take the agent over, hidden "
            "characters, forged system or tool tags, and requests to send data away are not stored, and not served.",
            "Say it as a plain fact about the project. The message names the words.",
        ),
        Problem(
            "item-secret",
            "The text holds a secret.",
            "What is stored is shown to agents and models.",
            "Take the secret out, and say where it is kept instead. Nothing was stored.",
        ),
        Problem(
            "supersede-cycle",
            "An item cannot be replaced by itself, directly or through others.",
            "Then nothing would be left to serve. Nothing was changed.",
            "Name a successor that is in force, or give the new content.",
        ),
        Problem(
            "flag-refused",
            "The item's flag does not allow this.",
            "A flag never weakens the one before it: what is not served must not come back by another flag.",
            "Take the flag off first: knowbound kms flag ID --clear. Nothing was changed.",
        ),
        Problem(
            "unknown-backend",
            "There is no such backend, or it is not in use here.",
            "kms.backends lists those in use.",
            "Use sqlite, mongo, mem0 or neo4j.",
        ),
        Problem(
            "backend-missing",
            "What a backend needs is not installed.",
            "MongoDB, Mem0 and Neo4j are optional extras, so that the base install stays small.",
            "Run the command in the message, for example: pip install 'knowbound[mongo]'",
        ),
        Problem(
            "backend-unreachable",
            "A backend does not answer, or refused what was asked.",
            "What was written to other backends in the same step was taken back: nothing was changed.",
            "Start it or correct its address in the config, and run the command again.",
        ),
        Problem(
            "import-unreadable",
            "A file to import is not what it should be.",
            "Nothing of it was imported.",
            "Mend the line that the message names. docs/verbs/kms.md lists the formats.",
        ),
        Problem(
            "settings-broken",
            "A settings file of an agent is not what the agent itself would read.",
            "Its JSON or TOML is invalid, or has something else where hooks and servers belong. Nothing was changed.",
            "Mend the file at the place that the message names, and run the command again.",
        ),
        Problem(
            "settings-conflict",
            "A settings file has an entry that stands in the way of ours.",
            "Entries of other people are never overwritten. Nothing was changed.",
            "Rename or remove the entry that the message names.",
        ),
        Problem(
            "settings-changed",
            "A settings file was changed while we asked.",
            "An agent that is running writes its own settings. Nothing was written.",
            "Run the command again.",
        ),
        Problem(
            "settings-unwritable",
            "A settings file cannot be written.",
            "It is read-only, or its folder is. Nothing was changed.",
            "Make the file writable, or choose another --scope.",
        ),
        Problem(
            "not-confirmed",
            "Nothing was changed, because nobody agreed.",
            "install and uninstall show what they would change and ask; without a terminal there is nobody to ask.",
            "Run the command again with --yes.",
        ),
        Problem(
            "scope-unknown",
            "The agent does not have this scope.",
            "Claude Code has user, project and local settings; Codex has user and project settings.",
            "Choose another --scope.",
        ),
        Problem(
            "no-command",
            "A command of ours is not where it should be.",
            "The hooks call knowbound-hook and the MCP server is knowbound mcp: both are installed with knowbound.",
            "Install knowbound again: pip install --force-reinstall knowbound",
        ),
        Problem(
            "extra-missing",
            "What a verb needs is not installed.",
            "Some parts are optional extras, so that the base install stays small.",
            "Run the command in the message, for example: pip install 'knowbound[mcp]'",
        ),
        Problem(
            "no-labels",
            "There are no labels to hold a judge against.",
            "judge calibrate compares a judge's verdicts with what people say about the same texts.",
            "Label some sentences: knowbound judge label. Or name a file: knowbound judge calibrate LABELS",
        ),
        Problem(
            "bad-labels",
            "A line of a file of labels, or of sentences to label, cannot be used.",
            "A line is a JSON object with text and label (true or false; for a rubric a score from 1 to 5, and the "
            "rubric). Leaving it out in silence would change the figures.",
            'Correct the line that the message names, for example: {"text": "It may be cached.", "label": true}',
        ),
        Problem(
            "nothing-to-label",
            "There is no sentence left to label.",
            "judge label draws sentences with a word of doubt from the newest stored run, and asks for each once.",
            "Observe more sessions: knowbound observe PATH. Or give sentences: knowbound judge label --input FILE",
        ),
        Problem(
            "bad-samples",
            "The samples file, or one of the samples in it, is not what it should be.",
            "A test set with a slip in it measures something else than was meant, so nothing was run. The message "
            "names every place with file and line.",
            "Correct what the message names. docs/samples.md tells the format, docs/samples.schema.json is its schema.",
        ),
        Problem(
            "different-test-sets",
            "Two evaluations of different test sets cannot be compared.",
            "A gap rate says something about a knowledge base and a test set together. Between two test sets, or "
            "between written samples and generated questions, a difference says nothing about the knowledge.",
            "Run the same samples file on both versions: knowbound eval SAMPLES --against REF",
        ),
        Problem(
            "no-such-evaluation",
            "No stored evaluation, or more than one, has this name.",
            "compare takes ids, commits (at least 4 characters), latest, and previous, which is the last evaluation "
            "before the latest with the same test set.",
            "See which ones there are: knowbound trend",
        ),
        Problem(
            "defect",
            "knowbound itself failed.",
            "This is a defect of ours, not of your input.",
            "Please report it with the message and the traceback (KNOWBOUND_TRACEBACK=1 shows it).",
        ),
        Problem(
            "no-samples",
            "There is no samples file where we looked.",
            "`eval` runs a test set: a file of samples, each a prompt with what its answer should be.",
            "Name the file: knowbound eval FILE. knowbound draft proposes samples from gaps and uncovered files.",
        ),
        Problem(
            "no-such-version",
            "The version of the knowledge base that --against names is not there.",
            "--against takes a folder, or a commit, branch or tag of the repository the root is in.",
            "Name another: knowbound eval --against HEAD~1",
        ),
        Problem(
            "resume-changed",
            "The knowledge base changed since the run was interrupted.",
            "Samples that ran before and after the change would be counted together, though they are about other "
            "knowledge.",
            "Run the same command without --resume: it starts anew.",
        ),
        Problem(
            "eval-running",
            "Another process runs the same evaluation.",
            "Two that worked on one journal would run samples twice.",
            "Wait until the other one has ended.",
        ),
        Problem(
            "recording-unreadable",
            "A file of recorded answers cannot be used.",
            "recorded:FILE takes one JSON object per line, with prompt, input and answer, as it was recorded.",
            "Correct the line that the message names, or record the answers again.",
        ),
        Problem(
            "config-twice",
            "A setting is given in two spellings at once.",
            "hedgingClassifier and hedging_classifier are one table; of two values nobody can tell which is meant.",
            "Leave one of them out.",
        ),
        Problem(
            "no-agent",
            "The agent that should answer the samples cannot be run on this machine.",
            "Its command line is not on the PATH, or the command cannot be read. Nothing was run, so that a missing "
            "program cannot look like a bad agent.",
            "Install it or correct the command, or use the built-in one: knowbound eval --executor investigate",
        ),
        Problem(
            "unknown-executor",
            "There is no executor of that name.",
            "An executor is investigate, claude, codex, model:NAME or command:PROGRAM ARGS.",
            "Take the suggestion in the message, for example: knowbound eval --executor claude",
        ),
        Problem(
            "format-unfit",
            "The result cannot be shown in the format that was asked for.",
            "sarif, junit and github tell gaps and gates; an answer to a question, or a table, has neither.",
            "Take text, markdown, html, json or jsonl.",
        ),
        Problem(
            "no-knowledge",
            "There are no knowledge files where we looked.",
            "Competency questions are made from the structure of knowledge files: CLAUDE.md, AGENTS.md, skills, "
            "Markdown, and what `knowledge` in the config names.",
            "Name the folder: knowbound probe --root DIR. Or name the files: knowledge in knowbound.toml.",
        ),
        Problem(
            "no-such-draft",
            "The draft file has no sample of that id.",
            "--accept takes ids from a file that knowbound draft -o FILE wrote. Nothing was changed.",
            "Take an id from the message, or write the file again: knowbound draft -o eval-samples.draft.yaml",
        ),
        Problem(
            "drafts-unreadable",
            "The file that remembers accepted and rejected drafts cannot be used.",
            "It is drafts.json in the data folder. Without it, rejected proposals would be made again in silence.",
            "Mend the file, or move it away and go through the proposals again.",
        ),
        Problem(
            "no-judge",
            "The judge that was named cannot be asked here.",
            "Its program is not on the PATH, its key is not set, or the extra llm is not installed. Nothing was run.",
            "Set up what the message names, choose another judge (knowbound judge list), or leave --judge out.",
        ),
        Problem(
            "no-copy",
            "The knowledge base cannot be copied for the agents to work in.",
            "Two versions, and agents that read freely, work in copies under the system's temporary folder: outside of "
            "the knowledge base, in a folder that is ours alone.",
            "Set TMPDIR to a folder with room that only you can write, or use --in-place where there is one version.",
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
