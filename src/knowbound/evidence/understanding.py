"""A question that a model reads: search what it proposes, show it passages, verify its quotations, grade.

The model proposes the plan and the answer (model.tasks.investigate), and other terms twice. A sentence counts only if
its quotation is verbatim in the passage that it names, and that passage can answer at all. A quotation in a passage
that a search found exactly is corroborated by that search; one in a passage that only the ranking brought is looked up
as it is quoted, and corroborates nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from knowbound.codebase.tree import SourceTree
from knowbound.core.evidence import CitedSource, Evidence, EvidenceClass, GivenAnswer, Intent, NearPlace, Place, Quality
from knowbound.evidence.citing import near
from knowbound.evidence.material import ShownPassage, passages_of_history, passages_of_tree, project_words
from knowbound.evidence.plan import LONGEST_TERM, MOST_TERMS, Plan, Term, TermKind, read_plan
from knowbound.evidence.planner import Collected, collect, search
from knowbound.evidence.producers.git import GitLog
from knowbound.evidence.producers.grep import Grep
from knowbound.evidence.producers.history import HistoryKind, read_history_question
from knowbound.evidence.producers.protocol import Ask, Context, Producer
from knowbound.evidence.producers.read import Read, why_unfit
from knowbound.evidence.producers.repository import UnansweredError
from knowbound.judge.material import is_quoted
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import sendable
from knowbound.judge.prompts import load_prompt
from knowbound.text.terms import split_words

_READINGS = 3  # of the passages for the first plan, and for other terms, proposed twice
_SEARCH_CALLS = 80  # searches of one question: a model proposes a dozen terms
_GIT_ALONE = frozenset({HistoryKind.TREE, HistoryKind.LAST, HistoryKind.COMMIT})  # git alone answers these
QUOTATION = "the quotation"
_MODEL = "model"  # the tool of what a model has read: as independent of the searches as the reader by rules


@dataclass(frozen=True, slots=True)
class Understood:
    """Collected evidence, and what a model read in it."""

    collected: Collected
    sentences: tuple[CitedSentence, ...] = ()
    sources: tuple[CitedSource, ...] = ()
    answer: GivenAnswer | None = None
    nearest: tuple[NearPlace, ...] = ()
    problem: str = ""


def needs_reading(plan: Plan) -> bool:
    """Report whether a model has to read: what files say, or what a commit did. Runs answer the other questions."""
    classes = {need.cls for need in plan.needs}
    if EvidenceClass.GIT_LOG in classes:
        return read_history_question(plan.question).kind not in _GIT_ALONE
    return EvidenceClass.FILE_CONTENT in classes and plan.intent not in (Intent.MODIFY, Intent.DIAGNOSE)


def understand(plan: Plan, tools: Sequence[Producer], context: Context, calls: int, asker: Asker) -> Understood:
    """Search, show passages, verify; search for other terms as long as no passage answers and the model names some."""
    if any(need.cls is EvidenceClass.GIT_LOG for need in plan.needs):
        return _understand_history(plan, context, asker)
    project_needs = [need for need in plan.needs if need.cls is EvidenceClass.DISCOVERY]
    collected = collect(replace(plan, terms=()), project_needs, tools, context, calls)
    to_search: Sequence[Term] = [*plan.terms, *plan.proposed]
    shown: list[ShownPassage] = []
    nearest_places: tuple[NearPlace, ...] = ()
    problem = ""
    for _ in range(_READINGS):
        collected.join(search(to_search, plan, tools, context, _SEARCH_CALLS))
        passages = passages_of_tree(plan, collected.entries, context.tree, shown)  # those that were not shown yet
        shown += passages
        if context.seconds_left <= 0:
            collected.stop("the time is over")
            break
        reading = ask_reading(plan, passages, collected.entries, asker, context.deadline)
        problem = reading.problem
        if reading.nearest is not None:
            nearest_places = (*nearest_places, near(reading.nearest.place, context.tree))
        if reading.sentences:
            return _grade_quotations(plan, collected, reading.sentences, context)
        tried = {term.text for term in (*plan.terms, *plan.proposed)}
        proposed = read_plan(plan.question, plan.intent, reading.more).proposed
        to_search = [term for term in proposed if term.text not in tried]
        if not to_search:
            break
        plan = replace(plan, proposed=(*plan.proposed, *to_search))
    note = "a model read the passages that were found, and none of them answers"
    _record_reading(collected, Ask(EvidenceClass.FILE_CONTENT, "", plan.intent, plan.question), (), note)
    return Understood(collected, nearest=nearest_places, problem=problem)


def _record_reading(collected: Collected, ask: Ask, places: Sequence[Place], note: str) -> None:
    """Record the places that a model read as answers: Strong, or Weak if no place answers."""
    quality = Quality.STRONG if places else Quality.WEAK
    collected.record(ask.evidence(_MODEL, quality, places, exact=len(places), note=note), Read())


def _grade_quotations(
    plan: Plan, collected: Collected, sentences: Sequence[CitedSentence], context: Context
) -> Understood:
    """Grade the verified quotations: each is FileContent of its file, and needs a search that names that file."""
    for sentence in sentences:
        place = Place(sentence.passage.place.path, sentence.line, sentence.passage.place.symbol)
        searches = [collected.entries[number] for number in sentence.passage.found_by]
        exact = next((entry for entry in searches if entry.quality is Quality.STRONG), None)
        if exact is None:  # no search found exactly this file: the longest line of the quotation is looked for in it
            line = max(sentence.quote.splitlines(), key=len).strip()
            term = Term(line, TermKind.QUOTE, split_words(line), (line,), within=place.path)
            ask = Ask(EvidenceClass.FILE_SEARCH, QUOTATION, plan.intent, plan.question, term)
            collected.take(Grep(), ask, context)
            place = Place(place.path, place.line)  # without symbol: a search for the quotation confirms no reading
        else:
            named = next((term for term in (*plan.terms, *plan.proposed) if term.text == exact.target), None)
            ask = Ask(EvidenceClass.FILE_SEARCH, exact.target, plan.intent, plan.question, named)
            # The symbol of the search lets the planner see that search and reading agree.
            symbol = next((found.symbol for found in exact.places if found.path == place.path and found.symbol), "")
            place = Place(place.path, place.line, symbol)
        read = replace(ask, cls=EvidenceClass.FILE_CONTENT)
        _record_reading(collected, read, (place,), f"read, and quoted from {place.path}:{place.line}")
    return _cited_answer(collected, sentences, context)


def _cited_answer(collected: Collected, sentences: Sequence[CitedSentence], context: Context) -> Understood:
    """Join the sentences to one answer; several get numbers that lead to their sources."""
    first = sentences[0]
    text = " ".join(
        f"{sentence.text} [{number}]" if len(sentences) > 1 else sentence.text
        for number, sentence in enumerate(sentences, 1)
    )
    sources = tuple(
        CitedSource(
            sentence.passage.place.path,
            sentence.line,
            f"read: {sentence.text}",
            (context.tree.line(sentence.passage.place.path, sentence.line) if sentence.line else "")
            or sentence.quote.split("\n")[0],
        )
        for sentence in sentences
    )
    answer = GivenAnswer(text, first.passage.place.path, first.line)
    return Understood(collected, tuple(sentences), sources, answer)


def _understand_history(plan: Plan, context: Context, asker: Asker) -> Understood:
    """Show commits; git is authoritative for what the quoted one says."""
    collected = Collected()
    log = GitLog()
    ask = Ask(EvidenceClass.GIT_LOG, "", plan.intent, plan.question)
    try:
        passages = passages_of_history(plan, context)
    except UnansweredError as reason:
        collected.record(ask.nothing(log.name, str(reason)), log)
        return Understood(collected)
    reading = ask_reading(plan, passages, (), asker, context.deadline)
    nearest = (NearPlace(reading.nearest.place.path, 0, reading.nearest.place.symbol),) if reading.nearest else ()
    if not reading.sentences:
        note = "a model read the commits that come near, and none of them answers"
        newest_commit = [passage.place for passage in passages[:1]]
        collected.record(ask.evidence(log.name, Quality.WEAK, newest_commit, note=note), log)
        return Understood(collected, nearest=nearest, problem=reading.problem)
    places = [sentence.passage.place for sentence in reading.sentences]
    note = f"{places[0].path}: {places[0].symbol}"
    query = " ".join(term.text for term in (*plan.terms, *plan.proposed))
    entry = ask.evidence(
        log.name, Quality.STRONG, places, count=len(passages), exact=len(places), note=note, query=query
    )
    collected.record(entry, log)
    return _cited_answer(collected, reading.sentences, context)


_MOST_SENTENCES, _LONGEST_SENTENCE = 4, 500
_SHOWN_LENGTH = 100  # of a quotation that is in no passage
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
    (asked,) = asker.ask(load_prompt("plan"), [material], PlanAnswer, [_plan_problem], until=tree.deadline)
    if asked.value is None:
        return None
    return read_plan(question, asked.value.kind, asked.value.terms, asker.judge)


def _plan_problem(given: PlanAnswer) -> str:
    """Return what is wrong with a plan, for the model; "" if nothing is."""
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
        "passages": "\n\n".join(passage.shown(number) for number, passage in enumerate(passages, 1)),
        "searched": sendable("\n".join(_search_results(plan, entries))),
    }

    def problem(given: ReadAnswer) -> str:  # one sentence with its quotation is enough for an answer
        unquoted = [sentence.quote for sentence in given.answer if _locate_quotation(sentence, passages) is None]
        is_any_quoted = len(unquoted) < len(given.answer)
        return "" if is_any_quoted or not unquoted else f"not verbatim in its passage: {unquoted[0][:_SHOWN_LENGTH]}"

    (asked,) = asker.ask(load_prompt("read"), [material], ReadAnswer, [problem], until=until)
    if asked.value is None:
        return TextReading(problem=asked.problem)
    given = asked.value
    cited = [sentence for each in given.answer[:_MOST_SENTENCES] if (sentence := _locate_quotation(each, passages))]
    reasons = [reason for sentence in cited if (reason := why_unfit(sentence.passage.place.path, plan.subject))]
    usable = tuple(sentence for sentence in cited if not why_unfit(sentence.passage.place.path, plan.subject))
    nearest = cited[0].passage if cited else None
    if 1 <= given.nearest <= len(passages):
        nearest = passages[given.nearest - 1]
    if not usable and reasons:  # it quotes only files that answer nothing
        return TextReading((), tuple(given.more[:_MOST_TRIED]), nearest, problem=reasons[0])
    # Two sentences that quote the same words of one place do not compare anything.
    if plan.intent is Intent.COMPARE and len({sentence.passage.place for sentence in usable}) == 1 and len(usable) > 1:
        usable = usable if len({sentence.quote for sentence in usable}) > 1 else ()
    return TextReading(usable, () if usable else tuple(given.more[:_MOST_TRIED]), nearest)


def _locate_quotation(given: ReadSentence, passages: Sequence[ShownPassage]) -> CitedSentence | None:
    """Return a sentence with its passage, if its quotation is there; the number may be that of a neighbour."""
    numbers = [given.passage, *(at for at in range(1, len(passages) + 1) if at != given.passage)]
    for number in numbers:
        if 1 <= number <= len(passages) and is_quoted(given.quote, [passages[number - 1].text]):
            passage = passages[number - 1]
            text = " ".join(given.text.split())[:_LONGEST_SENTENCE]
            return CitedSentence(text, passage, given.quote.strip(), passage.line_of(given.quote))
    return None


def _search_results(plan: Plan, entries: Sequence[Evidence]) -> list[str]:
    """Return a line for each term with its best search; before any search, the terms of the plan."""
    best_search: dict[str, Evidence] = {}
    for entry in entries:
        if entry.cls is EvidenceClass.FILE_SEARCH:
            known = best_search.get(entry.target)
            best_search[entry.target] = entry if known is None or entry.quality.rank > known.quality.rank else known
    if not best_search:
        return [term.text for term in (*plan.terms, *plan.proposed)][:MOST_TERMS]
    return [f"{target}: {entry.match_count} found, {entry.quality}" for target, entry in best_search.items()]
