"""What every code means: the source of `knowbound explain CODE` and of docs/codes.md."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A code with its meaning and an example or what to do about it."""

    code: str
    group: str
    meaning: str
    example: str


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "failed_search",
        "signal",
        "The agent looked something up (a search, a listing, a read of a path it made up itself) and it was not there. "
        "Weight 1.0. Rejections, cancellations, time-outs, permission and usage errors are not failed searches.",
        'Grep "revenue_schema" → no matches. Consecutive similar misses are one event.',
    ),
    Entry(
        "explicit_marker",
        "signal",
        "The agent marked its own words as inferred or unknown: 【推断】 【知识缺口】 【未知】 [inferred] [unknown] "
        "[knowledge gap]. Weight 0.5. Not where the marker is quoted, in code, or talked about.",
        "【推断】this data should come from the user_profile table",
    ),
    Entry(
        "hedging",
        "signal",
        "The agent said that it is not sure of a fact. A wide net finds candidates, a judge decides each. Weight 0.5. "
        "Options, politeness and talk about the future are not hedges.",
        "I'm not sure which service owns this table. The verdict (confidence, reason) stands beside the signal.",
    ),
    Entry(
        "repeated_failure",
        "signal",
        "Within 3 consecutive steps of one sample the agent used the same class of lookup at least 3 times, and all "
        "failed. Weight 1.0. Counted before similar searches collapse.",
        "Three Greps for the same schema under three names, none with a match. Setting: repeated_failure_calls.",
    ),
    Entry("open", "status", "The miss still stands at the end of the sample.", "Write that knowledge down."),
    Entry(
        "resolved",
        "status",
        "A later call of the same sample found what was sought. It counts in gap_rate and not in open_gap_rate.",
        "Read src/session.go is missing; later Read internal/session.go succeeds.",
    ),
    Entry(
        "verification",
        "status",
        "The agent was checking that something is absent, for example after a rename. It counts in gap_rate, as the "
        "specification says, and not in open_gap_rate.",
        'After renaming: grep -rn "oldName" src || echo "none left"',
    ),
    Entry("ok", "outcome", "The call did what it was meant to do.", "A search with matches, a file that was read."),
    Entry("empty", "outcome", "The search ran and matched nothing.", 'rg "retry_budget" src → no output'),
    Entry("missing", "outcome", "A path or name that is not there.", "Read docs/setup.md → File does not exist."),
    Entry(
        "error",
        "outcome",
        "The call failed for another reason: usage, permission, a crash. It is no miss.",
        "grep: unrecognized option",
    ),
    Entry("timeout", "outcome", "The call did not end in time. It is no miss.", "Command timed out after 2m"),
    Entry("rejected", "outcome", "The user or a permission rule refused the call. It is no miss.", "Tool use rejected"),
    Entry(
        "cancelled",
        "outcome",
        "The call was interrupted, or given up because a call beside it failed. It is no miss.",
        "Sibling tool call errored",
    ),
    Entry("unknown", "outcome", "The trace does not tell how the call ended.", "The file ends before the result."),
    Entry(
        "gap_rate",
        "rate",
        "Samples with any gap signal / complete samples. Bound to its test set: never shown without the watermark.",
        "5 of 12 samples → 41.7%",
    ),
    Entry(
        "weighted_gap_rate",
        "rate",
        "The mean over complete samples of the heaviest signal in each: 1.0, 0.5, or 0 without one. Never above "
        "gap_rate. Its interval is a bootstrap over samples.",
        "2 samples with a failed search, 2 with a hedge, 6 without → (2 + 1) / 10 = 30%",
    ),
    Entry(
        "open_gap_rate",
        "rate",
        "Samples with a signal that is still open / complete samples. Stands beside gap_rate, never replaces it.",
        "A miss that was found later in the same sample does not count here.",
    ),
    Entry(
        "coverage",
        "rate",
        "Knowledge files under the root that any read, search hit, shell command or injection in the traces reached / "
        "all of them. It measures the traces as much as the knowledge base.",
        'Settings: knowledge = ["docs/**/*.md"] adds files to those known by name.',
    ),
    Entry(
        "soft_share",
        "rate",
        "gap_rate − weighted_gap_rate. Below 10% the signals are mostly hard evidence; from 10% on, soft signals make "
        "up a fair share and gap_rate may be inflated.",
        "Cross-check the hedges and markers against the inventory.",
    ),
    Entry("green", "band", "The weighted gap rate is under 10%.", "Not a moment to celebrate: widen the test set."),
    Entry("yellow", "band", "The weighted gap rate is from 10% to under 30%.", "Read the inventory."),
    Entry("red", "band", "The weighted gap rate is 30% or more.", "Start with what most sessions sought in vain."),
    Entry(
        "underpowered",
        "confidence",
        "Fewer than 5 samples: rates and band are indicative only, and the band is shown softened.",
        "Gather more traces before drawing conclusions.",
    ),
    Entry("low", "confidence", "5 to 19 samples: only large gaps can be told apart.", "Look at the interval."),
    Entry("high", "confidence", "20 samples or more.", "The interval still tells how sure the rate is."),
    Entry(
        "RETRACTED",
        "flag",
        "The item is wrong. It is not served, and kept, so that the same statement is not added again.",
        "knowbound kms flag ID RETRACTED --note 'the port was renumbered'",
    ),
    Entry(
        "SUPERSEDED",
        "flag",
        "Another item replaces it, named in superseded_by. It is not served; chains are at most 5 long.",
        "knowbound kms supersede ID 'The API binds to 8040.'",
    ),
    Entry(
        "DELETED",
        "flag",
        "Taken out of service. It can be brought back until it is reaped (kms.reap_days).",
        "knowbound kms flag ID --clear brings it back.",
    ),
    Entry(
        "UNVERIFIED",
        "flag",
        "In doubt. It is still served, lower and marked as such.",
        "knowbound kms flag ID UNVERIFIED",
    ),
    Entry(
        "stale",
        "mark",
        "What the item is about in the project (its file, section or symbol) has changed since it was written. A mark, "
        "not a flag: the item is still served. Set and taken off by kms sync and kms import.",
        "Import the file again, or update the item.",
    ),
    Entry("broken", "skipped line", "The line is no JSON.", "It is counted and shown; the run goes on."),
    Entry("truncated", "skipped line", "The line ends in the middle of its JSON.", "A client that was killed."),
    Entry("oversized", "skipped line", "The line is over 16 MiB, or the document over 128 MiB.", "It is never held."),
    Entry("foreign", "skipped line", "Valid JSON that is no line of this format.", "A line of another tool."),
    Entry("unreadable", "skipped line", "The file could not be read to its end.", "A damaged archive."),
    Entry(
        "incomplete",
        "sample",
        "The agent never answered, failed, or the trace ends in the middle of a call. The sample leaves the "
        "denominators of both gap rate and coverage, and is shown.",
        "An API error as the last thing of a session.",
    ),
    Entry("told", "hook run", "The hook gave the agent context.", "What it was stands in the table `injected`."),
    Entry(
        "nothing",
        "hook run",
        "The hook had nothing to say: nothing was relevant enough, or the session was told all of it before.",
        "Settings: injection.relevance_floor, injection.token_budget",
    ),
    Entry(
        "failed",
        "hook run",
        "The hook gave up, and the agent got no context and no error. The reason is in .knowbound/hook.log.",
        "knowbound doctor shows the last failures.",
    ),
    Entry(
        "insufficient_evidence",
        "investigation",
        "A requirement of the question's intent was not met: the answer names the gaps and the nearest things that "
        "exist. Exit code 3.",
        'knowbound investigate "where is the password cache" → FileSearch: have weak, need strong',
    ),
    Entry(
        "weak",
        "quality",
        "Evidence exists but is imprecise: single words of a phrase, a no-op build, a run of 0 tests. However much of "
        "it there is, it is never enough.",
        '"evidence" in 80 files says nothing about "evidence gating".',
    ),
    Entry("moderate", "quality", "Plausible but not definitive.", "The name only as part of a few longer names."),
    Entry("strong", "quality", "Precise: a resolved definition, an exact identifier or phrase.", "class LazyFile"),
    Entry(
        "verified",
        "quality",
        "Two independent producers agree on the same file and symbol, or one source is authoritative. Only the planner "
        "derives it; the entry cites what it rests on.",
        "references and read agree on LazyFile in src/click/utils.py",
    ),
    Entry(
        "done", "ending", "The agent answered and its trace is complete: the run counts.", "Every other ending leaves."
    ),
    Entry(
        "crashed",
        "ending",
        "The agent failed or ended with an error. The sample leaves the gap rate and coverage, and is shown.",
        "exit status 1; --retries tries again",
    ),
    Entry(
        "incomplete",
        "ending",
        "The agent ended, but its trace has no answer, ends in the middle, or no reader knows it. It leaves the rates.",
        "A stream that was cut before its result.",
    ),
    Entry(
        "budget",
        "ending",
        "The run cost more than a sample may, or was not begun because nothing was left to spend. It leaves the rates.",
        "knowbound eval --resume --budget 5 goes on.",
    ),
    Entry(
        "no_baseline",
        "gate",
        "There is no earlier run with the same test set, so a regression cannot be told. Not a failure, not a pass.",
        "The first run of a new samples file. With --strict the exit code is 3.",
    ),
    Entry(
        "undecided",
        "gate",
        "Nothing was counted: no sample has a complete trace. Exit code 3.",
        "Every agent crashed: look at the reasons.",
    ),
    Entry(
        "settled",
        "gate",
        "The whole interval lies on the side of the decision: more samples like these would not turn it.",
        "3 of 24 against 0.5 is settled, against 0.1 it is not; the gate says how many more would settle it.",
    ),
    Entry(
        "falling", "reading", "Each addition to the knowledge lowers the gap rate: a healthy convergence.", "60% → 5%"
    ),
    Entry("flat", "reading", "What was added did not hit the real gaps.", "Check the uncovered files."),
    Entry(
        "rising",
        "reading",
        "On the same test set the knowledge base was broken, or the agent changed.",
        "knowbound compare previous latest",
    ),
    Entry(
        "near_zero",
        "reading",
        "At most 10%: not a moment to celebrate. The samples may only ask what the knowledge can answer.",
        "Expand the test set: knowbound draft, knowbound probe.",
    ),
    Entry(
        "untold", "reading", "It moved, and the intervals cannot tell that from chance.", "More samples, or --repeat."
    ),
    Entry("fixed", "change", "A sample that had a gap before and has none now.", "knowbound compare"),
    Entry("broken", "change", "A sample that has a gap now and had none before.", "Look at what was removed."),
    Entry(
        "written",
        "origin",
        "A test set that people wrote or accepted: the boundary that they thought of.",
        "eval-samples.yaml",
    ),
    Entry(
        "probed",
        "origin",
        "Competency questions, made from the knowledge base's own structure. Shown beside, never mixed with others.",
        "knowbound probe",
    ),
    Entry(
        "unscored",
        "grade",
        "An assertion or criterion that nobody could decide: no judge, a judge that failed, a cost nobody told. It "
        "counts neither for nor against, and is never 0.",
        "cost_max where the agent does not say what it cost",
    ),
    Entry(
        "composite",
        "figure",
        "The grade of an answer from 1 to 5: the mean of what was graded, assertions and rubrics. What nobody could "
        "decide is left out.",
        "4.20 of 5 (over 12 answers); unknown where nothing was graded",
    ),
    Entry(
        "band",
        "figure",
        "The weighted gap rate as a colour: green under 10%, yellow under 30%, else red.",
        "With fewer than 5 samples it is shown softened, as indicative only.",
    ),
    Entry(
        "confidence",
        "figure",
        "How many samples stand behind a rate: underpowered under 5, low under 20, else high. The confidence of a "
        "verdict is another thing: how sure a judge is of one signal, from 0 to 1.",
        "low (12 samples): only large gaps can be told apart",
    ),
    Entry(
        "per_turn",
        "figure",
        "Turns with a signal, of all turns. A long session has many turns and is one sample or a few.",
        "2 of 30 turns beside 1 of 4 samples",
    ),
    Entry(
        "weighted",
        "figure",
        "The gap rate with soft signals counted half: every sample by its strongest signal, 1.0 for a miss, 0.5 for a "
        "marker or a hedge.",
        "One miss and one hedge in 4 samples: 1.5 over 4, 37.5%",
    ),
    Entry(
        "soft_share",
        "figure",
        "The gap rate less the weighted one: how much of it rests on markers and hedges. From 10% on they make up a "
        "fair share.",
        "Then read the sentences in the inventory before you act on the rate.",
    ),
    Entry(
        "coverage",
        "figure",
        "Knowledge files that a complete sample reached, of all knowledge files. A reached file is no answered one.",
        "5 of 9 knowledge files; the others are seeds for new samples: knowbound draft",
    ),
    Entry(
        "watermark",
        "figure",
        "Which test set a rate belongs to: its path, its number of samples and the start of its hash. Rates compare "
        "only where the hash is the same.",
        "eval-samples.yaml · 13 samples · sha256 a1689bb0",
    ),
)
BY_CODE: dict[str, Entry] = {entry.code: entry for entry in ENTRIES}
