"""Causes of failed samples: counts by cause with the fix of each, then sample by sample with the quotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from knowbound.report.formats.json import fields
from knowbound.report.sections import (
    Entry,
    Line,
    Note,
    Section,
    data,
    listing,
    prose,
    quote,
    section,
    soft,
    strong,
    table,
)
from knowbound.report.words import place_words
from knowbound.stats.comparison import answers, is_answered
from knowbound.stats.evaluation import Cause, Evaluation, SampleCause, complete_runs
from knowbound.stats.paired import unpaired_difference
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

CAUSE_NAMES: dict[Cause, str] = {
    Cause.MISSING: "knowledge missing",
    Cause.NOT_FOUND: "there and not found",
    Cause.NOT_USED: "found and not used",
    Cause.CONTRADICTED: "contradicted",
    Cause.AGENT_FAILED: "agent failed",
    Cause.SAMPLE_BAD: "sample bad",
    Cause.UNDECIDED: "undecided",
}
_FIXES: dict[Cause, str] = {
    Cause.MISSING: "write it down",
    Cause.NOT_FOUND: "say it in the words that are searched for, or link to it",
    Cause.NOT_USED: "say it more plainly and earlier, or try another model",
    Cause.CONTRADICTED: "repair one of the two passages",
    Cause.AGENT_FAILED: "run it again, with more time or budget",
    Cause.SAMPLE_BAD: "repair the sample",
    Cause.UNDECIDED: "let a model look: knowbound model",
}
_FIELDS = "sample cause why path line quote other_path other_line other_quote fix by problem?"


def _counted_causes(causes: Sequence[SampleCause]) -> dict[Cause, int]:
    found = Counter(one.cause for one in causes)
    return {cause: found[cause] for cause in Cause if found[cause]}


def causes_words(evaluation: Evaluation) -> str:
    """Return in one sentence how many samples are answered, and why the others are not."""
    runs = complete_runs(evaluation.runs)
    answered = sum(map(is_answered, runs.values()))
    of = f"{answered:,} of {counted(evaluation.samples, 'sample')} answered"
    if not evaluation.causes:
        return f"{of}."
    parts = [f"{number:,} {CAUSE_NAMES[cause]}" for cause, number in _counted_causes(evaluation.causes).items()]
    held = "; those held out are not looked at" if evaluation.held_out else ""
    return f"{of}; {len(evaluation.causes):,} failed: {', '.join(parts)}{held}."


def causes_sections(evaluation: Evaluation) -> Iterator[Section]:
    """Yield the verdict with the causes and their fixes, and each failed sample."""
    counts = _counted_causes(evaluation.causes)
    rows = [(CAUSE_NAMES[cause], f"{number:,}", _FIXES[cause]) for cause, number in counts.items()]
    by = {one.by for one in evaluation.causes if one.cause is not Cause.AGENT_FAILED}
    alone = "Rules alone looked: they compare the expected words letter by letter. A model finds more: knowbound model"
    notes = [Note(strong(causes_words(evaluation))), *([Note(soft(alone))] if by == {"rules"} else [])]
    tables = [table("cause | samples> | what to do", rows)] if rows else []
    yield section("Why samples failed" if rows else "", "causes", *notes, *tables)


def doubtful_sections(evaluation: Evaluation) -> Iterator[Section]:
    """Yield samples whose repeats differ, apart, and how far several judges agree."""
    if words := held_out_words(evaluation):
        yield section("Held out", "held-out", Note(words))
    rows = [(data(sample), f"{k} of {n} runs") for sample, (k, n) in flaky_samples(evaluation).items()]
    yield section("Flaky samples: their repeats differ", "flaky", table("sample | answered in", rows))
    given = [
        criterion.scores for run in evaluation.runs for criterion in run.grade.criteria if len(criterion.scores) > 1
    ]
    if given:
        same, near = (sum(max(one) - min(one) <= most for one in given) for most in (0, 1))
        of = counted(len(given), "score")
        words = f"The judges give the same score for {same:,} of {of}, and differ by one point at most for {near:,}."
        yield section("Agreement of the judges", "agreement", Note(words))


def held_out_words(evaluation: Evaluation) -> str:
    """Return in one sentence how the samples that were held out compare with the others; "" if there are none."""
    if not evaluation.held_out:
        return ""
    held = frozenset(evaluation.held_out)
    runs = complete_runs(evaluation.runs)
    inside, outside = (
        Rate(sum(is_answered(runs[one]) for one in mine), len(mine))
        for mine in ([run for run in runs if run not in held], [run for run in runs if run in held])
    )
    words = f"Held out: {outside.k:,} of {counted(outside.n, 'sample')} answered, {inside.k:,} of {inside.n:,} others"
    apart = unpaired_difference(inside, outside)
    if apart is None:
        return f"{words}."
    if apart.low <= 0 <= apart.high:
        return f"{words} ({apart}): they cannot be distinguished."
    better = "what was repaired helps the samples that were looked at alone" if apart.value < 0 else "they do better"
    return f"{words} ({apart}): {better}."


def flaky_samples(evaluation: Evaluation) -> dict[str, tuple[int, int]]:
    """Return the samples that some complete runs answer and others do not, with how many do."""
    counts = {sample: (sum(map(answers, runs)), len(runs)) for sample, runs in complete_runs(evaluation.runs).items()}
    return {sample: (k, n) for sample, (k, n) in counts.items() if 0 < k < n}


def failed_samples(evaluation: Evaluation) -> Section:
    """Return each failed sample with its cause and quotations."""
    order = list(Cause)
    entries = (_entry(one) for one in sorted(evaluation.causes, key=lambda one: order.index(one.cause)))
    return section("Failed samples, by cause", "failed-causes", listing(entries, 12))


def _entry(one: SampleCause) -> Entry:
    lines: list[Line] = [prose(one.why)] if one.why else []
    quoted = ((one.path, one.line, one.quote), (one.other_path, one.other_line, one.other_quote))
    lines += [(data(place_words(path, line)), ": ", quote(text)) for path, line, text in quoted if text]
    if one.fix:
        lines.append(("to do: ", prose(one.fix)))
    if one.problem:
        lines.append(("no model decided: ", prose(one.problem)))
    by = "" if one.by == "rules" else soft(f" (by {one.by})")
    head = ("Sample ", data(one.sample), f": {CAUSE_NAMES[one.cause]}", by)
    beside = place_words(one.path, one.line) if one.path and not one.quote else ""
    return Entry(tuple(part for part in head if part), tuple(lines), data(beside))


def causes_fields(evaluation: Evaluation) -> dict[str, object]:
    """Return the causes as JSON."""
    return {
        "flaky": list(flaky_samples(evaluation)),
        "held_out": evaluation.held_out,
        "by_cause": {cause.value: number for cause, number in _counted_causes(evaluation.causes).items()},
        "causes": [fields(one, _FIELDS) for one in evaluation.causes],
    }
