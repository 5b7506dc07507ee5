"""What an evaluation says about injection: which items were injected, and whether that helps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from knowbound.report.formats.json import as_json, fields
from knowbound.report.sections import Column, Facts, Line, Note, Row, Section, Table, data, soft, strong
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.gate import about
from knowbound.stats.injection import Effect, InjectionEffect
from knowbound.stats.paired import Pairs
from knowbound.stats.printing import percent, probability
from knowbound.stats.rate import Mean
from knowbound.text.printable import counted

_EFFECTS = {Effect.HELPS: "Injection helps", Effect.HARMS: "Injection harms"}
_PAIRED = "n clusters both fixed broken neither"


def verdict_words(effect: InjectionEffect) -> str:
    """Whether injection helps, or that it cannot be said and how many samples would say it."""
    pairs = effect.deciding
    what = "pass rate" if effect.by_passes else "gap rate"
    if not pairs.n:
        return "It cannot be said whether injection helps: no sample is complete on both sides."
    if effect.effect is not Effect.UNDECIDED:
        return f"{_EFFECTS[effect.effect]}: the {what} {_shift_words(pairs, effect.by_passes)}."
    if not pairs.shifts:
        return (
            f"It cannot be said whether injection helps: the {what} is the same in "
            f"{counted(pairs.n, 'pair')}, and no number of samples like these would settle it."
        )
    more = pairs.more
    would = "no reasonable number of samples like these would tell"
    if more is not None:
        would = f"{about(more)} more {'sample' if more == 1 else 'samples'} like these would tell"
    return f"It cannot be said whether injection helps: the {what} {_shift_words(pairs, effect.by_passes)}; {would}."


def injection_sections(evaluation: Evaluation, effect: InjectionEffect | None) -> Iterator[Section]:
    """Whether injection helps, where both sides were run; the items that were injected."""
    if effect is not None:
        yield Section("Does injection help?", (Facts(tuple(_facts(effect))),), "injection")
    if not evaluation.inject:
        return
    samples: dict[str, set[str]] = {}
    words: dict[str, str] = {}
    for run in evaluation.runs:
        for one in run.injected:
            samples.setdefault(one.item, set()).add(run.sample)
            words[one.item] = one.excerpt
    ranked = Counter({item: len(where) for item, where in samples.items()}).most_common()
    rows = tuple(Row((data(item), f"{number:,}", data(words[item]))) for item, number in ranked)
    columns = (Column("item"), Column("samples", right=True), Column("text", optional=1))
    none = Note(soft("No item was injected in any run: the prompts match none, or the hooks failed."))
    yield Section("Injected items", (Table(columns, rows, 15),) if rows else (none,), "injected")


def injection_fields(effect: InjectionEffect | None) -> dict[str, object] | None:
    """The effect, as JSON."""
    if effect is None:
        return None
    return {
        "effect": effect.effect,
        "decided_by": "pass_rate" if effect.by_passes else "gap_rate",
        "words": verdict_words(effect),
        "pass_rate": _pairs_fields(effect.passes, turned=True),
        "gap_rate": _pairs_fields(effect.gaps, turned=False),
        **{name: as_json(getattr(effect, name)) for name in ("usd", "tokens", "steps", "seconds")},
        "served": effect.served.to_json(),
    }


def _pairs_fields(pairs: Pairs, *, turned: bool) -> dict[str, object]:
    """Pairs, with the rates of both sides; turned where what was counted is failing, and the rate is of passing."""
    without, with_ = pairs.both + pairs.fixed, pairs.both + pairs.broken
    if turned:
        without, with_ = pairs.n - without, pairs.n - with_
    return {
        "without": without,
        "with": with_,
        **fields(pairs, _PAIRED),
        "difference": as_json(_turned(pairs) if turned else pairs.difference),
        "p": pairs.p,
        "settled": pairs.settled,
        "more_samples": pairs.more,
    }


def _facts(effect: InjectionEffect) -> Iterator[tuple[str, Line]]:
    yield "", strong(verdict_words(effect))
    for name, pairs, turned in (("Pass rate", effect.passes, True), ("Gap rate", effect.gaps, False)):
        if pairs.n:
            yield name, f"{_sides_words(pairs, turned)}: {_shift_words(pairs, turned)}"
    yield "Cost", _mean_words(effect.usd, "$", "")
    yield "Tokens", _mean_words(effect.tokens, "", "")
    yield "Steps", _mean_words(effect.steps, "", "")
    yield "Time", _mean_words(effect.seconds, "", " s")
    yield "Served", f"an item was injected in {effect.served.k} of {counted(effect.served.n, 'sample')}"


def _sides_words(pairs: Pairs, turned: bool) -> str:
    without, with_ = pairs.both + pairs.fixed, pairs.both + pairs.broken
    if turned:
        without, with_ = pairs.n - without, pairs.n - with_
    return f"{percent(with_ / pairs.n)} with, {percent(without / pairs.n)} without"


def _turned(pairs: Pairs) -> object:
    """The difference of what was not counted: of passing, where failing was counted."""
    found = pairs.difference
    if found is None:
        return None
    return type(found)(-found.value, -found.high, -found.low, found.paired)


def _shift_words(pairs: Pairs, turned: bool) -> str:
    found = _turned(pairs) if turned else pairs.difference
    test = f"exact paired test p = {probability(pairs.p)}" if pairs.p is not None else ""
    return f"changes by {found} over {counted(pairs.n, 'pair')}, {test}"


def _mean_words(mean: Mean, before: str, after: str) -> str:
    """With − without, in a sample."""
    if mean.value is None:
        return "unknown"

    def shown(value: float) -> str:
        sign = "+" if value > 0 else "−" if value < 0 else ""
        digits = f"{abs(value):,.4f}" if before else f"{abs(value):,.1f}"
        return f"{sign}{before}{digits}{after}"

    between = "" if mean.low is None or mean.high is None else f", 95% {shown(mean.low)} to {shown(mean.high)}"
    return f"{shown(mean.value)} a sample (over {mean.n:,}{between})"
