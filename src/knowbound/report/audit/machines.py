"""Audited turns for programs: JSON lines, and SARIF, JUnit and GitHub annotations with a result per finding."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from msgspec import to_builtins

from knowbound.catalogue import codes_named
from knowbound.core.audit import AuditedTurn, Claim, Diagnosis, FindingCode, Support
from knowbound.report.audit.model import AuditReport
from knowbound.report.audit.page import with_places_from
from knowbound.report.format_names import GapFormat
from knowbound.report.formats.github import SHOWN_PER_LEVEL, command
from knowbound.report.formats.json import json_line, json_text
from knowbound.report.formats.plain import made_plain
from knowbound.stats.printing import percent_words

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_JUDGED = frozenset({Diagnosis.UNSUPPORTED, Diagnosis.MISLED, Diagnosis.BLIND, Diagnosis.IGNORED})


def rendered(report: AuditReport, format: GapFormat, here: str) -> str:
    """The report in a format for machines; files are named relative to `here`."""
    report = made_plain(report)
    turns = with_places_from(report, here)
    match format:
        case "sarif":
            return _sarif(report, turns)
        case "junit":
            return _junit(report, turns)
        case "github":
            return "".join(_github(report, turns))


def _results(turns: list[AuditedTurn]) -> Iterator[tuple[AuditedTurn, str, str, int]]:
    """Turn, code, message and line of everything that is wrong with it; the diagnosis where no finding says more."""
    for turn in turns:
        found = [(one.code.value, one.text, one.line) for one in turn.findings]
        for code, text, line in found or [(turn.diagnosis.value, turn.why, turn.line)]:
            yield turn, code, f"{text}{f' Next: {turn.next}.' if turn.next else ''}", line or turn.line


def _sarif(report: AuditReport, turns: list[AuditedTurn]) -> str:
    codes = [*FindingCode, *sorted(_JUDGED)]
    results = [
        {
            "ruleId": code,
            "level": "warning" if turn.diagnosis is Diagnosis.UNSUPPORTED else "note",
            "message": {"text": message},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": turn.file, "uriBaseId": "%SRCROOT%"},
                                                "region": {"startLine": max(1, line)}}}],
            "partialFingerprints": {"turn/v1": _fingerprint(turn, code)},
        }
        for turn, code, message, line in _results(turns)
    ]  # fmt: skip
    run = {
        "tool": {"driver": {"name": "knowbound", "version": report.version, "rules": [_rule(code) for code in codes]}},
        "automationDetails": {"id": "knowbound/audit/"},
        "invocations": [{"executionSuccessful": True}],
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The folder that knowbound was started in."}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"diagnoses": {one.value: report.whole.rate(one).to_json() for one in Diagnosis}},
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(code: str) -> dict[str, object]:
    (entry, *_) = codes_named(code)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in code.split("_")),
        "shortDescription": {"text": entry.meaning.split(". ")[0]},
        "fullDescription": {"text": entry.meaning},
        "help": {"text": f"{entry.meaning}\n\n{entry.example}\n\nknowbound explain {code}"},
    }


def _fingerprint(turn: AuditedTurn, code: str) -> str:
    return hashlib.sha256(f"{turn.session}|{turn.message_id}|{code}".encode("utf-8", "replace")).hexdigest()[:32]


def _junit(report: AuditReport, turns: list[AuditedTurn]) -> str:
    bad = report.whole.rate(Diagnosis.UNSUPPORTED)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuite name="knowbound audit" tests="{report.whole.turns}" failures="{bad.k}">')
    for turn in turns:
        if turn.diagnosis is Diagnosis.UNSUPPORTED:
            claim = _claim(turn)
            name = quoteattr(f"{turn.session} turn {turn.turn}")
            text = escape(f"{claim.text if claim else ''}\n{turn.file}:{turn.line}")
            failure = f"<failure message={quoteattr(turn.why)}>{text}</failure>"
            lines.append(f'<testcase classname="audit" name={name}>{failure}</testcase>')
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def _claim(turn: AuditedTurn) -> Claim | None:
    return next((one for one in turn.claims if one.support in (Support.UNSEEN, Support.CONTRADICTED)), None)


def _github(report: AuditReport, turns: list[AuditedTurn]) -> Iterator[str]:
    for turn, code, message, line in list(_results(turns))[: SHOWN_PER_LEVEL - 1]:
        yield command("warning", f"{turn.diagnosis}: {code}", message, f"{turn.file}:{line}") + "\n"
    bad = report.whole.rate(Diagnosis.UNSUPPORTED)
    words = percent_words(bad.value, f"{bad.k} of {bad.n} turns", bad.interval)
    yield command("notice", "Audit", f"Unsupported answers: {words}") + "\n"


_KEYS = ("session", "turn", "message_id", "intent", "diagnosis", "confidence")


def turn_line(turn: AuditedTurn) -> str:
    """The line of a turn: the keys that others rely on first."""
    document: dict[str, object] = {key: getattr(turn, key) for key in _KEYS}
    document["claims"] = [
        {"text": one.text, "kind": one.kind, "support": one.support, "why": one.why, "line": one.line,
         "important": one.important, "by": one.by}
        for one in turn.claims
    ]  # fmt: skip
    document["findings"] = to_builtins(turn.findings)
    document["gaps"] = to_builtins(turn.gaps)
    document["next"] = turn.next
    document["because"] = to_builtins(turn.because)
    document["by"] = turn.by
    document |= {"why": turn.why, "file": turn.file, "line": turn.line, "time": turn.time, "skill": turn.skill,
                 "model": turn.model, "item": turn.item}  # fmt: skip
    return json_line(document)
