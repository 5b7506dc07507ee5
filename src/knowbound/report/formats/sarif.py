"""Gap signals as SARIF 2.1.0, for code scanning: stable rules, and fingerprints that stay when lines move.

A signal of an evaluation is located at its sample's line in the samples file, one of observed work at its line in the
trace. Levels never say whether a gate failed: an open failed search is a warning, an open soft signal a note; what was
found later, or checked to be absent, is information.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import to_builtins

from knowbound.catalogue import codes_named
from knowbound.core.signal import NOT_CLOSED, SOURCES, Signal, SignalType
from knowbound.report.evals.samples import counted_unit, evaluation_entries, left_out, left_out_words, sample_place
from knowbound.report.figures import InventoryEntry
from knowbound.report.formats.json import fields, json_text
from knowbound.report.model import ObserveReport
from knowbound.report.observe import observed_entries, signal_count
from knowbound.report.words import (
    STATUS_NAMES,
    TYPE_NAMES,
    gate_name,
    gate_outcome,
    headline,
    observed_headline,
    signal_words,
)
from knowbound.stats.evaluation import Evaluation

if TYPE_CHECKING:
    from knowbound.report.evals.evaluation import EvaluationReport

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_BASE = "%SRCROOT%"  # the folder that relative files are in
_LINE = re.compile(r"^(?P<file>.*):(?P<line>[1-9]\d{0,8})$", re.DOTALL)
_Fields = dict[str, object]


def observed_sarif(report: ObserveReport) -> str:
    """The signals of observed work."""
    entries, notes = observed_entries(report), []
    if (left := signal_count(report) - len(entries)) > 0:
        notes.append(_note("note", f"{left:,} more signals are not shown: --format jsonl has them all."))
    return _document("observe", report, observed_headline(report.gap, report.coverage), entries, notes)


def evaluation_sarif(report: EvaluationReport) -> str:
    """The signals of an evaluation, its gates, and the runs that are not in its rates."""
    evaluation, notes = report.evaluation, []
    for gate in report.gates:
        words = " ".join(filter(None, (f"Gate {gate_name(gate)}: {gate_outcome(gate)}.", gate.words, gate.note)))
        notes.append(_note("error" if gate.failed else "note", words))
    notes += [_note("note", report.nudge)] if report.nudge else []
    for run in left_out(evaluation):
        words = f"Not in the rates: {left_out_words(run, evaluation.repeat > 1)}"
        notes.append(_note("warning", words, [sample_place(run)]))
    summary = headline(evaluation.gap, evaluation.coverage, counted_unit(evaluation))
    return _document(evaluation.origin, evaluation, summary, evaluation_entries(evaluation), notes)


def _document(
    kind: str, about: Evaluation | ObserveReport, summary: str, entries: list[InventoryEntry], notes: list[_Fields]
) -> str:
    """Return signals as SARIF, with the rates, the watermark and the warnings as notes of the run."""
    mark = about.watermark
    first = _note("note", f"{summary} {' '.join(str(mark).splitlines())}")
    notes = [first, *notes, *(_note("warning", warning) for warning in about.warnings)]
    # Up to the last slash it names the category: one per test set, whatever its content is at the moment.
    category = f"{kind}/{quote(mark.path.strip('/'))}/{mark.sha256_8}"
    properties = {"watermark": to_builtins(mark), **fields(about, "gap coverage")}
    rules, invocation = map(_gap_rule, SignalType), {"toolExecutionNotifications": notes}
    return sarif(about.version, rules, category, _results(entries), invocation, properties)


def sarif(
    version: str,
    rules: Iterable[_Fields],
    category: str,
    results: list[_Fields],
    invocation: Mapping[str, object] | None = None,
    properties: Mapping[str, object] | None = None,
    base: str = "The folder that knowbound was started in.",
) -> str:
    """A SARIF document of one run."""
    run: _Fields = {
        "tool": {"driver": {"name": "knowbound", "version": version, "rules": list(rules)}},
        "automationDetails": {"id": f"knowbound/{category}"},
        "invocations": [{"executionSuccessful": True, **(invocation or {})}],
        "originalUriBaseIds": {_BASE: {"description": {"text": base}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
        **({"properties": properties} if properties else {}),
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def finding(rule: str, level: str, message: str, place: str, prints: dict[str, str], *, end_line: int = 0) -> _Fields:
    """A result at a line or from one line to another one; the fingerprints follow it when lines move."""
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": _message(message)},
        "locations": [_location(place, end_line=end_line)],
        "partialFingerprints": prints,
    }


def rule(code: str, short: str = "", kind: str = "") -> _Fields:
    """A rule from the text that `explain` has about a code."""
    (entry, *_) = codes_named(code)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in code.split("_")) + kind,
        "shortDescription": {"text": short or entry.meaning.split(". ")[0]},
        "fullDescription": {"text": entry.meaning},
        "help": {"text": f"{entry.meaning}\n\nExample: {entry.example}\n\nknowbound explain {code}"},
    }


def _gap_rule(type_: SignalType) -> _Fields:
    return {
        **rule(type_.value, f"Knowledge gap: {TYPE_NAMES[type_]}", "Gap"),
        "defaultConfiguration": {"level": _open_level(type_)},
        "properties": {"tags": ["knowledge", "gap"], "weight": SOURCES[type_].weight},
    }


def _open_level(type_: SignalType) -> str:
    return "warning" if SOURCES[type_].weight == 1.0 else "note"


def _results(entries: Iterable[InventoryEntry]) -> list[_Fields]:
    seen: Counter[str] = Counter()
    results = []
    for entry in entries:
        identity = fingerprint(entry.signal)
        seen[identity] += 1  # equal signals are numbered: a fingerprint stands for one result
        results.append(_result(entry, f"{identity}:{seen[identity]}"))
    return results


def _result(entry: InventoryEntry, identity: str) -> _Fields:
    """Return a signal as a result; one that is not open is informational."""
    signal = entry.signal
    first, *others = entry.places or ("",)
    what = f"Sample {signal.sample} / turn {signal.turn} / {TYPE_NAMES[signal.type]}, {STATUS_NAMES[signal.status]}"
    is_open = signal.status in NOT_CLOSED
    return {
        "ruleId": signal.type.value,
        "ruleIndex": list(SignalType).index(signal.type),
        # A result that is no failure has no level (SARIF 2.1.0, section 3.27.10).
        "kind": "fail" if is_open else "informational",
        "level": _open_level(signal.type) if is_open else "none",
        "message": {"text": _message(f"{what}: {signal_words(signal)}")},
        "locations": [_location(first, signal.sample)],
        "relatedLocations": [_location(place) for place in others],
        # GitHub follows an alert by the second name only.
        "partialFingerprints": {"knowboundGap/v1": identity, "primaryLocationLineHash": identity},
        "properties": {
            "sample": signal.sample,
            "turn": signal.turn,
            "status": signal.status,
            "weight": signal.weight,
            "call_ids": signal.call_ids,
        },
    }


def fingerprint(signal: Signal) -> str:
    """Return a hash of the sample, the source and the words searched for or said: moved lines do not change it."""
    words = (signal.query or signal.text).casefold().split()
    compared_words = " ".join(sorted(words) if signal.query else words)  # the order of search words says nothing
    parts = "\0".join((signal.sample, signal.type, compared_words))
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:32]


def _note(level: str, text: str, places: Iterable[str] = ()) -> _Fields:
    note: _Fields = {"level": level, "message": {"text": _message(text)}}
    located = [_location(place) for place in places if place]
    return {**note, "locations": located} if located else note


def _message(text: str) -> str:
    """Return a text in which nothing is a link or a placeholder (SARIF 2.1.0, sections 3.11.5 and 3.11.6)."""
    return re.sub(r"\{(\d+)\}", r"{{\1}}", text.replace("](", "] ("))


def _location(place: str, sample: str = "", end_line: int = 0) -> _Fields:
    """A relative file is found in the repository; one elsewhere can only be named whole."""
    found = _LINE.match(place)
    file = found["file"] if found else place
    location: _Fields = {}
    if file:
        outside = {"uri": f"file://{quote(file)}"}
        artifact = outside if file.startswith("/") else {"uri": quote(file), "uriBaseId": _BASE}
        end = {"endLine": end_line} if end_line else {}
        region = {"region": {"startLine": int(found["line"]), **end}} if found else {}
        location["physicalLocation"] = {"artifactLocation": artifact, **region}
    return location | ({"logicalLocations": [{"name": sample, "kind": "sample"}]} if sample else {})
