"""Two evaluations of the same test set, sample by sample (specification 1, section 6).

Model and samples are meant to be equal, and only the knowledge to differ. Other differences are named, because they may
explain the result. Different test sets are refused: their rates are not comparable. One figure decides, so that no
correction for a second test is needed: the samples that are answered. The other figures are shown beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

import msgspec

from knowbound.core.signal import SignalType
from knowbound.errors import InputError
from knowbound.stats.evaluation import (
    Evaluation,
    EvaluationHead,
    KnowledgeChange,
    Origin,
    SampleRun,
    complete_runs,
    knowledge_change,
    sample_weight,
)
from knowbound.stats.figures import RateKind
from knowbound.stats.paired import Pairs, count_pairs
from knowbound.stats.rate import Mean, Rate, mean_of


class Change(StrEnum):
    """Change of the result of a sample."""

    FIXED = "fixed"  # the gap is gone, or a failed assertion passes now
    BROKEN = "broken"  # a new gap, or a passed assertion fails now, whatever else changed
    SAME = "same"
    UNKNOWN = "unknown"  # not complete on one side: not among the pairs


class Verdict(StrEnum):
    """Verdict of the pairs about the second side."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"


_Value = TypeVar("_Value")
_PASSES = 3.0  # mean score of a rubric from which an answer passes, as of a judged assertion
_SHORTEST = 4  # characters that name a commit
_ORDER = (Change.BROKEN, Change.FIXED, Change.UNKNOWN, Change.SAME)  # order for readers


class SampleSide(msgspec.Struct, frozen=True):
    """One sample on one side of a comparison, by its complete runs."""

    gap: Rate  # runs with a gap
    types: list[SignalType] = []
    composite: float | None = None
    answered: bool | None = None  # None: no complete run
    answer: str = ""  # of the first complete run that has one


class SampleChange(msgspec.Struct, frozen=True):
    """One sample before and after."""

    sample: str
    change: Change
    before: SampleSide
    after: SampleSide
    why: str = ""  # why the change is unknown
    failing: list[str] = []  # assertions that passed before and fail now
    passing: list[str] = []  # assertions that failed before and pass now


class Comparison(msgspec.Struct, frozen=True):
    """The result of `compare`."""

    before: Evaluation
    after: Evaluation
    rows: list[SampleChange]  # broken first, then fixed, unknown, same
    answered: Pairs  # decides; `fixed`: not answered before, answered after
    pairs: Pairs  # of gaps
    composite: Mean  # after − before, over samples that have a composite on both sides; so the next four
    usd: Mean
    tokens: Mean
    steps: Mean
    seconds: Mean
    served: Rate  # samples with an injected item, of those run with injection
    change: KnowledgeChange
    caveats: list[str]

    @property
    def names(self) -> tuple[str, str]:
        """Names of both sides, as the user gave them or by their ids."""
        first, second = (side.variant or f"evaluation {side.id}" for side in (self.before, self.after))
        return first, second

    @property
    def verdict(self) -> Verdict:
        """Verdict of the deciding pairs."""
        if not self.answered.settled:
            return Verdict.UNDECIDED
        return Verdict.BETTER if self.answered.rise < 0 else Verdict.WORSE  # the rise of what is not answered

    def count(self, change: Change) -> int:
        """Return the number of samples with this change."""
        return sum(1 for row in self.rows if row.change is change)


def compare(before: Evaluation, after: Evaluation) -> Comparison:
    """Compare two evaluations of a test set."""
    _refuse_different_test_sets(before, after)
    rows = sample_changes(before, after)
    injected = complete_runs(after.runs if after.inject else before.runs if before.inject else [])  # on one side
    return Comparison(
        before=before,
        after=after,
        rows=rows,
        answered=answered_pairs(before, after),
        pairs=pairs_of(before, after),
        composite=mean_difference(before, after, lambda run: run.grade.composite),
        usd=mean_difference(before, after, lambda run: None if run.cached else run.usd),  # a cached run was paid before
        tokens=mean_difference(before, after, _tokens),
        steps=mean_difference(before, after, lambda run: float(run.steps)),
        seconds=mean_difference(before, after, lambda run: None if run.cached else run.seconds),
        served=Rate(sum(any(run.injected for run in runs) for runs in injected.values()), len(injected)),
        change=knowledge_change(before.knowledge, after.knowledge),
        caveats=list(_caveats(before, after, rows)),
    )


def sample_changes(before: Evaluation, after: Evaluation, kind: RateKind = RateKind.RAW) -> list[SampleChange]:
    """Return the change of every sample, broken samples first."""
    sides: dict[str, tuple[list[SampleRun], list[SampleRun]]] = {}
    for at, evaluation in enumerate((before, after)):
        for run in evaluation.runs:
            sides.setdefault(run.sample, ([], []))[at].append(run)
    rows = [_sample_change(sample, *sides[sample], kind) for sample in sorted(sides)]
    return sorted(rows, key=lambda row: _ORDER.index(row.change))


def _refuse_different_test_sets(before: EvaluationHead, after: EvaluationHead) -> None:
    """Raise InputError unless both evaluations ran the same test set."""
    if before.origin is not after.origin:
        why = "Samples that people wrote and questions made from the knowledge base are never mixed."
    elif before.sha256 != after.sha256:
        why = "A gap rate belongs to its test set: between two of them the difference says nothing about the knowledge."
    else:
        return
    raise InputError(
        "different-test-sets",
        f"Evaluation {before.id} ran {_test_set_words(before)}, evaluation {after.id} {_test_set_words(after)}. {why} "
        "Try: knowbound trend, which shows which evaluations have the same test set",
    )


def find_evaluation(heads: Sequence[EvaluationHead], name: str) -> EvaluationHead:
    """Return a stored evaluation by its id, a commit, `latest`, or `previous`.

    `previous` is the last evaluation before the latest with the same test set. A commit names its last evaluation
    without uncommitted changes, or else its last evaluation.
    """
    written = [head for head in heads if not head.against and head.origin is Origin.WRITTEN]
    if not written:
        raise InputError("no-run", "There is no stored evaluation. Try: knowbound eval SAMPLES")
    latest = written[-1]
    if name == "latest":
        return latest
    if name == "previous":
        key = (latest.sha256, latest.origin, latest.inject)  # with and without injection are two variants
        alike = [head for head in written[:-1] if (head.sha256, head.origin, head.inject) == key]
        if not alike:
            raise InputError(
                "no-such-evaluation",
                f"Evaluation {latest.id} is the first one of {_test_set_words(latest)}. Try: knowbound trend",
            )
        return alike[-1]
    if by_id := [head for head in heads if str(head.id) == name]:
        return by_id[0]
    by_commit = [head for head in heads if len(name) >= _SHORTEST and head.commit.startswith(name.lower())]
    if len({head.commit for head in by_commit}) != 1:
        what = "several commits start with it" if by_commit else "it is neither an id nor the start of a commit"
        raise InputError("no-such-evaluation", f"No single evaluation is called {name!r}: {what}. Try: knowbound trend")
    clean = [head for head in by_commit if not head.dirty and head.origin is Origin.WRITTEN]
    return (clean or by_commit)[-1]


def _test_set_words(head: EvaluationHead) -> str:
    mark = head.watermark
    made = ", made by probe" if head.origin is Origin.PROBED else ""
    return f"{mark.path} ({mark.samples} samples, sha256 {mark.sha256_8}{made})"


def _sample_change(
    sample: str, before: Sequence[SampleRun], after: Sequence[SampleRun], kind: RateKind
) -> SampleChange:
    """Return the change of a sample by its complete runs; what broke outweighs what was fixed."""
    done_before, done_after = ([run for run in runs if run.is_complete] for runs in (before, after))
    passed_before, passed_after = _passed(done_before), _passed(done_after)
    failing = [name for name in passed_before if passed_before[name] and passed_after.get(name) is False]
    passing = [name for name in passed_before if passed_before[name] is False and passed_after.get(name)]
    change, why = Change.UNKNOWN, _incomplete_words(before, after)
    if done_before and done_after:
        rise = (sample_weight(done_after, kind) > 0) - (sample_weight(done_before, kind) > 0)  # 1: a new gap, -1: gone
        change, why = Change.FIXED if passing or rise < 0 else Change.SAME, ""
        if failing or rise > 0:
            change = Change.BROKEN
    return SampleChange(sample, change, _sample_side(done_before), _sample_side(done_after), why, failing, passing)


def _sample_side(runs: Sequence[SampleRun]) -> SampleSide:
    """Sum the complete runs of a sample up."""
    types = {signal.type for run in runs for signal in run.signals}
    return SampleSide(
        gap=Rate(sum(run.has_gap for run in runs), len(runs)),
        types=[type_ for type_ in SignalType if type_ in types],
        composite=_mean(run.grade.composite for run in runs),
        answered=is_answered(runs) if runs else None,
        answer=next((run.answer for run in runs if run.answer), ""),
    )


def _passed(runs: Iterable[SampleRun]) -> dict[str, bool]:
    """Map an assertion to whether it passed in more than half of the runs that decided it."""
    decided: dict[str, list[bool]] = {}
    for run in runs:
        for grade in run.grade.assertions:
            if grade.passed is not None:
                decided.setdefault(f"{grade.type} {grade.detail}".rstrip(), []).append(grade.passed)
    return {name: 2 * sum(results) > len(results) for name, results in decided.items()}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _incomplete_words(before: Sequence[SampleRun], after: Sequence[SampleRun]) -> str:
    """Return in words the ends of the incomplete runs of both sides."""
    parts = []
    for name, runs in (("before", before), ("after", after)):
        ends = sorted({str(run.ending) for run in runs if not run.is_complete})
        if ends or not runs:
            parts.append(f"{name}: {', '.join(ends) or 'not run'}")
    return "; ".join(parts)


def pairs_of(before: Evaluation, after: Evaluation, kind: RateKind = RateKind.RAW) -> Pairs:
    """Return the pairs of samples with a complete run on both sides, by cluster."""
    return count_pairs(_on_both_sides(before, after, lambda runs: sample_weight(runs, kind) > 0))


def answered_pairs(before: Evaluation, after: Evaluation) -> Pairs:
    """Return the pairs of samples with a complete run on both sides; a sample without an answer is counted."""
    return count_pairs(_on_both_sides(before, after, lambda runs: not is_answered(runs)))


def _on_both_sides(
    before: Evaluation, after: Evaluation, value: Callable[[Sequence[SampleRun]], _Value]
) -> list[list[tuple[_Value, _Value]]]:
    """Return the values of the samples with a complete run on both sides, by cluster."""
    old, new = complete_runs(before.runs), complete_runs(after.runs)
    both = old.keys() & new.keys()
    return _clustered(before, after, {sample: (value(old[sample]), value(new[sample])) for sample in both})


def is_answered(runs: Sequence[SampleRun]) -> bool:
    """Report whether more than half of the complete runs of a sample answer it."""
    return 2 * sum(map(answers, runs)) > len(runs)


def answers(run: SampleRun) -> bool:
    """Report whether a complete run answers its sample: what was graded passes; without a grade, it has no gap."""
    passed = [assertion.passed for assertion in run.grade.assertions if assertion.passed is not None]
    if not passed and run.grade.judge is None:  # nothing was graded
        return not run.has_gap
    return all(passed) and (run.grade.judge is None or run.grade.judge >= _PASSES)


def changed_pairs(before: Evaluation, after: Evaluation, rows: Iterable[SampleChange]) -> Pairs:
    """Return the pairs by the change of each sample as a whole: broken, fixed, or the same."""
    # As pairs (gap before, gap after); a sample that is the same counts as one without a gap on either side.
    states = {Change.BROKEN: (False, True), Change.FIXED: (True, False), Change.SAME: (False, False)}
    pairs = {row.sample: states[row.change] for row in rows if row.change in states}
    return count_pairs(_clustered(before, after, pairs))


def mean_difference(before: Evaluation, after: Evaluation, value: Callable[[SampleRun], float | None]) -> Mean:
    """Return the mean of after − before of a value, over samples that have the value on both sides."""
    pairs = _on_both_sides(before, after, lambda runs: _mean(map(value, runs)))
    known = ([(old, new) for old, new in part if old is not None and new is not None] for part in pairs)
    return mean_of([new - old for old, new in part] for part in known)


def _clustered(before: Evaluation, after: Evaluation, values: Mapping[str, _Value]) -> list[list[_Value]]:
    """Group values of samples by cluster: samples that are connected by common sessions on either side."""
    leader: dict[str, str] = {}  # sample → the next one on the way to the leader of its cluster; a leader leads itself

    def lead(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    first_in: dict[str, str] = {}  # session → its first sample
    for run in (*before.runs, *after.runs):
        own_leader = lead(run.sample)
        if run.session:
            leader[own_leader] = lead(first_in.setdefault(run.session, run.sample))
    clusters: dict[str, list[_Value]] = {}
    for sample in sorted(values):
        clusters.setdefault(lead(sample), []).append(values[sample])
    return list(clusters.values())


def _tokens(run: SampleRun) -> float | None:
    if run.tokens_in is None or run.tokens_out is None:
        return None
    return float(run.tokens_in + run.tokens_out)


def differences(before: EvaluationHead, after: EvaluationHead) -> list[str]:
    """Return in words the differences other than the knowledge, which may explain the result."""
    sides = (
        ("executor", before.executor, after.executor),
        ("model", before.model, after.model),
        ("judge", before.judge, after.judge),
        ("repeat", str(before.repeat), str(after.repeat)),
        ("injection", *("on" if side.inject else "off" for side in (before, after))),
        ("version of knowbound", before.version, after.version),
    )
    return [f"the {name} ({old or 'none'} → {new or 'none'})" for name, old, new in sides if old != new]


def _caveats(before: Evaluation, after: Evaluation, rows: Iterable[SampleChange]) -> Iterator[str]:
    """Yield what a reader has to know before taking the difference for an effect of the knowledge."""
    is_same = before.knowledge and not knowledge_change(before.knowledge, after.knowledge)
    changed = differences(before, after)
    if before.inject != after.inject and is_same and len(changed) == 1:
        yield "The knowledge files are the same on both sides: what differs is injection."
        is_same, changed = False, []  # nothing to warn of: the comparison is about injection
    if changed:
        yield f"Besides the knowledge, these differ: {', '.join(changed)}. The difference may not be the knowledge's."
    if is_same:
        yield "The knowledge files are the same on both sides: what differs is the agent's own variation."
    for name, side in (("before", before), ("after", after)):
        if side.gap.unseen:
            yield f"The tool calls of {side.gap.unseen} samples left no trace {name}: gaps there may be missing."
    if unknown := sum(row.change is Change.UNKNOWN for row in rows):
        noun = "sample is" if unknown == 1 else "samples are"
        yield f"{unknown} {noun} not complete on both sides and not among the pairs."
