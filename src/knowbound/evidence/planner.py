"""Collects evidence: gap → the tool that closes it → grade, until no gap is left (specification 3, part IV).

It asks which evidence is still missing and which tool can acquire it, not which tool suits the question. Only the
planner judges sufficiency and derives Verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from knowbound.core.evidence import (
    Evidence,
    EvidenceClass,
    EvidenceGap,
    Place,
    Quality,
    Requirement,
    Shows,
    best_quality,
    gaps_of,
)
from knowbound.evidence.plan import Plan, Term
from knowbound.evidence.producers.protocol import Ask, Context, Producer

_CORROBORATING = (
    frozenset({EvidenceClass.FILE_SEARCH, EvidenceClass.FILE_CONTENT}),
    frozenset({EvidenceClass.BUILD, EvidenceClass.TEST}),
)
PLANNER = "planner"  # the tool of what is derived from other evidence
_AskedCall: TypeAlias = tuple[str, EvidenceClass, str, tuple[Place, ...]]  # tool, class, target, candidates


@dataclass(slots=True)
class Collected:
    """The evidence so far, who produced each piece, and how it came."""

    entries: list[Evidence] = field(default_factory=list)
    producers: list[Producer | None] = field(default_factory=list)  # None: derived by the planner
    trail: list[str] = field(default_factory=list)
    stopped: str = ""  # why collecting ended before nothing was left

    def add(self, entry: Evidence, producer: Producer | None) -> None:
        """Keep a piece of evidence. A tool cannot say Verified: that is the planner's to derive."""
        if producer is not None and entry.quality is Quality.VERIFIED:
            entry = msgspec.structs.replace(entry, quality=Quality.STRONG)
        self.entries.append(entry)
        self.producers.append(producer)

    def take(self, producer: Producer, ask: Ask, context: Context) -> Evidence:
        """Call a tool, keep its evidence and what the planner derives from it."""
        entry = producer.produce(ask, context)
        self.record(entry, producer)
        return entry

    def record(self, entry: Evidence, producer: Producer) -> None:
        """Keep a piece of evidence with its line of the trail, and what the planner derives from it."""
        self.add(entry, producer)
        target, note = f" {entry.target!r}" if entry.target else "", f" ({entry.note})" if entry.note else ""
        self.trail.append(
            f"{entry.tool}{target} → {entry.cls} {self.entries[-1].quality}, {entry.match_count} found{note}"
        )
        for verified in corroborated(self):
            self.add(verified, None)
            self.trail.append(f"{PLANNER} → {verified.cls} verified: {verified.note}")

    def join(self, other: Collected) -> None:
        """Keep what another collection brought; the entries that its entries cite get new numbers."""
        shift = len(self.entries)
        for entry, producer in zip(other.entries, other.producers, strict=True):
            cites = tuple(number + shift for number in entry.cites)
            self.entries.append(msgspec.structs.replace(entry, cites=cites))
            self.producers.append(producer)
        self.trail += other.trail
        self.stopped = self.stopped or other.stopped

    def stop(self, why: str) -> None:
        """Note why collecting ended early."""
        self.stopped = why
        self.trail.append(f"stopped: {why}")


def collect(
    plan: Plan, requirements: Sequence[Requirement], producers: Sequence[Producer], context: Context, calls: int
) -> Collected:
    """Acquire evidence until the requirements are met or no tool is left that could."""
    collected = Collected()
    asked: set[_AskedCall] = set()
    while True:
        missing = gaps_of(requirements, plan.targets, entries_that_count(collected.entries))
        gaps = missing or _unconfirmed(requirements, collected.entries)  # what is met may still be verified
        if not gaps:
            return collected
        if len(asked) >= calls or context.seconds_left <= 0:
            collected.stop(f"{calls} calls were made" if len(asked) >= calls else "the time is over")
            return collected
        step = _next_call(gaps, plan, producers, collected.entries, asked)
        if step is None:
            return collected
        producer, ask = step
        asked.add((producer.name, ask.cls, ask.target, ask.candidates))
        collected.take(producer, ask, context)


def search(terms: Sequence[Term], plan: Plan, producers: Sequence[Producer], context: Context, calls: int) -> Collected:
    """Look for each term with the tools that suit it, best first, until one finds exactly it."""
    collected = Collected()
    for term in terms:
        ask = Ask(EvidenceClass.FILE_SEARCH, term.text, plan.intent, plan.question, term)
        # `can` is 0 for what does not suit; of equals the first.
        rated = [(producer.can(ask), -at, producer) for at, producer in enumerate(producers) if producer.cls is ask.cls]
        for suits, _, producer in sorted(rated, key=lambda rating: rating[:2], reverse=True):
            if len(collected.entries) >= calls or context.seconds_left <= 0:
                collected.stop(f"{calls} calls were made" if len(collected.entries) >= calls else "the time is over")
                return collected
            if suits > 0 and collected.take(producer, ask, context).quality is Quality.STRONG:
                break
    return collected


def entries_that_count(entries: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence that counts together, at the quality that it counts with.

    A search and a read complete each other only where they are about the same file. Where one source disputes another
    of its class, none of that class is more than Moderate.
    """
    found_paths: dict[str, set[str]] = {}
    for target in {entry.target for entry in entries if entry.cls is EvidenceClass.FILE_SEARCH}:
        best = best_quality(entries, EvidenceClass.FILE_SEARCH, target)
        found_paths[target] = {
            path
            for entry in entries
            if entry.cls is EvidenceClass.FILE_SEARCH and entry.target == target and entry.quality is best
            for path in entry.sources
        }
    disputed = {entry.cls for entry in entries if entry.disputes}
    counting = [
        entry
        for entry in entries
        if entry.cls is not EvidenceClass.FILE_CONTENT
        or entry.target not in found_paths  # nothing was searched that it could complete
        or not entry.places  # it read no file: the gap has its reason
        or not found_paths[entry.target].isdisjoint(entry.sources)
    ]
    return [
        msgspec.structs.replace(entry, quality=Quality.MODERATE)
        if entry.cls in disputed and entry.quality.reaches(Quality.STRONG)
        else entry
        for entry in counting
    ]


def _unconfirmed(requirements: Sequence[Requirement], entries: Sequence[Evidence]) -> list[EvidenceGap]:
    """Return the gap that a second scan of the project closes: the specification verifies Discovery by two scans."""
    for requirement in requirements:
        if requirement.cls is EvidenceClass.DISCOVERY:
            have = best_quality(entries, requirement.cls)
            if have is Quality.STRONG:
                return [EvidenceGap(requirement.cls, have, Quality.VERIFIED)]
    return []


def _next_call(
    gaps: Sequence[EvidenceGap],
    plan: Plan,
    producers: Sequence[Producer],
    entries: Sequence[Evidence],
    asked: set[_AskedCall],
) -> tuple[Producer, Ask] | None:
    """Return the best tool for the gap of the lowest quality that has a tool, with what to ask it; None without any."""
    terms = {term.text: term for term in plan.terms}
    for gap in sorted(gaps, key=lambda gap: gap.have.rank):
        term = terms.get(gap.target) or (plan.terms[0] if plan.terms else None)  # of a gap of the whole project any
        ask = Ask(gap.cls, gap.target, plan.intent, plan.question, term, _candidates(gap, entries))
        rated = [
            (producer.can(ask), -number, producer)
            for number, producer in enumerate(producers)
            if producer.cls is gap.cls and (producer.name, gap.cls, gap.target, ask.candidates) not in asked
        ]
        suits, _, producer = max(rated, key=lambda rating: rating[:2], default=(0, 0, None))
        if producer is not None and suits > 0:
            return producer, ask
    return None


def _candidates(gap: EvidenceGap, entries: Sequence[Evidence]) -> tuple[Place, ...]:
    """Return the places that a reader may open: those of the best search for the term, without loose words."""
    if gap.cls is not EvidenceClass.FILE_CONTENT:
        return ()
    found = [
        entry
        for entry in entries
        if entry.cls is EvidenceClass.FILE_SEARCH
        and entry.target == gap.target
        and entry.quality.reaches(Quality.MODERATE)
        and entry.tool != PLANNER
    ]
    best = best_quality(found, EvidenceClass.FILE_SEARCH)
    return next((entry.places for entry in found if entry.quality is best), ())


def corroborated(collected: Collected) -> list[Evidence]:
    """Verified is a relationship (part I): two independent producers on the same file and symbol, or an authority."""
    entries, producers = collected.entries, collected.producers
    verified = {(entry.cls, entry.target) for entry in entries if entry.quality is Quality.VERIFIED}
    derived: list[Evidence] = []
    for number, (entry, producer) in enumerate(zip(entries, producers, strict=True)):
        if producer is None or entry.quality is not Quality.STRONG:  # None: derived, which derives nothing more
            continue
        is_authority = producer.authoritative and not entry.disputes
        if is_authority and (entry.cls, entry.target) not in verified:
            verified.add((entry.cls, entry.target))
            derived.append(_verified(entry, (number,), entry.places, f"{entry.tool} is authoritative for this"))
        for earlier in range(number):
            other, other_producer = entries[earlier], producers[earlier]
            if other_producer is None or producer.independent_of == other_producer.independent_of:
                continue
            shared = agreement(entry, other) if _may_corroborate(entry, other) else ()
            if not shared:
                continue
            for agreeing in (other, entry):
                if (agreeing.cls, agreeing.target) not in verified:
                    verified.add((agreeing.cls, agreeing.target))
                    note = f"{other.tool} and {entry.tool} agree on {_place_words(shared[0])}"
                    derived.append(_verified(agreeing, (earlier, number), shared, note))
    return derived


def _may_corroborate(entry: Evidence, other: Evidence) -> bool:
    """Report whether a strong entry and another are about one target, of classes that go together, and no failure."""
    if other.quality is not Quality.STRONG or other.target != entry.target:
        return False
    if Shows.FAILS in (entry.shows, other.shows):  # Verified is "build and test both pass"
        return False
    return entry.cls is other.cls or {entry.cls, other.cls} in _CORROBORATING


def agreement(entry: Evidence, other: Evidence) -> tuple[Place, ...]:
    """Return the places whose file and resolved symbol both entries name; the searched string does not count."""
    theirs = {(place.path, place.symbol) for place in other.places if place.symbol}
    shared = (place for place in entry.places if place.symbol and (place.path, place.symbol) in theirs)
    return tuple({(place.path, place.symbol): place for place in shared}.values())


def _verified(entry: Evidence, cites: tuple[int, ...], places: tuple[Place, ...], note: str) -> Evidence:
    return msgspec.structs.replace(
        entry, tool=PLANNER, quality=Quality.VERIFIED, places=places, note=note, cites=cites, read_as=""
    )


def _place_words(place: Place) -> str:
    return f"{place.symbol} in {place.path}" if place.symbol not in ("", place.path.rpartition("/")[2]) else place.path
