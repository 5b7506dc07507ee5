"""Reports of `audit` and `investigate` in any format: what an answer rests on.

An audit has its page, one turn side by side, and results for programs. An investigation has the answer with its
sources, or what is missing (specification 3).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Unpack

import msgspec

from knowbound.catalogue import codes_named
from knowbound.core.audit import AuditedTurn, Claim, Diagnosis, FindingCode, Support
from knowbound.core.evidence import SUCCESS, CitedSource, Evidence, EvidenceGap, Intent, Investigation
from knowbound.core.trace import ReadShares, SessionsRead
from knowbound.errors import InputError
from knowbound.report import GAP_FORMATS, GapFormat, Layout, LineFormat, PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import fields, json_line
from knowbound.report.formats.plain import made_plain, with_files_near
from knowbound.report.lines import Line, Span, Tone, data, joined, prose, quote, soft, strong
from knowbound.report.sections import Entry, Note, Page, Section, Table, facts, listing, section, table
from knowbound.report.words import not_read_words, place_words, rate_cell, sessions_words, unknown_shares
from knowbound.stats.printing import percent, percent_range, percent_words
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

if TYPE_CHECKING:
    from knowbound.report.formats.ci import JunitCase


class Shares(msgspec.Struct, frozen=True):
    """Diagnoses of the turns of a group. Intervals know that turns of one session are alike."""

    name: str
    turns: int
    rates: dict[str, Rate]  # diagnosis → rate of all turns

    def rate(self, diagnosis: Diagnosis) -> Rate:
        """The share of a diagnosis."""
        return self.rates.get(diagnosis, Rate(0, self.turns))


class AuditReport(msgspec.Struct, frozen=True):
    """Everything that `audit` reports."""

    whole: Shares
    groups: dict[str, list[Shares]]  # project, agent, model, skill, week → their shares
    claims: dict[str, dict[str, int]]  # kind → support → claims
    findings: dict[str, int]  # code → findings
    first: list[AuditedTurn]  # the turns to look at first
    sessions: int
    places: list[str]
    filters: dict[str, str] = {}
    reading: SessionsRead = SessionsRead()
    warnings: list[str] = []
    made: str = ""
    version: str = ""
    judged: dict[str, int] = {}  # model → turns that it has read, now or before
    waiting: int = 0  # turns that rules doubt and no model has read, of the most suspicious
    asked: int = 0  # turns that a model read now
    calls: int = 0
    tokens: int = 0  # that were sent now, as estimated
    usd: float | None = 0.0  # what that cost; None: unknown
    read: ReadShares = ReadShares()  # of the sessions' files


class TurnPage(msgspec.Struct, frozen=True):
    """One turn side by side: what was injected, searched, found and claimed."""

    turn: AuditedTurn
    prompt: str
    injected: list[tuple[str, str]]  # source, beginning of the text
    calls: list[tuple[str, str, str, int]]  # kind, what, outcome, line
    evidence: list[tuple[str, str, str, str]]  # class, quality, strength, tool and query
    answer: str
    explanation: str = ""  # of the confidence
    version: str = ""


Format = PageFormat | GapFormat
_SHOWN = 10  # entries
TOKENS_PER_TURN = 7_000  # of a question about a turn: its material and the instructions
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


def render_audit(report: AuditReport, format: Format, *, here: str | None = None, **layout: Unpack[Layout]) -> str:
    """The report in a format; machine formats name files relative to `here`."""
    match format:
        case "sarif" | "junit" | "github":
            return _for_machines(with_files_near(made_plain(report), [os.getcwd() if here is None else here]), format)
        case _:
            return render(format, lambda: _page(report), lambda: document(report), **layout)


_MODEL = "turns=asked calls tokens usd judged waiting"


def document(report: AuditReport) -> dict[str, object]:
    """`knowbound.audit/1` of docs/json.md."""
    return {
        "format": "knowbound.audit/1",
        "totals": {"sessions": report.sessions, "turns": report.whole.turns, **report.read.to_json()},
        **fields(report, "reading"),
        "diagnoses": _rates(report.whole),
        "groups": {
            name: [{**fields(group, "name turns"), "diagnoses": _rates(group)} for group in groups]
            for name, groups in report.groups.items()
        },
        "claims": report.claims,
        "model": fields(report, _MODEL),
        **fields(report, "findings first places filters warnings made version"),
    }


def _rates(shares: Shares) -> dict[str, object]:
    return {diagnosis.value: shares.rate(diagnosis).to_json() for diagnosis in Diagnosis}


def _page(report: AuditReport) -> Page:
    return Page(
        verb="audit",
        title="Can these answers be believed?",
        lead=_lead(report),
        totals=f"{sessions_words(report.reading, report.sessions)} · {counted(report.whole.turns, 'turn')}",
        origin=(_origin(report),),
        sections=(
            section("Look at these first", "first", listing(map(_entry, report.first), _SHOWN, "--format json")),
            section("Who judged", "judged", Note(_judged(report)), *_costs(report)),
            section("Findings", "findings", _findings(report)),
            section("Diagnoses", "diagnoses", _diagnoses(report.whole), Note(_NOTE)),
            section("Claims", "claims", _claims(report)),
            *_groups(report),
            section("Notes", "notes", listing(map(prose, report.warnings))),
        ),
        commands=_COMMANDS,
        version=report.version,
    )


def _origin(report: AuditReport) -> Line:
    unknown = unknown_shares(report.read.of_lines, report.read.of_calls)
    return joined((prose(", ".join(report.places)), prose(not_read_words(report.reading)), unknown, report.made))


def _judged(report: AuditReport) -> str:
    """Say how many turns models have judged, and what judging the suspicious ones would cost."""
    by_model = sum(report.judged.values())
    unjudged = report.whole.rate(Diagnosis.UNKNOWN)
    models = f"A model has read {counted(by_model, 'turn')} ({', '.join(sorted(report.judged))}). " if by_model else ""
    judged = f"{models}Nobody has judged {counted(unjudged.k, 'turn')} of {unjudged.n:,}."
    if not report.waiting:
        return judged
    tokens, command = report.waiting * TOKENS_PER_TURN, f"knowbound audit --judge {report.waiting} --model NAME"
    why = "success without a run, a failure left out, or a next message that complains"
    return f"{judged} {counted(report.waiting, 'answer')} look suspicious ({why}). About {tokens:,} tokens: {command}"


def _costs(report: AuditReport) -> tuple[Note, ...]:
    """Return what a model read in this run with its cost; nothing if no model was asked."""
    if not report.asked:
        return ()
    cost = "unknown" if report.usd is None else f"{report.usd:.4f} USD"
    each = f"about {report.tokens // report.asked:,} tokens each" if report.tokens else "from the store"
    return (Note(f"Read now: {counted(report.asked, 'turn')}, {each}. Cost: {cost}"),)


def _findings(report: AuditReport) -> Table:
    found = report.findings.items()
    rows = ((code, f"{count:,}", soft(codes_named(code)[0].meaning.split(". ")[0])) for code, count in found)
    return table("finding | turns> | what it means?1", rows)


def _lead(report: AuditReport) -> str:
    bad = report.whole.rate(Diagnosis.UNSUPPORTED)
    if not report.whole.turns:
        return "There is no turn to judge."
    if bad.k:
        return f"{counted(bad.k, 'answer')} of {bad.n:,} rest on something that the trace does not show."
    return "No answer was found to rest on something that the trace does not show."


def _diagnoses(shares: Shares) -> Table:
    rows = []
    for diagnosis in Diagnosis:
        rate, name = shares.rate(diagnosis), Span(diagnosis.value, _TONES.get(diagnosis, Tone.STRONG))
        rows.append((name, f"{rate.k:,}", percent(rate.value), percent_range(rate.interval), soft(_MEANING[diagnosis])))
    return table("diagnosis | turns> | share> | 95% | what happened?1", rows)


def _claims(report: AuditReport) -> Table:
    rows = (
        (kind.replace("_", " "), *(f"{counts.get(support, 0):,}" for support in Support))
        for kind, counts in sorted(report.claims.items(), key=lambda item: -sum(item[1].values()))
    )
    return table("|".join(("claims about", *(f"{support.replace('_', ' ')}>" for support in Support))), rows)


def _groups(report: AuditReport) -> Iterator[Section]:
    """Yield a table of diagnoses for each way of grouping, such as by week."""
    shown = (Diagnosis.UNSUPPORTED, Diagnosis.GROUNDED, Diagnosis.UNKNOWN, Diagnosis.INCOMPLETE)
    for name, groups in report.groups.items():
        if len(groups) < 2 and name != "week":  # a single group repeats the whole; a single week begins a series
            continue
        rows = []
        for group in groups:
            rates = (rate_cell(group.rate(kind), counts=False, none="") for kind in shown)
            rows.append((data(group.name) or "unknown", f"{group.turns:,}", *rates))
        columns = "|".join((name, "turns>", *(f"{kind.value}>" for kind in shown)))
        yield section(f"By {name}", f"by-{name}", table(columns, rows, 12))


def _entry(turn: AuditedTurn) -> Entry:
    """Return a turn to look at, with its first wrong claim or else the reason for its diagnosis."""
    wrong = next((claim for claim in turn.claims if claim.important and claim.support in _WRONG), None)
    lines: list[Line] = [(prose(turn.why),)] if turn.why else []
    if wrong is not None:
        lines = [(quote(wrong.text),), (prose(wrong.why),)]
    lines += [("next: ", prose(turn.next))] if turn.next else []
    codes = ", ".join(dict.fromkeys(finding.code for finding in turn.findings))
    head = joined((strong(turn.diagnosis), codes, (data(turn.session[:8]), f" turn {turn.turn}")))
    return Entry(head, tuple(lines), data(place_words(turn.file, (wrong.line if wrong else 0) or turn.line)))


# ---- one turn


def render_turn(page: TurnPage, format: PageFormat, **layout: Unpack[Layout]) -> str:
    """One turn in a format for people, or as JSON."""
    return render(format, lambda: _turn_page(page), lambda: _turn_document(page), **layout)


def _turn_document(page: TurnPage) -> dict[str, object]:
    named = {"injected": ("source", "text"), "calls": ("kind", "what", "outcome", "line")}
    named["evidence"] = ("class", "quality", "strength", "from")
    rows = {name: [dict(zip(keys, row, strict=True)) for row in getattr(page, name)] for name, keys in named.items()}
    last = fields(page, "explanation answer")
    return {"format": "knowbound.audited-turn/1", **fields(page, "turn prompt"), **rows, **last}


def _turn_page(page: TurnPage) -> Page:
    turn = page.turn
    calls = ((kind, data(what), outcome, f"{line}") for kind, what, outcome, line in page.calls)
    found = ((cls, quality, strength, data(tool)) for cls, quality, strength, tool in page.evidence)
    claims = (
        (
            Span(claim.support.replace("_", " "), _support_tone(claim)),
            claim.kind.replace("_", " "),
            data(claim.text),
            prose(claim.why),
        )
        for claim in turn.claims
    )
    injected = (Entry((data(source),), (prose(text),)) for source, text in page.injected)
    missing = (f"{gap.cls}: {gap.have}, needs {gap.need}" for gap in turn.gaps)
    shown: tuple[tuple[str, Line], ...] = (
        ("diagnosis", (strong(turn.diagnosis), " ", prose(turn.why))),
        ("intent", turn.intent),
        ("confidence", (turn.confidence, " ", soft(page.explanation))),
        ("next", prose(turn.next) or "nothing"),
        ("asked", prose(page.prompt)),
    )
    return Page(
        verb="audit",
        title=f"Session {turn.session[:8]}, turn {turn.turn}",
        lead="What was injected, searched, found and claimed.",
        totals=f"{counted(len(page.calls), 'tool call')} · {counted(len(turn.claims), 'claim')}",
        origin=(data(place_words(turn.file, turn.line)),),
        sections=(
            section("Diagnosis", "diagnosis", facts(shown)),
            section("Claimed", "claimed", table("support | about | claim | why", claims, 40)),
            section("Injected", "injected", listing(injected, 20)),
            section("Searched and run", "searched", table("kind | what | outcome | line>", calls, 60)),
            section("Found", "found", table("class | quality | strength | from", found, 40)),
            section("Evidence that is missing for this intent", "missing", listing(missing, 20)),
        ),
        version=page.version,
    )


def _support_tone(claim: Claim) -> str:
    if claim.support is Support.SUPPORTED:
        return Tone.GOOD
    return Tone.UNSURE if claim.support is Support.NOT_CHECKABLE else Tone.BAD


_TURN = """session turn message_id intent diagnosis confidence claims(text kind support why line important by) findings
    gaps next because by why file line time skill model item"""
_WRONG = (Support.UNSEEN, Support.CONTRADICTED)
_JUDGED = frozenset({Diagnosis.UNSUPPORTED, Diagnosis.MISLED, Diagnosis.BLIND, Diagnosis.IGNORED})


def _for_machines(report: AuditReport, format: GapFormat) -> str:
    """Return the report as SARIF, JUnit XML or GitHub's workflow commands: what is wrong, and the rate."""
    from knowbound.report.formats import ci, sarif  # noqa: PLC0415  (only these formats need them)

    bad = report.whole.rate(Diagnosis.UNSUPPORTED)
    match format:
        case "sarif":
            results = []
            for turn, code, message, line in _results(report.first):
                level = "warning" if turn.diagnosis is Diagnosis.UNSUPPORTED else "note"
                identity = f"{turn.session}|{turn.message_id}|{code}".encode("utf-8", "replace")
                prints = {"turn/v1": hashlib.sha256(identity).hexdigest()[:32]}
                results.append(sarif.finding(code, level, message, f"{turn.file}:{max(1, line)}", prints))
            rules = map(sarif.rule, (*FindingCode, *sorted(_JUDGED)))
            diagnoses = {"diagnoses": _rates(report.whole)}
            return sarif.sarif(report.version, rules, "audit/", results, properties=diagnoses)
        case "junit":
            cases = [_case(turn) for turn in report.first if turn.diagnosis is Diagnosis.UNSUPPORTED]
            # Only the unsupported turns are listed.
            return ci.junit([ci.suite("audit", report.made, {}, cases, passed=bad.n - bad.k)])
        case "github":
            shown = list(_results(report.first))[: ci.SHOWN_PER_LEVEL - 1]
            lines = [
                ci.command("warning", f"{turn.diagnosis}: {code}", message, f"{turn.file}:{line}")
                for turn, code, message, line in shown
            ]
            words = percent_words(bad.value, f"{bad.k} of {bad.n} turns", bad.interval)
            lines.append(ci.command("notice", "Audit", f"Unsupported answers: {words}"))
            return "".join(f"{line}\n" for line in lines)


def _case(turn: AuditedTurn) -> JunitCase:
    from knowbound.report.formats.ci import JunitCase  # noqa: PLC0415

    quoted = next((claim.text for claim in turn.claims if claim.support in _WRONG), "")
    place = f"{turn.file}:{turn.line}"
    name, details = f"{turn.session} turn {turn.turn}", f"{quoted}\n{place}"
    return JunitCase(name, "failure", turn.diagnosis, turn.why, details, place=place)


def _results(turns: list[AuditedTurn]) -> Iterator[tuple[AuditedTurn, str, str, int]]:
    """Turn, code, message and line of everything that is wrong with it; the diagnosis where no finding says more."""
    for turn in turns:
        found = [(finding.code.value, finding.text, finding.line) for finding in turn.findings]
        for code, text, line in found or [(turn.diagnosis.value, turn.why, turn.line)]:
            yield turn, code, f"{text}{f' Next: {turn.next}.' if turn.next else ''}", line or turn.line


def turn_line(turn: AuditedTurn) -> str:
    """Return the line of a turn, with the stable keys first."""
    return json_line(fields(turn, _TURN))


_KEYS = """question intent outcome confidence explanation
    evidence(class=cls quality strength tool query target sources match_count exact_match_count phrase_match shows note
        cites)
    gaps(class=cls have need target reason) sources(path line text why) answer(text path line)
    nearest(path line text) probable(path line text why) by terms notes"""


def render_investigation(
    found: Investigation,
    format: PageFormat | LineFormat,
    *,
    trail: bool = False,
    id_: str = "",
    **layout: Unpack[Layout],
) -> str:
    """The investigation in a format. `id_` is the question's own id, where it came from a file of many."""
    if str(format) in GAP_FORMATS:
        raise InputError("format-unfit", f"An investigation is no test: it has no {format} form. Try: --format json")
    if format == "jsonl":
        return json_line(_document(found, trail, id_)) + "\n"
    page, document = (lambda: investigation_page(found, trail)), (lambda: _document(found, trail, id_))
    return render(format, page, document, **layout)


def investigation_page(found: Investigation, trail: bool) -> Page:
    """Return an investigation as a page; `trail` adds each step."""
    outcome = "Found" if found.outcome == SUCCESS else "Insufficient evidence"
    outcome = "Chat" if found.intent is Intent.CHAT else outcome
    graded = f"intent {found.intent}, confidence {found.confidence}"
    nearest = ((data(place_words(passage.path, passage.line)), " ", data(passage.text)) for passage in found.nearest)
    evidence = table("|class|quality|strength|tool|for|found|note", map(_evidence_row, found.evidence, count()), 50)
    # The answer itself first, then why it is enough.
    paragraphs = (_answer(found), *map(prose, (found.explanation, *found.notes)))
    return Page(
        verb="investigate",
        title=found.question,
        lead=f"{outcome}: {graded}",
        totals=f"{outcome} · {graded}",
        sections=(
            section("", "", *(Note(text) for text in paragraphs if text)),
            _listed("Probable, not verified", map(_source, [found.probable] if found.probable else ())),
            _listed("Sources", map(_source, found.sources)),
            _listed("Missing", map(_missing, found.gaps)),
            _listed("Nearest to what was asked", nearest),
            section("Evidence", "evidence", evidence),
            _listed("Trail", map(data, found.trail if trail else ()), 1000),
        ),
    )


def _listed(title: str, lines: Iterable[Line], shown: int = 10) -> Section:
    return section(title, title.split(maxsplit=1)[0].lower(), listing(lines, shown, "--format json"))


def _answer(investigation: Investigation) -> Line:
    """Return the answer with its place; "" without an answer."""
    if investigation.answer is None:
        return ""
    place = place_words(investigation.answer.path, investigation.answer.line) if investigation.answer.path else ""
    return (data(investigation.answer.text), *(("  (", data(place), ")") if place else ()))


def _source(source: CitedSource) -> Line:
    quoted = ("  ", data(source.text)) if source.text else ()
    return (data(place_words(source.path, source.line)), *quoted, "  (", prose(source.why), ")")


def _missing(gap: EvidenceGap) -> Line:
    target = (" for ", data(gap.target)) if gap.target else ()
    reason = (": ", prose(gap.reason)) if gap.reason else ()
    return (str(gap.cls), *target, f": have {gap.have}, need {gap.need}", *reason)


def _evidence_row(entry: Evidence, number: int) -> tuple[Line, ...]:
    note = entry.note + (f" (entries {', '.join(map(str, entry.cites))})" if entry.cites else "")
    graded = (str(entry.cls), str(entry.quality), str(entry.strength), entry.tool)
    return str(number), *graded, data(entry.target), f"{entry.match_count:,}", prose(note)


def _document(found: Investigation, trail: bool, id_: str) -> dict[str, object]:
    values = fields(found, f"{_KEYS} trail" if trail else _KEYS)
    return {**({"id": id_} if id_ else {}), "format": "knowbound.investigation/1", **values}
