"""From failed samples to causes: rules show what they can, a model proposes the rest and quotes, rules verify.

A model gets the passages nearest to the question and to what was expected. Where a quotation is, whether the agent had
read it, and whether a run ended well is decided by rules alone, also against the model.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from knowbound.codebase.passages import CodePassage
from knowbound.codebase.tree import SourceTree
from knowbound.evals.assertions import FACT, TYPES, ToolUse
from knowbound.evals.samples.values import Assertion, EvalSample
from knowbound.evals.tracing import Traced
from knowbound.evidence.producers.passages import ranked_for
from knowbound.judge.material import is_quoted, line_of, names_in, shortened
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import AskResult, sendable
from knowbound.judge.prompts import load_prompt
from knowbound.stats.comparison import answers
from knowbound.stats.evaluation import Cause, RunEnding, SampleCause, SampleRun
from knowbound.text.english import STOP_WORDS
from knowbound.text.printable import estimated_tokens
from knowbound.text.redact import excerpt, redact

_ALL_PASSAGES_TOKENS, _PASSAGE_TOKENS, _MOST_PASSAGES = 3_200, 340, 14
_PLACE_TOKENS = 20  # of the line above a passage
_ANSWER_TOKENS, _ALL_CALLS_TOKENS, _CALL_TOKENS = 500, 900, 160
_RANKED = 12  # passages of one ranking
_RANK_OFFSET = 10.0  # of reciprocal rank fusion: the larger, the less the first ranks differ
_WORD = re.compile(r"[\w][\w.-]*")
_NOT_WANTED = ("not_contains", "not_matches", "not_contains_any")


class FailedRun(NamedTuple):
    """A run of a sample that does not answer it, with the calls in its trace."""

    sample: EvalSample
    run: SampleRun
    answer: str
    calls: tuple[ToolUse, ...] = ()
    folder: str = ""  # where the agent worked; left out of what is shown

    @property
    def outputs(self) -> list[str]:
        """Output of the agent's tools."""
        return [call.output for call in self.calls if call.output]

    def shown(self, text: str) -> str:
        """Return a text for the model, with paths from the knowledge base."""
        return sendable(text.replace(f"{self.folder}/", "") if self.folder else text)


class NearPassage(msgspec.Struct, frozen=True):
    """A passage of a knowledge file as the model is shown it."""

    path: str
    first: int
    last: int
    heading: str
    text: str
    was_read: bool

    def shown(self, number: int) -> str:
        """Return the passage below its number, its place and whether the agent read it."""
        read = "read" if self.was_read else "not read"
        heading = f" {self.heading}" if self.heading else ""
        return f"[{number}] {self.path}:{self.first}-{self.last} ({read}){heading}\n{self.text}"


class CauseMaterial(NamedTuple):
    """The texts of a question, and its passages by number."""

    texts: dict[str, str]
    passages: list[NearPassage]

    def passage(self, number: int) -> NearPassage | None:
        """Return the passage that an answer names; None if there is no such number."""
        return self.passages[number - 1] if 1 <= number <= len(self.passages) else None


def material_of(failed: FailedRun, tree: SourceTree) -> CauseMaterial:
    """Return what a model is shown of a failed run."""
    passages = near_passages(failed, tree)
    names = names_in([failed.sample.asked, *expected_words(failed.sample)])
    texts = {
        "question": sendable(failed.sample.asked),
        "expected": sendable("\n".join(expectations(failed))),
        "answer": shortened(failed.shown(failed.answer), _ANSWER_TOKENS, names) or "(no answer)",
        "calls": _calls_text(failed, names),
        "passages": "\n\n".join(passage.shown(number) for number, passage in enumerate(passages, 1)) or "(none)",
    }
    return CauseMaterial(texts, passages)


def expectations(failed: FailedRun) -> Iterator[str]:
    """Yield what was asserted of the answer, and how it came out."""
    graded = failed.run.grade.assertions
    for number, assertion in enumerate(failed.sample.assertions):
        grade = graded[number] if number < len(graded) else None  # a run that did not end well is not graded
        outcome = "undecided" if grade is None or grade.passed is None else "passed" if grade.passed else "FAILED"
        yield f"- {outcome}: {_assertion_text(assertion)}" + (f" ({grade.reason})" if grade and grade.reason else "")
    scores = {criterion.name: criterion for criterion in failed.run.grade.criteria}
    for criterion in failed.sample.rubric:
        score = scores.get(criterion.name)
        verdict = f"scored {score.score} of 5: {score.reason}" if score and score.score is not None else "not scored"
        yield f"- rubric, {verdict}: {criterion.text}"
    if isinstance(expected := failed.sample.metadata.get("expected"), str):
        yield f"- the right answer, by the sample's author: {expected}"
    if not failed.sample.assertions and not failed.sample.rubric:
        signals = "; ".join(f"{signal.type} {signal.query or signal.text}".strip() for signal in failed.run.signals[:4])
        yield f"- an answer without a gap. FAILED: {signals or 'a gap'}"


def _assertion_text(assertion: Assertion) -> str:
    """Return an assertion in words, as the model is shown it."""
    parts = [f"{assertion.value}" if assertion.value is not None else "", assertion.pattern, assertion.reference]
    parts += [" | ".join(assertion.values)] if assertion.values else []
    if assertion.children:
        parts.append(f"{assertion.mode} of: " + "; ".join(map(_assertion_text, assertion.children)))
    return f"{'not ' if assertion.negated else ''}{assertion.type} {' '.join(filter(None, parts))}".rstrip()


def expected_words(sample: EvalSample) -> list[str]:
    """Return the texts that a right answer is expected to have, as far as assertions name them."""
    found = [text for assertion in sample.assertions for text in _texts_of(assertion)]
    return [text for text in dict.fromkeys(found) if text.strip()]


def _texts_of(assertion: Assertion) -> Iterator[str]:
    """Yield the texts that an assertion wants in the answer; nothing if it forbids them or is not about facts."""
    if assertion.negated or assertion.type in _NOT_WANTED:
        return
    for child in assertion.children:
        yield from _texts_of(child)
    if assertion.type in TYPES and TYPES[assertion.type].layer == FACT:
        yield from (assertion.value,) if isinstance(assertion.value, str) else ()
        yield from assertion.values
        yield from (assertion.reference,) if assertion.reference else ()


def near_passages(failed: FailedRun, tree: SourceTree) -> list[NearPassage]:
    """Return the passages of the knowledge that are nearest to the question and to what was expected, best first."""
    question, expected = failed.sample.asked, " ".join(expected_words(failed.sample))
    scores: dict[tuple[str, int, int], float] = {}
    found: dict[tuple[str, int, int], CodePassage] = {}
    # The rankings are fused by rank, so that a passage near to several texts wins. The answer is probably wrong.
    for text, weight in ((question, 1.0), (expected, 0.9), (f"{question} {expected}", 1.0), (failed.answer, 0.4)):
        words = _search_words(text)
        for rank, near in enumerate(ranked_for(tree, text[:400], words)[:_RANKED] if words else ()):
            key = (near.passage.path, near.passage.first, near.passage.last)
            scores[key] = scores.get(key, 0.0) + weight / (_RANK_OFFSET + rank)
            found[key] = near.passage
    outputs, names = failed.outputs, names_in([question, expected])
    shown, tokens = list[NearPassage](), 0
    for key in sorted(scores, key=lambda key: (-scores[key], key)):
        passage = _near_passage(found[key], tree, names, outputs)
        tokens += estimated_tokens(passage.text) + _PLACE_TOKENS
        if tokens > _ALL_PASSAGES_TOKENS or len(shown) >= _MOST_PASSAGES:
            break
        shown.append(passage)
    return shown


def _search_words(text: str) -> list[str]:
    words = (word.strip(".-").lower() for word in _WORD.findall(text[:2_000]))
    return list(dict.fromkeys(word for word in words if len(word) > 1 and word not in STOP_WORDS))[:24]


def _near_passage(passage: CodePassage, tree: SourceTree, names: frozenset[str], outputs: Sequence[str]) -> NearPassage:
    """Return a passage as the model is shown it: of a long one, the lines with the most of the names."""
    lines = (tree.text(passage.path) or "").split("\n")[passage.first - 1 : passage.last]
    start, end = _best_window(lines, names)
    text, heading = sendable("\n".join(lines[start:end])), " › ".join(filter(None, (passage.above, passage.name)))
    first, last = passage.first + start, passage.first + end - 1
    return NearPassage(passage.path, first, last, heading, text, was_shown(text, outputs))


def _best_window(lines: Sequence[str], names: frozenset[str]) -> tuple[int, int]:
    """Return the start and end of the lines within the token limit that have the most names; of equals, the first."""
    tokens = [estimated_tokens(line) + 1 for line in lines]
    if sum(tokens) <= _PASSAGE_TOKENS:
        return 0, len(lines)
    hits = [len(names_in([line]) & names) for line in lines]
    most_hits, best_start, best_end, start = -1, 0, 0, 0
    for end in range(1, len(lines) + 1):
        while sum(tokens[start:end]) > _PASSAGE_TOKENS and start < end - 1:
            start += 1
        window_hits = sum(hits[start:end])
        # From the same start, the longer window is the better one.
        if window_hits > most_hits or (window_hits == most_hits and start == best_start):
            most_hits, best_start, best_end = window_hits, start, end
    return best_start, best_end


def was_shown(text: str, outputs: Iterable[str]) -> bool:
    """Report whether most lines of a passage that say something were in what tools returned."""
    outputs = list(outputs)
    lines = [line for line in text.split("\n") if len(line.strip()) > 12] or [text]  # 12: brackets, list marks
    return bool(outputs) and 2 * sum(is_quoted(line[:200], outputs) for line in lines) > len(lines)


def _calls_text(failed: FailedRun, names: frozenset[str]) -> str:
    """Return the agent's calls as the model is shown them: the first ones that fit, with the number of the rest."""
    if not failed.run.shows_calls:
        return "(the agent left no trace of its tool calls)"
    shown, tokens = list[str](), 0
    for number, call in enumerate(failed.calls, 1):
        body = shortened(failed.shown(call.output), _CALL_TOKENS, names)
        text = f"[{number}] {call.tool} {failed.shown(call.input)[:300]}\n{body or '(nothing came back)'}"
        tokens += estimated_tokens(text)
        if tokens > _ALL_CALLS_TOKENS:
            shown.append(f"[… {len(failed.calls) - number + 1} more calls]")
            break
        shown.append(text)
    return "\n".join(shown) or "(no tool call)"


_SEARCH_SECONDS = 120.0  # for searching the knowledge
_KEPT_CHARACTERS = 400  # of a quotation or a sentence


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
    runs_by_sample: dict[str, list[SampleRun]] = {}
    for run in runs:
        if not run.was_left:
            runs_by_sample.setdefault(run.sample, []).append(run)
    failed = []
    for sample in samples:
        begun = runs_by_sample.get(sample.id, [])
        unanswered = [run for run in begun if not run.is_complete or not answers(run)]
        if 2 * len(unanswered) <= len(begun) or not unanswered:
            continue
        run = next((run for run in unanswered if run.is_complete), unanswered[0])
        trace = traced.get(run.trace)
        failed.append(FailedRun(sample, run, run.answer, trace.calls if trace else (), folder))
    return failed


def diagnose(failed: Sequence[FailedRun], folder: Path, files: Sequence[str], asker: Asker | None) -> list[SampleCause]:
    """Return the cause of every failed sample, in their order; `files` are the knowledge files of the folder."""
    tree = SourceTree(folder, time.monotonic() + _SEARCH_SECONDS, only=files)
    causes = {failure.sample.id: by_rules(failure, tree) for failure in failed}
    answered = [failure for failure in failed if causes[failure.sample.id].cause is not Cause.AGENT_FAILED]
    if asker is not None and answered:  # why an agent's process failed, a model cannot see from passages
        materials = [material_of(failure, tree) for failure in answered]
        checks = [partial(_problem, material) for material in materials]
        results = asker.ask(load_prompt("causes"), [material.texts for material in materials], CauseAnswer, checks)
        for failure, material, result in zip(answered, materials, results, strict=True):
            causes[failure.sample.id] = _decided(failure, material, result, causes[failure.sample.id], asker.judge)
    found = []
    for failure in failed:
        cause, expected = causes[failure.sample.id], failure.sample.metadata.get("expected")
        found.append(msgspec.structs.replace(cause, expected=redact(expected)) if isinstance(expected, str) else cause)
    return found


def by_rules(failed: FailedRun, tree: SourceTree) -> SampleCause:
    """Return what rules show: how the run ended, and where the expected words are, letter by letter."""
    sample, run = failed.sample, failed.run
    if run.ending is not RunEnding.DONE:
        why = run.problem or f"the run ended as {run.ending}"
        return SampleCause(sample.id, Cause.AGENT_FAILED, excerpt(why, _KEPT_CHARACTERS), fix=_FIXES[run.ending])
    wanted = expected_words(sample)
    if not wanted:
        return SampleCause(sample.id, Cause.UNDECIDED, "no assertion names the words of a right answer")
    outputs = _normalised("\n".join(failed.outputs))
    if text := next((word for word in wanted if _is_specific(word) and _normalised(word) in outputs), ""):
        path, line = _place_of(text, tree)
        return SampleCause(sample.id, Cause.NOT_USED, f"tools returned “{text}”", path, line, text if path else "")
    places = {text: _place_of(text, tree) for text in wanted}
    for text, (path, line) in places.items():
        if path and _is_specific(text):
            return SampleCause(sample.id, Cause.NOT_FOUND, "it is there, letter by letter", path, line, text)
    if not any(path for path, _ in places.values()):
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


def _normalised(text: str) -> str:
    return " ".join(text.lower().split())


def _place_of(text: str, tree: SourceTree) -> tuple[str, int]:
    """Return where a text is in the knowledge, in any case; "" where it is nowhere."""
    needle = _normalised(text)
    if len(needle) < 2:
        return "", 0  # one sign is everywhere
    for path in tree.files:
        for number, line in enumerate((tree.text(path) or "").split("\n"), 1):
            if needle in _normalised(line):
                return path, number
    return "", 0


def _problem(material: CauseMaterial, answer: CauseAnswer) -> str:
    """Return why an answer cannot be used, or ""."""
    near, other = material.passage(answer.passage), material.passage(answer.other)
    if answer.cause in ("there", "contradicted", "sample_bad"):
        if near is None:
            return f"{answer.cause} needs the number of a passage"
        if not is_quoted(answer.quote, [near.text]):
            return "the quotation is not in the passage"
    if answer.cause == "contradicted":
        if other is None or not is_quoted(answer.other_quote, [other.text]):
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
    if answer.cause == "there":  # it was not used if a tool returned it, else not found
        was_returned = is_quoted(answer.quote, failed.outputs) or was_shown(answer.quote, failed.outputs)
        cause = Cause.NOT_USED if was_returned else Cause.NOT_FOUND
    else:
        cause = Cause(answer.cause)
    near = material.passage(answer.passage)
    other = material.passage(answer.other) if answer.cause == "contradicted" else None
    return SampleCause(
        sample=failed.sample.id,
        cause=cause,
        why=excerpt(answer.why, _KEPT_CHARACTERS),
        path=near.path if near else "",
        line=line_of(answer.quote, near.text, near.first) if near else 0,
        quote=excerpt(answer.quote, _KEPT_CHARACTERS) if near else "",
        other_path=other.path if other else "",
        other_line=line_of(answer.other_quote, other.text, other.first) if other else 0,
        other_quote=excerpt(answer.other_quote, _KEPT_CHARACTERS) if other else "",
        fix=excerpt(answer.fix, _KEPT_CHARACTERS),
        by=judge,
    )
