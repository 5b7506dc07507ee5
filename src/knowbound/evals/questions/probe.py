"""`probe` from beginning to end: questions → runs → an evaluation of its own (specification 1, section 9).

file names, headings, principles → proposals (rules; a model where one is configured)
→ filters, each drop with its reason → so many of them, spread over kinds and files → a test set

The evaluation is stored with its origin, so that no trend and no gate ever mixes it with what people wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import msgspec
from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.errors import InputError
from knowbound.evals.evaluate import EvalPlan, evaluate
from knowbound.evals.executor import BUILT_IN
from knowbound.evals.knowledge import files_of, knowledge_globs
from knowbound.evals.questions.knowledge_text import (
    Duplicates,
    KnowledgeText,
    content_stems,
    in_turn,
    question_vector,
    questions_by_rules,
    read_knowledge,
    unfit,
)
from knowbound.evals.runner import RunLimits, RunProgress
from knowbound.evals.samples.values import EvalSample, SampleSet
from knowbound.judge.material import is_quoted
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import known_sum
from knowbound.judge.models.questions import AskedEntry, AskResult, EntryGroup, sendable
from knowbound.judge.prompts import input_hash, load_prompt
from knowbound.judge.registry import asker_for, check_judge
from knowbound.stats.evaluation import CompetencyQuestion, Dropped, Evaluation, Origin, Probe, QuestionSource
from knowbound.store.evaluations import Evaluations
from knowbound.text.digest import digest_of
from knowbound.text.embedding import embed, similarity
from knowbound.text.redact import redact


class Probed(NamedTuple):
    """The questions, what came of them where they were asked, and the newest evaluation of what people wrote."""

    probe: Probe
    evaluation: Evaluation | None = None
    written: Evaluation | None = None
    notes: tuple[str, ...] = ()


def probe(
    settings: Settings,
    *,
    count: int,
    executor: str = BUILT_IN,
    model: str = "",
    judge: str = "",
    questions_only: bool = False,
    progress: Callable[[RunProgress], None] | None = None,
) -> Probed:
    """Make competency questions and, unless they are only listed, ask them."""
    store = Evaluations(settings.home)
    store.check()
    if judge:
        check_judge(judge)
    files = files_of(settings.root, knowledge_globs(settings.knowledge), (settings.home,))
    if not files:
        raise InputError(
            "no-knowledge",
            f"No knowledge files under {settings.root}. Try: --root DIR, or name them: knowledge in knowbound.toml",
        )
    asker = asker_for(settings, judge) if judge else None
    competency = competency_questions(settings.root, files, count=count, asker=asker)
    if questions_only:
        return Probed(competency, notes=competency.notes)
    written = store.newest(Origin.WRITTEN)
    if not competency.questions:
        return Probed(competency, None, written, competency.notes)
    limits = RunLimits(seconds=float(settings.eval_seconds))
    plan = EvalPlan(as_samples(competency), limits, origin=Origin.PROBED, executor=executor, model=model)
    done = evaluate(plan, settings, progress=progress)
    return Probed(competency, done.evaluation, written, (*competency.notes, *done.notes))


def competency_questions(root: Path, files: Sequence[str], *, count: int, asker: Asker | None = None) -> Probe:
    """Return at most `count` questions to the knowledge files (relative paths), the same questions every time."""
    knowledge = read_knowledge(root, files)
    dropped: list[Dropped] = []
    proposals = list(questions_by_rules(knowledge))
    notes: tuple[str, ...] = ()
    usd: float | None = 0.0
    verdicts: dict[str, ScopeVerdict] = {}
    if asker is not None:
        by_model, problem, usd = proposed_by_model(knowledge, asker, count)
        notes = (problem,) if problem else ()
        # Of two questions that ask the same the first is kept, and a model words them better than a rule.
        proposals = [*by_model, *proposals]
        asked = [question.question for question in by_model]
        given, scope_usd = scope_verdicts(knowledge, asked, asker) if asked else ([], 0.0)
        verdicts, usd = dict(zip(asked, given, strict=True)), known_sum(usd, scope_usd)
    fit = kept(proposals, dropped, verdicts)
    chosen = spread(fit, count)
    return Probe(str(root), tuple(chosen), tuple(dropped), len(fit) - len(chosen), notes, usd)


def spread(questions: Iterable[CompetencyQuestion], count: int) -> list[CompetencyQuestion]:
    """Return at most `count` questions, taken in turn from every kind, and within a kind from every file.

    Files come in the order of a hash: in that of their names, a few questions would all be about the first files.
    """
    by_kind: dict[QuestionSource, dict[str, list[CompetencyQuestion]]] = {kind: {} for kind in QuestionSource}
    for question in questions:
        by_kind[question.kind].setdefault(question.file, []).append(question)
    kinds = [
        in_turn(files[path] for path in sorted(files, key=lambda path: digest_of([path]))) for files in by_kind.values()
    ]
    order = list(QuestionSource)
    return sorted(
        in_turn(kinds)[:count],
        key=lambda question: (order.index(question.kind), question.file, question.line, question.question),
    )


def as_samples(probe: Probe) -> SampleSet:
    """The questions as a test set; its hash is over the questions alone, so that runs of equal questions compare."""
    samples = tuple(
        EvalSample(
            id=question.id,
            prompt=question.question,
            construct="competency",
            capability=(str(question.kind),),
            provenance="rule-generated" if question.provenance == "rules" else "llm-generated",
            # Not as the sample's own `file`: that names the samples file, which is hidden from the agent.
            metadata={"kind": str(question.kind), "why": question.why, "file": question.file, "line": question.line},
        )
        for question in probe.questions
    )
    return SampleSet(
        path=f"competency questions of {probe.root}",
        samples=samples,
        sha256=digest_of(f"{sample.id} {sample.prompt}" for sample in samples),
    )


class ProposedQuestion(msgspec.Struct, frozen=True):
    """One question as the model writes it."""

    question: str
    file: str = ""
    why: str = ""


class Proposal(msgspec.Struct, frozen=True):
    """The model's answer."""

    questions: list[ProposedQuestion]


def proposed_by_model(
    knowledge: KnowledgeText, asker: Asker, count: int
) -> tuple[list[CompetencyQuestion], str, float | None]:
    """Return the questions that the model would ask, why there are none, and the cost in USD (None if unknown)."""
    asked = asker.ask(load_prompt("competency"), [{**structure_of(knowledge), "how_many": str(count)}], Proposal)[0]
    if asked.value is None:
        return [], f"{asker.judge} proposed no questions: {asked.problem}", asked.usd
    paths = {page.path for page in knowledge.pages}
    questions = [
        CompetencyQuestion(
            " ".join(proposed.question.split()),
            QuestionSource.MODEL,
            " ".join(proposed.why.split())[:200] or "proposed from file names, headings and principles",
            file=proposed.file if proposed.file in paths else "",
            line=1 if proposed.file in paths else 0,
            provenance=asker.judge,
        )
        for proposed in asked.value.questions[: 4 * count]  # so many, whatever the model lists: some are dropped
    ]
    return questions, "", asked.usd


# ---- the scope

_PART_CHARACTERS = 12_000  # of each part of the structure
_BY_WORDS, _BY_MEANING = 2, 2  # passages beside a question
_PASSAGE_CHARACTERS = 300
_QUESTIONS_OF_CALL = 10


def kept(
    proposed: Iterable[CompetencyQuestion],
    dropped: list[Dropped],
    verdicts: Mapping[str, ScopeVerdict] | None = None,
) -> list[CompetencyQuestion]:
    """Return the proposals that may be asked, of duplicates the first; other proposals go to `dropped` with reasons.

    What rules made of a heading or a principle is in scope by its source; a model decides about what a model proposed.
    """
    verdicts = verdicts or {}
    found: list[CompetencyQuestion] = []
    duplicates = Duplicates()
    for proposal in proposed:
        verdict = verdicts.get(proposal.question)
        reason = unfit(proposal.question) or (verdict.reason if verdict else "")
        if not reason and (other := duplicates.same_as(proposal.question)):
            reason = f"asks the same as: {other}"
        if reason:
            dropped.append(Dropped(redact(proposal.question), reason, proposal.kind, proposal.place))
        else:
            duplicates.add(proposal.question)
            found.append(replace(proposal, why=f"in scope by “{verdict.quote}”") if verdict else proposal)
    return found


class ScopeAnswer(msgspec.Struct, frozen=True):
    """Answer of the model about one question."""

    id: str
    in_scope: bool = msgspec.field(name="inScope")
    quote: str = ""
    reason: str = ""


class ScopeVerdict(NamedTuple):
    """The text that puts a question in scope, or else the reason for not asking it."""

    quote: str
    reason: str = ""


def scope_verdicts(
    knowledge: KnowledgeText, questions: Sequence[str], asker: Asker
) -> tuple[list[ScopeVerdict], float | None]:
    """Ask the model which questions are within scope, and the cost; a verdict counts only with its quotation."""
    structure = structure_of(knowledge)
    passages = [(block.text, embed(block.text)) for page in knowledge.pages for block in page.blocks]
    entries = []
    for number, question in enumerate(questions, 1):
        shown = {"question": question, "passages": nearest_passages(question, passages)}
        key = input_hash({**structure, "entry": msgspec.json.encode(shown).decode()})
        entries.append(AskedEntry(f"q{number}", shown, key))

    def unquoted(entry: AskedEntry, answer: ScopeAnswer) -> str:
        material = (*structure.values(), *cast("list[str]", entry.shown["passages"]))
        is_shown = not answer.in_scope or is_quoted(answer.quote, material)
        return "" if is_shown else "the quotation is not in the material"

    group = EntryGroup(entries, structure)
    (asked,) = asker.ask_entries(load_prompt("scope"), [group], ScopeAnswer, size=_QUESTIONS_OF_CALL, check=unquoted)
    return [_verdict(answer) for answer in asked], known_sum(*(answer.usd for answer in asked))


def _verdict(asked: AskResult[ScopeAnswer]) -> ScopeVerdict:
    """Return the verdict on a question; one whose scope was not decided is not asked."""
    if asked.value is None:
        return ScopeVerdict("", f"its scope was not decided: {asked.problem}")
    if asked.value.in_scope:
        return ScopeVerdict(asked.value.quote)
    return ScopeVerdict("", f"out of scope: {' '.join(asked.value.reason.split())[:200] or 'another subject'}")


def structure_of(knowledge: KnowledgeText) -> dict[str, str]:
    """Return the file names, headings and principles of a knowledge base, as a model is shown them."""
    return {
        "files": _shown_part(page.path for page in knowledge.pages),
        "headings": _shown_part(page.heading_lines for page in knowledge.pages),
        "principles": _shown_part(knowledge.principles),
    }


def _shown_part(parts: Iterable[str]) -> str:
    text = sendable("\n".join(parts))
    return text if len(text) <= _PART_CHARACTERS else text[:_PART_CHARACTERS].rpartition("\n")[0] + "\n…"


def nearest_passages(question: str, passages: Sequence[tuple[str, bytes]]) -> list[str]:
    """Return the passages that share most words with a question, then those nearest in meaning."""
    stems, vector = content_stems(question), question_vector(question)
    by_words = sorted(
        passages,
        key=lambda passage: (-len(stems & content_stems(passage[0])), -similarity(vector, passage[1]), passage[0]),
    )
    by_meaning = sorted(passages, key=lambda passage: (-similarity(vector, passage[1]), passage[0]))
    chosen = dict.fromkeys(text for text, _ in (*by_words[:_BY_WORDS], *by_meaning[:_BY_MEANING]))
    return [sendable(text)[:_PASSAGE_CHARACTERS] for text in chosen]
