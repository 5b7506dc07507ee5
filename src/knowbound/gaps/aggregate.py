"""Counts the findings of sessions into figures (specification 1, section 5).

A sample has a gap or has none: how many signals it holds does not matter. Samples in which nothing was
answered leave the denominators. Sessions are taken one at a time, so any number of them fits.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from itertools import count

from knowbound.core.paths import project_name
from knowbound.core.signal import NOT_CLOSED, Findings, Sample, Signal, SignalType, Status, Topic
from knowbound.core.trace import Author
from knowbound.gaps.topics import Topics
from knowbound.stats.figures import GapFigures, SkillRow
from knowbound.stats.rate import Rate, Weighted

INVENTORY = 500  # signals shown in a report with their context; jsonl has them all


class SampleCounts:
    """Counts over complete samples: all of them, or those of one skill."""

    def __init__(self) -> None:
        self.samples = self.gaps = 0
        self.turns = self.gap_turns = 0
        self.weights: Counter[float] = Counter()  # of samples: the heaviest signal of each
        self.open_weights: Counter[float] = Counter()  # the same over open signals
        self.not_closed_weights: Counter[float] = Counter()  # the same over open and undecided signals
        self.types: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()

    def add(self, signals: Sequence[Signal], turns: int, gap_turns: int) -> None:
        """One complete sample: its signals, its turns, and how many of those hold a signal."""
        self.samples += 1
        if signals:
            self.gaps += 1
            self.weights[max(signal.weight for signal in signals)] += 1
            if open_weights := [signal.weight for signal in signals if signal.status is Status.OPEN]:
                self.open_weights[max(open_weights)] += 1
            if open_or_undecided := [signal.weight for signal in signals if signal.status in NOT_CLOSED]:
                self.not_closed_weights[max(open_or_undecided)] += 1
        self.turns += turns
        self.gap_turns += gap_turns
        for signal in signals:
            self.types[signal.type] += 1
            self.statuses[signal.status] += 1

    def figures(self) -> GapFigures:
        """The rates, with the counts behind them."""
        return GapFigures(
            rate=Rate(self.gaps, self.samples),
            weighted=Weighted.of(self.weights, self.samples),
            open=Rate(self.open_weights.total(), self.samples),
            per_turn=Rate(self.gap_turns, self.turns),
            by_type={type_: self.types.get(type_, 0) for type_ in SignalType},
            by_status={status: self.statuses.get(status, 0) for status in Status},
            open_weighted=Weighted.of(self.open_weights, self.samples),
            open_most=Rate(self.not_closed_weights.total(), self.samples),
            open_weighted_most=Weighted.of(self.not_closed_weights, self.samples),
        )


class Aggregate:
    """Takes in findings one by one; then has the figures, the skills, the inventory and the topics."""

    def __init__(self, skill: str | None = None) -> None:
        self._skill = skill
        self._all = SampleCounts()
        self._skills: dict[str, SampleCounts] = {}
        self._reached: dict[str, set[str]] = {}  # skill → knowledge files
        self._inventory: list[tuple[tuple[int, float, str, int], Signal]] = []  # a heap: the lowest rank comes first
        self._order = count()
        self._topics = Topics()
        self.incomplete: list[tuple[str, str, Sample]] = []  # session, its day, sample
        self.projects: Counter[str] = Counter()  # of sessions
        self.sessions = self.turns = self.turns_by_programs = self.tool_calls = self.samples = self.signals = 0
        self.reached: set[str] = set()
        self.skill_of: dict[str, str] = {}  # sample → skill, for samples with a signal
        self.project_of: dict[str, str] = {}  # sample → the folder it worked in, for samples with a signal
        self.parts: list[str] = []  # what the hash of the corpus is over

    def add(self, found: Findings) -> None:
        """One session."""
        samples = [sample for sample in found.samples if self._skill is None or sample.name == self._skill]
        if not samples and self._skill is not None:
            return  # a session in which the skill was not used
        self.sessions += 1
        self.projects[project_name(found.project)] += 1
        sample_ids = {sample.id for sample in samples}
        turns = [turn for turn in found.turns if turn.sample in sample_ids]
        self.turns += len(turns)
        self.turns_by_programs += sum(turn.author is Author.PROGRAM for turn in turns)
        self.tool_calls += found.tool_calls if self._skill is None else sum(sample.calls for sample in samples)
        self.parts.append(
            f"{found.agent}:{found.session}:{found.digest}:{len(turns)}:{found.tool_calls}:{len(samples)}"
        )
        answered_samples = {sample.id for sample in samples if sample.answered}
        # A turn may begin in one sample and go on in the skill it invokes: it is one turn all the same.
        gap_turn_indexes = {signal.turn for signal in found.signals if signal.sample in answered_samples}
        signals_of: dict[str, list[Signal]] = {}
        for signal in found.signals:
            signals_of.setdefault(signal.sample, []).append(signal)
        answered_skills: set[str] = set()  # what the session reached counts for each of these
        answered_of: dict[str, list[int]] = {}  # by sample: the indexes of its turns that have an answer
        for turn in turns:
            if turn.steps:
                answered_of.setdefault(turn.sample, []).append(turn.index)
        for sample in samples:
            self.samples += 1
            if not sample.answered:
                self.incomplete.append((found.session, found.started[:10], sample))
                continue
            signals, answered = signals_of.get(sample.id, []), answered_of.get(sample.id, [])
            gap_turns = sum(index in gap_turn_indexes for index in answered)
            self._all.add(signals, len(answered), gap_turns)
            self._skills.setdefault(sample.name, SampleCounts()).add(signals, len(answered), gap_turns)
            answered_skills.add(sample.name)
            if signals:
                self.skill_of[sample.id], self.project_of[sample.id] = sample.name, found.project
            for signal in signals:
                self._keep_in_inventory(signal, found)
            self._topics.add(found, signals)
        for name in answered_skills:
            self._reached.setdefault(name, set()).update(found.reached)
            self.reached.update(found.reached)

    def _keep_in_inventory(self, signal: Signal, found: Findings) -> None:
        self.signals += 1
        # Open before resolved, heavy before light, new before old; of equals the counter puts the first one first.
        rank = (signal.status in NOT_CLOSED, signal.weight, found.ended, -next(self._order))
        entry = (rank, signal)
        if len(self._inventory) < INVENTORY:
            heapq.heappush(self._inventory, entry)
        elif rank > self._inventory[0][0]:
            heapq.heapreplace(self._inventory, entry)  # in place of the signal with the lowest rank

    def figures(self) -> GapFigures:
        """The figures over all complete samples."""
        return self._all.figures()

    def skills(self, knowledge: frozenset[str]) -> list[SkillRow]:
        """One row per skill, most samples first."""
        rows = [
            SkillRow(name, counts.figures(), Rate(len(knowledge & self._reached[name]), len(knowledge)))
            for name, counts in self._skills.items()
        ]
        return sorted(rows, key=lambda row: (-row.gap.rate.n, row.name))

    def inventory(self) -> list[Signal]:
        """The signals worth reading first."""
        return [signal for _, signal in sorted(self._inventory, key=lambda entry: entry[0], reverse=True)]

    def misses(self) -> list[Signal]:
        """The failed searches that topics are made of."""
        return self._topics.misses

    def topics(self, here: str) -> tuple[list[Topic], dict[str, str]]:
        """Return the topics, those of the project `here` first, and the names by which a signal's topic is known."""
        return self._topics.ranked(here), self._topics.names.known
