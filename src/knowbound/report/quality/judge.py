"""What the judge of injected items is worth, as the status of quality shows it (specification 2, "The judge")."""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.core.quality import Metric
from knowbound.report.quality.model import JudgeWorth
from knowbound.report.sections import Column, Entry, Facts, Line, Listing, Part, Row, Table, data, joined, prose
from knowbound.report.turn_calibration import METRIC_NAMES, gate_words, weekly_lines
from knowbound.report.words import counted
from knowbound.stats.printing import percent

LABEL = "knowbound judge label --question turns"
CALIBRATE = "knowbound judge calibrate --question turns"


def judge_rows(judge: JudgeWorth) -> Iterator[tuple[str, Line]]:
    """For the screen: who judged, how far it agrees with people, and what is to be done about it."""
    yield "Judge", _who(judge)
    if not judge.versions:
        return
    if not judge.measured:
        yield "Measure", (data(LABEL), ", then ", data(CALIBRATE))
        return
    agreement = (
        f"{METRIC_NAMES[metric]} {percent(one.found.agreement.value)} ({one.gate.state})"
        for metric, one in judge.measured.items()
    )
    yield "Agrees", joined(agreement)
    if not all(one.gate.is_reliable for one in judge.measured.values()):
        yield "Measure", (data(LABEL), ", then ", data(CALIBRATE))
    elif judge.weekly and (judge.weekly.drifted or judge.weekly.is_due):
        yield "Drift", next(weekly_lines(judge.weekly))


def judge_parts(judge: JudgeWorth) -> tuple[Part, ...]:
    """For a page: the figures of every metric, and the weekly sample."""
    if not judge.measured:
        return (Facts(tuple(judge_rows(judge))),)
    columns = ("metric", "state", "sensitivity", "specificity", "why")
    weekly = tuple(map(Entry, weekly_lines(judge.weekly)))
    return (
        Facts((("Judge", _who(judge)),)),
        Table(tuple(map(Column, columns)), tuple(_row(metric, judge) for metric in judge.measured)),
        *((Listing(weekly),) if weekly else ()),
    )


def _who(judge: JudgeWorth) -> Line:
    if not judge.versions:
        return "none judged a turn of these days"
    by = joined((data(one), f" ({counted(turns, 'turn')})") for one, turns in judge.versions.items())
    if not judge.measured:
        return joined((by, "unmeasured: nobody knows yet how often it errs"))
    against = f"against {counted(judge.labelled, 'labelled turn')}, {judge.made[:10]}"
    return joined((by, (data(judge.version), f" {against}") if len(judge.versions) > 1 else against))


def _row(metric: Metric, judge: JudgeWorth) -> Row:
    one = judge.measured[metric]
    shares = (percent(share.value) for share in (one.found.sensitivity, one.found.specificity))
    return Row((METRIC_NAMES[metric], str(one.gate.state), *shares, prose(gate_words(one.gate, one.found))))
