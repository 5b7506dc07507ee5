"""The grade of an answer: assertions by rules, programs and judges, rubrics by judges, and their composite.

Each layer is scored from 1 to 5 by the weight of what passed among what was decided; the composite is the mean of the
layers that are present. What is undecided is counted and left out: it is never a failure and never 0. A grade is
stored, so secrets are removed from the texts in it.

A program beside the samples decides a custom assertion, where the person who runs the evaluation allows it. It gets
{output, sample, assertion} as JSON on standard input and prints {pass, message}. A JavaScript module whose default
export (or `check`) is a function is called with (output, {sample, assertion}), as the samples format has it. Whatever
goes wrong leaves the assertion unscored.

An assertion that a refusal to answer also passes is too loose.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from knowbound.evals.assertions import (
    BEHAVIOR,
    FACT,
    JUDGE,
    PROGRAM,
    SET,
    TYPES,
    VERDICT_CHARACTERS,
    AgentAnswer,
    CheckResult,
    decide,
    detail_of,
    layer_of,
    negated,
    short,
)
from knowbound.evals.samples.values import Assertion, Criterion, EvalSample
from knowbound.judge.models.completion import known_sum
from knowbound.judge.rubric import RubricJudge, RubricKind, RubricQuestion, RubricScore
from knowbound.process import find_program, run
from knowbound.stats.evaluation import AssertionGrade, CriterionScore, Grade
from knowbound.text.redact import redact

PASSING_SCORE = 3.0  # from which a judged assertion passes where it gives no threshold (the samples format)
_NO_JUDGE = RubricScore(None, problem="no judge is in force", usd=0.0)  # a key of `unscored` in JSON


def grade(
    sample: EvalSample, answered: AgentAnswer, judge: RubricJudge | None, *, allow_run: bool, folder: Path
) -> Grade:
    """Grade one answer; `folder` is where the samples file is, for custom assertions."""
    questions = _questions(sample, answered)
    scores = judge.score(questions) if judge is not None and questions else [_NO_JUDGE] * len(questions)
    remaining_scores = iter(scores)  # in the order of `_questions`
    assertions = tuple(
        _assertion_grade(assertion, sample, answered, remaining_scores, allow_run, folder)
        for assertion in sample.assertions
    )
    criteria = tuple(_criterion_score(criterion, next(remaining_scores)) for criterion in sample.rubric)
    fact, behavior = _layer_score(assertions, FACT), _layer_score(assertions, BEHAVIOR)
    rubric = _rubric_mean(criteria)
    present = [layer for layer in (fact, behavior, rubric) if layer is not None]
    return Grade(
        assertions=assertions,
        criteria=criteria,
        fact=fact,
        behavior=behavior,
        judge=rubric,
        composite=sum(present) / len(present) if present else None,
        unscored=sum(assertion.passed is None for assertion in assertions)
        + sum(criterion.score is None for criterion in criteria),
        usd=known_sum(*(0.0 if score.cached else score.usd for score in scores)),  # a kept score costs nothing
    )


def judged_parts(sample: EvalSample) -> int:
    """Return how many questions about an answer to a sample are for a judge."""
    return sum(TYPES[assertion.type].decided_by == JUDGE for assertion in sample.assertions) + len(sample.rubric)


def _questions(sample: EvalSample, answered: AgentAnswer) -> list[RubricQuestion]:
    """Return the questions to the judge: the judged assertions of the sample, then the criteria of its rubric."""
    judged = [assertion for assertion in sample.assertions if TYPES[assertion.type].decided_by == JUDGE]
    return [_question(assertion, sample, answered) for assertion in judged] + [
        RubricQuestion(RubricKind.RUBRIC, question=sample.asked, answer=answered.answer, rubric=criterion.text)
        for criterion in sample.rubric
    ]


def _question(assertion: Assertion, sample: EvalSample, answered: AgentAnswer) -> RubricQuestion:
    """Return the question to the judge, with the texts that this assertion type compares (the samples format)."""
    kind = RubricKind(assertion.type)
    source = assertion.reference or sample.context
    answer = answered.answer
    if kind is RubricKind.FAITHFULNESS:  # the prompt alone: the context is given apart
        return RubricQuestion(kind, question=sample.prompt, answer=answer, context=source)
    if kind is RubricKind.CONTEXT_RECALL:
        # How much of the reference is in the answer: the answer is what is searched for its facts.
        return RubricQuestion(kind, question=sample.prompt, answer=answer, context=answer, reference=source)
    return RubricQuestion(kind, question=sample.asked, answer=answer, reference=assertion.reference)


def _assertion_grade(
    assertion: Assertion,
    sample: EvalSample,
    answered: AgentAnswer,
    scores: Iterator[RubricScore],
    allow_run: bool,
    folder: Path,
) -> AssertionGrade:
    """Grade an assertion by its judge, program or rule; a judged one takes the next of the scores."""
    decided_by = TYPES[assertion.type].decided_by
    if decided_by == JUDGE:
        result = negated(assertion, _by_score(assertion, next(scores)))
    elif decided_by == PROGRAM:
        verdict = run_custom(assertion, sample, answered, folder) if allow_run else _NOT_ALLOWED
        result = negated(assertion, verdict)
    else:
        result = decide(assertion, answered)
    return AssertionGrade(
        type=assertion.type,
        detail=detail_of(assertion),
        weight=assertion.weight,
        passed=result.passed,
        reason=result.reason,
        layer=layer_of(assertion),
    )


_NOT_ALLOWED = CheckResult(None, "programs are not run unless --allow-run is given")


def _by_score(assertion: Assertion, score: RubricScore) -> CheckResult:
    """Decide an assertion by a judge's score."""
    if score.score is None:
        return CheckResult(None, score.problem or "the judge gave no score")
    needed = PASSING_SCORE if assertion.threshold is None else assertion.threshold
    return CheckResult(
        score.score >= needed,
        f"{score.score} of 5, {needed:g} needed. {short(score.reason, VERDICT_CHARACTERS)}".strip(),
    )


def _criterion_score(criterion: Criterion, score: RubricScore) -> CriterionScore:
    """Return the score of a criterion as it is stored, without secrets."""
    problem = score.problem or ("" if score.score is not None else "the judge gave no score")
    return CriterionScore(
        name=criterion.name,
        score=score.score,
        weight=criterion.weight,
        reason=redact(score.reason),
        judge=score.judge,
        problem=redact(problem),
        scores=score.scores,
    )


def _layer_score(assertions: Sequence[AssertionGrade], layer: str) -> float | None:
    """Return 1 + 4 × passed weight / decided weight, a score from 1 to 5; None if nothing was decided."""
    decided = [assertion for assertion in assertions if assertion.layer == layer and assertion.passed is not None]
    weight = sum(assertion.weight for assertion in decided)
    return 1 + 4 * sum(assertion.weight for assertion in decided if assertion.passed) / weight if weight else None


def _rubric_mean(criteria: Sequence[CriterionScore]) -> float | None:
    """Return the weighted mean of the criteria that were scored; None if none was."""
    scored = [(criterion.score, criterion.weight) for criterion in criteria if criterion.score is not None]
    all_weight = sum(weight for _, weight in scored)
    return sum(score * weight for score, weight in scored) / all_weight if all_weight else None


# ---- programs that decide

PROGRAM_SECONDS = 30.0  # the samples format

# Calls the module's function; a module without one has read its input and printed by itself.
_DRIVER = """
import { pathToFileURL } from 'node:url';
const module = await import(pathToFileURL(process.argv[1]));
const check = [module.default, module.check, module.default?.check].find((one) => typeof one === 'function');
if (check) {
  const parts = [];
  for await (const part of process.stdin) parts.push(part);
  const { output, sample, assertion } = JSON.parse(Buffer.concat(parts).toString('utf8'));
  console.log(JSON.stringify(await check(output, { sample, assertion })));
}
"""
_SAMPLE_FIELDS = ("sample_id", "prompt", "context", "capability", "difficulty", "construct", "provenance", "metadata")
_ASSERTION_FIELDS = ("type", "fn", "value", "values", "reference", "threshold", "weight")


class ProgramOutput(msgspec.Struct, frozen=True):
    """The JSON object that a program must print."""

    passed: bool = msgspec.field(name="pass")
    message: str = ""


class _UndecidedError(Exception):
    """A program that did not decide; the message says why."""


def run_custom(assertion: Assertion, sample: EvalSample, answered: AgentAnswer, folder: Path) -> CheckResult:
    """Ask the program; `folder` is where the samples file is."""
    program = (folder / assertion.fn).resolve()
    try:
        if not program.is_relative_to(folder.resolve()):
            raise _UndecidedError(f"{assertion.fn} is outside the samples' folder")
        if not program.is_file():
            raise _UndecidedError(f"there is no file {assertion.fn} beside the samples")
        command = _program_command(program, folder)
        question = {
            "output": answered.answer,
            "sample": _given_fields(sample, _SAMPLE_FIELDS),
            "assertion": _given_fields(assertion, _ASSERTION_FIELDS),
        }
        return _program_result(_program_output(command, folder, msgspec.json.encode(question)))
    except _UndecidedError as error:
        return CheckResult(None, str(error))


def _given_fields(struct: msgspec.Struct, keys: Sequence[str]) -> dict[str, object]:
    return {key: value for key, value in msgspec.to_builtins(struct).items() if key in keys and value}


def _program_command(program: Path, folder: Path) -> list[str]:
    """Return the command by the file's extension; a file without a known extension must be executable."""
    if program.suffix == ".py":
        return [sys.executable, str(program)]
    if program.suffix in (".js", ".mjs", ".cjs"):
        if node := find_program("node", folder):
            return [node, "--input-type=module", "-e", _DRIVER, str(program)]
        raise _UndecidedError("node is not here")
    if os.access(program, os.X_OK):
        return [str(program)]
    raise _UndecidedError(f"{program.name} is neither .py nor .js nor .mjs, and is not executable")


def _program_output(command: list[str], folder: Path, question: bytes) -> bytes:
    """Run the program; return its output. Raises _UndecidedError if it did not end well."""
    ran = run(command, folder, PROGRAM_SECONDS, stdin=question)
    last_error = ran.err.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if ran.timed_out:
        raise _UndecidedError(f"the program took more than {PROGRAM_SECONDS:g} seconds")
    if ran.cut:
        raise _UndecidedError("the program printed too much")
    if ran.code is None:
        raise _UndecidedError(f"the program cannot be started: {last_error}")
    if ran.code != 0:
        raise _UndecidedError(f"the program failed with {ran.code}: {short(last_error, VERDICT_CHARACTERS)}")
    return ran.out


def _program_result(output: bytes) -> CheckResult:
    """Read the result from the last line, so that a program may print what it likes before; or from all lines."""
    text = output.strip()
    for part in (text.rpartition(b"\n")[2], text):
        try:
            given = msgspec.json.decode(part, type=ProgramOutput)
        except msgspec.DecodeError:
            continue
        return CheckResult(given.passed, short(given.message, VERDICT_CHARACTERS))
    raise _UndecidedError('the program did not print {"pass": true or false}')


# ---- assertions that are too loose

_REFUSALS = (
    "I do not know.",
    "I could not find anything about this in the documentation: {prompt}",
    "You ask: {prompt} Unfortunately I was not able to find that; the documents I searched do not say it.",
)
_MOST_NAMED = 5


def loose_samples(samples: Iterable[EvalSample]) -> Iterator[tuple[str, str]]:
    """Yield the id of each sample that a refusal passes, and the first of its assertions."""
    for sample in samples:
        facts = [assertion for assertion in sample.assertions if _is_fact(assertion)]
        others = [assertion for assertion in sample.assertions if assertion not in facts]
        if not facts or sample.rubric or others:
            continue  # a judge, a program or the way it was found decides, too
        if any(all(decide(fact, AgentAnswer(text)).passed for fact in facts) for text in refusals(sample.prompt)):
            yield sample.id, f"{facts[0].type} {detail_of(facts[0])}".rstrip()


def refusals(prompt: str) -> list[str]:
    """Return answers to a prompt that say nothing."""
    return [text.format(prompt=prompt) for text in _REFUSALS]


def loose_words(samples: Iterable[EvalSample]) -> str:
    """Return a sentence that names the samples with too loose assertions; "" if there are none."""
    found = list(loose_samples(samples))
    if not found:
        return ""
    named = "; ".join(f"{sample} ({assertion})" for sample, assertion in found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return f"Too loose: an answer that refuses, or repeats the question, passes all that is asserted in {named}{more}."


def _is_fact(assertion: Assertion) -> bool:
    """Report whether rules alone decide the assertion, by what the answer says."""
    if assertion.type == SET:
        return all(map(_is_fact, assertion.children))
    kind = TYPES[assertion.type]
    return kind.layer == FACT and not kind.decided_by
