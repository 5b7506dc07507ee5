"""Competency questions: what a knowledge base should be able to answer by its scope (specification 1, section 9).

    structure (file names, headings, tables, principles) → proposals (rules, and a model where one is given)
    → filters, each drop with its reason → a number of them, spread over kinds and files → a test set of its own

The gap rate of that test set stands beside the one that people wrote and is never mixed with it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from pathlib import Path

from knowbound.core.competency import CompetencyQuestion, Dropped, Probe, QuestionKind
from knowbound.evals.questions.base import read_base
from knowbound.evals.questions.filters import kept
from knowbound.evals.questions.model import proposed_by_model
from knowbound.evals.questions.rules import all_questions
from knowbound.evals.samples.load import EvalSample, SampleSet
from knowbound.judge.models.asking import Asker
from knowbound.text.digest import digest_of

__all__ = ["CompetencyQuestion", "Dropped", "Probe", "QuestionKind", "as_samples", "competency_questions"]

DEFAULT_COUNT = 30


def competency_questions(
    root: Path, files: Sequence[str], *, count: int = DEFAULT_COUNT, asker: Asker | None = None
) -> Probe:
    """At most `count` questions to the knowledge files (paths relative to the root), the same ones every time."""
    base = read_base(root, files)
    dropped: list[Dropped] = []
    proposals = list(all_questions(base))
    notes: tuple[str, ...] = ()
    usd: float | None = 0.0
    if asker is not None:
        by_model = proposed_by_model(base, asker, count)
        # Before the questions of headings: of two that are alike, the model's is the better worded one.
        first = [one for one in proposals if one.kind is not QuestionKind.STRUCTURE]
        rest = [one for one in proposals if one.kind is QuestionKind.STRUCTURE]
        proposals, notes, usd = [*first, *by_model.questions, *rest], by_model.notes, by_model.usd
    good = kept(base, proposals, dropped)
    chosen = spread(good, count)
    return Probe(str(root), tuple(chosen), tuple(dropped), len(good) - len(chosen), notes, usd)


def spread(questions: Iterable[CompetencyQuestion], count: int) -> list[CompetencyQuestion]:
    """So many of them, taken in turn from every kind, and within a kind from every file."""
    kinds: dict[QuestionKind, dict[str, deque[CompetencyQuestion]]] = {kind: {} for kind in QuestionKind}
    for one in questions:
        kinds[one.kind].setdefault(one.file, deque()).append(one)
    turns = {kind: _in_turn(files) for kind, files in kinds.items()}
    chosen: list[CompetencyQuestion] = []
    while len(chosen) < count and any(turns.values()):
        for turn in turns.values():
            if turn and len(chosen) < count:
                chosen.append(turn.popleft())
    order = {kind: at for at, kind in enumerate(QuestionKind)}
    return sorted(chosen, key=lambda one: (order[one.kind], one.file, one.line, one.question))


def _in_turn(files: dict[str, deque[CompetencyQuestion]]) -> deque[CompetencyQuestion]:
    """One of each file, then the second of each, and so on; the files in an order that has nothing to do with names.

    By name, a few questions to many files would all be about the same corner of the alphabet.
    """
    rounds: dict[int, list[CompetencyQuestion]] = defaultdict(list)
    for _, waiting in sorted(files.items(), key=lambda pair: digest_of([pair[0]])):
        for number, one in enumerate(waiting):
            rounds[number].append(one)
    return deque(one for number in sorted(rounds) for one in rounds[number])


def as_samples(probe: Probe) -> SampleSet:
    """The questions as a test set; its hash is over the questions alone, so that equal questions compare."""
    samples = tuple(_sample(one) for one in probe.questions)
    return SampleSet(
        path=f"competency questions of {probe.root}",
        samples=samples,
        sha256=digest_of(f"{sample.id} {sample.prompt}" for sample in samples),
    )


def _sample(one: CompetencyQuestion) -> EvalSample:
    return EvalSample(
        id=one.id,
        prompt=one.question,
        construct="competency",
        capability=(str(one.kind),),
        provenance="rule-generated" if one.provenance == "rules" else "llm-generated",
        # Not as its `file`: that is where a sample is written, and it is hidden from the agent.
        metadata={"kind": str(one.kind), "why": one.why, "file": one.file, "line": one.line},
    )
