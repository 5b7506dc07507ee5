"""The meaning of every code: the source of `knowbound explain CODE` and of docs/codes.md."""

from __future__ import annotations

from typing import NamedTuple

from knowbound.core.audit_codes import DIAGNOSES, FINDINGS, SUPPORTS
from knowbound.core.signal import SOURCES, SignalType


class Code(NamedTuple):
    """A code with its meaning and an example or what to do about it."""

    code: str
    group: str
    meaning: str
    example: str


ENTRIES: tuple[Code, ...] = (
    *(Code(type_, "signal", SOURCES[type_].meaning, SOURCES[type_].example) for type_ in SignalType),
    *(Code(one, "diagnosis", *words) for one, words in DIAGNOSES.items()),
    *(Code(one, "support", *words) for one, words in SUPPORTS.items()),
    *(Code(one, "finding", *words) for one, words in FINDINGS.items()),
    Code(
        "open",
        "status",
        "What was missing is still missing at the end of the sample: the agent asked, guessed, gave up or went on "
        "without it. Only open signals count in open_gap_rate.",
        "Write that knowledge down. How each ended: asked, guessed, gave_up, went_on.",
    ),
    Code(
        "resolved",
        "status",
        "A later call of the same sample found what was missing, or answered the doubt. It counts in gap_rate and not "
        "in open_gap_rate. Where several sessions each had to search for it, it is a topic all the same.",
        "Read src/session.go is missing; later Read internal/session.go succeeds.",
    ),
    Code(
        "verification",
        "status",
        'The agent was checking whether something exists, and "not there" is a good answer: after a rename, before '
        "creating a file. It counts in gap_rate, as the specification says, and not in open_gap_rate.",
        'After renaming: grep -rn "oldName" src || echo "none left"',
    ),
    Code(
        "malformed",
        "status",
        "The pattern or the call itself was wrong, so that it could match nothing. It counts in gap_rate only: nothing "
        "can be written down about it.",
        'A stray quote at the end of a pattern: Grep "refund_policy\\""; or \\| in an expression of ripgrep.',
    ),
    Code(
        "incidental",
        "status",
        "No lookup of knowledge: a filter over the output of a program, a temporary or log path, a look whether a "
        "program is installed. It counts in gap_rate only.",
        "git log --oneline | grep hotfix → no output",
    ),
    Code(
        "found",
        "ending",
        "A later call of the same agent found it. The report shows where, and in how many sessions.",
        "Read .golangci.yml is missing; Glob .golangci* finds .golangci.yaml.",
    ),
    Code(
        "created",
        "ending",
        "The agent then wrote it itself: it looked whether it was there before.",
        "Read docs/refunds.md is missing; later Write docs/refunds.md.",
    ),
    Code(
        "asked",
        "ending",
        "The agent asked the user. What the user answered is worth writing down.",
        "Grep refund_window → no matches; then: Which refund window applies to gift cards?",
    ),
    Code(
        "guessed",
        "ending",
        "The agent went on with a guess: a hedge or a marker follows.",
        "Grep refund_window → no matches; then: I will assume 30 days.",
    ),
    Code(
        "gave_up",
        "ending",
        "The agent said that it could not find it, and stopped looking.",
        "I could not find where the refund window is set.",
    ),
    Code(
        "went_on",
        "ending",
        "The agent went on without it and without a word.",
        "Read docs/setup.md is missing; the next call edits src/main.go.",
    ),
    Code(
        "topic",
        "report",
        "Signals of several turns and sessions about the same missing thing, with what it cost (calls, steps, seconds, "
        "tokens until it was found or given up), how each ended, the agent's own sentence, and the answer where some "
        "session found it. Topics are ranked by what writing them down would save: sessions × calls, weighed by how "
        "sure it is that a line of knowledge would have helped; open before resolved.",
        "knowbound report --topic ID shows every signal of one, with file and line.",
    ),
    Code("ok", "outcome", "The call did what it was meant to do.", "A search with matches, a file that was read."),
    Code("empty", "outcome", "The search ran and matched nothing.", 'rg "retry_budget" src → no output'),
    Code("missing", "outcome", "A path or name that is not there.", "Read docs/setup.md → File does not exist."),
    Code(
        "error",
        "outcome",
        "The call failed for another reason: usage, permission, a crash. It is not a failed search.",
        "grep: unrecognized option",
    ),
    Code(
        "timeout", "outcome", "The call did not end in time. It is not a failed search.", "Command timed out after 2m"
    ),
    Code(
        "rejected",
        "outcome",
        "The user or a permission rule refused the call. It is not a failed search.",
        "Tool use rejected",
    ),
    Code(
        "cancelled",
        "outcome",
        "The call was interrupted, or cancelled because a parallel call failed. It is not a failed search.",
        "Sibling tool call errored",
    ),
    Code("unknown", "outcome", "The trace does not show how the call ended.", "The file ends before the result."),
    Code(
        "gap_rate",
        "rate",
        "Samples with any gap signal / complete samples. Bound to its test set: never shown without the watermark.",
        "5 of 12 samples → 41.7%",
    ),
    Code(
        "weighted_gap_rate",
        "rate",
        "The mean over complete samples of the heaviest signal in each: 1.0, 0.5, or 0 without one. Never above "
        "gap_rate. Its interval is a bootstrap over samples.",
        "2 samples with a failed search, 2 with a hedge, 6 without → (2 + 1) / 10 = 30%",
    ),
    Code(
        "open_gap_rate",
        "rate",
        "Samples with a signal that is still open / complete samples. The headline of observe; gap_rate is always "
        "shown beside it.",
        "A failed search whose target was found later in the same sample does not count here.",
    ),
    Code(
        "coverage",
        "rate",
        "Knowledge files under the root that any read, search hit, shell command or injection in a complete sample "
        "reached / all of them, over the sessions that worked in the root; unknown where none did. Files that clients "
        "load by themselves (CLAUDE.md) are counted apart, as loaded. It measures the traces as much as the knowledge "
        "base, and a file that was reached did not necessarily answer anything.",
        '5 of 9 knowledge files. knowledge = ["docs/**/*.md"] in the config adds files to those known by name.',
    ),
    Code(
        "soft_share",
        "rate",
        "gap_rate − weighted_gap_rate: how much of the rate is due to markers and hedges. Below 10% the signals are "
        "mostly failed searches; from 10% on, gap_rate may be inflated.",
        "From 10% on, read the sentences in the inventory before you act on the rate.",
    ),
    Code("green", "band", "The weighted gap rate is under 10%.", "Widen the test set before you rely on it."),
    Code("yellow", "band", "The weighted gap rate is from 10% to under 30%.", "Read the inventory."),
    Code("red", "band", "The weighted gap rate is 30% or more.", "Start with what most sessions failed to find."),
    Code(
        "underpowered",
        "confidence",
        "Fewer than 5 samples: rates and band are indicative only, and the band is marked so.",
        "Gather more traces before drawing conclusions.",
    ),
    Code("low", "confidence", "5 to 19 samples: only large differences can be recognised.", "Look at the interval."),
    Code("high", "confidence", "20 samples or more.", "The interval still shows how certain the rate is."),
    Code(
        "RETRACTED",
        "flag",
        "The item is wrong. It is never injected, but kept, so that the same statement is not added again.",
        "knowbound kms flag ID RETRACTED --note 'the port was renumbered'",
    ),
    Code(
        "SUPERSEDED",
        "flag",
        "Another item replaces it, named in superseded_by. It is never injected; chains are at most 5 long.",
        "knowbound kms supersede ID 'The API binds to 8040.'",
    ),
    Code(
        "DELETED",
        "flag",
        "The item is never injected. This can be undone until it is reaped (kms.reap_days).",
        "knowbound kms flag ID --clear undoes it.",
    ),
    Code(
        "UNVERIFIED",
        "flag",
        "The item is doubtful. It can still be injected, ranked lower and marked as such.",
        "knowbound kms flag ID UNVERIFIED",
    ),
    Code(
        "stale",
        "mark",
        "What the item is about in the project (its file, section or symbol) has changed since it was written. A mark, "
        "not a flag: the item can still be injected. kms sync and kms import set and remove it.",
        "Import the file again, or update the item.",
    ),
    Code("broken", "skipped line", "The line is not JSON.", "It is counted and shown; reading continues."),
    Code(
        "truncated", "skipped line", "The line ends in the middle of its JSON.", "The agent was killed while it wrote."
    ),
    Code(
        "oversized",
        "skipped line",
        "The line is over 16 MiB, or the document over 128 MiB.",
        "It is skipped without loading it.",
    ),
    Code("foreign", "skipped line", "Valid JSON that is not a line of this format.", "A line of another tool."),
    Code("unreadable", "skipped line", "The file could not be read to its end.", "A damaged archive."),
    Code(
        "incomplete",
        "sample",
        "The agent never answered, failed, or the trace ends in the middle of a call. The sample counts in neither gap "
        "rate nor coverage, and is shown.",
        "A session that ends with an API error.",
    ),
    Code(
        "injected",
        "hook run",
        "The hook injected items into the agent's context.",
        "The log in .knowbound/injections/ lists them.",
    ),
    Code(
        "indexed",
        "hook run",
        "The hook gave a session that starts the index of the store: titles, from which the agent pulls what it needs.",
        "The lines of the index are no injected items, and are in no rate.",
    ),
    Code(
        "held_out",
        "hook run",
        "The hook had items for the prompt and injected none: the prompt is in the share that is held out to compare.",
        "Settings: quality.holdout",
    ),
    Code(
        "gave_up",
        "hook run",
        "The time limit was over before the hook had an answer; the agent got no context.",
        "Settings: injection.time_limit_ms",
    ),
    Code(
        "undelivered",
        "hook run",
        "The agent was gone when the hook answered. What was meant to be injected is not withheld later.",
        "The prompt was interrupted.",
    ),
    Code(
        "nothing",
        "hook run",
        "The hook injected nothing: no item was relevant enough, the model chose none, or the session had all of them.",
        "Settings: injection.relevance_floor, injection.token_budget",
    ),
    Code(
        "failed",
        "hook run",
        "The hook failed; the agent got neither context nor an error. The reason is in .knowbound/hook.log.",
        "knowbound doctor shows the last failures.",
    ),
    Code(
        "insufficient_evidence",
        "investigation",
        "A requirement of the question's intent was not met: the answer names the evidence gaps and the nearest "
        "matches. Exit code 3.",
        'knowbound investigate "where is the password cache" → FileSearch: have weak, need strong',
    ),
    Code(
        "weak",
        "quality",
        "Evidence exists but is imprecise: single words of a phrase, a build that did nothing, a run of 0 tests. No "
        "amount of it is enough.",
        '"evidence" in 80 files says nothing about "evidence gating".',
    ),
    Code("moderate", "quality", "Plausible but not definitive.", "The name only as part of a few longer names."),
    Code("strong", "quality", "Precise: a resolved definition, an exact identifier or phrase.", "class LazyFile"),
    Code(
        "verified",
        "quality",
        "Two independent producers agree on the same file and symbol, or one source is authoritative. Only the planner "
        "assigns it, and cites the evidence it is derived from.",
        "references and read agree on LazyFile in src/click/utils.py",
    ),
    Code(
        "done",
        "ending",
        "The agent answered and its trace is complete: the run counts.",
        "With any other ending the sample counts in no rate.",
    ),
    Code(
        "crashed",
        "ending",
        "The agent failed or ended with an error. The sample counts in neither gap rate nor coverage, and is shown.",
        "exit status 1, and again when it was tried once more",
    ),
    Code(
        "incomplete",
        "ending",
        "The agent ended, but its trace has no answer, is cut off, or has an unknown format. It counts in no rate.",
        "A stream that was cut before its result.",
    ),
    Code(
        "budget",
        "ending",
        "The run cost more than a sample may, or was not started because the budget was spent. It counts in no rate.",
        "knowbound eval --resume --budget 5 continues.",
    ),
    Code(
        "no_baseline",
        "gate",
        "There is no earlier run with the same test set to compare with. The gate neither fails nor passes.",
        "The first run of a new samples file. With --strict the exit code is 3.",
    ),
    Code(
        "undecided",
        "gate",
        "Nothing was counted: no sample has a complete trace. Exit code 3.",
        "Every run crashed: look at the reasons.",
    ),
    Code(
        "settled",
        "gate",
        "The whole interval is on one side of the limit: more samples like these would not change the outcome.",
        "3 of 24 against 0.5 is settled, against 0.1 it is not; the gate says how many more would settle it.",
    ),
    Code("falling", "reading", "Each addition to the knowledge lowers the gap rate, as it should.", "60% → 5%"),
    Code(
        "flat", "reading", "What was added did not close the gaps that the samples show.", "Check the uncovered files."
    ),
    Code(
        "rising",
        "reading",
        "On the same test set the knowledge base got worse, or the agent changed.",
        "knowbound compare previous latest",
    ),
    Code(
        "near_zero",
        "reading",
        "At most 10%. The samples may only ask what the knowledge base can answer.",
        "Expand the test set: knowbound draft, knowbound probe.",
    ),
    Code("untold", "reading", "The rate changed, but by no more than chance explains.", "More samples, or --repeat."),
    Code("fixed", "change", "A sample that had a gap before and has none now.", "knowbound compare"),
    Code("broken", "change", "A sample that has a gap now and had none before.", "Look at what was removed."),
    Code(
        "written",
        "origin",
        "A test set that people wrote or accepted.",
        "eval-samples.yaml",
    ),
    Code(
        "probed",
        "origin",
        "Competency questions made from headings, file names and principles. Never mixed with written samples.",
        "knowbound probe",
    ),
    Code(
        "unscored",
        "grade",
        "An assertion or criterion that could not be decided: no judge, a judge that failed, a cost that is unknown. "
        "It counts neither for nor against, and is never 0.",
        "cost_max where the agent does not report its cost",
    ),
    Code(
        "composite",
        "figure",
        "The grade of an answer from 1 to 5: the mean of its graded assertions and rubrics. What could not be decided "
        "is left out.",
        "4.20 of 5 (over 12 answers); unknown where nothing was graded",
    ),
    Code(
        "band",
        "figure",
        "The weighted gap rate as a colour: green under 10%, yellow under 30%, else red.",
        "With fewer than 5 samples it is marked as indicative only.",
    ),
    Code(
        "confidence",
        "figure",
        "How many samples a rate is based on: underpowered under 5, low under 20, else high. The confidence of a "
        "verdict is something else: how sure a judge is of one signal, from 0 to 1.",
        "low (12 samples): only large differences can be recognised",
    ),
    Code(
        "per_turn",
        "figure",
        "Turns with a signal, of all turns. A long session has many turns and is one sample or a few.",
        "2 of 30 turns beside 1 of 4 samples",
    ),
    Code(
        "weighted",
        "figure",
        "The gap rate with soft signals counted half: every sample by its strongest signal, 1.0 for a failed search, "
        "0.5 for a marker or a hedge.",
        "One failed search and one hedge in 4 samples: 1.5 over 4, 37.5%",
    ),
    Code(
        "watermark",
        "figure",
        "Which test set a rate belongs to: its path, its number of samples and the start of its hash. Rates compare "
        "only where the hash is the same.",
        "eval-samples.yaml · 13 samples · sha256 a1689bb0",
    ),
)
BY_CODE: dict[str, tuple[Code, ...]] = {  # `broken` and `incomplete` mean something in two groups
    code: tuple(entry for entry in ENTRIES if entry.code == code) for code in (entry.code for entry in ENTRIES)
}
