"""Audited turns for programs: JSON lines, and SARIF, JUnit and GitHub annotations with a result per finding."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from knowbound.catalogue import codes_named
from knowbound.core.audit import AuditedTurn, Diagnosis, FindingCode, Support
from knowbound.report.audit.model import AuditReport
from knowbound.report.audit.page import with_places_from
from knowbound.report.format_names import GapFormat
from knowbound.report.formats.json import fields, json_line
from knowbound.report.formats.plain import made_plain
from knowbound.stats.printing import percent_words

_TURN = """session turn message_id intent diagnosis confidence claims(text kind support why line important by) findings
    gaps next because by why file line time skill model item"""
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
    from knowbound.report.formats.sarif import finding, sarif  # noqa: PLC0415

    results = []
    for turn, code, message, line in _results(turns):
        level = "warning" if turn.diagnosis is Diagnosis.UNSUPPORTED else "note"
        print_ = hashlib.sha256(f"{turn.session}|{turn.message_id}|{code}".encode("utf-8", "replace")).hexdigest()[:32]
        results.append(finding(code, level, message, turn.file, (max(1, line),), {"turn/v1": print_}))
    rules = map(_rule, (*FindingCode, *sorted(_JUDGED)))
    diagnoses = {one.value: report.whole.rate(one).to_json() for one in Diagnosis}
    return sarif(report.version, rules, "audit/", results, properties={"diagnoses": diagnoses})


def _rule(code: str) -> dict[str, object]:
    (entry, *_) = codes_named(code)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in code.split("_")),
        "shortDescription": {"text": entry.meaning.split(". ")[0]},
        "fullDescription": {"text": entry.meaning},
        "help": {"text": f"{entry.meaning}\n\n{entry.example}\n\nknowbound explain {code}"},
    }


def _junit(report: AuditReport, turns: list[AuditedTurn]) -> str:
    unsupported = report.whole.rate(Diagnosis.UNSUPPORTED)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuite name="knowbound audit" tests="{report.whole.turns}" failures="{unsupported.k}">')
    for turn in turns:
        if turn.diagnosis is Diagnosis.UNSUPPORTED:
            bad = (Support.UNSEEN, Support.CONTRADICTED)
            claim = next((one for one in turn.claims if one.support in bad), None)
            name = quoteattr(f"{turn.session} turn {turn.turn}")
            text = escape(f"{claim.text if claim else ''}\n{turn.file}:{turn.line}")
            failure = f"<failure message={quoteattr(turn.why)}>{text}</failure>"
            lines.append(f'<testcase classname="audit" name={name}>{failure}</testcase>')
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def _github(report: AuditReport, turns: list[AuditedTurn]) -> Iterator[str]:
    from knowbound.report.formats.github import SHOWN_PER_LEVEL, command  # noqa: PLC0415

    for turn, code, message, line in list(_results(turns))[: SHOWN_PER_LEVEL - 1]:
        yield command("warning", f"{turn.diagnosis}: {code}", message, f"{turn.file}:{line}") + "\n"
    bad = report.whole.rate(Diagnosis.UNSUPPORTED)
    words = percent_words(bad.value, f"{bad.k} of {bad.n} turns", bad.interval)
    yield command("notice", "Audit", f"Unsupported answers: {words}") + "\n"


def turn_line(turn: AuditedTurn) -> str:
    """The line of a turn: the keys that others rely on first."""
    return json_line(fields(turn, _TURN))
