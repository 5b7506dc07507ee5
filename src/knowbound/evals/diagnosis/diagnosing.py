"""From failed samples to causes: rules show what they can, a model proposes the rest and quotes, rules verify.

Where a quotation is, whether the agent had read it, and whether a run ended well is decided by rules alone, also
against the model.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from knowbound.codebase.tree import SourceTree
from knowbound.core.evaluation import Cause, SampleCause
from knowbound.evals.diagnosis.material import CauseMaterial, FailedRun, expected_words, material_of, was_shown
from knowbound.evals.samples.values import EvalSample
from knowbound.evals.tracing import Traced
from knowbound.judge.material import is_quoted
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import AskResult
from knowbound.judge.prompts import CAUSES, load_prompt
from knowbound.stats.comparison import answers
from knowbound.stats.evaluation import RunEnding, SampleRun
from knowbound.text.redact import excerpt, redact

_SECONDS = 120.0  # for searching the knowledge
_KEPT = 400  # characters of a quotation or a sentence


class CauseAnswer(msgspec.Struct, frozen=True):
    """Answer of the model about one failed sample."""

    cause: Literal["missing", "there", "contradicted", "agent_failed", "sample_bad"]
    passage: int = 0
    quote: str = ""
    other: int = 0
    other_quote: str = ""
    why: str = ""
    fix: str = ""


def failed_runs(
    samples: Sequence[EvalSample], runs: Iterable[SampleRun], traced: Mapping[str, Traced], folder: str = ""
) -> list[FailedRun]:
    """Return one failed run of every sample that more than half of its runs do not answer; `traced` is by trace file.

    A complete run is preferred: one that crashed says nothing about the knowledge. What never began is no failure.
    """
    own: dict[str, list[SampleRun]] = {}
    for run in runs:
        if not run.was_left:
            own.setdefault(run.sample, []).append(run)
    found = []
    for sample in samples:
        mine = own.get(sample.id, [])
        bad = [run for run in mine if not run.is_complete or not answers(run)]
        if 2 * len(bad) <= len(mine) or not bad:
            continue
        run = next((one for one in bad if one.is_complete), bad[0])
        trace = traced.get(run.trace)
        found.append(FailedRun(sample, run, run.answer, trace.calls if trace else (), folder))
    return found


def diagnose(failed: Sequence[FailedRun], folder: Path, files: Sequence[str], asker: Asker | None) -> list[SampleCause]:
    """Return the cause of every failed sample, in their order; `files` are the knowledge files of the folder."""
    tree = SourceTree(folder, time.monotonic() + _SECONDS, only=files)
    found = {one.sample.id: by_rules(one, tree) for one in failed}
    ended = [one for one in failed if found[one.sample.id].cause is not Cause.AGENT_FAILED]
    if asker is not None and ended:
        shown = [material_of(one, tree) for one in ended]
        checks = [partial(_problem, material) for material in shown]
        asked = asker.ask(load_prompt(CAUSES), [one.texts for one in shown], CauseAnswer, checks)
        for one, material, answer in zip(ended, shown, asked, strict=True):
            found[one.sample.id] = _decided(one, material, answer, found[one.sample.id], asker.judge)
    return [_with_expected(found[one.sample.id], one.sample) for one in failed]


def _with_expected(cause: SampleCause, sample: EvalSample) -> SampleCause:
    expected = sample.metadata.get("expected")
    return msgspec.structs.replace(cause, expected=redact(expected)) if isinstance(expected, str) else cause


def by_rules(failed: FailedRun, tree: SourceTree) -> SampleCause:
    """Return what rules show: how the run ended, and where the expected words are, letter by letter."""
    sample, run = failed.sample, failed.run
    if run.ending is not RunEnding.DONE:
        why = run.problem or f"the run ended as {run.ending}"
        return SampleCause(sample.id, Cause.AGENT_FAILED, excerpt(why, _KEPT), fix=_FIXES[run.ending])
    wanted = expected_words(sample)
    if not wanted:
        return SampleCause(sample.id, Cause.UNDECIDED, "no assertion names the words of a right answer")
    outputs = _plain("\n".join(failed.outputs))
    if text := next((one for one in wanted if _is_specific(one) and _plain(one) in outputs), ""):
        path, line = _place_of(text, tree)
        return SampleCause(sample.id, Cause.NOT_USED, f"tools returned “{text}”", path, line, text if path else "")
    for text in wanted:
        path, line = _place_of(text, tree)
        if path and _is_specific(text):
            return SampleCause(sample.id, Cause.NOT_FOUND, "it is there, letter by letter", path, line, text)
    if not any(_place_of(text, tree)[0] for text in wanted):
        why = "the expected words are in no knowledge file; other words may be"
        return SampleCause(sample.id, Cause.MISSING, why)
    return SampleCause(sample.id, Cause.UNDECIDED, "the expected words are too common to show where the answer is")


_FIXES = {
    RunEnding.CRASHED: "Look at the run's own error; raise retries.",
    RunEnding.TIMEOUT: "Give a sample more time: --seconds.",
    RunEnding.BUDGET: "Give a sample a larger budget: --sample-budget.",
    RunEnding.INCOMPLETE: "Run it again: its trace has no end.",
}
_SPECIFIC = 5  # characters: a shorter text is somewhere by chance


def _is_specific(text: str) -> bool:
    return len(text.strip()) >= _SPECIFIC or not text.strip().isalnum()


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _place_of(text: str, tree: SourceTree) -> tuple[str, int]:
    """Return where a text is in the knowledge, in any case; "" where it is nowhere."""
    needle = _plain(text)
    if len(needle) < 2:
        return "", 0
    for path in tree.files:
        for number, line in enumerate((tree.text(path) or "").split("\n"), 1):
            if needle in _plain(line):
                return path, number
    return "", 0


def _problem(material: CauseMaterial, answer: CauseAnswer) -> str:
    """Return why an answer cannot be used, or ""."""
    passages = material.passages
    if answer.cause in ("there", "contradicted", "sample_bad"):
        if not 1 <= answer.passage <= len(passages):
            return f"{answer.cause} needs the number of a passage"
        if not is_quoted(answer.quote, [passages[answer.passage - 1].text]):
            return "the quotation is not in the passage"
    if answer.cause == "contradicted":
        if not 1 <= answer.other <= len(passages) or not is_quoted(
            answer.other_quote, [passages[answer.other - 1].text]
        ):
            return "the second quotation is not in its passage"
        if answer.other_quote.strip() == answer.quote.strip():
            return "both quotations are the same"
    return ""


def _decided(
    failed: FailedRun, material: CauseMaterial, asked: AskResult[CauseAnswer], rules: SampleCause, judge: str
) -> SampleCause:
    """Return the verified answer; where there is none, what rules show, with the problem."""
    answer = asked.value
    if answer is None:
        return msgspec.structs.replace(rules, problem=asked.problem)
    passages = material.passages
    near = passages[answer.passage - 1] if 1 <= answer.passage <= len(passages) else None
    other = passages[answer.other - 1] if answer.cause == "contradicted" else None
    return SampleCause(
        failed.sample.id,
        _cause(failed, answer),
        excerpt(answer.why, _KEPT),
        near.path if near else "",
        near.line_of(answer.quote) if near and answer.quote else near.first if near else 0,
        excerpt(answer.quote, _KEPT) if near else "",
        other.path if other else "",
        other.line_of(answer.other_quote) if other else 0,
        excerpt(answer.other_quote, _KEPT) if other else "",
        excerpt(answer.fix, _KEPT),
        by=judge,
    )


def _cause(failed: FailedRun, answer: CauseAnswer) -> Cause:
    """Return the cause; whether what is there was read is looked up in what the tools returned."""
    if answer.cause != "there":
        return Cause(answer.cause)
    seen = is_quoted(answer.quote, failed.outputs) or was_shown(answer.quote, failed.outputs)
    return Cause.NOT_USED if seen else Cause.NOT_FOUND
