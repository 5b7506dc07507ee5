"""The report of `audit` in any format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import assert_never

from msgspec import to_builtins

from knowbound.catalogue import codes_named
from knowbound.core.audit import AuditedTurn, Claim, Diagnosis, Support
from knowbound.report.audit.model import AuditReport, Shares, TurnPage
from knowbound.report.format_names import GapFormat, PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.plain import near
from knowbound.report.sections import (
    Column,
    Entry,
    Facts,
    Line,
    Listing,
    Note,
    Page,
    Row,
    Section,
    Span,
    Table,
    Tone,
    data,
    joined,
    prose,
    soft,
    strong,
)
from knowbound.report.words import place_words
from knowbound.stats.printing import percent, percent_range
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

Format = PageFormat | GapFormat
_SHOWN = 10
TOKENS_PER_TURN = 7_000  # of a question about a turn: its material and the instructions
_ORDER = tuple(Diagnosis)
_MEANING: dict[Diagnosis, str] = {
    Diagnosis.INCOMPLETE: "interrupted, or the trace ends before an answer",
    Diagnosis.CHAT: "nothing to judge",
    Diagnosis.MISLED: "it was given something wrong",
    Diagnosis.UNSUPPORTED: "an important claim has no support in the trace",
    Diagnosis.BLIND: "it did not find what it needed, and says so",
    Diagnosis.IGNORED: "injected items were on topic, none was used",
    Diagnosis.UNKNOWN: "nobody has judged it, or evidence that it needs is missing",
    Diagnosis.GROUNDED: "the important claims are supported, each by a cited call",
}
_TONES = {Diagnosis.UNSUPPORTED: Tone.BAD, Diagnosis.MISLED: Tone.BAD, Diagnosis.BLIND: Tone.FAIR}
_NOTE = (
    "Rules decide about runs, edits and git; a model that you allow reads what answers say. What nobody decided is "
    "unknown, never grounded. Intervals are at 95% and count sessions, not turns."
)
_COMMANDS = (
    ("knowbound audit --session ID --turn N", "one turn: injected, searched, found and claimed, side by side"),
    ("knowbound audit --format jsonl", "every turn, one per line"),
    ("knowbound explain success_without_run", "what a finding means, what to do"),
    ("knowbound check --max-unsupported 0.1", "a gate on it"),
)


def render_audit(
    report: AuditReport, format: Format, *, width: int = 100, colour: bool = False, here: str | None = None
) -> str:
    """The report in a format; machine formats name files relative to `here`."""
    match format:
        case "sarif" | "junit" | "github":
            from knowbound.report.audit import machines  # noqa: PLC0415

            return machines.rendered(report, format, os.getcwd() if here is None else here)
        case "text" | "json" | "markdown" | "html":
            return render(format, lambda: _page(report), lambda: document(report), width=width, colour=colour)
        case _:
            assert_never(format)


def document(report: AuditReport) -> dict[str, object]:
    """`knowbound.audit/1` of docs/json.md."""
    return {
        "format": "knowbound.audit/1",
        "totals": {"sessions": report.sessions, "turns": report.whole.turns},
        "diagnoses": _rates(report.whole),
        "groups": {
            name: [{"name": one.name, "turns": one.turns, "diagnoses": _rates(one)} for one in groups]
            for name, groups in report.groups.items()
        },
        "claims": report.claims,
        "model": {"turns": report.asked, "calls": report.calls, "tokens": report.tokens, "usd": report.usd,
                  "judged": report.judged, "waiting": report.waiting},
        "findings": report.findings,
        "first": [to_builtins(turn) for turn in report.first],
        "places": report.places,
        "filters": report.filters,
        "warnings": report.warnings,
        "made": report.made,
        "version": report.version,
    }  # fmt: skip


def _rates(shares: Shares) -> dict[str, object]:
    return {diagnosis.value: shares.rate(diagnosis).to_json() for diagnosis in _ORDER}


def _page(report: AuditReport) -> Page:
    return Page(
        verb="audit",
        title="Can these answers be believed?",
        lead=_lead(report),
        totals=f"{counted(report.sessions, 'session')} · {counted(report.whole.turns, 'turn')}",
        origin=(joined((prose(", ".join(report.places)), report.made)),),
        sections=(
            Section(
                "Look at these first", (Listing(tuple(map(_entry, report.first)), _SHOWN, "--format json"),), "first"
            ),
            Section("Who judged", (Note(_judged(report)), *_costs(report)), "judged"),
            Section("Findings", (_findings(report),), "findings"),
            Section("Diagnoses", (_diagnoses(report.whole), Note(_NOTE)), "diagnoses"),
            Section("Claims", (_claims(report),), "claims"),
            *_groups(report),
            Section("Notes", (Listing(tuple(Entry(prose(one)) for one in report.warnings)),), "notes"),
        ),
        commands=_COMMANDS,
        version=report.version,
    )


def _judged(report: AuditReport) -> str:
    """Say who judged how many turns, and what judging the most suspicious of the rest would take."""
    by_model = sum(report.judged.values())
    unjudged = report.whole.rate(Diagnosis.UNKNOWN)
    models = f"A model has read {counted(by_model, 'turn')} ({', '.join(sorted(report.judged))}). " if by_model else ""
    said = f"{models}Nobody has judged {counted(unjudged.k, 'turn')} of {unjudged.n:,}."
    if not report.waiting:
        return said
    tokens, command = report.waiting * TOKENS_PER_TURN, f"knowbound audit --judge {report.waiting} --model NAME"
    why = "success without a run, a failure left out, or a next message that complains"
    return f"{said} {counted(report.waiting, 'answer')} look suspicious ({why}). About {tokens:,} tokens: {command}"


def _costs(report: AuditReport) -> tuple[Note, ...]:
    """Say what asking a model has cost, where one was asked."""
    if not report.asked:
        return ()
    cost = "unknown" if report.usd is None else f"{report.usd:.4f} USD"
    each = f"about {report.tokens // report.asked:,} tokens each" if report.tokens else "from the store"
    return (Note(f"Read now: {counted(report.asked, 'turn')}, {each}. Cost: {cost}"),)


def _findings(report: AuditReport) -> Table:
    rows = tuple(
        Row((code, f"{count:,}", soft(codes_named(code)[0].meaning.split(". ")[0])))
        for code, count in report.findings.items()
    )
    return Table((Column("finding"), Column("turns", right=True), Column("what it means", optional=1)), rows)


def _lead(report: AuditReport) -> str:
    bad = report.whole.rate(Diagnosis.UNSUPPORTED)
    if not report.whole.turns:
        return "There is no turn to judge."
    if bad.k:
        return f"{counted(bad.k, 'answer')} of {bad.n:,} rest on something that the trace does not show."
    return "No answer was found to rest on something that the trace does not show."


def _diagnoses(shares: Shares) -> Table:
    columns = (Column("diagnosis"), Column("turns", right=True), Column("share", right=True), Column("95%"),
               Column("what happened", optional=1))  # fmt: skip
    rows = [
        Row((Span(one.value, _TONES.get(one, Tone.STRONG)), f"{rate.k:,}", percent(rate.value),
             percent_range(rate.interval), soft(_MEANING[one])))
        for one in _ORDER
        for rate in (shares.rate(one),)
    ]  # fmt: skip
    return Table(columns, tuple(rows))


def _claims(report: AuditReport) -> Table:
    columns = (Column("claims about"), *(Column(one.replace("_", " "), right=True) for one in Support))
    rows = tuple(
        Row((kind.replace("_", " "), *(f"{counts.get(one, 0):,}" for one in Support)))
        for kind, counts in sorted(report.claims.items(), key=lambda item: -sum(item[1].values()))
    )
    return Table(columns, rows)


def _groups(report: AuditReport) -> Iterator[Section]:
    shown = (Diagnosis.UNSUPPORTED, Diagnosis.GROUNDED, Diagnosis.UNKNOWN, Diagnosis.INCOMPLETE)
    for name, groups in report.groups.items():
        if len(groups) < 2 and name != "week":
            continue
        columns = (Column(name), Column("turns", right=True), *(Column(one.value, right=True) for one in shown))
        rows = tuple(
            Row((data(one.name) or "unknown", f"{one.turns:,}", *(_cell(one.rate(kind)) for kind in shown)))
            for one in groups
        )
        yield Section(f"By {name}", (Table(columns, rows, 12),), f"by-{name}")


def _cell(rate: Rate) -> str:
    return f"{percent(rate.value)} ({percent_range(rate.interval)})" if rate.n else ""


def _entry(turn: AuditedTurn) -> Entry:
    """A turn: its sentence, the missing evidence, the line."""
    bad = _worst(turn)
    lines: list[Line] = []
    if bad is not None:
        lines += [(Span(bad.text, Tone.QUOTE),), (prose(bad.why),)]
    elif turn.why:
        lines.append((prose(turn.why),))
    if turn.next:
        lines.append(("next: ", prose(turn.next)))
    codes = ", ".join(dict.fromkeys(one.code for one in turn.findings))
    head = joined((strong(turn.diagnosis), codes, (data(turn.session[:8]), f" turn {turn.turn}")))
    return Entry(head, tuple(lines), data(place_words(turn.file, (bad.line if bad else 0) or turn.line)))


def _worst(turn: AuditedTurn) -> Claim | None:
    bad = [one for one in turn.claims if one.important and one.support in (Support.UNSEEN, Support.CONTRADICTED)]
    return bad[0] if bad else None


def with_places_from(report: AuditReport, folder: str) -> list[AuditedTurn]:
    """The turns to look at first, with files named relative to a folder."""
    from msgspec.structs import replace  # noqa: PLC0415

    return [replace(turn, file=near(turn.file, [folder])) for turn in report.first]


# ---- one turn


def render_turn(page: TurnPage, format: PageFormat, *, width: int = 100, colour: bool = False) -> str:
    """One turn in a format for people, or as JSON."""
    return render(format, lambda: _turn_page(page), lambda: turn_document(page), width=width, colour=colour)


def turn_document(page: TurnPage) -> dict[str, object]:
    """`knowbound.audited-turn/1` of docs/json.md."""
    return {
        "format": "knowbound.audited-turn/1",
        "turn": to_builtins(page.turn),
        "prompt": page.prompt,
        "injected": [{"source": source, "text": text} for source, text in page.injected],
        "calls": [
            {"kind": kind, "what": what, "outcome": outcome, "line": line} for kind, what, outcome, line in page.calls
        ],
        "evidence": [
            {"class": cls, "quality": quality, "strength": strength, "from": tool}
            for cls, quality, strength, tool in page.evidence
        ],
        "explanation": page.explanation,
        "answer": page.answer,
    }


def _turn_page(page: TurnPage) -> Page:
    turn = page.turn
    injected = tuple(Entry((data(source),), (prose(text),)) for source, text in page.injected)
    calls = tuple(Row((kind, data(what), outcome, f"{line}")) for kind, what, outcome, line in page.calls)
    found = tuple(Row((cls, quality, strength, data(tool))) for cls, quality, strength, tool in page.evidence)
    claims = tuple(
        Row((Span(claim.support.replace("_", " "), _support_tone(claim)), claim.kind.replace("_", " "),
             data(claim.text), prose(claim.why)))
        for claim in turn.claims
    )  # fmt: skip
    facts = (
        ("diagnosis", (strong(turn.diagnosis), " ", prose(turn.why))),
        ("intent", turn.intent),
        ("confidence", (turn.confidence, " ", soft(page.explanation))),
        ("next", prose(turn.next) or "nothing"),
        ("asked", prose(page.prompt)),
    )
    missing = tuple(Entry(f"{gap.cls}: {gap.have}, needs {gap.need}") for gap in turn.gaps)
    return Page(
        verb="audit",
        title=f"Session {turn.session[:8]}, turn {turn.turn}",
        lead="What was injected, searched, found and claimed.",
        totals=f"{counted(len(page.calls), 'tool call')} · {counted(len(turn.claims), 'claim')}",
        origin=(data(place_words(turn.file, turn.line)),),
        sections=(
            Section("Diagnosis", (Facts(facts),), "diagnosis"),
            Section(
                "Claimed",
                (Table((Column("support"), Column("about"), Column("claim"), Column("why")), claims, 40),),
                "claimed",
            ),
            Section("Injected", (Listing(injected, 20),), "injected"),
            Section(
                "Searched and run",
                (Table((Column("kind"), Column("what"), Column("outcome"), Column("line", right=True)), calls, 60),),
                "searched",
            ),
            Section(
                "Found",
                (Table((Column("class"), Column("quality"), Column("strength"), Column("from")), found, 40),),
                "found",
            ),
            Section("Evidence that is missing for this intent", (Listing(missing, 20),), "missing"),
        ),
        version=page.version,
    )


def _support_tone(claim: Claim) -> str:
    if claim.support is Support.SUPPORTED:
        return Tone.GOOD
    return Tone.UNSURE if claim.support is Support.NOT_CHECKABLE else Tone.BAD
