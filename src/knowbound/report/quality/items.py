"""Injected items: one in full, those that wait for a person's answer, and the texts of recorded sessions."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from typing import Unpack

import msgspec

from knowbound.core.quality import ANSWER_DAYS, Closing, Counts, Discovery, Metric, Suggestion
from knowbound.language import say
from knowbound.report import Layout, PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import document
from knowbound.report.formats.plain import shorten
from knowbound.report.judging import METRIC_NAMES
from knowbound.report.lines import Line, Span, Tone, data, joined, prose, quote, soft
from knowbound.report.quality.model import (
    ENOUGH,
    FIRST_ITEMS,
    ITEM_DAYS,
    TO_LOOK_AT,
    Fault,
    ItemInjection,
    ItemQuality,
    ItemToFix,
    QualityStatus,
    ShadowChoice,
    ShadowStatus,
)
from knowbound.report.sections import Entry, Note, Page, Section, facts, listing, section, table
from knowbound.report.words import place_words, rate_cell, without_uuids
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

_DAYS_SHOWN = 14
COUNTS = "judged on_topic used contradicted unjudged"
ITEM_TO_FIX = f"""id content fault counts({COUNTS}) times session turn time statement? draft? is_silenced flag?
    commands"""
_VERDICT = "verdict(on_topic used contradicted correction? reason? judge)"
_ITEM = f"""id content content_length is_served flag? counts({COUNTS})
    days(date judged=counts.judged on_topic=counts.on_topic used=counts.used contradicted=counts.contradicted
        unjudged=counts.unjudged)
    injections(time session turn prompt is_present {_VERDICT})
    records(raised session_id turn_id statement contradictions closing? closed? closed_by?)
    corrections fault({ITEM_TO_FIX}) tokens saving"""


def render_item(page: ItemQuality, format: PageFormat, **layout: Unpack[Layout]) -> str:
    """The item in a format."""
    keys = lambda: document("knowbound.quality_item/1", page, _ITEM)  # noqa: E731
    return render(format, lambda: _item_page(page), keys, **layout)


def _item_page(page: ItemQuality) -> Page:
    counts, verdict = page.counts, "never injected, or not judged yet"
    if counts.judged:
        parts = (f"{counts.on_topic:,} on topic", f"{counts.used:,} used", f"{counts.contradicted:,} contradicted")
        verdict = f"judged {counted(counts.judged, 'time')}: {', '.join(parts)}"
    totals: Line = ("item ", data(page.id), f": {verdict}")
    sections = tuple(item_sections(page, is_whole=True))
    title, lead = f"Item {page.id}", "What agents made of it."
    return Page(verb="quality status", title=title, lead=lead, totals=totals, sections=sections, version=page.version)


def anchor_of(id_: str) -> str:
    """The anchor of an item's section; an id may have any character."""
    return f"item-{hashlib.sha256(id_.encode('utf-8', 'replace')).hexdigest()[:12]}"


def turn_words(session: str, turn: str, *, is_short: bool = False) -> tuple[Line, ...]:
    """The way back to a turn; nothing where it was forgotten."""
    named = (("session", session), ("turn", turn))
    return tuple((f"{name} ", data(without_uuids(id_) if is_short else id_)) for name, id_ in named if id_)


def item_sections(page: ItemQuality, *, is_whole: bool) -> Iterator[Section]:
    """The sections of its page; in the page of the status one section with everything."""
    item_facts = facts(_item_facts(page))
    columns = " | ".join(("day", "judged>", *(f"{name}>" for name in METRIC_NAMES.values())))
    shown = reversed(page.days if is_whole else page.days[-_DAYS_SHOWN:])
    cells = (
        (day.date, f"{day.counts.judged:,}", *(f"{day.counts.of(metric):,}" for metric in METRIC_NAMES))
        for day in shown
    )
    days = table(columns, cells, _DAYS_SHOWN)
    content = Note(quote(page.content))
    injections = listing(map(_injection, page.injections))
    records = listing(map(_record, page.records))
    if not is_whole:
        yield section(f"Item {page.id}", anchor_of(page.id), content, item_facts, days, injections, records)
        return
    made = (
        Entry((f"{_minute(correction.time)}  ", data(correction.tool), " by ", data(correction.by)))
        for correction in page.corrections
    )
    yield section("", "", content, item_facts)
    yield section("Contradictions", "records", records)
    yield section("Corrections", "corrections", listing(made))
    yield section("Last injections", "injections", injections)
    yield section("By day", "days", days)


def _item_facts(page: ItemQuality) -> Iterator[tuple[str, Line]]:
    """Yield the state of an item, its cost, what it saves, and its fault."""
    yield "State", joined(("served" if page.is_served else "not served", page.flag))
    if page.tokens:
        yield "Cost", f"about {page.tokens:,} tokens injected"
    if saving := page.saving:
        sides = ((saving.calls_before, saving.turns_before), (saving.calls_after, saving.turns_after))
        averages = [
            f"{calls / turns:.2f} a turn ({calls:,} in {turns:,})" if turns else "unknown" for calls, turns in sides
        ]
        yield "Saving", f"calls with its words: {averages[0]} before it was injected, {averages[1]} after; not causal"
    if page.fault:
        yield "Fault", page.fault.fault
        yield "Next", joined(map(data, page.fault.commands), " or ")


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _injection(injection: ItemInjection) -> Entry:
    where = joined((_minute(injection.time), *turn_words(injection.session, injection.turn)))
    changed = () if injection.is_present else (" ", soft("its content was another then"))
    lines: tuple[Line, ...] = ("not judged",)
    if verdict := injection.verdict:
        answers: list[Line] = []
        for metric, name in METRIC_NAMES.items():
            is_wrong = metric is Metric.CONTRADICTED and verdict.contradicted
            answers.append(Span(name, Tone.BAD) if is_wrong else name if verdict.says(metric) else f"not {name}")
        lines = (joined((joined(answers, ", "), prose(verdict.reason)), ": "),)
        lines += (("the agent: ", quote(verdict.correction)),) if verdict.correction else ()
    return Entry((quote(injection.prompt), *changed), lines, where)


def _record(record: Discovery) -> Entry:
    ends = {
        Closing.OPEN: "open",
        Closing.RESOLVED: f"corrected {record.closed[:10]} by {record.closed_by}",
        Closing.NOT_WARRANTED: f"dismissed {record.closed[:10]}",
    }
    head = f"{record.raised[:10]}: contradicted {counted(record.contradictions, 'time')}; {ends[record.closing]}"
    lines: tuple[Line, ...] = (("the agent: ", quote(record.statement)),) if record.statement else ()
    return Entry(head, lines, joined(turn_words(record.session_id, record.turn_id)))


CORRECTIONS, SHADOW = "knowbound quality corrections", "knowbound quality shadow"
_WHY = {
    "empty": "the agent gave no other content",
    "question": "the agent asked a question",
    "unknown": "the agent only said that it is not known",
    "other subject": "the agent spoke of something else",
    "too long": "what the agent said is far longer than the item",
    "same": "what the agent said is the item itself",
    "old value": "no sentence says what is true without the value that is wrong",
    "screened": "what the agent said is kept back: it may command an agent",
    "secret": "what the agent said holds a secret",
}


def render_suggestions(waiting: Sequence[Suggestion], format: PageFormat, **layout: Unpack[Layout]) -> str:
    """All suggested corrections in a format."""

    def keys() -> dict[str, object]:
        rows = list(map(_suggestion_fields, waiting))
        return {"format": "knowbound.corrections/1", "answer_days": ANSWER_DAYS, "suggestions": rows}

    return render(format, lambda: _suggestions_page(waiting), keys, **layout)


def _suggestion_fields(suggestion: Suggestion) -> dict[str, object]:
    """Return a suggestion as JSON, without the fields that only its acceptance needs."""
    row: dict[str, object] = msgspec.to_builtins(suggestion)
    del row["record"], row["answer"], row["content_sha"]
    return row | {"draft": suggestion.draft or None, "missing": suggestion.missing or None}


def _suggestions_page(waiting: Sequence[Suggestion]) -> Page:
    nothing = Note("Nothing: no item that is served was contradicted as it is worded now.")
    shown = listing(map(_suggestion, waiting), 10, "--format json") if waiting else nothing
    return Page(
        verb="quality corrections",
        title="Suggested corrections",
        lead="Items that an agent contradicted, until somebody answers.",
        totals=f"{counted(len(waiting), 'suggested correction')} waiting for an answer",
        sections=(section("", "", shown),),
        commands=tuple(_suggestion_commands(waiting)),
    )


def _suggestion(suggestion: Suggestion) -> Entry:
    marks = " HELD_BACK" if suggestion.held_by else " UNVERIFIED" if suggestion.is_unverified else ""
    where = joined((suggestion.raised[:10], *turn_words(suggestion.session, suggestion.turn, is_short=True)))
    head = (data(f"[{suggestion.item}]"), f"{marks} ", quote(suggestion.content))
    return Entry(head, tuple(_suggestion_lines(suggestion)), where)


def _suggestion_lines(suggestion: Suggestion) -> Iterator[Line]:
    times = f" ({counted(suggestion.contradictions, 'time')})" if suggestion.contradictions > 1 else ""
    if suggestion.statement:
        yield f"contradicted{times}: ", quote(suggestion.statement)
    if not suggestion.draft:
        yield f"nothing drafted: {_WHY.get(suggestion.missing, suggestion.missing)}"
        return
    yield "suggested: ", quote(suggestion.draft)
    if suggestion.needs_person:
        yield "check it: the value is neither in the tree nor in the user's words, so no agent can accept it"


def _suggestion_commands(waiting: Sequence[Suggestion]) -> Iterator[tuple[str, str]]:
    for first in waiting[:1]:
        id_ = shlex.quote(first.item)
        yield f"{CORRECTIONS} accept {id_}" + ("" if first.draft else " --content '…'"), "supersedes the item"
        yield f"{CORRECTIONS} edit {id_}", "the same, after you changed the words"
        yield f"{CORRECTIONS} dismiss {id_}", "the item is right as it is"


def render_shadow(
    shadow: ShadowStatus, shown: Sequence[ShadowChoice], format: PageFormat, **layout: Unpack[Layout]
) -> str:
    """Return the choices to look at in a format."""
    page, keys = (lambda: _shadow_page(shadow, shown)), (lambda: shadow_document(shadow))
    return render(format, page, keys, **layout)


def shadow_document(found: ShadowStatus) -> dict[str, object]:
    """Return the shadow as JSON."""
    return document("knowbound.shadow/1", found, f"is_on since? answered left counts({COUNTS}) choices")


def _shadow_page(shadow: ShadowStatus, shown: Sequence[ShadowChoice]) -> Page:
    state = "Nothing reaches your agent here" if shadow.is_on else "Items are injected here"
    commands: tuple[tuple[str, str], ...] = ()
    if shown:
        commands = (
            (f"{SHADOW} --accept {shown[0].key}", "it would have helped"),
            (f"{SHADOW} --reject {shown[0].key}", "the item is held back"),
        )
    elif shadow.is_on and not shadow.left:
        commands = ((f"{SHADOW} --start", "items are injected in this project"),)
    part = listing(map(_choice, shown), TO_LOOK_AT, "--format json") if shown else Note("Nothing is left to look at.")
    return Page(
        verb="quality shadow",
        title="What would have been injected",
        lead="Choices of the hooks, for you to accept or reject before anything reaches the agent.",
        totals=f"{state}: {counted(len(shadow.choices), 'choice')}, {shadow.answered} of {TO_LOOK_AT} looked at.",
        sections=(section("", "", part),),
        commands=commands,
    )


def _choice(choice: ShadowChoice) -> Entry:
    asked = ("for the prompt: ", quote(choice.prompt))
    return Entry((data(choice.key), f" [{choice.item}] ", quote(choice.content)), (asked,), choice.time[:10])


_SHOWN = 5  # entries
_ENOUGH = 3  # injections of one piece before it is called useless
_FIRST_WORDS = 120  # characters


class ScoredSource(msgspec.Struct, frozen=True):
    """Everything from one place: our store, an instruction file, a hook."""

    name: str
    pieces: int
    sessions: int
    on_topic: Rate
    used: Rate
    contradicted: Rate


class ScoredItem(msgspec.Struct, frozen=True):
    """One item or piece, with the way back to the turn that says most about it."""

    id: str
    source: str
    text: str
    counts: Counts
    correction: str = ""
    turn: str = ""
    file: str = ""
    line: int = 0


class RecordedQuality(msgspec.Struct, frozen=True):
    """The texts that were injected into recorded sessions, with verdicts."""

    judge: str
    sessions: int
    turns: int
    sources: tuple[ScoredSource, ...]
    items: tuple[ScoredItem, ...]
    problems: tuple[str, ...] = ()

    @property
    def wrong(self) -> list[ScoredItem]:
        """The contradicted items, most often first."""
        found = [item for item in self.items if item.counts.contradicted]
        return sorted(found, key=lambda item: (-item.counts.contradicted, item.id))

    @property
    def never_on_topic(self) -> list[ScoredItem]:
        """Injected several times, and never about what was asked."""
        found = [item for item in self.items if item.counts.judged >= _ENOUGH and not item.counts.on_topic]
        return sorted(found, key=lambda item: (-item.counts.judged, -len(item.text), item.id))

    @property
    def ignored(self) -> list[ScoredItem]:
        """The items that were on topic several times, and never used."""
        found = [item for item in self.items if item.counts.on_topic >= _ENOUGH and not item.counts.used]
        return sorted(found, key=lambda item: (-item.counts.on_topic, item.id))


def render_recorded(report: RecordedQuality, format: PageFormat, **layout: Unpack[Layout]) -> str:
    """The report in a format."""
    keys = "judge sessions turns sources(name pieces sessions on_topic used contradicted) items problems"
    made = lambda: document("knowbound.recorded-quality/1", report, keys)  # noqa: E731
    return render(format, lambda: _page(report), made, **layout)


def _page(report: RecordedQuality) -> Page:
    rows = (
        (
            data(source.name),
            str(source.pieces),
            str(source.sessions),
            *map(rate_cell, (source.on_topic, source.used, source.contradicted)),
        )
        for source in report.sources
    )
    sources = table("source | pieces> | sessions> | on topic | used | contradicted", rows)
    return Page(
        verb="quality score",
        title="Does what is injected help?",
        lead=_lead(report),
        totals=f"{counted(report.sessions, 'session')} · {counted(report.turns, 'turn')} · judge {report.judge}",
        sections=(
            section("To fix first", "fix", listing(_to_fix(report), _SHOWN, "--format json")),
            section("By source", "sources", sources, Note(_MEANING)),
            section("Notes", "", listing(map(prose, report.problems))),
        ),
        commands=_COMMANDS if report.items else _FIRST_COMMANDS,
    )


_FIRST_COMMANDS = (("knowbound install claude-code", "inject items of your store, and have every turn scored"),)
_COMMANDS = (
    ("knowbound quality score --format html -o quality.html", "all of it, in a browser"),
    ("knowbound kms import FILE", "inject a file's sections only where a prompt is about them"),
)
_MEANING = (
    "What stays in the context (instruction files, hooks at the start of a session) counts once a session: yes, if one "
    "of its turns says so. Only text that a trace holds is judged: Claude Code's transcripts do not hold CLAUDE.md. "
    "Intervals are at 95% and count sessions, not pieces. Not being used is no fault by itself."
)


def _lead(report: RecordedQuality) -> str:
    if not report.items:
        return "Nothing that was injected is in these traces."
    wrong, never = len(report.wrong), len(report.never_on_topic)
    if wrong:
        return f"Look at {counted(wrong, 'text')} that agents contradicted first."
    if never:
        return f"Nothing was contradicted. {counted(never, 'text')} were never about what was asked."
    return "Nothing was contradicted, and nothing was always beside the point."


def _to_fix(report: RecordedQuality) -> Iterator[Entry]:
    for item in report.wrong:
        counts = item.counts
        yield _entry(item, f"contradicted {counts.contradicted} of {counts.judged} times", item.correction)
    for item in report.never_on_topic:
        yield _entry(item, f"never on topic, injected {item.counts.judged} times")
    for item in report.ignored:
        yield _entry(item, f"on topic {item.counts.on_topic} of {item.counts.judged} times, never used")


def _entry(item: ScoredItem, why: str, said: str = "") -> Entry:
    lines: list[Line] = [data(" ".join(item.text.split())[:_FIRST_WORDS])]
    if said:
        lines.append(("The agent said: ", prose(" ".join(said.split())[: 2 * _FIRST_WORDS])))
    return Entry((data(item.source), f": {why}"), tuple(lines), data(place_words(item.file, item.line)))


# Items to fix, on the screen of `quality status` and its page

_SCREEN_WORDS = 68  # of an item on a screen
_STATEMENT = 80  # of what an agent said instead
_FAULT_TONES = {Fault.WRONG: Tone.BAD, Fault.OFF_TOPIC: Tone.FAIR, Fault.IGNORED: Tone.UNSURE}


def items_to_fix(status: QualityStatus, is_screen: bool) -> Section:
    """List the items to fix: the first five; a page has further items folded."""
    title, judged = say("Fix first, of what was injected in {} days", ITEM_DAYS), status.window.injected.judged
    if not status.items:
        nothing = (
            f"Nothing: no item that is served was contradicted, and none with {ENOUGH} verdicts or more was never on "
            "topic or never used."
        )
        return section(title, "items", Note(nothing if judged else "Unknown: no item was judged."))
    linked = set() if is_screen else {page.id for page in status.pages}  # a screen has no item pages
    entries = (_item_entry(item, is_screen, is_linked=item.id in linked) for item in status.items)
    return section(title, "items", listing(entries, FIRST_ITEMS, "--format json"))


def _item_entry(item: ItemToFix, is_screen: bool, *, is_linked: bool) -> Entry:
    words, statement, draft = (
        shorten(text, most) if is_screen else text
        for text, most in ((item.content, _SCREEN_WORDS), (item.statement, _STATEMENT), (item.draft, _STATEMENT))
    )
    id_ = Span(item.id, Tone.DATA, anchor_of(item.id) if is_linked else "")
    head: Line = (Span(item.fault, _FAULT_TONES[item.fault]), " ", id_, ": ", quote(words))
    instead: tuple[Line, ...] = (("agents say: ", quote(statement)),) if statement and not item.draft else ()
    instead += (("suggested: ", quote(draft)),) if draft else ()
    times, place = _times_and_fix(item)
    numbers = joined((times, f"last {item.time[:10]}", *turn_words(item.session, item.turn, is_short=is_screen)))
    return Entry(head, (*instead, numbers), place)


def _times_and_fix(item: ItemToFix) -> tuple[str, Line]:
    """Return how often an item did wrong, and the commands that mend it: each fault has its own."""
    often, command = "once" if item.times == 1 else f"{item.times:,} times", data(item.commands[0])
    match item.fault:
        case Fault.WRONG:
            silenced = ", silenced: not injected any more" if item.is_silenced else ""
            return f"contradicted {often}{silenced}", command
        case Fault.OFF_TOPIC:
            return f"injected {often}, on topic never", (command, " then narrow it, or ", data(item.commands[1]))
        case Fault.IGNORED:
            leave = " or leave it: not being used is no fault by itself"
            return f"on topic {often}, used never", (command, leave)
