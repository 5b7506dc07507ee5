"""`investigate`: a question and a root → an answer that rests on evidence, or what is missing for one."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec

from knowbound.codebase.inventory import MOST_ENTRIES
from knowbound.codebase.tree import SourceTree
from knowbound.config import Settings
from knowbound.core.evidence import (
    INSUFFICIENT,
    PER_TERM,
    SUCCESS,
    Evidence,
    EvidenceClass,
    EvidenceGap,
    GivenAnswer,
    Intent,
    Investigation,
    Place,
    QuestionKind,
    Requirement,
    Shows,
    chat_investigation,
    derive_confidence,
    gaps_of,
)
from knowbound.core.paths import IGNORED_IN_SOURCES
from knowbound.errors import InputError, StoreError
from knowbound.evidence.citing import answer_of, cite, nearest
from knowbound.evidence.planner import Collected, about_the_same, collect
from knowbound.evidence.producers.build_and_test import Build, Tests
from knowbound.evidence.producers.ci import RunList, RunView
from knowbound.evidence.producers.discovery import ManifestScan, TreeScan
from knowbound.evidence.producers.find import Find
from knowbound.evidence.producers.git import GitLog, GitStatus
from knowbound.evidence.producers.grep import Grep
from knowbound.evidence.producers.passages import PassageSearch
from knowbound.evidence.producers.protocol import CallLimits, Context, Producer
from knowbound.evidence.producers.read import Read
from knowbound.evidence.producers.references import References
from knowbound.evidence.question.parsing import parse
from knowbound.evidence.question.pipeline import with_definition
from knowbound.evidence.question.terms import ParsedQuestion
from knowbound.files import Walk, links_not_followed
from knowbound.store.observed import Observed
from knowbound.text.clock import utc_now
from knowbound.text.digest import digest_of
from knowbound.text.questions.intent import AskedQuestion, read_question
from knowbound.text.redact import excerpt
from knowbound.text.redact_values import redact_value

_SECONDS, _CALLS = 60.0, 40
_LONGEST_QUESTION = 4000
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


def investigate(
    question: str,
    root: Path | str,
    *,
    allow_run: bool = False,
    seconds: float = _SECONDS,
    calls: int = _CALLS,
    producers: Sequence[Producer] | None = None,
    only: Sequence[str] | None = None,
) -> Investigation:
    """Answer a question about a project or a knowledge base from evidence, or say what is missing.

    `only` names the files to look at, where not all of them are to be asked.
    """
    folder = Path(os.path.realpath(root))
    if not folder.is_dir():
        raise InputError("no-such-path", f"{root} is not a folder. Try: knowbound investigate --root DIR QUESTION")
    asked = read_question(excerpt(question, _LONGEST_QUESTION))
    if asked.intent is Intent.CHAT:
        return chat_investigation(asked.text)
    parsed = with_definition(parse(asked), asked, folder)
    limits = CallLimits(run_seconds=max(CallLimits().run_seconds, seconds)) if allow_run else CallLimits()
    deadline = time.monotonic() + (max(seconds, limits.run_seconds) if allow_run else seconds)
    tree = SourceTree(folder, deadline, only)
    context = Context(folder, allow_run, deadline, limits, tree)
    collected = collect(parsed, asked.needs, default_producers() if producers is None else producers, context, calls)
    found = with_answer(asked, _concluded(parsed, asked.needs, collected, tree))
    if found.outcome == INSUFFICIENT:
        found = msgspec.structs.replace(found, notes=(*found.notes, *_links_out(folder)))
    return _without_secrets(found)


def _without_secrets(found: Investigation) -> Investigation:
    """Files are quoted and named in an answer, and it is stored and shown."""
    given = msgspec.to_builtins(found)
    redacted = redact_value(given)
    return found if redacted == given else msgspec.convert(redacted, Investigation)


def _links_out(root: Path) -> tuple[str, ...]:
    """What was not searched, because it is not in the root: the answer may be there."""
    walk = Walk(root, ignored=IGNORED_IN_SOURCES)
    deque(islice(walk, MOST_ENTRIES), maxlen=0)
    return (f"{links_not_followed(walk.outside, root)}.",) if walk.outside else ()


def investigate_and_keep(
    question: str, settings: Settings, *, allow_run: bool = False, seconds: float = 60.0, keep: bool = True
) -> Investigation:
    """Answer a question about the root from evidence, and keep the answer for `report`."""
    found = investigate(question, settings.root, allow_run=allow_run, seconds=seconds)
    if keep:
        made = utc_now()
        with suppress(StoreError):  # an answer is an answer, also where nothing can be kept
            Observed(settings.home).keep_run(
                "investigation", made, digest_of([question, str(settings.root)]), [], found
            )
    return found


def newest_investigation(settings: Settings) -> Investigation | None:
    """The investigation that was stored last, where it is the newest run."""
    store = Observed(settings.home)
    kept = store.run("investigation", Investigation) if store.newest_kind() == "investigation" else None
    return kept[0] if kept else None


def _concluded(
    question: ParsedQuestion, requirements: Sequence[Requirement], collected: Collected, tree: SourceTree
) -> Investigation:
    targets = [term.text for term in question.terms]
    entries = about_the_same(collected.entries)
    gaps = tuple(_explained(gap, entries) for gap in gaps_of(requirements, targets, entries))
    confidence, explanation = derive_confidence(requirements, targets, entries)
    unmet = dict.fromkeys(gap.target for gap in gaps if gap.target)
    near = tuple(nearest(question, unmet, entries, tree)) if gaps and question.terms else ()
    if gaps:
        of_files = any(gap.cls in PER_TERM for gap in gaps)
        reasons = [f"{gap.cls}: {gap.reason}." for gap in gaps if gap.reason and gap.cls not in PER_TERM]
        lacking = _missing(question, unmet, gaps) if of_files else ()
        explanation = " ".join([*lacking, *reasons, explanation])
    sources = () if gaps else cite(question, entries, tree)
    notes = [entry.note for entry in entries if entry.read_as]
    if tree.limited:
        notes.append(tree.limited)
    if collected.stopped:
        notes.append(f"Collecting stopped because {collected.stopped}.")
    return Investigation(
        question=question.text,
        intent=question.intent,
        outcome=INSUFFICIENT if gaps else SUCCESS,
        confidence=confidence,
        explanation=explanation,
        terms=tuple(targets),
        evidence=tuple(collected.entries),
        gaps=gaps,
        sources=sources,
        answer=None if gaps else answer_of(sources, entries),
        nearest=near,
        notes=tuple(dict.fromkeys(notes)),
        trail=tuple(collected.trail),
    )


def _explained(gap: EvidenceGap, entries: Sequence[Evidence]) -> EvidenceGap:
    """The gap with the reason that the best try gave."""
    tried = [
        entry
        for entry in entries
        if entry.cls is gap.cls and entry.quality is gap.have and (not gap.target or entry.target == gap.target)
    ]
    reason = gap.reason or next((entry.note for entry in reversed(tried) if entry.note), "")
    return EvidenceGap(gap.cls, gap.have, gap.need, gap.target, reason)


def _missing(question: ParsedQuestion, unmet: dict[str, None], gaps: Sequence[EvidenceGap]) -> list[str]:
    """ "No `evidence gating` with enough evidence: without gating." for each term without it."""
    if not question.terms and not unmet:
        return ["The question names nothing that could be looked for."]
    reasons = {gap.target: gap.reason for gap in reversed(gaps) if gap.cls is EvidenceClass.FILE_SEARCH}
    return [
        f"No {target!r} with enough evidence" + (f": {reasons[target]}." if reasons.get(target) else ".")
        for target in unmet
    ]


def with_answer(asked: AskedQuestion, found: Investigation) -> Investigation:
    """The investigation with its answer in words, where the class that decides it is not about files."""
    classes = {need.cls for need in asked.needs} - PER_TERM
    deciding = [entry for entry in found.evidence if entry.cls in classes and entry.note and not entry.cites]
    is_about_files = bool(PER_TERM & {need.cls for need in asked.needs}) and asked.kind is not QuestionKind.CI_CAUSE
    if found.outcome != SUCCESS or not deciding or is_about_files:
        return found
    best = max(deciding, key=lambda entry: entry.quality.rank)
    place = best.places[0] if best.places else Place("")
    said = GivenAnswer(_answer(asked, deciding), place.path, place.line)
    return msgspec.structs.replace(found, answer=said)


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


@cache
def default_producers() -> tuple[Producer, ...]:
    """All of them; of two that suit a gap equally well the first is asked."""
    return (
        References(),
        Find(),
        Grep(),
        PassageSearch(),
        Read(),
        ManifestScan(),
        TreeScan(),
        GitLog(),
        GitStatus(),
        Build(),
        Tests(),
        RunList(),
        RunView(),
    )
