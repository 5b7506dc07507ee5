"""`investigate`: a question and a root → an answer that rests on evidence, or what is missing for one.

With a model: it plans what to search, reads the passages that were found, and quotes; rules verify and grade
(`evidence/understanding.py`). Without one rules read names and phrases, and say which place they found for the rest.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import msgspec

from knowbound.codebase.manifests import MOST_ENTRIES
from knowbound.codebase.tree import SourceTree
from knowbound.config import ModelTask, Settings
from knowbound.core.evidence import (
    INSUFFICIENT,
    PER_TERM,
    SUCCESS,
    Confidence,
    Evidence,
    EvidenceClass,
    EvidenceGap,
    GivenAnswer,
    Intent,
    Investigation,
    Place,
    Shows,
    chat_investigation,
    derive_confidence,
    gaps_of,
)
from knowbound.core.paths import IGNORED_IN_SOURCES
from knowbound.errors import InputError, StoreError
from knowbound.evidence.citing import answer_of, cite, nearest, probable
from knowbound.evidence.plan import Plan, TermKind, file_term, read_plan
from knowbound.evidence.planner import collect, entries_that_count, search
from knowbound.evidence.producers import every_producer
from knowbound.evidence.producers.ci import definition_of_pipeline
from knowbound.evidence.producers.protocol import CallLimits, Context, Producer
from knowbound.evidence.producers.read import MODEL_ONLY
from knowbound.evidence.understanding import Understood, ask_plan, needs_reading, understand
from knowbound.files import Walk, links_not_followed
from knowbound.judge.choice import judge_for
from knowbound.judge.models.asking import Asker
from knowbound.judge.registry import asker_for
from knowbound.store.observed import Observed
from knowbound.text.clock import utc_now
from knowbound.text.digest import digest_of
from knowbound.text.redact import excerpt, redact_value

_SECONDS, _CALLS = 60.0, 40
_LONGEST_QUESTION = 4000
_MOST_NEAR = 5
_HIGH = (Confidence.HIGH, Confidence.COMPLETE)  # never of an answer that lacks evidence
_EXACT = frozenset({TermKind.IDENTIFIER, TermKind.FILE, TermKind.OPTION})  # names that rules resolve for certain
_YES_NO_QUESTION = re.compile(r"^\W*(?:is|are|was|were|do|does|did|has|have|can|will)\b", re.I)
_ASKS_FOR_FAILURE = re.compile(
    r"\b(?:fail\w*|broken?|breaks?|red|errors?|dirty|uncommitted|untracked|problems?|not)\b|n't\b", re.I
)


def investigate(
    question: str,
    root: Path | str,
    *,
    kind: Intent | None = None,
    terms: Sequence[str] = (),
    asker: Asker | None = None,
    allow_run: bool = False,
    seconds: float = _SECONDS,
    calls: int = _CALLS,
    producers: Sequence[Producer] | None = None,
    only: Sequence[str] | None = None,
) -> Investigation:
    """Answer a question about a project or a knowledge base from evidence, or say what is missing.

    `kind` and `terms` are the plan of whoever asks; without them `asker` makes one, and else a lexical reading. `only`
    names the files to look at, where not all of them are to be asked.
    """
    folder = Path(os.path.realpath(root))
    if not folder.is_dir():
        raise InputError("no-such-path", f"{root} is not a folder. Try: knowbound investigate --root DIR QUESTION")
    plan = read_plan(excerpt(question, _LONGEST_QUESTION), kind, terms)
    if plan.intent is Intent.CHAT:
        return chat_investigation(plan.question)
    limits = CallLimits(run_seconds=max(CallLimits().run_seconds, seconds)) if allow_run else CallLimits()
    deadline = time.monotonic() + (max(seconds, limits.run_seconds) if allow_run else seconds)  # time for one run
    context = Context(folder, allow_run, deadline, limits, SourceTree(folder, deadline, only))
    if plan.intent is Intent.DIAGNOSE and not any(term.kind in _EXACT for term in plan.terms):
        # A failure without a name is explained by the file that defines the pipeline.
        plan = replace(plan, terms=(file_term(definition_of_pipeline(plan.question, context)),))
    tools = every_producer() if producers is None else producers
    found = _by_model(plan, tools, context, calls, asker) if asker else _by_rules(plan, tools, context, calls)
    if found.outcome == INSUFFICIENT:
        found = msgspec.structs.replace(found, notes=(*found.notes, *_note_on_links_out(folder)))
    return _without_secrets(found)


def _by_rules(plan: Plan, tools: Sequence[Producer], context: Context, calls: int) -> Investigation:
    """Answer by rules alone; places of proposed terms are shown, and close no gap: nobody has read them."""
    collected = collect(plan, plan.needs, tools, context, calls)
    gaps = gaps_of(plan.needs, plan.targets, entries_that_count(collected.entries))
    if gaps and PER_TERM & {need.cls for need in plan.needs}:
        only_proposed = [term for term in plan.proposed if term.text not in plan.targets]
        collected.join(search(only_proposed, plan, tools, context, calls))
    return _concluded(plan, Understood(collected), context.tree)


def has_only_names(plan: Plan) -> bool:
    """Report whether a question is about names alone, which rules may resolve for certain."""
    is_exact = bool(plan.terms) and all(term.kind in _EXACT for term in plan.terms)
    return is_exact and plan.intent not in MODEL_ONLY


def _by_model(plan: Plan, tools: Sequence[Producer], context: Context, calls: int, asker: Asker) -> Investigation:
    """Answer with a model's plan and reading; names that rules resolve for certain need neither."""
    if has_only_names(plan):
        found = _by_rules(plan, tools, context, calls)
        if found.confidence is Confidence.COMPLETE:
            return found
    planned = plan if plan.proposed else ask_plan(plan.question, context.tree, asker)  # the caller may have planned
    if planned is None:
        found = _by_rules(plan, tools, context, calls)
        return msgspec.structs.replace(found, notes=(*found.notes, "The model gave no plan: rules alone answered."))
    if planned.intent is Intent.CHAT:
        return chat_investigation(plan.question)
    if not needs_reading(planned):
        return _by_rules(planned, tools, context, calls)
    understood = understand(planned, tools, context, calls, asker)
    if understood.problem and not understood.sentences:
        found = _by_rules(planned, tools, context, calls)
        return msgspec.structs.replace(found, notes=(*found.notes, f"The model gave no reading: {understood.problem}."))
    return _concluded(planned, understood, context.tree, asker.judge)


def _without_secrets(found: Investigation) -> Investigation:
    """Redact an answer: it quotes and names files, and is stored and shown."""
    given = msgspec.to_builtins(found)
    redacted = redact_value(given)
    return found if redacted == given else msgspec.convert(redacted, Investigation)


def _note_on_links_out(root: Path) -> tuple[str, ...]:
    """Return a note about links out of the root, which were not searched: the answer may be there."""
    walk = Walk(root, ignored=IGNORED_IN_SOURCES)
    deque(islice(walk, MOST_ENTRIES), maxlen=0)  # walking fills `walk.outside`
    return (f"{links_not_followed(walk.outside, root)}.",) if walk.outside else ()


def investigate_and_keep(
    question: str,
    settings: Settings,
    *,
    kind: Intent | None = None,
    terms: Sequence[str] = (),
    allow_run: bool = False,
    seconds: float = _SECONDS,
    keep: bool = True,
) -> Investigation:
    """Answer a question about the root with the configured model, and keep the answer for `report`."""
    asker = asker_for(settings, judge_for(settings, ModelTask.INVESTIGATE))
    found = investigate(
        question, settings.root, kind=kind, terms=terms, asker=asker, allow_run=allow_run, seconds=seconds
    )
    if keep:
        made = utc_now()
        with suppress(StoreError):  # an answer is an answer, also where nothing can be kept
            Observed(settings.home).keep_run(
                "investigation", made, digest_of([question, str(settings.root)]), [], found
            )
    return found


def newest_investigation(settings: Settings) -> Investigation | None:
    """Return the stored investigation if it is the newest run of all kinds; None otherwise."""
    store = Observed(settings.home)
    run = store.run("investigation", Investigation) if store.newest_kind() == "investigation" else None
    return run[0] if run else None


def _concluded(plan: Plan, understood: Understood, tree: SourceTree, judge: str = "rules") -> Investigation:
    """Judge sufficiency, and say it. What a model has read needs no evidence for each term: it proposed them."""
    collected, is_by_model = understood.collected, judge != "rules"
    targets = () if is_by_model else plan.targets
    entries = entries_that_count(collected.entries)
    gaps = tuple(_explained(gap, entries) for gap in gaps_of(plan.needs, targets, entries))
    confidence, explanation = derive_confidence(plan.needs, targets, entries)
    unmet = dict.fromkeys(gap.target for gap in gaps if gap.target)
    places = list(understood.nearest) + (nearest(plan, unmet, entries, tree) if gaps and plan.words else [])
    places = list({place.path: place for place in reversed(places)}.values())[::-1]  # the first of each file
    probable_answer = None
    if gaps:
        explanation = " ".join([*_why_insufficient(plan, gaps, unmet, is_by_model), explanation])
    if any(gap.cls in PER_TERM for gap in gaps):
        reason = next((gap.reason for gap in gaps if gap.cls in PER_TERM and gap.reason), "the evidence is not enough")
        probable_answer = probable(plan, places, entries, tree, reason)
    notes = [entry.note for entry in entries if entry.read_as]
    if tree.limited:
        notes.append(tree.limited)
    if collected.stopped:
        notes.append(f"Collecting stopped because {collected.stopped}.")
    sources = () if gaps else understood.sources or cite(plan, entries, tree)
    return Investigation(
        question=plan.question,
        intent=plan.intent,
        outcome=INSUFFICIENT if gaps else SUCCESS,
        confidence=Confidence.MEDIUM if gaps and confidence in _HIGH else confidence,
        explanation=explanation,
        terms=tuple(dict.fromkeys((*plan.targets, *(term.text for term in plan.proposed)))),
        evidence=tuple(collected.entries),
        gaps=gaps,
        sources=sources,
        answer=None if gaps else understood.answer or _authority_answer(plan, entries) or answer_of(sources, entries),
        nearest=tuple(places[:_MOST_NEAR]),
        probable=probable_answer,
        by=judge,
        notes=tuple(dict.fromkeys(notes)),
        trail=tuple(collected.trail),
    )


def _explained(gap: EvidenceGap, entries: Sequence[Evidence]) -> EvidenceGap:
    """Return the gap with a reason: its own, or the note of the last entry that was as good as what we have."""
    tried = [
        entry
        for entry in entries
        if entry.cls is gap.cls and entry.quality is gap.have and (not gap.target or entry.target == gap.target)
    ]
    reason = gap.reason or next((entry.note for entry in reversed(tried) if entry.note), "")
    return msgspec.structs.replace(gap, reason=reason)


def _why_insufficient(plan: Plan, gaps: Sequence[EvidenceGap], unmet: dict[str, None], is_by_model: bool) -> list[str]:
    """Return a sentence for each reason why the evidence is not enough."""
    reasons = [f"{gap.cls}: {gap.reason}." for gap in gaps if gap.reason and gap.cls not in PER_TERM]
    if all(gap.cls not in PER_TERM for gap in gaps):
        return reasons
    about_files = ["No passage that was read answers it."] if is_by_model else _missing_terms(plan, unmet, gaps)
    return [*about_files, *reasons]


def _missing_terms(plan: Plan, unmet: dict[str, None], gaps: Sequence[EvidenceGap]) -> list[str]:
    """Return a sentence for each term without enough evidence, with the reason that the search gave."""
    if not plan.terms and not unmet:
        return ["The question names nothing that could be looked for."]
    reasons = {gap.target: gap.reason for gap in reversed(gaps) if gap.cls is EvidenceClass.FILE_SEARCH}
    return [
        f"No {target!r} with enough evidence" + (f": {reasons[target]}." if reasons.get(target) else ".")
        for target in unmet
    ]


def _authority_answer(plan: Plan, entries: Sequence[Evidence]) -> GivenAnswer | None:
    """Return the answer of an authority (git, CI, a build) to a question that is not about files; None without any.

    A question that can be answered with yes or no gets "Yes" or "No" before the authority's words.
    """
    needed = {need.cls for need in plan.needs}
    if needed & PER_TERM and plan.intent is not Intent.DIAGNOSE:  # what files say, the citations answer
        return None
    classes = needed - PER_TERM
    deciding = [entry for entry in entries if entry.cls in classes and entry.note and not entry.cites]
    if not deciding:
        return None
    best = {entry.cls: entry for entry in sorted(deciding, key=lambda entry: entry.quality.rank)}  # the last one stays
    failing = [entry for entry in best.values() if entry.shows is Shows.FAILS]  # one failure decides
    words = "; ".join(entry.note.removeprefix("fails: ") for entry in failing or best.values())
    place = next((entry.places[0] for entry in failing or best.values() if entry.places), Place(""))
    if _YES_NO_QUESTION.match(plan.question) and any(entry.shows for entry in best.values()):
        asks_for_failure = _ASKS_FOR_FAILURE.search(plan.question) is not None  # "does it fail?": yes if it does
        words = f"{'Yes' if bool(failing) == asks_for_failure else 'No'}: {words}"
    return GivenAnswer(words[:1].upper() + words[1:], place.path, place.line)
