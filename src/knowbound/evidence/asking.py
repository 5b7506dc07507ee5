"""Questions to a model: what to search for, and what the passages that were found say (model.tasks.investigate).

The model proposes the plan and the answer. Rules verify: a sentence counts only if its quotation is verbatim in the
passage that it names, and that passage can answer at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from knowbound.codebase.tree import SourceTree
from knowbound.core.evidence import Evidence, EvidenceClass, Intent
from knowbound.evidence.material import ShownPassage, project_words
from knowbound.evidence.plan import LONGEST_TERM, MOST_TERMS, Plan, read_plan
from knowbound.evidence.producers.read import unfit
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import sendable
from knowbound.judge.prompts import PLAN, READ, load_prompt
from knowbound.judge.quotations import is_quoted

_SENTENCES, _LONGEST_SENTENCE = 4, 500
_MOST_TRIED = 6  # terms that one reading proposes


class PlanAnswer(msgspec.Struct, frozen=True):
    """The model's plan."""

    kind: Intent
    terms: list[str]


class ReadSentence(msgspec.Struct, frozen=True):
    """One sentence of an answer, with the passage and the words that show it."""

    text: str
    passage: int
    quote: str


class ReadAnswer(msgspec.Struct, frozen=True, rename={"more": "try"}):
    """The model's reading of passages."""

    answer: list[ReadSentence] = []
    more: list[str] = []
    nearest: int = 0


class CitedSentence(NamedTuple):
    """A sentence whose quotation was found in its passage."""

    text: str
    passage: ShownPassage
    quote: str
    line: int


class TextReading(NamedTuple):
    """Outcome of a reading: the verified sentences, terms to try, the nearest passage, and what went wrong."""

    sentences: tuple[CitedSentence, ...] = ()
    more: tuple[str, ...] = ()
    nearest: ShownPassage | None = None
    problem: str = ""


def ask_plan(question: str, tree: SourceTree, asker: Asker) -> Plan | None:
    """Return the plan of a model; None if it gave none."""
    material = {"question": sendable(question), "project": project_words(tree)}
    (asked,) = asker.ask(load_prompt(PLAN), [material], PlanAnswer, [_plan_problem], until=tree.deadline)
    if asked.value is None:
        return None
    return read_plan(question, asked.value.kind, asked.value.terms, asker.judge)


def _plan_problem(given: PlanAnswer) -> str:
    if given.kind is not Intent.CHAT and not any(term.strip() for term in given.terms):
        return "there are no terms"
    longest = max(map(len, given.terms), default=0)
    return f"a term has {longest} characters, at most {LONGEST_TERM} are searched" if longest > LONGEST_TERM else ""


def ask_reading(
    plan: Plan, passages: Sequence[ShownPassage], entries: Sequence[Evidence], asker: Asker, until: float
) -> TextReading:
    """Return what the passages say to the question, as far as quotations show it; nothing after `until`."""
    if not passages:
        return TextReading()
    material = {
        "question": sendable(plan.question),
        "passages": "\n\n".join(one.shown(number) for number, one in enumerate(passages, 1)),
        "searched": sendable("\n".join(_searched(plan, entries))),
    }

    def problem(given: ReadAnswer) -> str:
        wrong = [one.quote for one in given.answer if _cited(one, passages) is None]
        return f"not verbatim in its passage: {wrong[0][:100]}" if wrong and len(wrong) == len(given.answer) else ""

    (asked,) = asker.ask(load_prompt(READ), [material], ReadAnswer, [problem], until=until)
    if asked.value is None:
        return TextReading(problem=asked.problem)
    given = asked.value
    cited = [one for each in given.answer[:_SENTENCES] if (one := _cited(each, passages)) is not None]
    refused = [reason for one in cited if (reason := unfit(one.passage.place.path, plan.subject))]
    kept = tuple(one for one in cited if not unfit(one.passage.place.path, plan.subject))
    near = passages[given.nearest - 1] if 1 <= given.nearest <= len(passages) else (cited[0].passage if cited else None)
    if not kept and refused:
        return TextReading((), tuple(given.more[:_MOST_TRIED]), near, refused[0])
    if plan.intent is Intent.COMPARE and len({one.passage.place for one in kept}) == 1 and len(kept) > 1:
        kept = kept if len({one.quote for one in kept}) > 1 else ()
    return TextReading(kept, () if kept else tuple(given.more[:_MOST_TRIED]), near)


def _cited(given: ReadSentence, passages: Sequence[ShownPassage]) -> CitedSentence | None:
    """Return a sentence with its passage, if its quotation is there; the number may be that of a neighbour."""
    numbers = [given.passage, *(at for at in range(1, len(passages) + 1) if at != given.passage)]
    for number in numbers:
        if 1 <= number <= len(passages) and is_quoted(given.quote, [passages[number - 1].text]):
            passage = passages[number - 1]
            text = " ".join(given.text.split())[:_LONGEST_SENTENCE]
            return CitedSentence(text, passage, given.quote.strip(), passage.line_of(given.quote))
    return None


def _searched(plan: Plan, entries: Sequence[Evidence]) -> list[str]:
    best: dict[str, Evidence] = {}
    for entry in entries:
        if entry.cls is EvidenceClass.FILE_SEARCH:
            known = best.get(entry.target)
            best[entry.target] = entry if known is None or entry.quality.rank > known.quality.rank else known
    if not best:
        return [term.text for term in (*plan.terms, *plan.proposed)][:MOST_TERMS]
    return [f"{target}: {one.match_count} found, {one.quality}" for target, one in best.items()]
