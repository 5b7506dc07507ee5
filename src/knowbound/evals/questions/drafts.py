"""Proposes samples from gaps and from knowledge files that no sample reached (specification 1, section 8).

"Those files aren't currently touched by any sample and are natural candidates", and failed search patterns "can seed
new samples". A person accepts or rejects each; nothing here writes a samples file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from knowbound.core.paths import DOCUMENTS
from knowbound.evals.assertions import AgentAnswer, decide
from knowbound.evals.questions.knowledge_text import (
    CHINESE,
    Duplicates,
    KnowledgePage,
    KnowledgeText,
    gives_orders,
    section_questions,
    unfit,
    written_headings,
)
from knowbound.evals.samples.values import Assertion
from knowbound.gaps.wanted import specific_words, words_in
from knowbound.text.english import STOP_WORDS
from knowbound.text.markdown import BlockKind, DocumentSection
from knowbound.text.redact import redact
from knowbound.text.terms import split_words

_MOST_OF_A_FILE = 3
# Code spans of every length: were short ones left out, the text between two spans would be taken for a span.
_SPAN = re.compile(r"`([^`]*)`")
_SPAN_NAME = re.compile(r"[^<>\n]{3,50}")
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
        """The assertions of the draft, as they are written into a samples file."""
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
        user_question = question_of_prompt(gap.prompt) if gap.prompt not in existing_prompts else ""  # a sample has it
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
            mentions=(gap.answers,) if gap.answers else (),
        )


def _of_files(knowledge: KnowledgeText, uncovered: Collection[str], most: int) -> Iterator[SampleDraft]:
    """Yield questions to the sections of the files that no sample reached, `most` per file."""
    for page in knowledge.pages:
        if page.path not in uncovered:
            continue
        written = written_headings(page)
        asked = [(question, section) for question, section in section_questions(page) if section.headings in written]
        for question, section in asked[:most]:
            names = _mentions(knowledge, page, section, question)
            yield SampleDraft(
                id=draft_id("file", question),
                prompt=question,
                why=f"no sample reached {page.path} (line {section.line})",
                provenance="rule-generated",
                metadata={"drafted_from": "uncovered", "status": "proposed", "file": page.path, "line": section.line},
                mentions=(tuple(names),) if names else (),
                covers=page.path,
            )


def _mentions(knowledge: KnowledgeText, page: KnowledgePage, section: DocumentSection, question: str) -> list[str]:
    """Names and numbers that only this file has: an answer made from it will contain one."""
    prose = [block.text for block in section.blocks if block.kind is not BlockKind.CODE]
    found = [name for text in prose for name in _SPAN.findall(text) if _SPAN_NAME.fullmatch(name)]
    found += [number for text in prose for number in _NUMBER.findall(re.sub(r"`[^`]*`", " ", text))]
    elsewhere = [other.text for other in knowledge.pages if other is not page]
    unasked = (name for name in dict.fromkeys(found) if name.lower() not in question.lower() and redact(name) == name)
    unique = (name.strip() for name in unasked if not any(name in text for text in elsewhere))
    return [name for name in unique if len(name) >= 2][:3]


def draft_id(kind: str, prompt: str) -> str:
    """Return an id: readable words, and a hash that is the same for the same prompt."""
    words = [word for word in re.findall(r"[a-z0-9]+", prompt.lower()) if word not in STOP_WORDS and len(word) > 2]
    return "-".join([kind, *words[:3], hashlib.sha256(prompt.encode()).hexdigest()[:6]])


def _prompt_hash(id_: str) -> str:
    """The part of an id that identifies the prompt; the words before it may differ between versions."""
    return id_.rpartition("-")[2]


# ---- gaps, and the question that each leaves open

_PATH = re.compile(r"[\w.~@*-]*(?:/[\w.@*-]+)+|\.?[\w-]+\.[a-z]{1,5}")
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_KEYWORDS = re.compile(
    r"^(?:(?:export|pub|async|static|public|private|func|function|def|class|struct|type|interface|enum|const|var|let)\s)+"
    r"|\s(?:struct|interface|class)$"
)
_REGEX = re.compile(r"\\[bBswdWSD]|\(\?[:=!i][^)]*|[\^$*+?{}\[\]\\]|\.\*|\.\+")
_MARKER = re.compile(r"【[^】]{1,12}】|\[(?:inferred|unknown|knowledge gap)\]", re.IGNORECASE)
# What an agent says that it does not know, or looks for: "not sure whether …", "find out where …".
_UNKNOWN = re.compile(
    r"\b(?:(?:do(?:n't| not)|did(?:n't| not)|cannot|can't|could(?:n't| not)|am not|'m not|is not|isn't|not) "
    r"(?:\w+ ){0,2}?(?:know|sure|certain|clear|tell|find(?: out)?|say|confirm|determine)|unsure|unclear|uncertain|"
    r"unknown|wonder|need to (?:verify|check|confirm|find out))(?: (?:about|yet|exactly|(?:to|for) (?:me|us)))?[, ]+"
    r"((?:what|which|whether|how|where|who|when|why|if)\b[^.;:!?]{6,160})",
    re.IGNORECASE,
)
_SEEKS = re.compile(
    r"\b(?:find(?: out)?|see|check|look up|understand|determine|figure out|know|learn) "
    r"((?:what|which|how|where|who|when|why)\b[^.;:!?]{6,160})",
    re.IGNORECASE,
)
_TAIL = re.compile(r",? (?:so|but|and so|because|since|therefore|hence)\b.*$|,\s*$", re.IGNORECASE)
_PURPOSE = re.compile(r" (?:to|so|and|for|before|first|again)\b.*$")
# Words that mean something only in their own conversation.
_CONVERSATION = re.compile(
    r"\b(?:I|my|me|we|our|us|you|your|this|that|these|those|it|its|here|above|below)\b", re.IGNORECASE
)
_STATEMENT = re.compile(r"^[A-Z`][^.?!]{15,160}[.!]?$")
_CHINESE_UNKNOWN = re.compile(r"^(?:我)?(?:不确定|不清楚|无法确认|需要查证)([^，。！；]{4,60})")
# A question in form only ("Can you add a test?"), or one that points at what another reader does not see.
_NO_QUESTION = re.compile(
    r"^(?:(?:can|could|will|would|do|did|have|are) you|(?:can|could|should|shall|may|have|did) (?:i|we))\b"
    r"|\b(?:this|that|these|those|it|them|above|below|again|now|still|just|yet|so far|recently|today)\b|[.!?;] ",
    re.IGNORECASE,
)
_LEAST_WORDS, _MOST_WORDS = 2, 4  # in a name that is a subject: `refund_policy`


def question_of_prompt(prompt: str) -> str:
    """The prompt, where it is a question that is clear without the conversation; else an empty string."""
    question = " ".join(prompt.split())
    is_unclear = not question or question.startswith("<") or unfit(question) or _NO_QUESTION.search(question)
    return "" if is_unclear else question


def question_of_search(wanted: str, said: str = "", answers: Collection[str] = ()) -> str:
    """Return the question behind a search that missed; "" if neither the agent's words nor the search name a subject.

    Where a thing is, is asked only where some session found it: a name that nobody found may not exist.
    """
    wanted = wanted.strip().strip("\"'")
    subject_words = frozenset[str]().union(*map(specific_words, re.split(r"[\s/.|]+", wanted)))
    sentence = " ".join(said.split())
    if not subject_words.isdisjoint(words_in(sentence)) and not CHINESE.search(sentence):
        if sentence.endswith("?"):
            return "" if _CONVERSATION.search(sentence) or unfit(sentence) else sentence
        clause = _PURPOSE.sub("", _clause(_SEEKS, sentence))
        if clause and "/" not in clause and not subject_words.isdisjoint(words_in(clause)):
            return f"Can you say {clause}?"
    return _by_name(wanted, answers)


def _clause(pattern: re.Pattern[str], sentence: str) -> str:
    """Return the clause that a pattern finds, where it is clear without the conversation; else ""."""
    found = pattern.search(sentence)
    clause = _TAIL.sub("", found[1]).strip() if found else ""
    return "" if not clause or _CONVERSATION.search(clause) else clause[0].lower() + clause[1:]


def _by_name(wanted: str, answers: Collection[str]) -> str:
    """Make a question from the name alone: what is written about it, or where it is if `answers` have paths."""
    if CHINESE.search(wanted):
        words = re.findall(r"[\u4e00-\u9fff]{2,}", wanted)
        return f"{words[0]}是什么？" if words else ""
    if _PATH.fullmatch(wanted):
        name = wanted.rpartition("/")[2]
        stem, _, ending = name.rpartition(".")
        if any(answer.rpartition("/")[2] == name for answer in answers):
            return f"Where is `{name}`?" if "*" not in name and specific_words(stem or name) else ""
        # What was found under another name is no subject that is missing.
        return _of_subject(stem) if ending.lower() in DOCUMENTS and not answers else ""
    for part in re.split(r"\\?\||\s·\s", wanted):
        name = _KEYWORDS.sub("", _REGEX.sub(" ", part).strip().strip(".:=-_/()\"'").strip())
        if _NAME.fullmatch(name) and len(split_words(name)) >= _LEAST_WORDS:
            if answers:
                return f"Where is `{name}` defined?"
            return "" if is_in_code(name) else _of_subject(name)
    return ""


def is_in_code(name: str) -> bool:
    """`getUserName` and `MAX_TRIES` are things in code; `refund_policy` is a subject."""
    return name != name.lower()


def _of_subject(name: str) -> str:
    """Ask what is written about the words of a name; "" if they are too few, too many or too common."""
    words = split_words(name)
    if not _LEAST_WORDS <= len(words) <= _MOST_WORDS or len(specific_words(name)) < len(words):
        return ""
    return f'What is written about "{" ".join(words)}"?'


def question_of_hedge(text: str) -> str:
    """Return the question that a hedge or a marked guess leaves open; "" if it needs the conversation."""
    sentence = " ".join(text.split())
    if clause := _clause(_UNKNOWN, sentence):
        return f"Can you say {clause}?"
    bare = _MARKER.sub("", sentence).strip(" :-")
    if unknown := _CHINESE_UNKNOWN.match(bare):
        return f"{unknown[1]}？"
    claim = re.split(r"(?<=[.!])\s|;\s|[。！；]", bare)[0].strip()
    if bare == sentence or _CONVERSATION.search(claim):  # without a marker it is no guess of the agent
        return ""
    if CHINESE.search(claim):
        return f"“{claim}”对吗？" if 6 <= len(claim) <= 60 else ""
    return f'Is this right: "{claim.rstrip(".!")}"?' if _STATEMENT.match(claim) else ""


REDACTED = "[redacted:"
_MOST_CONTEXT = 400
_LEAST_CONTEXT = 2  # words
# What only the conversation explains: "do it again", "the second one".
_POINTS_BACK = re.compile(
    r"\b(?:this|that|these|those|it|them|above|below|again|yes|yeah|ok|okay|sure|still|let's)\b", re.IGNORECASE
)


class Gap(msgspec.Struct, frozen=True):
    """Something that an agent did not find or was not sure of, with the user's prompt of that turn."""

    why: str  # for the person who decides
    metadata: dict[str, object]
    wanted: str = ""  # what it searched for
    doubt: str = ""  # the sentence in which it was not sure
    said: str = ""  # the agent's own words beside a search
    is_found: bool = False  # every session found it in the end
    answers: tuple[str, ...] = ()  # paths where it is
    prompt: str = ""

    @property
    def has_secret(self) -> bool:
        """Report whether the missing thing cannot be named because its words contain a secret."""
        shown = f"{self.wanted} {self.doubt}"
        return REDACTED in shown or redact(shown) != shown

    @property
    def context(self) -> str:
        """Return the user's task in that turn; "" if another agent may not see it, or it is unclear by itself."""
        task = " ".join(self.prompt.split())
        if len(task) > _MOST_CONTEXT or REDACTED in task or redact(task) != task or task.startswith("<"):
            return ""  # "<": a message of the client, not of the user
        is_clear = len(task.split()) >= _LEAST_CONTEXT and not _POINTS_BACK.search(task)
        return f"Asked while working on: {task}" if is_clear and not gives_orders(task) else ""
