"""Reports for continuous integration (docs/ci.md): JUnit XML, and workflow commands of GitHub.

An evaluation has one testcase of JUnit per sample, its repeats inside, and one per gate:

    failure   an open gap signal (type: its source), or else an assertion that failed (type: assertion)
    error     no run of the sample is complete: it crashed, took too long, or left half a trace
    skipped   the budget ended before it; a gate with nothing to decide on

What was found later, and what a judge could not score, is no failure. Observed work has one testcase per skill: few,
with names that stay. It fails where the band is red, and is skipped where too few samples are behind the band.

GitHub shows 10 annotations per level and step, so there is one per sample (or per topic, in observed work), the ones
to read first come first, and the last notice says how many are left out. It carries the watermark, and is always there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from knowbound.core.signal import NOT_CLOSED, Topic
from knowbound.report import words as wording
from knowbound.report.evals import samples
from knowbound.report.evals.comparison import verdict_words
from knowbound.report.evals.samples import SampleRow
from knowbound.report.figures import InventoryEntry
from knowbound.report.formats.plain import plain
from knowbound.report.model import ObserveReport
from knowbound.report.observe import observed_entries
from knowbound.report.topics import cost_words, endings_words
from knowbound.report.words import (
    STATUS_NAMES,
    TYPE_NAMES,
    gate_name,
    gate_outcome,
    gate_reason,
    headline,
    observed_headline,
    place_words,
    signal_words,
)
from knowbound.stats.evaluation import RunEnding
from knowbound.stats.figures import Band, SampleConfidence, SkillRow, Watermark
from knowbound.stats.gate import GateOutcome, GateResult
from knowbound.stats.printing import score, score_interval
from knowbound.stats.rate import Mean
from knowbound.text.printable import counted, shorten

if TYPE_CHECKING:
    from knowbound.report.evals.evaluation import EvaluationReport


_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2


class JunitCase(NamedTuple):
    """A testcase and what came of it."""

    name: str
    outcome: str = ""  # failure, error, skipped, or "" where it went well
    type: str = ""
    message: str = ""
    details: str = ""
    seconds: float = 0.0
    place: str = ""
    out: str = ""


def evaluation_junit(report: EvaluationReport) -> str:
    """Render a testcase per sample and per gate."""
    evaluation = report.evaluation
    summary = wording.headline(evaluation.gap, evaluation.coverage, samples.counted_unit(evaluation))
    properties = {
        "headline": summary,
        "knowledge": samples.knowledge_words(evaluation),
        "executor": evaluation.executor,
        "composite": _composite(evaluation.composite),
        "cost": samples.cost_words(evaluation),
        **({"injection": "on"} if evaluation.inject else {}),
        **({"verdict": verdict_words(report.comparison)} if report.comparison else {}),
        **({"note": report.nudge} if report.nudge else {}),
    }
    mark = evaluation.watermark
    cases = [sample_outcome(row, evaluation.repeat > 1) for row in samples.sample_rows(evaluation)]
    suites = [suite(mark.path, evaluation.made, _marks(mark) | properties, cases)]
    if report.gates:
        gates = map(_gate, report.gates)
        suites.append(suite("gates", evaluation.made, _marks(mark) | {"headline": summary}, gates))
    return junit(suites)


def _composite(mean: Mean) -> str:
    if mean.value is None:
        return "unknown: nothing was graded"
    behind = ", ".join(filter(None, (f"over {counted(mean.n, 'answer')}", score_interval(mean.low, mean.high))))
    return f"{score(mean.value)} of 5 ({behind})"


def observed_junit(report: ObserveReport) -> str:
    """Render a testcase per skill."""
    entries = observed_entries(report)
    cases = [_skill(row, [entry for entry in entries if entry.note == row.name]) for row in report.skills]
    properties = {"headline": wording.observed_headline(report.gap, report.coverage)}
    return junit([suite("skills", report.made, _marks(report.watermark) | properties, cases)])


def sample_outcome(row: SampleRow, repeats: bool) -> JunitCase:
    """Return what came of a sample: the first open signal, else the first failed assertion, else how its runs ended."""
    case = JunitCase(row.sample, seconds=row.seconds, place=row.place, out="\n".join(_notes(row, repeats)))
    if row.open_signals:
        first = row.open_signals[0]
        more = f" (+{len(row.open_signals) - 1} more)" if row.open_signals[1:] else ""
        return case._replace(
            outcome="failure",
            type=first.type.value,
            message=f"{wording.TYPE_NAMES[first.type]}: {wording.signal_words(first)}{more}",
            details="\n".join([*_signals(row), *_failed(row)]),
        )
    if row.failed:
        first_failed = samples.assertion_words(row.failed[0])
        return case._replace(outcome="failure", type="assertion", message=first_failed, details="\n".join(_failed(row)))
    if row.complete:
        return case
    last = row.runs[-1]
    kind = "skipped" if all(run.ending is RunEnding.BUDGET for run in row.runs) else "error"
    return case._replace(outcome=kind, type=last.ending.value, message=samples.problem_words(last))


def _signals(row: SampleRow) -> Iterator[str]:
    for signal in row.signals:
        kind, status = wording.TYPE_NAMES[signal.type], wording.STATUS_NAMES[signal.status]
        yield f"Sample {row.sample} / turn {signal.turn} / [{kind}] {status}"
        yield f"  {wording.signal_words(signal)}"
        yield f"  {wording.place_words(signal.file, signal.line)}"


def _failed(row: SampleRow) -> Iterator[str]:
    for grade in row.failed:
        yield f"assertion failed: {samples.assertion_words(grade)}{f': {grade.reason}' if grade.reason else ''}"


def _notes(row: SampleRow, repeats: bool) -> Iterator[str]:
    """Yield notes on a sample that are no failures."""
    if not row.open_signals:
        yield from _signals(row)
    if row.complete:
        lost = (samples.left_out_words(run, repeats) for run in row.runs if not run.is_complete)
        yield from (f"not in the rates: {words}" for words in lost)
    unscored = sum(run.grade.unscored for run in row.complete)
    if unscored:
        yield f"unscored: {unscored}, counted neither for nor against"


def _gate(gate: GateResult) -> JunitCase:
    """Return the testcase of a gate; a gate that cannot be decided is skipped."""
    words = gate_reason(gate)
    case = JunitCase(gate_name(gate), message=gate_outcome(gate), details=words)
    match gate.outcome:
        case GateOutcome.FAILED:
            return case._replace(outcome="failure", type=gate.name)
        case GateOutcome.PASSED:
            return case._replace(out=words)
        case _:
            return case._replace(outcome="skipped", message=words)


def gates_junit(gates: Iterable[GateResult], made: str, mark: Watermark, about: dict[str, str]) -> str:
    """Gates alone, as `check` shows them."""
    return junit([suite("gates", made, _marks(mark) | about, map(_gate, gates))])


def _skill(row: SkillRow, entries: list[InventoryEntry]) -> JunitCase:
    """Return the testcase of a skill: it fails where the open band is red, and is skipped with too few samples."""
    gap = row.gap
    words = f"open rate {gap.open}, gap rate {gap.rate}, open band {wording.band_words(gap, gap.open_band)}"
    case = JunitCase(row.name, out=words)
    if gap.confidence is SampleConfidence.UNDERPOWERED:
        return case._replace(outcome="skipped", message=wording.confidence_words(gap))
    if gap.open_band is not Band.RED:
        return case
    open_ = [entry for entry in entries if entry.signal.status in NOT_CLOSED]
    listed = [f"{wording.signal_words(entry.signal)}\n  {' · '.join(entry.places)}" for entry in open_]
    return case._replace(outcome="failure", type="gap", message=words, details="\n".join(listed))


def junit(suites: list[Element]) -> str:
    """A document of these test suites."""
    top = Element("testsuites", name="knowbound")
    for count in ("tests", "failures", "errors", "skipped"):
        top.set(count, str(sum(int(suite.get(count, "0")) for suite in suites)))
    top.set("time", f"{sum(float(suite.get('time', '0')) for suite in suites):.3f}")
    top.extend(suites)
    indent(top)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(top, encoding="unicode")}\n'


def suite(name: str, made: str, about: dict[str, str], cases: Iterable[JunitCase], passed: int = 0) -> Element:
    """A test suite with what it is about; `passed` tests more went well and are not listed."""
    listed = list(cases)
    suite = Element("testsuite", name=_clean(name), tests=str(len(listed) + passed))
    for count, outcome in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(count, str(sum(case.outcome == outcome for case in listed)))
    suite.set("time", f"{sum(case.seconds for case in listed):.3f}")
    suite.set("timestamp", _clean(made.removesuffix("Z")))
    properties = SubElement(suite, "properties")
    for key, value in about.items():
        SubElement(properties, "property", name=key, value=_clean(value))
    for case in listed:
        suite.append(_testcase(case, name))
    return suite


def _marks(mark: Watermark) -> dict[str, str]:
    test_set, _, warning = str(mark).rpartition("\n")
    return {"watermark": test_set, "watermark.warning": warning}


def _testcase(case: JunitCase, suite: str) -> Element:
    made = Element("testcase", name=_clean(case.name), classname=_clean(suite), time=f"{case.seconds:.3f}")
    file, _, line = case.place.rpartition(":")
    if file and line.isdigit():
        made.set("file", _clean(file))
        made.set("line", line)
    if case.outcome:
        result = SubElement(made, case.outcome, message=_clean(case.message))
        if case.outcome != "skipped":
            result.set("type", _clean(case.type))
        result.text = _clean_lines(case.details) or None
    if case.out:
        SubElement(made, "system-out").text = _clean_lines(case.out)
    return made


def _clean(text: str) -> str:
    """Return the text in one line, without characters that XML forbids."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", plain(text))


def _clean_lines(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


SHOWN_PER_LEVEL = 10
_LONGEST = 600  # characters of one message


class _Annotation(NamedTuple):
    level: str
    title: str
    message: str
    place: str = ""


def evaluation_github(report: EvaluationReport) -> str:
    """Render an annotation per sample with findings and per gate that did not pass."""
    evaluation = report.evaluation
    found = []
    for gate in report.gates:
        if gate.failed or not gate.settled:
            level = "error" if gate.failed else "notice"
            found.append(_Annotation(level, f"Gate {gate_name(gate)} {gate_outcome(gate)}", gate_reason(gate)))
    found += filter(None, map(_sample, samples.rows_to_read_first(samples.sample_rows(evaluation))))
    if report.nudge:
        found.append(_Annotation("notice", "The gap rate is near 0", report.nudge))
    summary = headline(evaluation.gap, evaluation.coverage, samples.counted_unit(evaluation))
    return _commands(found, summary, evaluation.watermark)


def observed_github(report: ObserveReport) -> str:
    """Render a warning per topic."""
    return _commands(map(_topic, report.topics), observed_headline(report.gap, report.coverage), report.watermark)


def _topic(topic: Topic) -> _Annotation:
    """Return a topic as an annotation at its first example."""
    places = [place_words(example.file, example.line) for example in topic.examples]
    summary = f"{topic.title}: {cost_words(topic)}, {endings_words(topic)}"
    answer = [f"answer: {place_words(place.path, place.line)}" for place in topic.answer[:1]]
    level = "warning" if topic.is_open else "notice"
    message = shorten("\n".join((summary, *answer, *places[:1])), _LONGEST)
    return _Annotation(level, "Worth writing down", message, places[0] if places else "")


def _sample(row: SampleRow) -> _Annotation | None:
    """Return the findings on a sample with the worst as title; None without a finding."""
    lines = [
        f"[{TYPE_NAMES[signal.type]}] {STATUS_NAMES[signal.status]}: {signal_words(signal)}" for signal in row.signals
    ]
    lines += [f"assertion failed: {samples.assertion_words(grade)}" for grade in row.failed]
    lost = [run for run in row.runs if not run.is_complete]
    lines += [f"not in the rates: {samples.problem_words(run)}" for run in lost]
    if not lines:
        return None
    is_hard = any(signal.weight == 1.0 for signal in row.open_signals)
    level = "warning" if is_hard or lost or row.failed else "notice"
    if row.signals:
        title = f"Knowledge gap in sample {row.sample}"
    elif row.failed:
        title = f"Failed assertion in sample {row.sample}"
    else:
        title = f"Sample {row.sample}: {samples.ending_words(row)}"
    return _Annotation(level, title, shorten("\n".join(lines), _LONGEST), row.place)


def _commands(annotations: Iterable[_Annotation], summary: str, mark: Watermark) -> str:
    """Return the annotations that GitHub shows, and a last notice with the headline and the number left out."""
    listed, shown, left_out = list(annotations), [], []
    for level, room in (("error", SHOWN_PER_LEVEL), ("warning", SHOWN_PER_LEVEL), ("notice", SHOWN_PER_LEVEL - 1)):
        of_level = [annotation for annotation in listed if annotation.level == level]  # the last notice is kept free
        shown += of_level[:room]
        left_out += [counted(len(of_level) - room, level)] if of_level[room:] else []
    more = f"\nNot shown, GitHub takes {SHOWN_PER_LEVEL} of each: {', '.join(left_out)}." if left_out else ""
    shown.append(_Annotation("notice", "Knowledge gaps", f"{summary}{more}\n{mark}"))
    return "".join(command(*annotation) + "\n" for annotation in shown)


def command(level: str, title: str, message: str, place: str = "") -> str:
    """A workflow command; a place outside the workspace has no line to be shown at."""
    file, _, line = place.rpartition(":")
    at = {"file": file, "line": line} if file and line.isdigit() and not file.startswith("/") else {}
    values = {
        name: _data(value).replace(":", "%3A").replace(",", "%2C") for name, value in {**at, "title": title}.items()
    }
    properties = ",".join(f"{name}={value}" for name, value in values.items())
    return f"::{level} {properties}::{_data(message)}"


def _data(text: str) -> str:
    """Return a text escaped so that no part of it begins a line and becomes a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
