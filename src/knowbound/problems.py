"""Every kind of error by its slug: what happened, why, what to do. `knowbound explain` and docs/messages.md show it."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """A kind of error, as `knowbound explain SLUG` and docs/messages.md explain it."""

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
        Problem(
            "settings-broken",
            "A settings file of an agent is not valid.",
            "Its JSON or TOML cannot be parsed, or hooks and servers have the wrong type. Nothing was changed.",
            "Correct the file at the line that the message names, and run the command again.",
        ),
        Problem(
            "settings-conflict",
            "A settings file has an entry under the name that knowbound needs.",
            "Entries of other people are never overwritten. Nothing was changed.",
            "Rename or remove the entry that the message names.",
        ),
        Problem(
            "settings-changed",
            "A settings file was changed while we waited for your answer.",
            "An agent that is running writes its own settings. Nothing was written.",
            "Run the command again.",
        ),
        Problem(
            "settings-unwritable",
            "A settings file cannot be written.",
            "It is read-only, or its folder is, or a project made it a link that leads out of it. Nothing was changed.",
            "Make the file writable, or choose another --scope.",
        ),
        Problem(
            "not-confirmed",
            "Nothing was changed, because the change was not confirmed.",
            "install, uninstall and forget show what they would change and ask; without a terminal they cannot.",
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
            "A command of knowbound is not installed where it should be.",
            "The hooks call knowbound-hook and the MCP server is knowbound mcp: both are installed with knowbound.",
            "Install knowbound again: pip install --force-reinstall knowbound",
        ),
        Problem(
            "hook-failed",
            "A hook could not answer, so nothing was injected.",
            "The agent goes on without. The message has the reason: a time limit that is too short for this machine, a "
            "config file that cannot be used, an index that is damaged or of another version.",
            "Time limit: set injection.time_limit_ms in your own config. Config: correct the file that is named. "
            "Index: knowbound kms sync. Then: knowbound doctor",
        ),
        Problem(
            "hook-model",
            "The model of injection.model did not choose what is injected, or has little time to.",
            "Where it is late or fails, the items above the floor are injected, as without one. It has what is left of "
            "injection.time_limit_ms; models behind an API take 600 to 2,000 ms; agents end a hook after 5 seconds.",
            "Late: set injection.time_limit_ms to 3000 in your own config, or name a quicker model. Failed: set the "
            "key that is named, where the agent is started, or correct injection.model (knowbound judge list).",
        ),
        Problem(
            "extra-missing",
            "A package that the verb needs is not installed.",
            "Some parts are optional extras, so that the base install stays small.",
            "Run the command in the message, for example: python -m pip install 'knowbound[llm]'",
        ),
        Problem(
            "bad-turns",
            "A file of turns to judge has a line that is no turn, or none at all.",
            "A line lost in silence would change what is counted, so nothing was judged.",
            "Correct the line that the message names; it shows the form.",
        ),
        Problem(
            "bad-prompts",
            "A line of a file of labelled prompts cannot be used, or the file has none.",
            "A line is a JSON object with prompt and right (ids of items, or []). Without it the figures change.",
            "Correct the line that the message names. knowbound kms list shows the ids.",
        ),
        Problem(
            "unknown-label-item",
            "A labelled prompt names an item that is not in the store, or that is not served.",
            "The hook could never inject it, so every figure would be too low, and for another reason than the floor.",
            "Correct the id, or leave it out: knowbound kms list shows what is served.",
        ),
        Problem(
            "no-labels",
            "There are no labels to compare a judge with.",
            "judge calibrate compares a judge's verdicts with what people say about the same texts.",
            "Label some: knowbound judge label, for turns with --question turns. Or name a file: knowbound judge "
            "calibrate LABELS",
        ),
        Problem(
            "bad-labels",
            "A line of a file of labels, or of sentences or turns to label, cannot be used.",
            "A line is a JSON object with text and label (true or false; for a rubric a score from 1 to 5, and the "
            "rubric), or a turn as docs/verbs/judge.md shows it. Ignoring it silently would change the figures.",
            'Correct the line that the message names, for example: {"text": "It may be cached.", "label": true}',
        ),
        Problem(
            "nothing-to-label",
            "There is no sentence, or no turn, left to label.",
            "judge label takes sentences with a possible hedge from the newest stored run, with --question turns turns "
            "with injected items from the quality log, and asks for each once.",
            "Observe more sessions: knowbound observe PATH. Or give sentences: knowbound judge label --input FILE",
        ),
        Problem(
            "bad-samples",
            "The samples file, or one of the samples in it, is not valid.",
            "It would measure something else than was meant: nothing was run. The message names file and line of each.",
            "Correct what the message names. The format is in docs/samples.md, its schema in docs/samples.schema.json.",
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
            "List the stored evaluations: knowbound trend",
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
            "`eval` runs a test set: a file of samples, each a prompt with assertions about the answer.",
            "Name the file: knowbound eval FILE. knowbound draft proposes samples from gaps and uncovered files.",
        ),
        Problem(
            "no-such-version",
            "The version of the knowledge base that --against names does not exist.",
            "--against takes a folder, or a commit, branch or tag of the repository the root is in.",
            "Name another one, for example: knowbound eval --against HEAD~1",
        ),
        Problem(
            "resume-changed",
            "The knowledge base changed since the run was interrupted.",
            "Samples that ran on different knowledge, before and after the change, would be counted together.",
            "Run the same command without --resume: it starts again.",
        ),
        Problem(
            "eval-running",
            "Another process is running the same evaluation.",
            "Two processes with one journal would run samples twice.",
            "Wait until the other one has ended.",
        ),
        Problem(
            "no-injection",
            "The executor of an evaluation cannot inject.",
            "Items are injected by the hooks of an agent. Only `claude` and `codex` have them; a model that is asked "
            "directly, a command and the built-in executor have none.",
            "--executor claude, --executor codex, or --inject off",
        ),
        Problem(
            "nothing-to-inject",
            "An evaluation with injection has nothing to inject.",
            "The store of the project has no item that is served, so both sides would be the same.",
            "knowbound kms import, or knowbound kms add",
        ),
        Problem(
            "two-comparisons",
            "An evaluation was asked for two comparisons at once.",
            "--inject both compares with and without injection, --against two versions of the knowledge base. Of a "
            "difference it could not be said which of them made it.",
            "--against with --inject on, or one of them",
        ),
        Problem(
            "hooks-off",
            "An evaluation with injection was asked for while all hooks are off.",
            "`knowbound off` or KNOWBOUND_OFF switches every hook off, those of an evaluation, too.",
            "knowbound on, or --inject off",
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
            "hedgingClassifier and hedging_classifier are the same table, so it is not clear which value is meant.",
            "Remove one of them.",
        ),
        Problem(
            "no-agent",
            "The agent that should answer the samples cannot be run on this machine.",
            "Its command is not on the PATH or cannot be read. Nothing was run: a missing program is no bad agent.",
            "Install it or correct the command, or use the built-in one: knowbound eval --executor investigate",
        ),
        Problem(
            "unknown-executor",
            "There is no executor of that name.",
            "An executor is investigate, claude, codex, model:NAME or command:PROGRAM ARGS.",
            "Use the name that the message suggests, for example: knowbound eval --executor claude",
        ),
        Problem(
            "format-unfit",
            "The result cannot be shown in the format that was asked for.",
            "sarif, junit and github show gaps and gates; an answer to a question, or a table, has neither.",
            "Use text, markdown, html, json or jsonl.",
        ),
        Problem(
            "no-knowledge",
            "There are no knowledge files where we looked.",
            "Competency questions are made from CLAUDE.md, AGENTS.md, skills, Markdown, and what `knowledge` names.",
            "Name the folder: knowbound probe --root DIR. Or name the files: knowledge in knowbound.toml.",
        ),
        Problem(
            "no-such-draft",
            "The draft file has no sample of that id.",
            "--accept takes ids from a file that knowbound draft -o FILE wrote. Nothing was changed.",
            "Use an id from the message, or write the file again: knowbound draft -o eval-samples.draft.yaml",
        ),
        Problem(
            "drafts-unreadable",
            "The file with the accepted and rejected drafts cannot be used.",
            "It is drafts.json in the data folder. Without it, rejected samples would be proposed again.",
            "Correct the file, or remove it and go through the proposals again.",
        ),
        Problem(
            "calibration-unreadable",
            "The file with what calibration found about judges cannot be used.",
            "It is calibration.json in the data folder, or turn-calibration.json for the judge of turns. It decides "
            "whether hedges are left out and what may rest on a judge, so it is not skipped.",
            "Move it away, and run knowbound judge calibrate again.",
        ),
        Problem(
            "no-judge",
            "The judge that was named cannot be used here.",
            "Its program is not on the PATH, its key is not set, or the extra llm is not installed. Nothing was run.",
            "Set up what the message names, choose another judge (knowbound judge list), or omit --judge.",
        ),
        Problem(
            "no-copy",
            "The knowledge base cannot be copied for the agents to work in.",
            "Two versions, and agents with file access, work in copies in the system's temporary folder: outside of "
            "the knowledge base, in a folder that only this user can read.",
            "Set TMPDIR to a folder with enough space that only you can write, or use --in-place with one version.",
        ),
    )
}
