"""Errors of connecting agents, judging and evaluating."""

from __future__ import annotations

from knowbound.problems.data import Problem

WORKING = (
    Problem(
        "taken-out",
        "This verb or option is not part of knowbound any more.",
        "An earlier version had it. The message names the present way to do the same.",
        "Do as the message says, or remove the option.",
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
        "The agent continues without it. The message has the reason: a time limit too short for this machine, a "
        "config file that cannot be used, an index that is damaged or of another version.",
        "Time limit: set injection.time_limit_ms in your own config. Config: correct the named file. "
        "Index: knowbound kms sync. Then: knowbound doctor",
    ),
    Problem(
        "hook-model",
        "The model of injection.model did not choose the injected items, or has little time to choose.",
        "If it is late or fails, the items above the floor are injected, as without a model. It has the rest of "
        "injection.time_limit_ms; models behind an API take 600 to 2,000 ms; agents end a hook after 5 seconds.",
        "Late: set injection.time_limit_ms to 3000 in your own config, or name a quicker model. Failed: set the "
        "named key in the environment of the agent, or correct injection.model (knowbound judge list).",
    ),
    Problem(
        "extra-missing",
        "A package that the verb needs is not installed.",
        "Some parts are optional extras, so that the base install stays small.",
        "Run the command in the message, for example: python -m pip install 'knowbound[llm]'",
    ),
    Problem(
        "bad-turns",
        "A file of turns to judge is empty, or has a line that is not a turn.",
        "Ignoring a line silently would change the figures, so nothing was judged.",
        "Correct the line that the message names; it shows the form.",
    ),
    Problem(
        "bad-prompts",
        "A line of a file of labelled prompts cannot be used, or the file is empty.",
        "A line is a JSON object with prompt and right (ids of items, or []). Ignoring it would change the figures.",
        "Correct the line that the message names. knowbound kms list shows the ids.",
    ),
    Problem(
        "unknown-label-item",
        "A labelled prompt names an item that is not in the store, or that is not served.",
        "The hook can never inject it, so every figure would be too low, whatever the floor.",
        "Correct the id, or leave it out: knowbound kms list shows what is served.",
    ),
    Problem(
        "no-labels",
        "There are no labels to compare a judge with.",
        "judge calibrate compares a judge's verdicts with people's labels on the same texts.",
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
        "An invalid sample would measure something else: nothing was run. The message names file and line of each.",
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
        "Use --executor claude, --executor codex, or --inject off.",
    ),
    Problem(
        "nothing-to-inject",
        "An evaluation with injection has nothing to inject.",
        "The store of the project has no item that is served, so both sides would be the same.",
        "Add items: knowbound kms import, or knowbound kms add.",
    ),
    Problem(
        "two-comparisons",
        "An evaluation was asked for two comparisons at once.",
        "--inject both compares with and without injection, --against two versions of the knowledge base. The cause of "
        "a difference would be unclear.",
        "Use --against with --inject on, or one of the two.",
    ),
    Problem(
        "hooks-off",
        "An evaluation with injection was requested while all hooks are off.",
        "`knowbound off` or KNOWBOUND_OFF switches every hook off, also in evaluations.",
        "Run knowbound on, or use --inject off.",
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
        "Its command is not on the PATH or cannot be read. Nothing was run: a missing program is not a bad agent.",
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
        "The result cannot be shown in the requested format.",
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
        "no-such-lesson",
        "There is no lesson of that id, or it is not accepted yet.",
        "--accept and --reject take ids that knowbound learn shows; --apply takes those that are accepted. Nothing was "
        "changed.",
        "Use an id from the message, or look again: knowbound learn",
    ),
    Problem(
        "lesson-stale",
        "The lesson is no longer true.",
        "The tree has changed and contradicts the lesson, so it cannot be accepted.",
        "Reject it: knowbound learn --reject ID",
    ),
    Problem(
        "lesson-unfit",
        "The proposal is no lesson.",
        "A lesson is one line without secrets and without orders to an agent, of the kind location, command or "
        "correction; and the number of waiting proposals is limited.",
        "Say one fact or one instruction in one sentence.",
    ),
    Problem(
        "lesson-contradicted",
        "The tree contradicts the proposal.",
        "A proposal names a path, a symbol or a command that the project does not have so. Nothing was stored.",
        "Look it up again, and propose what the tree has.",
    ),
    Problem(
        "file-changed",
        "A knowledge file changed after its diff was shown.",
        "Only the shown diff may be written, so nothing more was written.",
        "Run the command again: knowbound learn --apply file",
    ),
    Problem(
        "section-broken",
        "The marked section of a knowledge file has no end.",
        "Lessons are written between two marks. Without the second mark the end of the section is unknown.",
        "Put the end mark back, or remove the begin mark.",
    ),
    Problem(
        "leads-out",
        "The knowledge file is a link that leads out of the project.",
        "Nothing outside the project is read or written.",
        "Replace the link by a file.",
    ),
    Problem(
        "drafts-unreadable",
        "The file with the accepted and rejected drafts cannot be used.",
        "It is drafts.json in the data folder. Without it, rejected samples would be proposed again.",
        "Correct the file, or remove it and go through the proposals again.",
    ),
    Problem(
        "calibration-unreadable",
        "The file with the calibration of judges cannot be used.",
        "It is calibration.json in the data folder, or turn-calibration.json for the judge of turns. It decides "
        "whether hedges are left out and which features may use a judge, so it is not skipped.",
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
