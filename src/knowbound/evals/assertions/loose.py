"""Assertions that are too loose: an answer that says nothing passes all that a sample asserts.

Shown is what fails: a refusal, and one that repeats the question, are graded as any answer is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from knowbound.evals.assertions.results import AgentAnswer
from knowbound.evals.assertions.rules import decide, detail_of
from knowbound.evals.samples.assertion_types import FACT, SET, TYPES
from knowbound.evals.samples.values import Assertion, EvalSample

_REFUSALS = (
    "I do not know.",
    "I could not find anything about this in the documentation: {prompt}",
    "You ask: {prompt} Unfortunately I was not able to find that; the documents I searched do not say it.",
)
_NAMED = 5


def loose_samples(samples: Iterable[EvalSample]) -> Iterator[tuple[str, str]]:
    """Yield the id of each sample that a refusal passes, and the first of its assertions."""
    for sample in samples:
        facts = [one for one in sample.assertions if _is_fact(one)]
        others = [one for one in sample.assertions if one not in facts]
        if not facts or sample.rubric or others:
            continue  # a judge, a program or the way it was found decides, too
        if any(_passes(text, facts) for text in refusals(sample.prompt)):
            yield sample.id, f"{facts[0].type} {detail_of(facts[0])}".rstrip()


def refusals(prompt: str) -> list[str]:
    """Return answers to a prompt that say nothing."""
    return [text.format(prompt=prompt) for text in _REFUSALS]


def loose_words(samples: Iterable[EvalSample]) -> str:
    """Return a sentence that names the samples with too loose assertions; "" if there are none."""
    found = list(loose_samples(samples))
    if not found:
        return ""
    named = "; ".join(f"{sample} ({assertion})" for sample, assertion in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"Too loose: an answer that refuses, or repeats the question, passes all that is asserted in {named}{more}."


def _is_fact(assertion: Assertion) -> bool:
    if assertion.type == SET:
        return all(map(_is_fact, assertion.children))
    kind = TYPES[assertion.type]
    return kind.layer == FACT and not kind.decided_by


def _passes(text: str, facts: Iterable[Assertion]) -> bool:
    return all(decide(one, AgentAnswer(text)).passed for one in facts)
