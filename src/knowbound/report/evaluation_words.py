"""What an evaluation's report says, in the same words in every format (specification 1, sections 5 to 9)."""

from __future__ import annotations

from knowbound.core.grade import AssertionGrade
from knowbound.core.signal import SignalType
from knowbound.report.evaluation_model import SampleRow
from knowbound.report.words import TYPE_MEANINGS, TYPE_NAMES, classification_words, counted
from knowbound.stats.evaluation import Ending, Evaluation, Origin, SampleRun
from knowbound.stats.gate import GateResult, Outcome
from knowbound.stats.rate import Mean

TITLE = "Knowledge gaps of a test set"
BESIDE_TITLE = "Competency questions, beside the written samples"
BESIDE_MEANING = (
    "Questions that the structure of the knowledge base raises. Their gap rate stands beside the one above and is "
    "never added to it."
)
UNCOVERED_MEANING = "No answer came from these files: they are natural candidates for new samples."
# The built-in executor reads and does not understand: what it misses may be told in other words.
BUILT_IN = "investigate"
_NOT_TOLD = "no passage says it: write it, or see the nearest passage"
NEXT_COMMANDS: tuple[tuple[str, str], ...] = (
    ("knowbound report --format html -o report.html", "this report in a browser"),
    ("knowbound trend", "the gap rate over commits"),
    ("knowbound draft", "new samples for what was missed"),
)
ENDING_NAMES: dict[Ending, str] = {
    Ending.DONE: "done",
    Ending.CRASHED: "crashed",
    Ending.TIMEOUT: "took too long",
    Ending.BUDGET: "over the budget",
    Ending.INCOMPLETE: "trace not complete",
}
_GATE_NAMES: dict[Outcome, str] = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.UNDECIDED: "undecided",
    Outcome.NO_BASELINE: "nothing to compare with",
}


def classification_of(evaluation: Evaluation) -> str:
    """Section 7.3, where the built-in executor answered in words that claim no more than it can know."""
    words = classification_words(evaluation.gap)
    return words.replace("the knowledge itself is missing", _NOT_TOLD) if evaluation.executor == BUILT_IN else words


def meanings_of(evaluation: Evaluation) -> dict[SignalType, str]:
    """What each source says, told of the one who answered."""
    if evaluation.executor != BUILT_IN:
        return TYPE_MEANINGS
    return TYPE_MEANINGS | {SignalType.FAILED_SEARCH: _NOT_TOLD}


def retold(text: str, evaluation: Evaluation) -> str:
    """The section "By source" of observed work in the words of this evaluation."""
    own = meanings_of(evaluation)
    told = {TYPE_MEANINGS[type_]: meaning for type_, meaning in own.items()}
    shared, mine = classification_words(evaluation.gap), classification_of(evaluation)
    for before, after in {**told, shared: mine, shared.capitalize(): mine.capitalize()}.items():
        text = text.replace(before, after)
    return text


def totals_words(evaluation: Evaluation) -> str:
    """How much was run, in one line."""
    runs = counted(len(evaluation.runs), "run")
    if evaluation.runs_incomplete:
        runs += f" ({evaluation.runs_incomplete:,} not in the rates)"
    complete = [run for run in evaluation.runs if run.is_complete]
    parts = [(sum(run.turns for run in complete), "turn"), (sum(run.calls for run in complete), "tool call")]
    parts += [(sum(len(run.signals) for run in complete), "signal")]
    return " · ".join([counted(evaluation.samples, "sample"), runs, *(counted(number, noun) for number, noun in parts)])


def who_words(evaluation: Evaluation) -> str:
    """Who answered, who judged, what it cost and when."""
    asked = "competency questions" if evaluation.origin is Origin.PROBED else ""
    model = f"model {evaluation.model}" if evaluation.model else ""
    judge = f"judge {evaluation.judge}" if evaluation.judge else "no judge"
    repeat = f"each {evaluation.repeat} times" if evaluation.repeat > 1 else ""
    parts = (asked, f"executor {evaluation.executor}", model, judge, repeat, cost_words(evaluation))
    return " · ".join(
        part for part in (*parts, f"{seconds_cell(evaluation.seconds)} s in all", evaluation.made) if part
    )


def knowledge_words(evaluation: Evaluation) -> str:
    """Which knowledge this is about."""
    files = counted(len(evaluation.knowledge), "knowledge file")
    version = f"version {evaluation.against}" if evaluation.against else ""
    return " · ".join(
        part for part in (f"knowledge base {evaluation.root}", version, _commit(evaluation), files) if part
    )


def _commit(evaluation: Evaluation) -> str:
    if not evaluation.commit:
        return "not in git"
    subject = f" “{evaluation.subject}”" if evaluation.subject else ""
    return f"commit {evaluation.commit[:10]}{subject}{' with uncommitted changes' if evaluation.dirty else ''}"


def cost_words(evaluation: Evaluation) -> str:
    """The cost, and how many runs do not tell theirs."""
    silent = sum(run.usd is None for run in evaluation.runs)
    if evaluation.usd is None or not silent:
        return money(evaluation.usd)
    return f"{money(evaluation.usd)} and {counted(silent, 'run')} of unknown cost"


def money(usd: float | None) -> str:
    """US dollars; small sums keep their digits."""
    if usd is None:
        return "cost unknown"
    return f"${usd:.2f}" if usd >= 0.01 or not usd else f"${usd:.4f}"


def money_cell(usd: float | None) -> str:
    """The same in a column of costs."""
    return money(usd).removeprefix("cost ")


def seconds_cell(seconds: float) -> str:
    """How long it took; short times keep their digits."""
    return f"{seconds:,.1f}" if seconds >= 10 else f"{seconds:.2f}"


def composite_words(mean: Mean) -> str:
    """The mean composite with its interval."""
    if mean.value is None:
        return "unknown: nothing was graded"
    between = f", {interval}" if (interval := _between(mean)) else ""
    return f"{mean.value:.2f} of 5 (over {counted(mean.n, 'answer')}{between})"


def _between(mean: Mean) -> str:
    """The interval; scores that are all alike have no spread to draw one from, which is not the same as certainty."""
    if mean.low is None or mean.high is None or mean.low == mean.high:
        return ""
    return f"95% {mean.low:.2f}–{mean.high:.2f}"


def score_cell(score: float | None) -> str:
    """A composite in a column of them."""
    return "unknown" if score is None else f"{score:.2f}"


def mean_cell(mean: Mean) -> str:
    """A mean composite in a column of them."""
    interval = _between(mean)
    return f"{score_cell(mean.value)} ({interval})" if interval else score_cell(mean.value)


def gap_cell(row: SampleRow) -> str:
    """Whether the sample has a gap; of several runs, in how many."""
    if not row.complete:
        return "unknown"
    if len(row.runs) > 1:
        return f"{row.gap.k} of {row.gap.n}"
    return "no" if not row.signals else "yes" if row.open_signals else "not open"


def types_cell(row: SampleRow) -> str:
    """Which signals it has."""
    return ", ".join(TYPE_NAMES[type_] + (f" ×{number}" if number > 1 else "") for type_, number in row.types.items())


def ending_cell(row: SampleRow) -> str:
    """How its runs ended."""
    endings = [run.ending for run in row.runs]
    if len(set(endings)) == 1:
        return ENDING_NAMES[endings[0]]
    return ", ".join(f"{endings.count(one)} {ENDING_NAMES[one]}" for one in Ending if one in endings)


def left_out_words(run: SampleRun, repeats: bool) -> str:
    """Why a run is in no denominator."""
    again = f" (run {run.repeat})" if repeats else ""
    return f"{run.sample}{again}: {ENDING_NAMES[run.ending]}{f': {run.problem}' if run.problem else ''}"


def assertion_words(grade: AssertionGrade) -> str:
    """What was asked of the answer."""
    return f"{grade.type} {grade.detail}".rstrip()


def gate_outcome(gate: GateResult) -> str:
    """How a gate came out; where the data do not carry the decision, that is said too."""
    return _GATE_NAMES[gate.outcome] + (", not settled" if gate.settled is False else "")


def gate_name(gate: GateResult) -> str:
    """The gate and its limit."""
    return f"{gate.name} {gate.limit:g}"
