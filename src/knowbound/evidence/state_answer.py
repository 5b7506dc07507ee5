"""The answer to a question about a run, the tree or the history: what the authoritative tool says, as one sentence.

A runner's failure is evidence of failure, so "do the tests pass" is answered with no and what failed. Questions about
files are answered by their sources.
"""

from __future__ import annotations

import re

import msgspec

from knowbound.core.evidence import PER_TERM, SUCCESS, Evidence, GivenAnswer, Investigation, Place, QuestionKind, Shows
from knowbound.text.questions.intent import AskedQuestion

_ORDERS = frozenset({QuestionKind.RUN_BUILD, QuestionKind.RUN_TESTS, QuestionKind.EXECUTE})
_SAID: dict[QuestionKind, tuple[str, str]] = {
    QuestionKind.TESTS_PASS: ("the tests pass", "the tests do not pass"),
    QuestionKind.COMPILES: ("it builds", "it does not build"),
    QuestionKind.WORKS: ("it builds and the tests pass", "it does not work as it is"),
    QuestionKind.CI_STATE: ("it passed", "it failed"),
}
# "Are there failing tests" and "which tests fail" are not answered by yes or no alike.
_HOPES = re.compile(
    r"^(?!\W*(?:which|what|how|when|who|why|where)\b)(?!.*\b(?:fail|broke|break|red\b|error|warning|crash|problem|"
    r"not\b))",
    re.I,
)


def with_answer(asked: AskedQuestion, found: Investigation) -> Investigation:
    """The investigation with its answer in words, where the class that decides it is not about files."""
    classes = {need.cls for need in asked.needs} - PER_TERM
    deciding = [entry for entry in found.evidence if entry.cls in classes and entry.note and not entry.cites]
    if (
        found.outcome != SUCCESS
        or not deciding
        or (PER_TERM & {need.cls for need in asked.needs} and not _is_cause(asked))
    ):
        return found
    best = max(deciding, key=lambda entry: entry.quality.rank)
    place = best.places[0] if best.places else Place("")
    said = GivenAnswer(_answer(asked, deciding), place.path, place.line)
    return msgspec.structs.replace(found, answer=said)


def _is_cause(asked: AskedQuestion) -> bool:
    return asked.kind is QuestionKind.CI_CAUSE


def _answer(asked: AskedQuestion, entries: list[Evidence]) -> str:
    best = {entry.cls: entry for entry in sorted(entries, key=lambda entry: entry.quality.rank)}
    runs = list(best.values())
    failing = [entry for entry in runs if entry.shows is Shows.FAILS]
    said = "; ".join(entry.note.removeprefix("fails: ") for entry in failing or runs)
    if asked.kind in _ORDERS:
        return f"Done: {said}"
    if asked.kind not in _SAID or all(entry.shows is Shows.NOTHING for entry in runs):
        return said[:1].upper() + said[1:]
    words = _SAID[asked.kind][1 if failing else 0]
    if _HOPES.match(asked.corrected):
        return f"{'No' if failing else 'Yes'}, {words}: {said}"
    return f"{words[:1].upper()}{words[1:]}: {said}"
