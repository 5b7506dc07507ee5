"""Reports as GitHub workflow commands: notices, warnings and errors beside the line of the sample.

GitHub shows 10 annotations per level and step, so there is one per sample (or per topic, in observed work), the ones
to read first come first, and the last notice says how many are left out. It carries the watermark, and is always there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from knowbound.core.signal import Topic
from knowbound.report.evals import samples
from knowbound.report.evals.samples import SampleRow
from knowbound.report.gaps.topics import cost_words, endings_words
from knowbound.report.model import ObserveReport
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
from knowbound.stats.figures import Watermark
from knowbound.text.printable import counted, shorten

if TYPE_CHECKING:
    from knowbound.report.evals.evaluation import EvaluationReport

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
