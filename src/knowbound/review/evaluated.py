"""Actions from the causes of failed samples of the newest evaluation: what to write down, and what to repair.

A line is proposed only where the sample's author wrote the answer down (`metadata.expected`): a model's own words about
missing knowledge are shown, never written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from knowbound.config import Settings
from knowbound.core.action import Action, ActionCost, ActionKind, action_id
from knowbound.core.evaluation import Cause, SampleCause
from knowbound.core.signal import Example
from knowbound.errors import StoreError
from knowbound.patching import FilePatch, read_below
from knowbound.report.words import place_words
from knowbound.review.proposing import Proposed, diff_of
from knowbound.stats.evaluation import Evaluation, Origin, SampleRun
from knowbound.store.evaluations import Evaluations
from knowbound.store.screens import Fix
from knowbound.text.markdown import sections_of
from knowbound.text.printable import short_line

MOST = 4
_WORTH = 3.0  # calls that a failed sample counts for, as a wrong line does
_SHOWN = 110  # characters of a question or quotation


def newest_evaluation_id(home: Path) -> int:
    """Return the id of the newest evaluation of written samples; 0 if there is none."""
    try:
        heads = Evaluations(home).heads()
    except StoreError:
        return 0
    return next((head.id for head in reversed(heads) if not head.against and head.origin is Origin.WRITTEN), 0)


def evaluation_actions(settings: Settings) -> list[Proposed]:
    """Return the actions for failed samples: contradictions, missing knowledge, bad samples."""
    try:
        newest = Evaluations(settings.home).newest(Origin.WRITTEN)
    except StoreError:  # damaged; `eval` says so
        return []
    return list(_actions(newest, settings))[:MOST] if newest else []


def _actions(evaluation: Evaluation, settings: Settings) -> Iterator[Proposed]:
    runs = {run.sample: run for run in evaluation.runs}
    order = (Cause.CONTRADICTED, Cause.MISSING, Cause.SAMPLE_BAD)
    decided = [one for one in evaluation.causes if one.cause in order and one.sample in runs]
    for one in sorted(decided, key=lambda one: order.index(one.cause)):
        yield _action(one, runs[one.sample], settings)


def _action(one: SampleCause, run: SampleRun, settings: Settings) -> Proposed:
    asked = short_line(run.prompt, _SHOWN)
    fix = None
    if one.cause is Cause.MISSING:
        kind, place = ActionKind.WRITE, one.path
        title = f"No document answers “{asked}”" + (f"; it belongs in {one.path}" if one.path else "")
        patch = _patch(one, settings)
        id_ = action_id(kind, f"sample {one.sample}")
        fix = Fix(id_, title, [patch]) if patch else None
    elif one.cause is Cause.CONTRADICTED:
        kind, place = ActionKind.REPAIR, one.other_path
        both = f"{place_words(one.other_path, one.other_line)} and {place_words(one.path, one.line)}"
        title = f"{both} disagree: “{short_line(one.other_quote, _SHOWN)}” against “{short_line(one.quote, _SHOWN)}”"
        id_ = action_id(kind, f"sample {one.sample}")
    else:
        kind, place = ActionKind.REPAIR, run.file
        title = f"{place_words(Path(run.file).name, run.line)}: sample {one.sample} fails a right answer"
        id_ = action_id(kind, f"sample {one.sample}")
    why = " ".join(part for part in (one.why, f"To do: {one.fix}" if one.fix else "") if part)
    evidence = [Example(run.session, run.trace, 0)] if run.trace else []
    action = Action(
        id_, kind, title, why, ActionCost(sessions=1), evidence, place=place, diff=diff_of(fix), by=one.by
    )  # fmt: skip
    return Proposed(action, fix, _WORTH)


def _patch(one: SampleCause, settings: Settings) -> FilePatch | None:
    """Return the change that writes the author's answer at the end of the section it belongs in."""
    if not one.expected or not one.path:
        return None
    before = read_below(settings.root, one.path)
    lines = before.decode("utf-8", "surrogateescape").split("\n")
    around = [
        one_ for one_ in sections_of(one.path, "\n".join(lines)) if one_.line <= max(1, one.line) <= one_.end_line
    ]
    end = around[-1].end_line if around else len(lines)
    lines[end:end] = ["", " ".join(one.expected.split())]
    return FilePatch(one.path, before, "\n".join(lines).encode("utf-8", "surrogateescape"))
