"""Samples that a model writes: from sections of knowledge files, and from what agents looked for.

Each has the quotation that answers it. Rules look the quotation up, with every name and number of the answer, and try
what is asserted on right and wrong answers: those that the author wrote, and those of a second question that shows the
quotation and not what is expected. What agents looked for and no section answers is marked unanswerable.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec

from knowbound.evals.grading import refusals
from knowbound.evals.questions.drafts import Drafts, Gap, NotDrafted, SampleDraft, draft_id, sifted
from knowbound.evals.questions.knowledge_text import KnowledgePage, KnowledgeText, content_stems, gives_orders, in_turn
from knowbound.judge.material import is_quoted, line_of
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import AskedEntry, AskResult, EntryGroup, sendable
from knowbound.judge.prompts import input_hash, load_prompt
from knowbound.text.digest import digest_of
from knowbound.text.markdown import BlockKind
from knowbound.text.printable import estimated_tokens
from knowbound.text.redact import redact

_SECTIONS_OF_CALL, _QUESTIONS_OF_CALL = 4, 4
_MOST_TOKENS, _LEAST_TOKENS, _LEAST_STEMS = 450, 25, 12  # of a section
_MOST_WORDS_OF_LABEL = 5  # a block with more words says something
_MOST_EXISTING = 60  # questions of the test set that are shown
_MOST_GAPS = 8  # in all calls
_CHECKED_TOGETHER = 8  # drafts in a call that tries them out
_MOST_SPELLINGS = 6  # of one name that a right answer has
_UNCHECKED = "the words of a right answer are not in the quotation, are in the question, or are too common"
_COMMON_SHARE, _COMMON_LEAST = 0.03, 4  # of the sections: an answer about something else would have the word, too
_NAME = re.compile(r"`[^`\n]+`|(?<![\w.])\d[\d.,:]*\w*|(?<!\w)--?\w[\w-]*|\w+(?:[._/:]\w+)+|\w+[a-z][A-Z]\w*")
_TITLE = re.compile(r"^\s*#+\s")
_COMMON_ANSWERS = frozenset("yes no true false none null default on off always never one two three".split())


class _Section(NamedTuple):
    path: str
    line: int
    heading: str
    text: str

    def shown(self, number: int) -> str:
        return f"[{number}] {self.path}:{self.line} {self.heading}\n{self.text}"


class DraftedSample(msgspec.Struct, frozen=True):
    """One question as the model writes it."""

    section: int
    question: str
    quote: str
    expected: list[list[str]]
    answer: str
    right: list[str]
    wrong: list[str]
    refusal: str
    wanted: str = ""


class DraftedUnanswerable(msgspec.Struct, frozen=True):
    """A question that no section answers."""

    wanted: str
    question: str


class DraftAnswer(msgspec.Struct, frozen=True):
    """Answer of the model."""

    samples: list[DraftedSample]
    unanswerable: list[DraftedUnanswerable] = []


class DraftCheck(msgspec.Struct, frozen=True):
    """Answers to one question by somebody who sees its quotation alone, and what is wrong with the question."""

    id: str
    answer: str
    again: str
    wrong: str
    fault: Literal["none", "unclear", "incomplete", "several", "obvious", "trivia"]
    reason: str = ""


def drafts_by_model(
    knowledge: KnowledgeText,
    preferred: Iterable[str],
    gaps: Sequence[Gap],
    existing: Iterable[str],
    asker: Asker,
    count: int,
    decided: Mapping[str, str] | None = None,  # id of an earlier draft → "accepted" or "rejected"
) -> Drafts:
    """Return at most `count` samples that the model writes; `preferred` are paths of files to be asked about first."""
    existing_prompts = list(existing)
    shown = [gap for gap in gaps if not gap.has_secret][:_MOST_GAPS]
    calls = list(_calls(knowledge, frozenset(preferred), shown, count))
    known = sendable("\n".join(existing_prompts[:_MOST_EXISTING])) or "(none)"
    how_many = str(min(_QUESTIONS_OF_CALL, max(1, count)))
    inputs = [{**_call_texts(*call), "known": known, "how_many": how_many} for call in calls]
    page_parts = [part for page in knowledge.pages for part in _parts_of(page)]
    results = asker.ask(load_prompt("drafts"), inputs, DraftAnswer)
    proposed = [
        draft
        for (sections, shown_gaps), result in zip(calls, results, strict=True)
        for draft in _drafts(result, sections, shown_gaps, asker.judge, page_parts)
    ]
    fresh = sifted(proposed, existing_prompts, decided or {})
    checked = list(zip(fresh.drafts, _faults(fresh.drafts, asker), strict=True))
    dropped = [*fresh.dropped, *(NotDrafted(draft.prompt, fault) for draft, fault in checked if fault)]
    return Drafts(tuple(draft for draft, fault in checked if not fault)[:count], tuple(dropped))


def _call_texts(sections: Sequence[_Section], gaps: Sequence[Gap]) -> dict[str, str]:
    """Return what a question to the model is about."""
    words = [" · ".join(filter(None, (gap.wanted or gap.doubt, gap.said, gap.context)))[:400] for gap in gaps]
    wanted = "\n".join(f"w{number}: {text}" for number, text in enumerate(words, 1))
    return {
        "sections": sendable("\n\n".join(section.shown(number) for number, section in enumerate(sections, 1))),
        "wanted": sendable(wanted) or "(nothing)",
    }


def _calls(
    knowledge: KnowledgeText, preferred: frozenset[str], gaps: Sequence[Gap], count: int
) -> Iterator[tuple[list[_Section], list[Gap]]]:
    """Yield what each question is about: gaps with the sections nearest to them, then sections of files in turn."""
    pages = [page for page in knowledge.pages if not page.is_index or len(knowledge.pages) == 1]  # an index only links
    sections = {page.path: list(_sections_of(page)) for page in pages}
    if gaps:
        every = [section for of_page in sections.values() for section in of_page]
        stems = [content_stems(f"{gap.wanted} {gap.doubt} {gap.said}") for gap in gaps]
        ranked = sorted(every, key=lambda section: -sum(len(stem & content_stems(section.text)) for stem in stems))
        yield ranked[: 2 * _SECTIONS_OF_CALL], list(gaps)  # more than usual: rules only guess which section answers
    order = sorted(sections, key=lambda path: (path not in preferred, digest_of([path])))
    ordered = in_turn(sections[path] for path in order)
    proposals = math.ceil(count * 8 / 5)  # eight for every five that are wanted: some are dropped
    calls = math.ceil(proposals / _QUESTIONS_OF_CALL)
    for start in range(0, min(len(ordered), calls * _SECTIONS_OF_CALL), _SECTIONS_OF_CALL):
        yield ordered[start : start + _SECTIONS_OF_CALL], []


def _sections_of(page: KnowledgePage) -> Iterator[_Section]:
    """Yield the sections of a page that say something, as they are written, those with the most prose first."""
    lines = page.text.split("\n")
    found = list[tuple[int, _Section]]()
    for section in page.sections:
        text = "\n".join(lines[section.line - 1 : section.end_line])
        if estimated_tokens(_TITLE.sub("", text)) < _LEAST_TOKENS or not section.blocks or gives_orders(text):
            continue
        texts = [block.text for block in section.blocks if block.kind is not BlockKind.CODE]
        prose = " ".join(text for text in texts if len(text.split()) > _MOST_WORDS_OF_LABEL)
        while estimated_tokens(text) > _MOST_TOKENS and "\n" in text:
            text = text.rpartition("\n")[0]  # of a long section the beginning, up to the end of a line
        found.append((len(content_stems(prose)), _Section(page.path, section.line, section.heading, text)))
    found.sort(key=lambda counted: -counted[0])
    yield from (section for stems, section in found if stems >= _LEAST_STEMS)


def _parts_of(page: KnowledgePage) -> Iterator[str]:
    """Yield the text between each heading and the next, to count words in."""
    lines, starts = page.text.split("\n"), sorted({section.line for section in page.sections})
    for start, end in pairwise([*starts, len(lines) + 1]):
        yield _normalised("\n".join(lines[start - 1 : end - 1]))


def _drafts(
    asked: AskResult[DraftAnswer],
    sections: Sequence[_Section],
    gaps: Sequence[Gap],
    judge: str,
    page_parts: Sequence[str],
) -> Iterator[SampleDraft | NotDrafted]:
    """Yield the samples of one call; `page_parts` are those of all pages, which show how common a word is."""
    if asked.value is None:
        yield NotDrafted(f"{len(sections)} sections", asked.problem)
        return
    gap_by_label = {f"w{number}": gap for number, gap in enumerate(gaps, 1)}
    for sample in asked.value.samples:
        section = sections[sample.section - 1] if 1 <= sample.section <= len(sections) else None
        yield _verified_draft(sample, section, gap_by_label.get(sample.wanted), judge, page_parts)
    for unanswerable in asked.value.unanswerable:
        if (gap := gap_by_label.get(unanswerable.wanted)) is not None:
            question = " ".join(unanswerable.question.split())
            yield SampleDraft(
                id=draft_id("gap", question),
                prompt=question,
                why=f"UNANSWERABLE by what is written: {gap.why}",
                provenance="llm-generated",
                metadata={**gap.metadata, "answerable": False, "by": judge},
            )


def _verified_draft(
    sample: DraftedSample, section: _Section | None, gap: Gap | None, judge: str, page_parts: Sequence[str]
) -> SampleDraft | NotDrafted:
    """Return the draft, if its quotation, expected words and answers hold; else why it is dropped."""
    question = " ".join(sample.question.split())
    if section is None or not is_quoted(sample.quote, [section.text]):
        return NotDrafted(question, "its quotation is not in the section")
    if not (expected := _expected(sample, question, page_parts)):
        return NotDrafted(question, _UNCHECKED)
    if unshown := _unshown(sample, f"{question} {section.path} {section.heading} {sample.quote}"):
        return NotDrafted(question, f"the quotation does not show {unshown}")
    line = line_of(sample.quote, section.text, section.line)
    draft = SampleDraft(
        id=draft_id("gap" if gap else "file", question),
        prompt=question,
        why=f"{gap.why if gap else f'{section.path}:{line}'}; answered by: {sample.quote}",
        provenance="llm-generated",
        metadata={
            **(gap.metadata if gap else {"drafted_from": "knowledge", "status": "proposed"}),
            "answerable": True, "expected": redact(sample.answer), "quote": redact(sample.quote),
            "path": section.path, "at": line, "by": judge,
        },
        mentions=expected,
        covers=section.path,
    )  # fmt: skip
    wrong = (*sample.wrong, sample.refusal, *refusals(question))
    fault = _assertion_error(draft, (sample.answer, *sample.right), wrong)
    return NotDrafted(question, fault) if fault else draft


def _expected(sample: DraftedSample, question: str, page_parts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the words of a right answer; none if the first of a group is in the question or right by chance."""
    groups = [[" ".join(text.split()) for text in group if text.strip()] for group in sample.expected]
    for words in groups:
        first = _normalised(words[0]) if words else ""
        is_shown = first and (first in _normalised(sample.quote) or is_quoted(words[0], [sample.quote]))
        is_guessable = first in _COMMON_ANSWERS or (first.isalnum() and len(first) < 2)
        # The question must not have the name, nor all words that it is made of (`http_port`: "HTTP port").
        parts = content_stems(" ".join(re.findall(r"[a-z]+", first)))
        is_given_away = first in question.lower() or (bool(parts) and parts <= content_stems(question))
        if not is_shown or is_guessable or is_given_away or redact(" ".join(words)) != " ".join(words):
            return ()
    kept = []
    for words in groups:
        unasked = [word for word in words if _normalised(word) and _normalised(word) not in question.lower()]
        kept.append(tuple(unasked[:_MOST_SPELLINGS]))
    # A word of so many sections may be in a wrong answer or a refusal by chance.
    most = max(_COMMON_LEAST, _COMMON_SHARE * len(page_parts))
    is_common = any(sum(_normalised(word) in part for part in page_parts) > most for words in kept for word in words)
    return () if is_common else tuple(kept)


def _normalised(text: str) -> str:
    return " ".join(text.split()).strip("`'\".").lower()


def _unshown(sample: DraftedSample, shown: str) -> str:
    """Return a name or number of the answer that neither quotation nor question has; "" if there is none."""
    plain = "".join(shown.lower().split())
    names = (name.strip("`.,:") for name in _NAME.findall(sample.answer))
    return next((name for name in names if "".join(name.lower().split()) not in plain), "")


def _assertion_error(draft: SampleDraft, right: Iterable[str], wrong: Iterable[str]) -> str:
    """Return why the draft's assertions are wrong: a right answer fails, or a wrong one passes. "" if they are not."""
    for text in right:
        if not text.strip() or not draft.is_passed_by(text):
            return f"what is asserted fails a right answer: {text}"
    passed = next((text for text in wrong if draft.is_passed_by(text)), "")
    return f"what is asserted passes a wrong answer or a refusal: {passed}" if passed else ""


def _faults(drafts: Sequence[SampleDraft], asker: Asker) -> list[str]:
    """Have every answerable draft answered from its quotation alone. Returns what is wrong with each, or ""."""
    asked = {position: draft for position, draft in enumerate(drafts) if draft.metadata["answerable"]}
    entries = []
    for position, draft in asked.items():
        shown = {"question": draft.prompt, "place": draft.covers, "quotation": str(draft.metadata["quote"])}
        entries.append(AskedEntry(f"q{position + 1}", shown, input_hash(shown)))
    found = [""] * len(drafts)
    if not entries:
        return found
    prompt = load_prompt("draft_checks")
    (checks,) = asker.ask_entries(prompt, [EntryGroup(entries)], DraftCheck, size=_CHECKED_TOGETHER)
    for (position, draft), check in zip(asked.items(), checks, strict=True):
        if check.value is None:
            found[position] = f"it was not tried out: {check.problem}"
        elif check.value.fault != "none":
            found[position] = f"{check.value.fault}: {' '.join(check.value.reason.split())[:200]}"
        else:
            found[position] = _assertion_error(draft, (check.value.answer, check.value.again), (check.value.wrong,))
    return found
