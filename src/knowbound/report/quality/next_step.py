"""What to do next about what is injected, in one plain sentence: the first line of `quality status`."""

from __future__ import annotations

from knowbound.core.quality import Metric
from knowbound.report.quality.cost import hooks
from knowbound.report.quality.model import QualityStatus
from knowbound.report.sections import Line, data
from knowbound.stats.quality import QualityMetric, TargetState

_MISSED: dict[QualityMetric, str] = {
    QualityMetric.ON_TOPIC: "Too little of what is injected is on topic: raise the floor (quality calibrate).",
    QualityMetric.USED: "Too little of what is injected is used.",
    QualityMetric.CONTRADICTED: "Too much of what is injected is contradicted; what was seen is corrected.",
    QualityMetric.DISCOVERY: "Too few of the contradicted items were corrected in time.",
}


def next_step(status: QualityStatus) -> Line:
    """The one thing to do, in plain words. The first that fits wins."""
    counts = status.window.injected
    if status.is_empty:
        return "Nothing is measured yet: no turn of an agent was scored."
    if status.judge.is_unreliable(Metric.CONTRADICTED):
        return "The judge errs too often about contradictions: mend that before you correct an item."
    if status.wrong:
        what = "an item" if status.wrong == 1 else f"{status.wrong:,} items"
        return f"Correct {what} that agents contradicted, first ", data(status.items[0].id), "."
    if slow := [name for name, _, _, is_slow in hooks(status) if is_slow]:
        return f"The {slow[0].lower()} hook is too slow: run knowbound doctor."
    if not counts.judged and counts.unjudged:
        return "No item has a verdict, the judge failed: knowbound quality score --again"
    if not counts.judged:
        return "Nothing was injected in these days, so nothing can be said about it."
    if missed := [one.metric for one in status.metrics if one.state is TargetState.MISSED]:
        return _MISSED[missed[0]] + (" Start with the items below." if status.items else "")
    if not status.judge.measured:
        return "Label turns: nothing is shown to be wrong, by a judge that nobody has measured."
    if any(one.state is TargetState.UNDECIDED for one in status.metrics):
        return "Nothing is shown to be wrong; more turns have to be measured to know."
    return "Nothing to do: every metric that is known meets its target."
