"""Gap signals as SARIF 2.1.0, for code scanning: stable rules, and fingerprints that stay when lines move.

A signal of an evaluation is located at its sample's line in the samples file, one of observed work at its line in the
trace. Levels never say whether a gate failed: an open failed search is a warning, an open soft signal a note; what was
found later, or checked to be absent, is information.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import to_builtins

from knowbound.catalogue import codes_named
from knowbound.core.signal import NOT_CLOSED, SOURCES, Signal, SignalType
from knowbound.report.evals.samples import counted_unit, evaluation_entries, left_out, left_out_words, sample_place
from knowbound.report.formats.json import fields, json_text
from knowbound.report.formats.plain import made_plain
from knowbound.report.gaps.figures import InventoryEntry
from knowbound.report.gaps.observe import observed_entries, signal_count, with_places_from
from knowbound.report.model import ObserveReport
from knowbound.report.words import (
    STATUS_NAMES,
    TYPE_NAMES,
    gate_name,
    gate_outcome,
    headline,
    observed_headline,
    signal_words,
)
from knowbound.stats.figures import Watermark

if TYPE_CHECKING:
    from knowbound.report.evals.evaluation import EvaluationReport

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_BASE = "%SRCROOT%"  # the folder that relative files are in
_LINE = re.compile(r"^(?P<file>.*):(?P<line>[1-9]\d{0,8})$", re.DOTALL)
_Fields = dict[str, object]


def observed_sarif(report: ObserveReport, here: str) -> str:
    """The signals of observed work; files are named relative to `here`."""
    report = with_places_from(made_plain(report), [here])
    entries = observed_entries(report)
    notes = [_note("note", f"{observed_headline(report.gap, report.coverage)} {_marked(report.watermark)}")]
    if (left := signal_count(report) - len(entries)) > 0:
        notes.append(_note("note", f"{left:,} more signals are not shown: --format jsonl has them all."))
    notes += [_note("warning", warning) for warning in report.warnings]
    figures: _Fields = fields(report, "gap coverage")
    return _document("observe", report.watermark, report.version, _results(entries), notes, figures)


def evaluation_sarif(report: EvaluationReport) -> str:
    """The signals of an evaluation, its gates, and the runs that are not in its rates."""
    evaluation = report.evaluation
    repeats = evaluation.repeat > 1
    said = headline(evaluation.gap, evaluation.coverage, counted_unit(evaluation))
    notes = [_note("note", f"{said} {_marked(evaluation.watermark)}")]
    for gate in report.gates:
        words = " ".join(filter(None, (f"Gate {gate_name(gate)}: {gate_outcome(gate)}.", gate.words, gate.note)))
        notes.append(_note("error" if gate.failed else "note", words))
    notes += [_note("note", report.nudge)] if report.nudge else []
    notes += [
        _note("warning", f"Not in the rates: {left_out_words(run, repeats)}", [sample_place(run)])
        for run in left_out(evaluation)
    ]
    notes += [_note("warning", warning) for warning in evaluation.warnings]
    figures: _Fields = fields(evaluation, "gap coverage")
    results = _results(evaluation_entries(evaluation))
    return _document(evaluation.origin, evaluation.watermark, evaluation.version, results, notes, figures)


def _document(
    kind: str, mark: Watermark, version: str, results: list[_Fields], notes: list[_Fields], figures: _Fields
) -> str:
    # Up to the last slash it names the category: one per test set, whatever its content is at the moment.
    category = f"{kind}/{quote(mark.path.strip('/'))}/{mark.sha256_8}"
    properties = {"watermark": to_builtins(mark), **figures}
    return sarif(version, map(_rule, SignalType), category, results, {"toolExecutionNotifications": notes}, properties)


def sarif(
    version: str,
    rules: Iterable[_Fields],
    category: str,
    results: list[_Fields],
    invocation: _Fields | None = None,
    properties: _Fields | None = None,
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


def finding(rule: str, level: str, message: str, uri: str, lines: tuple[int, ...], prints: dict[str, str]) -> _Fields:
    """A result at a line or from one line to another one; the fingerprints follow it when lines move."""
    region = dict(zip(("startLine", "endLine"), lines, strict=False))
    place = {"artifactLocation": {"uri": uri, "uriBaseId": _BASE}, "region": region}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": prints,
    }


def _rule(type_: SignalType) -> _Fields:
    (entry,) = codes_named(type_)
    return {
        "id": type_.value,
        "name": "".join(word.capitalize() for word in type_.split("_")) + "Gap",
        "shortDescription": {"text": f"Knowledge gap: {TYPE_NAMES[type_]}"},
        "fullDescription": {"text": entry.meaning},
        "help": {"text": f"{entry.meaning}\n\nExample: {entry.example}\n\nknowbound explain {type_.value}"},
        "defaultConfiguration": {"level": _open_level(type_)},
        "properties": {"tags": ["knowledge", "gap"], "weight": SOURCES[type_].weight},
    }


def _open_level(type_: SignalType) -> str:
    return "warning" if SOURCES[type_].weight == 1.0 else "note"


def _results(entries: Iterable[InventoryEntry]) -> list[_Fields]:
    seen: Counter[str] = Counter()
    results = []
    for entry in entries:
        print_ = fingerprint(entry.signal)
        seen[print_] += 1
        results.append(_result(entry, f"{print_}:{seen[print_]}"))
    return results


def _result(entry: InventoryEntry, print_: str) -> _Fields:
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
        "partialFingerprints": {"knowboundGap/v1": print_, "primaryLocationLineHash": print_},
        "properties": {
            "sample": signal.sample,
            "turn": signal.turn,
            "status": signal.status,
            "weight": signal.weight,
            "call_ids": signal.call_ids,
        },
    }


def fingerprint(signal: Signal) -> str:
    """Over the sample, the source, and the words searched for or said: the same wherever the lines move."""
    words = (signal.query or signal.text).casefold().split()
    said = " ".join(sorted(words) if signal.query else words)  # the order of search words says nothing
    parts = "\0".join((signal.sample, signal.type, said))
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:32]


def _note(level: str, text: str, places: Iterable[str] = ()) -> _Fields:
    note: _Fields = {"level": level, "message": {"text": _message(text)}}
    located = [_location(place) for place in places if place]
    return {**note, "locations": located} if located else note


def _marked(mark: Watermark) -> str:
    return " ".join(str(mark).splitlines())


def _message(text: str) -> str:
    """Text of a trace is no link and no placeholder (SARIF 2.1.0, sections 3.11.5 and 3.11.6)."""
    return re.sub(r"\{(\d+)\}", r"{{\1}}", text.replace("](", "] ("))


def _location(place: str, sample: str = "") -> _Fields:
    found = _LINE.match(place)
    file, line = (found["file"], int(found["line"])) if found else (place, 0)
    physical: _Fields = {"artifactLocation": _artifact(file)} if file else {}
    if file and line:
        physical["region"] = {"startLine": line}
    logical: _Fields = {"logicalLocations": [{"name": sample, "kind": "sample"}]} if sample else {}
    return {**({"physicalLocation": physical} if physical else {}), **logical}


def _artifact(file: str) -> _Fields:
    """A relative file is found in the repository; one elsewhere can only be named whole."""
    path = quote(file)
    return {"uri": f"file://{path}"} if file.startswith("/") else {"uri": path, "uriBaseId": _BASE}
