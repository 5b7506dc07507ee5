"""A question that a model reads: search what it proposes, show it passages, verify its quotations, grade.

It may propose other terms twice. A quotation in a passage that a search found exactly is corroborated by that search;
one in a passage that only the ranking brought is looked up as it is quoted, and corroborates nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from knowbound.core.evidence import (
    CitedSource,
    Evidence,
    EvidenceClass,
    GivenAnswer,
    Intent,
    NearPlace,
    Place,
    Quality,
)
from knowbound.evidence.asking import CitedSentence, ask_reading
from knowbound.evidence.citing import near
from knowbound.evidence.material import ShownPassage, passages_of_history, passages_of_tree
from knowbound.evidence.plan import Plan, Term, TermKind, read_plan
from knowbound.evidence.planner import Collected, collect, search
from knowbound.evidence.producers.git import GitLog
from knowbound.evidence.producers.grep import Grep
from knowbound.evidence.producers.history import HistoryKind, read_history_question
from knowbound.evidence.producers.protocol import READER, Ask, Context, Producer
from knowbound.evidence.producers.repository import UnansweredError
from knowbound.judge.models.asking import Asker
from knowbound.text.terms import split_words

_ROUNDS = 3  # the first plan, and terms that are proposed twice
_CALLS = 80  # searches of one question: a model proposes a dozen terms
_BY_GIT = frozenset({HistoryKind.TREE, HistoryKind.LAST, HistoryKind.COMMIT})  # git alone answers these
QUOTATION = "the quotation"


@dataclass(frozen=True, slots=True)
class Understood:
    """Collected evidence, and what a model read in it."""

    collected: Collected
    sentences: tuple[CitedSentence, ...] = ()
    sources: tuple[CitedSource, ...] = ()
    answer: GivenAnswer | None = None
    nearest: tuple[NearPlace, ...] = ()
    problem: str = ""


class ModelReader(Producer):
    """The model as a reader: independent of the searches."""

    name = "model"
    cls = EvidenceClass.FILE_CONTENT
    independent_of = READER

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Nothing: its evidence is made of verified quotations."""
        return ask.nothing(self.name, "not asked")


def is_read(plan: Plan) -> bool:
    """Report whether a model reads for a question: what files say, and what a commit did. The rest are runs."""
    classes = {need.cls for need in plan.needs}
    if EvidenceClass.GIT_LOG in classes:
        return read_history_question(plan.question).kind not in _BY_GIT
    return EvidenceClass.FILE_CONTENT in classes and plan.intent not in (Intent.MODIFY, Intent.DIAGNOSE)


def understand(plan: Plan, tools: Sequence[Producer], context: Context, calls: int, asker: Asker) -> Understood:
    """Search, show, verify; with other terms where nothing that was shown answers."""
    if any(need.cls is EvidenceClass.GIT_LOG for need in plan.needs):
        return _history(plan, context, asker)
    others = [need for need in plan.needs if need.cls is EvidenceClass.DISCOVERY]
    collected = collect(replace(plan, terms=()), others, tools, context, calls)
    open_: Sequence[Term] = [*plan.terms, *plan.proposed]
    shown: list[ShownPassage] = []
    near_: tuple[NearPlace, ...] = ()
    problem = ""
    for _ in range(_ROUNDS):
        collected.join(search(open_, plan, tools, context, _CALLS))
        passages = passages_of_tree(plan, collected.entries, context.tree, shown)
        shown += passages
        if context.seconds_left <= 0:
            collected.stop("the time is over")
            break
        reading = ask_reading(plan, passages, collected.entries, asker, context.deadline)
        problem = reading.problem
        if reading.nearest is not None:
            near_ = (*near_, near(reading.nearest.place, context.tree))
        if reading.sentences:
            return _answered(plan, collected, reading.sentences, context)
        known = {term.text for term in (*plan.terms, *plan.proposed)}
        more = read_plan(plan.question, plan.intent, reading.more).proposed
        open_ = [term for term in more if term.text not in known]
        if not open_:
            break
        plan = replace(plan, proposed=(*plan.proposed, *open_))
    note = "a model read the passages that were found, and none of them answers"
    _record(collected, Ask(EvidenceClass.FILE_CONTENT, "", plan.intent, plan.question), (), problem or note)
    return Understood(collected, nearest=near_, problem=problem)


def _record(collected: Collected, ask: Ask, places: Sequence[Place], note: str) -> None:
    quality = Quality.STRONG if places else Quality.WEAK
    collected.record(ask.evidence(ModelReader.name, quality, places, exact=len(places), note=note), ModelReader())


def _answered(plan: Plan, collected: Collected, sentences: Sequence[CitedSentence], context: Context) -> Understood:
    """Grade the verified quotations: each is FileContent of its file, and needs a search that names that file."""
    for one in sentences:
        place = Place(one.passage.place.path, one.line, one.passage.place.symbol)
        by = [collected.entries[number] for number in one.passage.found_by]
        exact = next((entry for entry in by if entry.quality is Quality.STRONG), None)
        if exact is None:
            line = max(one.quote.splitlines(), key=len).strip()
            term = Term(line, TermKind.QUOTE, split_words(line), (line,), within=place.path)
            ask = Ask(EvidenceClass.FILE_SEARCH, QUOTATION, plan.intent, plan.question, term)
            collected.take(Grep(), ask, context)
            place = Place(place.path, place.line)  # found where the reader pointed: no agreement of two
        else:
            named = next((each for each in (*plan.terms, *plan.proposed) if each.text == exact.target), None)
            ask = Ask(EvidenceClass.FILE_SEARCH, exact.target, plan.intent, plan.question, named)
            symbol = next((each.symbol for each in exact.places if each.path == place.path and each.symbol), "")
            place = Place(place.path, place.line, symbol)
        read = replace(ask, cls=EvidenceClass.FILE_CONTENT)
        _record(collected, read, (place,), f"read, and quoted from {place.path}:{place.line}")
    return _said(collected, sentences, context)


def _said(collected: Collected, sentences: Sequence[CitedSentence], context: Context) -> Understood:
    first = sentences[0]
    text = " ".join(
        f"{one.text} [{number}]" if len(sentences) > 1 else one.text for number, one in enumerate(sentences, 1)
    )
    sources = tuple(
        CitedSource(
            one.passage.place.path,
            one.line,
            f"read: {one.text}",
            (context.tree.line(one.passage.place.path, one.line) if one.line else "") or one.quote.split("\n")[0],
        )
        for one in sentences
    )
    answer = GivenAnswer(text, first.passage.place.path, first.line)
    return Understood(collected, tuple(sentences), sources, answer)


def _history(plan: Plan, context: Context, asker: Asker) -> Understood:
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
    near_ = (NearPlace(reading.nearest.place.path, 0, reading.nearest.place.symbol),) if reading.nearest else ()
    if not reading.sentences:
        note = reading.problem or "a model read the commits that come near, and none of them answers"
        collected.record(ask.evidence(log.name, Quality.WEAK, [one.place for one in passages[:1]], note=note), log)
        return Understood(collected, nearest=near_, problem=reading.problem)
    places = [one.passage.place for one in reading.sentences]
    note = f"{places[0].path}: {places[0].symbol}"
    query = " ".join(term.text for term in (*plan.terms, *plan.proposed))
    entry = ask.evidence(
        log.name, Quality.STRONG, places, count=len(passages), exact=len(places), note=note, query=query
    )
    collected.record(entry, log)
    return _said(collected, reading.sentences, context)
