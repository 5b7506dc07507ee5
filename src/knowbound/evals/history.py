"""Stored evaluations of a root: the newest, one by its id, and what it is compared with."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from knowbound.config import Settings
from knowbound.core.paths import IGNORED_FOLDERS
from knowbound.errors import InputError, StoreError
from knowbound.stats.comparison import Change, Comparison, compare, sample_changes
from knowbound.stats.evaluation import Evaluation, EvaluationHead, Origin
from knowbound.stats.figures import RateKind
from knowbound.stats.gate import GAP_RATE_REGRESSION, GateOutcome, GateResult, gate_key
from knowbound.store.data_dir import DATA_FOLDER, FINDINGS, OURS, owner_of
from knowbound.store.evaluations import Evaluations
from knowbound.store.observed import Observed


def evaluations(settings: Settings) -> list[EvaluationHead]:
    """Return every stored evaluation of this root without its runs, oldest first."""
    heads = Evaluations(settings.home).heads()
    if settings.home.is_relative_to(settings.root):
        return heads  # all are of this root, even if the folder was elsewhere when they were made
    return [head for head in heads if head.root == str(settings.root)]


def evaluated_below(settings: Settings) -> list[Path]:
    """The folders at most two levels below the root that have evaluations of their own."""
    root = settings.root
    if settings.home_is_given:  # one data folder for all roots: each evaluation says which root it is of
        roots = {Path(head.root) for head in Evaluations(settings.home).heads() if head.root}
        return sorted(folder for folder in roots if folder != root and folder.is_relative_to(root) and folder.is_dir())
    stores = (path for depth in ("*", "*/*") for path in root.glob(f"{depth}/{DATA_FOLDER}/{FINDINGS}"))
    below = sorted(path.parent.parent for path in stores)
    projects = (folder for folder in below if IGNORED_FOLDERS.isdisjoint(folder.relative_to(root).parts))
    found = []
    for folder in projects:
        with suppress(StoreError):  # damaged: not what the user means
            if owner_of(folder / DATA_FOLDER) == OURS and Evaluations(folder / DATA_FOLDER).heads():
                found.append(folder)
    return found


def evaluation(settings: Settings, id_: int) -> Evaluation:
    """A stored evaluation with its runs."""
    found = Evaluations(settings.home).get(id_)
    if found is None:
        raise InputError("no-run", f"There is no evaluation {id_} in {settings.home}. Try: knowbound trend")
    return found


def baseline_of(settings: Settings, now: Evaluation, kind: RateKind = RateKind.RAW) -> Evaluation | None:
    """Return the baseline of the regression gate: the last run with the same test set that failed no gate.

    A run that failed a gate would make its own rise the new normal. So would later runs without gates, until a run
    passes the regression gate again. If no run remains, the first run is the baseline. Runs that counted nothing are
    ignored. If two versions were run together, the baseline is the other version.
    """
    before = [
        head
        for head in evaluations(settings)
        if head.id < now.id and head.series == now.series
        and head.gap.rate.n
        and (head.id == now.compared_with or (not head.against and head.inject == now.inject))  # else another variant
    ]  # fmt: skip
    if not before:
        return None
    baseline, has_regressed = before[0], False
    for head in before:
        # A run without this gate leaves the state as it was.
        has_regressed = not head.gates.get(gate_key(GAP_RATE_REGRESSION, kind), not has_regressed)
        if head.id == now.compared_with or (not has_regressed and all(head.gates.values())):
            baseline = head
    return evaluation(settings, baseline.id)


def compared_of(settings: Settings, now: Evaluation) -> Comparison | None:
    """Return the comparison of the two variants that were run together; None if there was one."""
    return compare(evaluation(settings, now.compared_with), now) if now.compared_with else None


def note_gates(settings: Settings, now: Evaluation, results: Iterable[GateResult]) -> None:
    """Remember which gates a stored evaluation passed and failed; what was not asked now, or not decided, stays."""
    decided = (GateOutcome.PASSED, GateOutcome.FAILED)
    gates = now.gates | {result.key: not result.failed for result in results if result.outcome in decided}
    if gates != now.gates:
        Evaluations(settings.home).note_gates(now.id, gates)


def broken_samples(settings: Settings, before: EvaluationHead, after: EvaluationHead) -> list[str]:
    """The samples that broke from one stored evaluation to another."""
    rows = sample_changes(evaluation(settings, before.id), evaluation(settings, after.id))
    return [row.sample for row in rows if row.change is Change.BROKEN]


def probed_beside(settings: Settings, now: Evaluation) -> Evaluation | None:
    """The newest competency questions, to be shown beside what people wrote and never mixed with it (section 9)."""
    if now.origin is not Origin.WRITTEN:
        return None
    probed = [head.id for head in evaluations(settings) if head.origin is Origin.PROBED]
    return evaluation(settings, probed[-1]) if probed else None


def newest_written(settings: Settings) -> int | None:
    """The id of the newest evaluation of this root that people's samples made."""
    # `against` is set where another version of the knowledge was evaluated.
    written = [head.id for head in evaluations(settings) if not head.against and head.origin is Origin.WRITTEN]
    return written[-1] if written else None


def newest_evaluation(settings: Settings) -> Evaluation | None:
    """The evaluation that was stored last, where it is the newest run of any kind."""
    id_ = newest_written(settings) if Observed(settings.home).newest_kind() == "evaluation" else None
    return None if id_ is None else evaluation(settings, id_)
