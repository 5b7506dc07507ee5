"""Proposes samples from gaps and from knowledge files that no sample reached (specification 1, section 8).

"Those files aren't currently touched by any sample and are natural candidates", and failed search patterns "can seed
new samples". A person accepts or rejects each; nothing here writes a samples file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from knowbound.evals.assertions import AgentAnswer, decide
from knowbound.evals.drafts.gaps import Gap, question_of_hedge, question_of_prompt, question_of_search
from knowbound.evals.questions.knowledge_text import KnowledgePage, KnowledgeText, section_questions, written_headings
from knowbound.evals.questions.scope import Duplicates, unfit
from knowbound.evals.samples.values import Assertion
from knowbound.text.english import STOP_WORDS
from knowbound.text.markdown import BlockKind, DocumentSection
from knowbound.text.redact import redact

_MOST_OF_A_FILE = 3
# Code spans of every length: were short ones left out, the text between two spans would be taken for a span.
_SPAN = re.compile(r"`([^`]*)`")
_NAME = re.compile(r"[^<>\n]{3,50}")
# A number with its unit, or one that is too long to be in an answer by chance.
_NUMBER = re.compile(
    r"(?<![\w./-])\d[\d,.]* ?(?:%|ms|s|MB|GB|KB|seconds|minutes|hours|days|times)(?!\w)|(?<![\w./-])\d{3,}(?![\w./-]\w)"
)


class SampleDraft(msgspec.Struct, frozen=True):
    """A proposed sample."""

    id: str
    prompt: str
    why: str  # where it comes from, for the person who decides
    provenance: str
    metadata: dict[str, object]
    context: str = ""
    mentions: tuple[tuple[str, ...], ...] = ()  # names, numbers or paths: a right answer has one of each group
    covers: str = ""  # the knowledge file it is about

    @property
    def assertions(self) -> list[dict[str, object]]:
        """Its assertions, as they are written into a samples file."""
        return [{"type": "contains_any", "values": list(group)} for group in self.mentions]

    def is_passed_by(self, answer: str) -> bool:
        """Report whether an answer has all that is asserted."""
        return all(
            decide(assertion, AgentAnswer(answer)).passed
            for assertion in msgspec.convert(self.assertions, list[Assertion])
        )


class NotDrafted(msgspec.Struct, frozen=True):
    """A question that was not proposed, with the reason."""

    prompt: str
    reason: str


class Drafts(msgspec.Struct, frozen=True):
    """Proposed samples, and dropped questions."""

    drafts: tuple[SampleDraft, ...]
    dropped: tuple[NotDrafted, ...] = ()


def draft_samples(
    gaps: Iterable[Gap],
    knowledge: KnowledgeText,
    uncovered: Collection[str],
    existing: Iterable[str] = (),
    decided: Mapping[str, str] | None = None,
    most: int = _MOST_OF_A_FILE,
) -> Drafts:
    """Samples for the gaps and the uncovered files.

    `existing` are the prompts of the test set; `decided` maps ids to "accepted" or "rejected"; `most` are of one file.
    """
    existing_prompts = list(existing)
    found = (*_of_gaps(gaps, frozenset(existing_prompts)), *_of_files(knowledge, uncovered, most))
    return sifted(found, existing_prompts, decided or {})


def sifted(proposed: Iterable[SampleDraft | NotDrafted], existing: Iterable[str], decided: Mapping[str, str]) -> Drafts:
    """Return what can be proposed beside the prompts of the test set, and everything else with its reason."""
    decisions = {_prompt_hash(id_): decision for id_, decision in decided.items()}
    duplicates = Duplicates()
    for prompt in existing:
        duplicates.add(prompt)
    drafts: list[SampleDraft] = []
    dropped: list[NotDrafted] = []
    for draft in proposed:
        reason = draft.reason if isinstance(draft, NotDrafted) else unfit(draft.prompt)
        if not reason and isinstance(draft, SampleDraft) and (decision := decisions.get(_prompt_hash(draft.id))):
            reason = f"was {decision} before"
        if not reason and (other := duplicates.same_as(draft.prompt)):
            reason = f"asks the same as: {other}"
        if reason or isinstance(draft, NotDrafted):
            dropped.append(NotDrafted(draft.prompt, reason))
        else:
            duplicates.add(draft.prompt)
            drafts.append(draft)
    return Drafts(tuple(drafts), tuple(dropped))


def _of_gaps(gaps: Iterable[Gap], existing_prompts: Collection[str]) -> Iterator[SampleDraft | NotDrafted]:
    """Yield a draft per gap that names what to ask for. A doubt that asks nothing itself is drafted as the prompt."""
    for gap in gaps:
        missing = gap.wanted or gap.doubt
        if gap.has_secret:
            yield NotDrafted(redact(missing), "holds a secret")
            continue
        if gap.is_found and gap.wanted and not gap.answers:
            yield NotDrafted(missing, "was found, and where is not certain enough to be asserted")
            continue
        user_question = question_of_prompt(gap.prompt) if gap.prompt not in existing_prompts else ""
        if gap.wanted:
            question = question_of_search(gap.wanted, gap.said, gap.answers)
        else:
            question = question_of_hedge(gap.doubt) or user_question
        if not question:
            yield NotDrafted(missing, "names nothing that can be asked for")
            continue
        yield SampleDraft(
            id=draft_id("gap", question),
            prompt=question,
            why=gap.why,
            provenance="production-trace",
            metadata=gap.metadata,
            context="" if question == user_question else gap.context,
            mentions=_as_group(gap.answers),
        )


def _of_files(knowledge: KnowledgeText, uncovered: Collection[str], most: int) -> Iterator[SampleDraft]:
    """Yield questions to the sections of the files that no sample reached, `most` per file."""
    unreached = set(uncovered)
    for page in knowledge.pages:
        if page.path not in unreached:
            continue
        written = written_headings(page)
        asked = [(question, section) for question, section in section_questions(page) if section.headings in written]
        for question, section in asked[:most]:
            yield SampleDraft(
                id=draft_id("file", question),
                prompt=question,
                why=f"no sample reached {page.path} (line {section.line})",
                provenance="rule-generated",
                metadata={
                    "drafted_from": "uncovered",
                    "status": "proposed",
                    "file": page.path,
                    "line": section.line,
                },
                mentions=_as_group(_mentions(knowledge, page, section, question)),
                covers=page.path,
            )


def _as_group(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the texts as one group, of which an answer has to have one; no group if there are no texts."""
    return ((*texts,),) if texts else ()


def _mentions(knowledge: KnowledgeText, page: KnowledgePage, section: DocumentSection, question: str) -> list[str]:
    """Names and numbers that only this file has: an answer made from it will contain one."""
    prose = [block.text for block in section.blocks if block.kind is not BlockKind.CODE]
    found = [name for text in prose for name in _SPAN.findall(text) if _NAME.fullmatch(name)]
    found += [number for text in prose for number in _NUMBER.findall(re.sub(r"`[^`]*`", " ", text))]
    elsewhere = [other.text for other in knowledge.pages if other is not page]
    safe = (
        name.strip()
        for name in dict.fromkeys(found)
        if name.lower() not in question.lower()
        and redact(name) == name
        and not any(name in text for text in elsewhere)
    )  # fmt: skip
    return [name for name in safe if len(name) >= 2][:3]


def draft_id(kind: str, prompt: str) -> str:
    """Return an id: readable words, and a hash that is the same for the same prompt."""
    words = [word for word in re.findall(r"[a-z0-9]+", prompt.lower()) if word not in STOP_WORDS and len(word) > 2]
    return "-".join([kind, *words[:3], hashlib.sha256(prompt.encode()).hexdigest()[:6]])


def _prompt_hash(id_: str) -> str:
    """The part of an id that identifies the prompt; the words before it may differ between versions."""
    return id_.rpartition("-")[2]
