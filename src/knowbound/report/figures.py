"""The sections that reports about gaps share: figures, sources, files not reached, inventory, warnings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from knowbound.core.signal import SOURCES, Signal, SignalType, Status
from knowbound.language import say, translated
from knowbound.report import words as wording
from knowbound.report.lines import (
    Bar,
    Fold,
    Inline,
    Line,
    Span,
    Tone,
    data,
    inlines,
    joined,
    prose,
    quote,
    soft,
    strong,
)
from knowbound.report.sections import (
    LONG,
    Entry,
    Facts,
    Figure,
    Figures,
    Mark,
    Note,
    Section,
    facts,
    listing,
    section,
    table,
)
from knowbound.stats.figures import Band, Coverage, GapFigures, HedgeJudging, Marking, MissedSearch, Watermark
from knowbound.stats.printing import Interval, money, percent, percent_interval, percent_range
from knowbound.stats.rate import Rate, Weighted
from knowbound.text.printable import counted

_LOADED_SHOWN = 5
_OPEN_AND_RAW = (
    "Open rate: samples in which something stayed open. Gap rate: samples with any signal, also where it was found "
    "later, was a check, or the call itself was wrong."
)
_NO_FILES = "no knowledge files"
_HEAVY = "hard evidence counts 1, soft signals count a half"
# Beside every table with `share_cell`.
INTERVALS = Note(soft("The range beside a rate is its 95% interval."))
_BAND_LIMITS = (0.10, 0.30)  # where the bands of the weighted rate meet
_BAND_TONES = {Band.GREEN: Tone.GOOD, Band.YELLOW: Tone.FAIR, Band.RED: Tone.BAD}


class InventoryEntry(NamedTuple):
    """A signal, with what is known of its sample and every place that leads back to it."""

    signal: Signal
    note: str  # the skill of an observed sample, the run of a repeated one
    places: tuple[str, ...]
    anchor: str = ""  # of the sample's own row
    prompt: str = ""  # what the sample asks
    label: Line = ""  # what people call an observed sample, which has no name of its own
    topic: str = ""  # the anchor of its topic
    is_run: bool = False  # of a run of a test set


def mark_section(mark: Watermark) -> Section:
    """The watermark on its own, above everything that rests on its test set."""
    return section("", "", Mark(mark))


def figures_section(gap: GapFigures, coverage: Coverage, root: str, unit: str = "sample", *more: Figure) -> Section:
    """The specification's rates first, and how to read them; the watermark of their test set is shown above."""
    shown = (*gap_figures(gap, unit), coverage_figure(coverage, root), *more)
    return section("Knowledge gaps", "figures", Figures(shown), reading(gap, unit))


def open_section(gap: GapFigures, coverage: Coverage, root: str) -> Section:
    """The open rate first, the specification's rates beside it for comparison."""
    shown = (*open_figures(gap), *raw_figures(gap), _per_turn_figure(gap), coverage_figure(coverage, root))
    notes = (_open_reading(gap, coverage), Note(soft(_OPEN_AND_RAW)))
    return section("Knowledge gaps", "figures", Figures(shown), *notes)


def figures_line(gap: GapFigures, coverage: Coverage) -> Section:
    """Return the rates, their band and the coverage in one line, to be printed below the watermark."""
    reached = percent(None if coverage.reason else coverage.rate.value)
    rates = wording.rates_line(gap.rate.value, gap.weighted.value, wording.open_words(gap))
    rest = say(" · coverage {} · confidence {}", reached, wording.confidence_words(gap))
    return section("", "", Note((rates, " · open band ", band_span(gap, gap.open_band), rest)))


def _coverage_words(coverage: Coverage) -> Line:
    """Return the number of sessions, and the files that clients load by themselves, which coverage does not count."""
    over = say("over {} in this root", counted(coverage.sessions, "session")) if coverage.sessions else ""
    files = coverage.loaded[:_LOADED_SHOWN]
    more = say(" and {} more", len(coverage.loaded) - len(files)) if len(coverage.loaded) > len(files) else ""
    named = inlines(joined(map(data, files), ", "))
    start = say("not counted, loaded by the clients: {:,} (", len(coverage.loaded))
    return joined((over, (start, *named, f"{more})") if files else ""), translated("; "))


def gap_figures(gap: GapFigures, unit: str = "sample") -> tuple[Figure, ...]:
    """The specification's rates, then the open one and that over turns; `unit` is what was counted."""
    return (*raw_figures(gap, unit), open_figures(gap, unit)[0], _per_turn_figure(gap))


def open_figures(gap: GapFigures, unit: str = "sample") -> tuple[Figure, ...]:
    """The rates over open signals only; a range where signals are undecided."""
    shown = rate_figure("Open rate", gap.open, unit, say("{}s with an open signal", translated(unit)))
    return (
        replace(shown, value=wording.open_words(gap)),
        rate_figure("Open weighted", gap.open_weighted, unit, _HEAVY, _BAND_LIMITS),
    )


def raw_figures(gap: GapFigures, unit: str = "sample") -> tuple[Figure, ...]:
    """The specification's rates over all signals."""
    return (
        rate_figure("Gap rate", gap.rate, unit, say("{}s with any gap signal", translated(unit))),
        rate_figure("Weighted", gap.weighted, unit, _HEAVY, _BAND_LIMITS),
    )


def _per_turn_figure(gap: GapFigures) -> Figure:
    return rate_figure("Per turn", gap.per_turn, "turn", "turns with any gap signal")


def coverage_figure(coverage: Coverage, root: str) -> Figure:
    """The coverage, or why it is unknown."""
    rate, meaning = coverage.rate, "knowledge files that were reached"
    if not rate.n:
        nowhere = data(coverage.reason) or (data(say("no knowledge files under {}", root)) if root else _NO_FILES)
        return share_figure("Coverage", None, None, nowhere, meaning)
    return rate_figure("Coverage", rate, "knowledge file", meaning)


def rate_figure(label: str, rate: Rate | Weighted, unit: str, meaning: str, limits: tuple[float, ...] = ()) -> Figure:
    """A rate as a figure."""
    return share_figure(label, rate.value, rate.interval, wording.counts_words(rate, unit), meaning, limits)


def share_cell(share: Rate | Weighted) -> Line:
    """A share with its interval in a column of them."""
    interval = percent_range(share.interval)
    return (percent(share.value), " ", soft(interval)) if interval else percent(share.value)


def share_figure(
    label: str, value: float | None, interval: Interval, counts: Line, meaning: str, limits: tuple[float, ...] = ()
) -> Figure:
    """A share of any kind as a figure."""
    drawn = None if value is None or interval is None else (interval[0], value, interval[1])
    return Figure(label, percent(value), percent_interval(interval), drawn, counts, meaning, limits)


def reading(gap: GapFigures, unit: str = "sample") -> Facts:
    """Explain how to read the rates."""
    limits = soft("(of the weighted rate: green under 10%, yellow under 30%, else red)")
    rows: list[tuple[str, Line]] = [
        ("Band", (band_span(gap, gap.band), " ", limits)),
        ("Soft share", wording.soft_share_words(gap)),
        ("Confidence", wording.confidence_words(gap, unit)),
    ]
    rows += [("Not seen", strong(wording.unseen_words(gap, unit)))] if gap.unseen else []
    return facts(rows)


def _open_reading(gap: GapFigures, coverage: Coverage) -> Facts:
    """Explain how to read the open rates, and the specification's rates beside them."""
    limits = soft("(of the weighted open rate: green under 10%, yellow under 30%, else red)")
    rows: list[tuple[str, Line]] = [
        ("Band", (band_span(gap, gap.open_band), " ", limits)),
        ("Raw band", (band_span(gap, gap.band), " ", soft("(of the weighted gap rate, as the specification counts)"))),
        ("Soft share", _open_soft_words(gap)),
        ("Raw soft", wording.soft_share_words(gap)),
        ("Confidence", wording.confidence_words(gap)),
    ]
    rows += [("Counted", words)] if (words := _coverage_words(coverage)) else []
    return facts(rows)


def band_span(gap: GapFigures, shown: Band | None) -> Span:
    """A band of these figures, in a hard colour only where enough samples are behind it."""
    tone = Tone.UNSURE if shown is None or wording.is_softened(gap) else _BAND_TONES[shown]
    return Span(wording.band_words(gap, shown), tone)


def sources(gap: GapFigures, *, built_in: bool = False) -> Section:
    """List the signals by source (section 7.3); `built_in`: the built-in executor answered, not an agent."""
    gaps = {type_: source.gap for type_, source in SOURCES.items()}
    meanings = gaps | ({SignalType.FAILED_SEARCH: wording.UNMATCHED} if built_in else {})
    most = max(gap.by_type.values(), default=0) or 1
    rows = []
    for type_, name in wording.TYPE_NAMES.items():
        number, is_search = gap.by_type.get(type_, 0), type_ in wording.SEARCHES
        # Where no tool call left a trace, no failed search can be counted.
        shown = "unknown" if is_search and not number and gap.unseen == gap.rate.n > 0 else f"{number:,}"
        rows.append((Span(name, type_), shown, Bar(number / most, type_), meanings[type_]))
    missing = wording.UNMATCHED if built_in else "it is missing, or not where they look"
    classification = _classification_words(gap, missing)
    shown_rows = table("source | signals> | | meaning", rows)
    return section("By source", "sources", Note(classification), shown_rows, Note(soft(_status_words(gap))))


def _open_soft_words(gap: GapFigures) -> str:
    soft_only = gap.open.k - gap.open_weighted.strong
    return say("{:,} of {:,} open samples rest only on what agents said", soft_only, gap.open.k) if gap.open.k else "–"


def _classification_words(gap: GapFigures, missing: str) -> str:
    """Say if signals are mostly what agents said or what they searched for (section 7.3); `missing` explains these."""
    searched = sum(gap.by_type[type_] for type_ in wording.SEARCHES)
    said = sum(gap.by_type.values()) - searched
    if not searched and not said:
        return translated("No gap signal in what was seen." if gap.unseen else "No gap signal.")
    if searched >= 2 * said:
        return say("Mostly what the agent searched for and did not find: {}.", translated(missing))
    if said >= 2 * searched:
        return "Mostly what the agent said itself: the docs do not say it clearly."
    return "Both what the agent searched for and did not find, and what it was not sure of."


def _status_words(gap: GapFigures) -> str:
    shown = wording.STATUS_NAMES | {Status.VERIFICATION: "checks"}
    counts = ((gap.by_status.get(status, 0), status, words) for status, words in shown.items())
    shares = (say("{:,} {}", n, translated(words)) for n, status, words in counts if n or status is Status.OPEN)
    return say("By status: {}", " · ".join(shares))


def missed_searches(found: Iterable[MissedSearch], entries: Sequence[InventoryEntry], unit: str) -> Section:
    """List failed searches, most often first; `unit` names the counted thing, such as "sample"."""
    signals = enumerate((entry.signal for entry in entries), 1)
    numbers = {(signal.file, signal.line, signal.query): number for number, signal in signals}

    def search_entry(search: MissedSearch) -> Entry:
        example = search.example
        number = numbers.get((example.file, example.line, example.query))
        places = entries[number - 1].places if number else (wording.place_words(example.file, example.line),)
        link = Span("in the inventory", Tone.SOFT, f"gap-{number}") if number else ""
        return Entry((data(search.query), "  ", soft(counted(search.samples, unit))), place=_places(places), more=link)

    shown = listing(map(search_entry, found), hint="--format json")
    return section("Searched for and not found, most often first", "topics", shown)


def uncovered(paths: Sequence[str], meaning: str = "") -> Section:
    """List the knowledge files that nobody reached: natural candidates for new samples (section 8)."""
    title = say("{} not reached", counted(len(paths), "knowledge file"))
    notes = (Note(soft(meaning)),) if meaning else ()
    return section(title, "uncovered", *notes, listing(map(data, paths), hint="--format json"), folded_in=LONG)


def inventory(entries: Sequence[InventoryEntry], note_name: str, total: int = 0) -> Section:
    """List the gaps to write down (section 7.2). `note_name` says what the notes of the entries are: Skill or Run."""
    asked: set[str] = set()  # samples whose prompt is shown: each once, at its first gap
    shown = []
    for number, entry in enumerate(entries, 1):
        is_first = entry.signal.sample not in asked
        asked.add(entry.signal.sample)
        shown.append(_inventory_entry(entry, f"gap-{number}", note_name, entry.prompt if is_first else ""))
    title = say("Gap inventory: {}", counted(max(total, len(shown)), "signal"))
    return section(title, "inventory", listing(shown, shown=15, hint="--format jsonl", total=total), folded_in=LONG)


def _inventory_entry(entry: InventoryEntry, anchor: str, note_name: str, prompt: str) -> Entry:
    """Return a gap of the inventory; `prompt` is shown with the first gap of a sample, and is "" with the others."""
    signal = entry.signal
    label = entry.label or (
        "Sample ",
        Span(signal.sample, Tone.DATA, entry.anchor),
        *((" (", data(entry.note), ")") if entry.note else ()),
        # A sample of a test set is mostly one turn: its steps are what the specification's inventory calls turns.
        say(" / step {}", signal.step) if entry.is_run and signal.step else say(" / turn {}", signal.turn),
    )
    filters = [("Source", signal.type.value, wording.TYPE_NAMES[signal.type])]
    filters += [("Status", signal.status.value, wording.STATUS_NAMES[signal.status])]
    filters += [(note_name, entry.note, entry.note)] if entry.note else []
    return Entry(
        (*inlines(label), " / ", *kind_words(signal)),
        tuple(_signal_lines(signal, prompt)),
        _places(map(wording.without_uuids, entry.places)),
        joined((_way_back(entry), Span("its topic", Tone.SOFT, entry.topic) if entry.topic else ""), " "),
        anchor,
        tuple(filters),
    )


def kind_words(signal: Signal) -> tuple[Inline, ...]:
    """The source of a signal, what it came to, and how it ended where the status does not say it."""
    is_open = signal.status is Status.OPEN
    return (
        "sub-agent / " if signal.agent_id else "",
        Span(f"[{translated(wording.TYPE_NAMES[signal.type])}]", signal.type),
        " ",
        Span(wording.STATUS_NAMES[signal.status], Tone.OPEN_PILL if is_open else Tone.PILL),
        translated(", ") + translated(wording.ENDING_NAMES[signal.ending]) if signal.ending and is_open else "",
    )


def _way_back(entry: InventoryEntry) -> Fold:
    """Everything that leads to the lines of the trace: whole files, and the agent's own ids."""
    signal = entry.signal
    ids = [("call {}", call) for call in signal.call_ids]
    ids += [("message {}", signal.message_id), ("sub-agent {}", signal.agent_id)]
    ids += [("found later by {}", signal.resolved_by)]
    return Fold("where it was seen", (*filter(None, entry.places), *(say(words, id_) for words, id_ in ids if id_)))


def _signal_lines(signal: Signal, prompt: str) -> Iterable[Line]:
    """Yield the search or the words of a signal, and the prompt that it belongs to."""
    if signal.type in wording.SEARCHES:
        yield data(wording.without_uuids(wording.search_words(signal)))
        if signal.said:
            yield "agent self-report: ", quote(wording.without_uuids(signal.said))
    else:
        yield "agent output: ", quote(wording.without_uuids(signal.text))
        if signal.type is SignalType.HEDGING:
            yield "judge: ", prose(wording.verdict_words(signal))
    if prompt:
        yield "asked: ", quote(prompt)


def _places(places: Iterable[str]) -> Line:
    return joined(map(data, places))


def judged_hedges(judging: HedgeJudging | None) -> Section:
    """Show the sentences that a judge with a cap decided and left undecided, and the cost."""
    if judging is None:
        return section("Hedges judged", "")
    unjudged = say("{:,}, kept as signals and asked in the next run", judging.unjudged) if judging.unjudged else "0"
    failed = say("{:,}, kept as signals and asked again", judging.failed)
    rows: list[tuple[str, Line]] = [
        ("Judge", data(judging.judge)),
        ("Judged", counted(judging.judged, "sentence")),
        ("Unjudged", unjudged),
        *([("No answer", failed)] if judging.failed else []),
        ("Cap", say("{:,} sentences per run (hedging_classifier.max_candidates)", judging.cap)),
        ("Cost", money(judging.usd)),
    ]
    return section("Hedges judged", "judging", facts(rows))


def marked(marking: Marking) -> Section:
    """Show the share of doubts in their words that agents marked, with and without being asked to."""
    rates = (("not asked to", marking.unasked), ("asked to", marking.asked))
    rows: list[tuple[str, Line]] = [(name, wording.rate_words(rate, "doubt")) for name, rate in rates if rate.n]
    hint = Note(soft("To ask agents to mark them: injection.self_marking = true"))
    parts = (facts(rows), *(() if marking.asked.n else (hint,)))
    return section("Doubts that agents marked", "marked", *(parts if rows else ()))


def warnings(texts: Iterable[str]) -> Section:
    """List the warnings that a reader needs before trusting a number."""
    return section("Warnings", "warnings", listing(map(prose, texts), 100))
